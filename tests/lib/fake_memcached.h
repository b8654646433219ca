/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memcached for scripts of the fake server, in both of its dialects, meta
 * and classic, that keeps nothing: every key holds FAKE_VALUE, every number
 * becomes 7, every store succeeds.
 */
#ifndef TESTS_FAKE_MEMCACHED_H
#define TESTS_FAKE_MEMCACHED_H

#include "fake_server.h"

#define FAKE_VALUE "value"

/* The true answer; a fake_answer_t. `data`: the version it tells, NULL for
 * 1.6.18. */
size_t fake_memcached(void *data, const char *command, char *answer, size_t capacity);

/* The same, but FAKE_NO_ANSWER to a command with the word `data`. */
size_t fake_memcached_until(void *data, const char *command, char *answer, size_t capacity);

/* The same, but FAKE_NO_ANSWER to everything that is more than a transport's
 * own first question. */
size_t fake_memcached_greets(void *data, const char *command, char *answer, size_t capacity);

/* Serves for ever; until a key is named; until a first real command. */
#define FAKE_MEMCACHED() FAKE_SERVE(fake_memcached, NULL)
#define FAKE_MEMCACHED_UNTIL(key) FAKE_SERVE(fake_memcached_until, (void *)(uintptr_t)(key))
#define FAKE_GREET() FAKE_SERVE(fake_memcached_greets, NULL)

#endif
