/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One suite over every transport: what a test's main() does, once for each.
 *
 *     static void run(void) { ... steps_open(...) ... }
 *     int main(void) {
 *         test_transports(run);
 *         return tap_done();
 *     }
 */
#ifndef TESTS_TRANSPORTS_H
#define TESTS_TRANSPORTS_H

#include <stdbool.h>
#include <stddef.h>

#include <warmring/client.h>

enum { TEST_TRANSPORTS = 2, TEST_TRANSPORTS_BUILT = WR_WITH_LIBMEMCACHED ? 2 : 1 };
extern const char *const test_transport_names[TEST_TRANSPORTS]; /* meta, libmemcached */

/* Calls `run` with each transport in force that this build has. */
void test_transports(void (*run)(void));

/* The transport in force, for the option `transport`: "auto" at first. */
const char *test_transport(void);
/* Puts another in force. */
void test_use_transport(const char *name);
bool test_is_meta(void); /* also for auto */

/* New options with the transport in force; warmring_options_free() them. */
warmring_options_t *test_options(void);

/* warmring_open() with those and a deadline of five seconds. Bails when that
 * fails. */
warmring_t *test_open(const char *servers);

#endif
