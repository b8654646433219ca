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

int main(void) {
    test_stray_end("meta", WARMRING_OK);
    test_stray_end("libmemcached", WARMRING_NOT_FOUND);
    test_large_value("meta", WARMRING_PROTOCOL_ERROR);
    test_large_value("libmemcached", WARMRING_TIMEOUT);
    return tap_done();
}
