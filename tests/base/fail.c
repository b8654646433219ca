/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status names and texts, and the detail text of each thread.
 */
#include "base/fail.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "config.h"
#include "tests/lib/tap.h"

static const char *const names[] = {
#define NAME(name, text) #name,
    WARMRING_STATUS_LIST(NAME)};
enum { STATUSES = sizeof names / sizeof names[0] };

static void test_names_and_texts(void) {
    for (int i = 0; i < STATUSES; i++) {
        tap_string(warmring_status_name((warmring_status_t)i), names[i], "name of %d", i);
        tap_ok(strlen(warmring_strerror((warmring_status_t)i)) > 4, "text of %s", names[i]);
        for (int j = 0; j < i; j++) {
            if (strcmp(warmring_strerror((warmring_status_t)i),
                       warmring_strerror((warmring_status_t)j)) == 0) {
                tap_ok(false, "%s and %s have one text", names[i], names[j]);
            }
        }
    }
    /* Numbers never change: these are part of the binary interface. */
    tap_int(WARMRING_OK, 0, "OK is 0");
    tap_int(WARMRING_NOT_FOUND, 1, "NOT_FOUND is 1");
    tap_int(WARMRING_OUT_OF_MEMORY, 24, "OUT_OF_MEMORY is 24");
}

static void test_unknown_numbers(void) {
    static const int unknown[] = {STATUSES, -1, 1000000, INT32_MIN};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        warmring_status_t status = (warmring_status_t)unknown[i];
        tap_string(warmring_strerror(status), "unknown status", "text of %d", unknown[i]);
        tap_string(warmring_status_name(status), "?", "name of %d", unknown[i]);
    }
}

static void test_detail(void) {
    tap_string(warmring_error_detail(), "", "nothing has failed yet");
    tap_status(wr_fail(WARMRING_BAD_KEY, "key of %d bytes", 251), WARMRING_BAD_KEY, "wr_fail");
    tap_string(warmring_error_detail(), "key of 251 bytes", "its text");
    wr_fail(WARMRING_BAD_KEY, "a\r\nb\tc\x7f%c", 1);
    tap_string(warmring_error_detail(), "a??b?c??", "one line, whatever is quoted");
    wr_fail(WARMRING_BAD_KEY, "h\xc3\xa9");
    tap_string(warmring_error_detail(), "h\xc3\xa9", "UTF-8 stays");
    tap_status(wr_fail_memory(), WARMRING_OUT_OF_MEMORY, "wr_fail_memory");
    tap_string(warmring_error_detail(), "out of memory", "its text");
}

static void test_long_detail(void) {
    char text[2 * WR_DETAIL_SIZE];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    wr_fail(WARMRING_BAD_KEY, "%s", text);
    tap_int((int64_t)strlen(warmring_error_detail()), WR_DETAIL_SIZE - 1, "a long text is cut");
}

/* A text made from the last one: "what, because: <detail>". */
static void test_detail_of_detail(void) {
    wr_fail(WARMRING_BAD_KEY, "inner");
    char copy[WR_DETAIL_SIZE];
    snprintf(copy, sizeof copy, "%s", warmring_error_detail());
    wr_fail(WARMRING_BAD_KEY, "outer: %.100s", copy);
    tap_string(warmring_error_detail(), "outer: inner", "a text may quote the last one");
}

static void test_undo(void) {
    const char *text = warmring_error_detail();
    wr_fail(WARMRING_BAD_KEY, "first");
    wr_fail(WARMRING_CONNECTION_LOST, "second, and longer");
    wr_fail_undo();
    tap_string(warmring_error_detail(), "first", "the last text is taken back");
    wr_fail(WARMRING_TIMEOUT, "third");
    tap_ok(warmring_error_detail() == text, "the text's address stays");
    tap_string(text, "third", "and shows the last one");
}

static void *in_thread(void *unused) {
    (void)unused;
    tap_string(warmring_error_detail(), "", "a new thread has no detail");
    wr_fail(WARMRING_BAD_KEY, "theirs");
    tap_string(warmring_error_detail(), "theirs", "it gets its own");
    return NULL;
}

static void test_threads(void) {
    wr_fail(WARMRING_BAD_KEY, "ours");
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread, NULL) != 0) {
        tap_bail("no thread");
    }
    pthread_join(thread, NULL);
    tap_string(warmring_error_detail(), "ours", "another thread leaves ours alone");
}

static void test_system_text(void) {
    char buffer[128];
    tap_string(wr_system_text(ENOENT, buffer, sizeof buffer), "No such file or directory",
               "the system's text for an errno");
    tap_ok(wr_system_text(123456, buffer, sizeof buffer)[0] != '\0',
           "some text for one that is none");
}

static void test_version(void) {
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", WARMRING_VERSION_MAJOR, WARMRING_VERSION_MINOR,
             WARMRING_VERSION_PATCH);
    tap_string(warmring_version(), expected, "the version is that of the headers");
    tap_string(PACKAGE_VERSION, expected, "and of configure.ac");
}

int main(void) {
    test_names_and_texts();
    test_unknown_numbers();
    test_detail();
    test_long_detail();
    test_detail_of_detail();
    test_undo();
    test_threads();
    test_system_text();
    test_version();
    return tap_done();
}
