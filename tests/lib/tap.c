/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TAP producer. One lock covers the counters and the output, so that the
 * lines of a check stay together whichever thread makes it; each line is
 * flushed, so that a crash loses nothing and a fork() repeats nothing.
 */
#include "tap.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 1024, BYTES_SHOWN = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long run;
static unsigned long failures;

/* One line with its line ends and, in descriptions, directives disarmed. */
static void print_line(const char *prefix, const char *text, bool escape) {
    fputs(prefix, stdout);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\r' || *c == '\n') {
            fputs(*c == '\r' ? "\\r" : "\\n", stdout);
        } else if (*c == '#' && escape) {
            fputs("\\#", stdout);
        } else {
            putchar(*c);
        }
    }
    putchar('\n');
}

/* Prints the result line and, for a failure, where and why. */
static bool report(const char *file, int line, bool held, const char *why, const char *format,
                   va_list arguments) TAP_FORMAT(5, 0);

static bool report(const char *file, int line, bool held, const char *why, const char *format,
                   va_list arguments) {
    char text[LINE_SIZE];
    vsnprintf(text, sizeof text, format, arguments);

    pthread_mutex_lock(&lock);
    run++;
    failures += held ? 0 : 1;
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%sok %lu - ", held ? "" : "not ", run);
    print_line(prefix, text, true);
    if (!held) {
        printf("#   at %s:%d\n", file, line);
        if (why != NULL) {
            print_line("#   ", why, false);
        }
    }
    fflush(stdout);
    pthread_mutex_unlock(&lock);
    return held;
}

#define REPORT(held, why)                                 \
    do {                                                  \
        va_list arguments;                                \
        va_start(arguments, format);                      \
        report(file, line, held, why, format, arguments); \
        va_end(arguments);                                \
    } while (0)

bool tap_check(const char *file, int line, bool held, const char *format, ...) {
    REPORT(held, NULL);
    return held;
}

bool tap_check_int(const char *file, int line, int64_t got, int64_t expected, const char *format,
                   ...) {
    char why[LINE_SIZE];
    snprintf(why, sizeof why, "got %" PRId64 ", expected %" PRId64, got, expected);
    REPORT(got == expected, why);
    return got == expected;
}

bool tap_check_string(const char *file, int line, const char *got, const char *expected,
                      const char *format, ...) {
    bool held = got == expected || (got != NULL && expected != NULL && strcmp(got, expected) == 0);
    char why[LINE_SIZE];
    snprintf(why, sizeof why, "got \"%s\", expected \"%s\"", got != NULL ? got : "(null)",
             expected != NULL ? expected : "(null)");
    REPORT(held, why);
    return held;
}

/* The first bytes of a block in hexadecimal, from `at` on. */
static void show_bytes(const unsigned char *bytes, size_t length, size_t at, char *text) {
    for (size_t i = at; i < length && i < at + BYTES_SHOWN; i++) {
        text += sprintf(text, " %02x", bytes[i]);
    }
    strcpy(text, at + BYTES_SHOWN < length ? " ..." : "");
}

bool tap_check_bytes(const char *file, int line, const void *got, size_t got_length,
                     const void *expected, size_t expected_length, const char *format, ...) {
    const unsigned char *a = got;
    const unsigned char *b = expected;
    size_t shorter = got_length < expected_length ? got_length : expected_length;
    size_t at = 0;
    while (at < shorter && a[at] == b[at]) {
        at++;
    }
    bool held = got_length == expected_length && at == got_length;

    char got_text[4 * BYTES_SHOWN + 8];
    char expected_text[4 * BYTES_SHOWN + 8];
    show_bytes(a, got_length, at, got_text);
    show_bytes(b, expected_length, at, expected_text);
    char why[LINE_SIZE];
    snprintf(why, sizeof why, "got %zu bytes, expected %zu; from byte %zu on:%s; expected:%s",
             got_length, expected_length, at, got_text, expected_text);
    REPORT(held, why);
    return held;
}

bool tap_check_near(const char *file, int line, double got, double expected, double tolerance,
                    const char *format, ...) {
    bool held = fabs(got - expected) <= tolerance; /* false for a NaN */
    char why[LINE_SIZE];
    snprintf(why, sizeof why, "got %.10g, expected %.10g within %.3g", got, expected, tolerance);
    REPORT(held, why);
    return held;
}

bool tap_check_status(const char *file, int line, warmring_status_t got, warmring_status_t expected,
                      const char *format, ...) {
    char why[LINE_SIZE];
    snprintf(why, sizeof why, "got %s, expected %s; last detail: %s", warmring_status_name(got),
             warmring_status_name(expected), warmring_error_detail());
    REPORT(got == expected, why);
    return got == expected;
}

bool tap_check_contains(const char *file, int line, const char *text, const char *piece,
                        const char *format, ...) {
    bool held = text != NULL && strstr(text, piece) != NULL;
    char why[LINE_SIZE];
    snprintf(why, sizeof why, "no \"%s\" in \"%s\"", piece, text != NULL ? text : "(null)");
    REPORT(held, why);
    return held;
}

void tap_skip(const char *format, ...) {
    char text[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    pthread_mutex_lock(&lock);
    run++;
    char prefix[64];
    snprintf(prefix, sizeof prefix, "ok %lu # SKIP ", run);
    print_line(prefix, text, true);
    fflush(stdout);
    pthread_mutex_unlock(&lock);
}

void tap_note(const char *format, ...) {
    char text[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    pthread_mutex_lock(&lock);
    print_line("# ", text, false);
    fflush(stdout);
    pthread_mutex_unlock(&lock);
}

/* The last line of a run that ends early. */
static void end_early(const char *prefix, const char *format, va_list arguments) TAP_FORMAT(2, 0);

static void end_early(const char *prefix, const char *format, va_list arguments) {
    char text[LINE_SIZE];
    vsnprintf(text, sizeof text, format, arguments);
    pthread_mutex_lock(&lock);
    print_line(prefix, text, false);
    fflush(stdout);
    pthread_mutex_unlock(&lock);
}

void tap_bail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&lock);
    failures++;
    pthread_mutex_unlock(&lock);
    end_early("Bail out! ", format, arguments);
    va_end(arguments);
    exit(255);
}

void tap_skip_all(const char *format, ...) {
    if (run != 0) {
        tap_bail("tap_skip_all() after %lu tests", run);
    }
    va_list arguments;
    va_start(arguments, format);
    end_early("1..0 # SKIP ", format, arguments);
    va_end(arguments);
    exit(0);
}

int tap_done(void) {
    if (run == 0) {
        tap_bail("no test ran");
    }
    pthread_mutex_lock(&lock);
    if (failures != 0) {
        printf("# %lu of %lu failed\n", failures, run);
    }
    printf("1..%lu\n", run);
    fflush(stdout);
    pthread_mutex_unlock(&lock);
    return failures != 0 ? 1 : 0;
}

size_t tap_failures(void) {
    pthread_mutex_lock(&lock);
    size_t count = failures;
    pthread_mutex_unlock(&lock);
    return count;
}

/* A number from the environment; a malformed one ends the run. */
static double setting(const char *name, double otherwise) {
    const char *text = getenv(name);
    if (text == NULL || *text == '\0') {
        return otherwise;
    }
    char *end;
    double value = strtod(text, &end);
    if (*end != '\0' || !(value >= 0 && value <= 1e6)) {
        tap_bail("%s=%s is no number from 0 to 1000000", name, text);
    }
    return value;
}

double tap_seconds(void) {
    return setting("TEST_SECONDS", 2);
}

uint32_t tap_slack_ms(void) {
    return (uint32_t)setting("TEST_SLACK_MS", 50);
}

FILE *tap_data(const char *name) {
    const char *source = getenv("srcdir");
    char path[LINE_SIZE];
    snprintf(path, sizeof path, "%s/tests/data/%s", source != NULL ? source : ".", name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        tap_bail("%s: %s", path, strerror(errno));
    }
    return file;
}
