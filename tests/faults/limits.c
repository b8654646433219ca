/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libmemcached cannot give, beside what table.c shows: how it takes
 * bytes that nobody asked for. Each limit has its counterpart on meta, which
 * does not have it. docs/faults.md lists these tests by name.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "mangle.h"
#include "tests/lib/fixture.h"

/* An END too many, a moment after an answer: the next call comes upon it. */
static const fake_step_t stray_end[] = {FAKE_GREET(), FAKE_ANSWER(fake_memcached, NULL),
                                        FAKE_PAUSE(20), FAKE_SAY("END\r\n"), FAKE_MEMCACHED()};
/* A value of 3 MB is announced and never sent. */
static const fake_step_t large_value[] = {
    FAKE_GREET(), FAKE_ANSWER(mangle_length, (void *)(uintptr_t) "3000000"), FAKE_HANG(), FAKE_END};
static const fake_step_t good[] = {FAKE_MEMCACHED()};

static warmring_status_t after_stray_end(void) {
    fake_server_t *server = fake_server_start(stray_end);
    warmring_t *client = faults_open(fake_server_address(server), NULL);
    tap_status(operate(client, GET, "key", LONG_MS), WARMRING_OK, "a get");
    usleep(60000);
    fake_server_script(server, good);
    warmring_status_t status = operate(client, GET, "key", LONG_MS);
    warmring_close(client);
    fake_server_free(server);
    return status;
}

/* libmemcached comes upon it in most tries, not in all. */
static void test_stray_end(const char *transport, warmring_status_t expected) {
    warmring_status_t status = WARMRING_OK;
    test_use_transport(transport);
    for (int i = 0; i < 12 && (i == 0 || status != expected); i++) {
        status = after_stray_end();
    }
    tap_status(status, expected, "after a stray END, %s: a get", transport);
}

static void test_large_value(const char *transport, warmring_status_t status) {
    test_use_transport(transport);
    fake_server_t *server = fake_server_start(large_value);
    warmring_t *client = faults_open(fake_server_address(server), NULL);
    int64_t begun = now_ms();
    tap_status(operate(client, GET, "key", SHORT_MS), status, "a value beyond the limit, %s",
               transport);
    in_time(begun, SHORT_MS, false, transport);
    warmring_close(client);
    fake_server_free(server);
}

/* A server is not taken for down by its values, however large. */
static void test_large_is_no_fault(void) {
    static const char *const strict[] = {"failure_limit", "1", "retry_ms", "10000", NULL};
    test_use_transport("meta");
    fake_server_t *server = fake_server_start(large_value);
    warmring_t *client = faults_open(fake_server_address(server), strict);
    for (int i = 0; i < 3; i++) {
        tap_status(operate(client, GET, "key", LONG_MS), WARMRING_TOO_LARGE, "a large value");
        tap_contains(warmring_error_detail(), "'key' has 3000000 bytes, max_value_bytes is 1048576",
                     "the text says what and how much");
        tap_contains(warmring_error_detail(), fake_server_address(server), "and where");
    }
    fake_server_script(server, good);
    tap_status(operate(client, GET, "key", LONG_MS), WARMRING_OK, "the server is still asked");
    warmring_server_counters_t counters = server_counters(client, fake_server_address(server));
    tap_int((int64_t)counters.lost_connections, 0, "nothing counts as lost");
    tap_int((int64_t)counters.connections, 1, "the others were closed");
    warmring_close(client);
    fake_server_free(server);
}

/* One large value among others: those behind it are asked for again. */
static void test_large_among_others(void) {
    enum { MANY = 9, LARGE = 4 };
    static char large[VALUE_LIMIT + 1];
    static const char *const names[MANY] = {"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8"};
    test_use_transport("meta");
    fixture_t *fixture = fixture_start(1, (const char *const[]){"-I", "4m", NULL});
    warmring_t *client = faults_open(fixture_servers(fixture), NULL);
    warmring_results_t *results = warmring_results_create();
    warmring_bytes_t keys[MANY];
    for (size_t i = 0; i < MANY; i++) {
        keys[i] = (warmring_bytes_t){names[i], 2};
        size_t length = i == LARGE ? sizeof large : 1;
        (void)!warmring_set(client, names[i], 2, large, length, 0, 0, NULL);
    }
    tap_status(warmring_get_multi(client, keys, MANY, results, NULL), WARMRING_TOO_LARGE,
               "a large value among others");
    for (size_t i = 0; i < MANY; i++) {
        tap_status(warmring_results_at(results, i)->status,
                   i == LARGE ? WARMRING_TOO_LARGE : WARMRING_OK, "key %zu", i);
    }
    tap_status(warmring_results_server(results, 0, NULL), WARMRING_OK, "no fault of the server");
    warmring_results_free(results);
    warmring_close(client);
    fixture_free(fixture);
}

int main(void) {
    test_stray_end("meta", WARMRING_OK);
    test_stray_end("libmemcached", WARMRING_NOT_FOUND);
    test_large_value("meta", WARMRING_TOO_LARGE);
    test_large_value("libmemcached", WARMRING_TIMEOUT);
    test_large_is_no_fault();
    test_large_among_others();
    return tap_done();
}
