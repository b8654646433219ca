/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small TAP producer: each check prints one line and returns whether it
 * held, a failed one says what was expected and where. Safe to call from
 * several threads.
 *
 *     int main(void) {
 *         tap_ok(1 + 1 == 2, "sums");
 *         tap_int(3 * 2, 6, "products");
 *         return tap_done();
 *     }
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <warmring/status.h>

#define TAP_FORMAT(string, first) __attribute__((format(printf, string, first)))

bool tap_check(const char *file, int line, bool held, const char *format, ...) TAP_FORMAT(4, 5);
bool tap_check_int(const char *file, int line, int64_t got, int64_t expected, const char *format,
                   ...) TAP_FORMAT(5, 6);
bool tap_check_string(const char *file, int line, const char *got, const char *expected,
                      const char *format, ...) TAP_FORMAT(5, 6);
bool tap_check_bytes(const char *file, int line, const void *got, size_t got_length,
                     const void *expected, size_t expected_length, const char *format, ...)
    TAP_FORMAT(7, 8);
bool tap_check_near(const char *file, int line, double got, double expected, double tolerance,
                    const char *format, ...) TAP_FORMAT(6, 7);
/* Shows both names and the detail text when they differ. */
bool tap_check_status(const char *file, int line, warmring_status_t got, warmring_status_t expected,
                      const char *format, ...) TAP_FORMAT(5, 6);
/* Whether `text` contains `piece`; shows the text when not. */
bool tap_check_contains(const char *file, int line, const char *text, const char *piece,
                        const char *format, ...) TAP_FORMAT(5, 6);

#define tap_ok(...) tap_check(__FILE__, __LINE__, __VA_ARGS__)
#define tap_int(...) tap_check_int(__FILE__, __LINE__, __VA_ARGS__)
#define tap_string(...) tap_check_string(__FILE__, __LINE__, __VA_ARGS__)
#define tap_bytes(...) tap_check_bytes(__FILE__, __LINE__, __VA_ARGS__)
#define tap_near(...) tap_check_near(__FILE__, __LINE__, __VA_ARGS__)
#define tap_status(...) tap_check_status(__FILE__, __LINE__, __VA_ARGS__)
#define tap_contains(...) tap_check_contains(__FILE__, __LINE__, __VA_ARGS__)

/* One skipped test, with its reason. */
void tap_skip(const char *format, ...) TAP_FORMAT(1, 2);

/* A comment line, "# ..."; shows in the log only. */
void tap_note(const char *format, ...) TAP_FORMAT(1, 2);

/* Ends the run at once as a failure: for what no later test can do without. */
_Noreturn void tap_bail(const char *format, ...) TAP_FORMAT(1, 2);

/* Ends the run at once as skipped, before any test. */
_Noreturn void tap_skip_all(const char *format, ...) TAP_FORMAT(1, 2);

/* Prints the plan; returns what main() should: 1 when a check failed. Bails
 * when there was no check at all. */
int tap_done(void);

/* How many checks have failed so far. */
size_t tap_failures(void);

/* The settings every test shares: TEST_SECONDS scales races and soaks (2),
 * TEST_SLACK_MS is what a call may outlast its deadline by (50; more under
 * sanitizers). */
double tap_seconds(void);
uint32_t tap_slack_ms(void);

/* Opens a file below $srcdir/tests/data for reading; bails when missing. */
FILE *tap_data(const char *name);

#endif
