/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz target of the native transport's answers, for libFuzzer and for
 * replaying its corpus.
 */
#ifndef TESTS_META_FUZZ_H
#define TESTS_META_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Runs one input; aborts on a defect. Always 0. */
int meta_fuzz(const uint8_t *bytes, size_t length);

#endif
