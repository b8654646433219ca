/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaying a committed corpus: each file whole, cut at each byte and with each
 * byte changed. Passing is surviving.
 */
#ifndef TESTS_REPLAY_H
#define TESTS_REPLAY_H

#include <stddef.h>
#include <stdint.h>

/* The corpus is a directory below tests/fuzz of the sources, of more than
 * `least` files. */
void replay_corpus(const char *name, int (*target)(const uint8_t *bytes, size_t length),
                   size_t least);

#endif
