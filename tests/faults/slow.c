/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that is slow, not dead, among fast ones: calls of many keys wait
 * for it within their deadline, from the first connection on, and do not take
 * it for down. And slow ones among those that hang: connections are opened side
 * by side, so that a slow server has nearly all of the time, whatever others
 * do. Opened one after another, each for half of the time left, two that hang
 * would leave a quarter, which is less than the slow ones need.
 */
#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "tests/lib/fixture.h"

enum {
    SLOW_KEYS = 40,
    ROUNDS = 5,
    ANSWER_MS = 150,
    DEADLINE_MS = 1400,
    MOST_OF_IT_MS = 800 /* more than half of it */
};

static const fake_step_t slow[] = {FAKE_AWAIT(), FAKE_PAUSE(ANSWER_MS),
                                   FAKE_ANSWER(fake_memcached, NULL), FAKE_AGAIN()};

static char text[SLOW_KEYS][16];

static int faults_of(const warmring_results_t *results) {
    int wrong = 0;
    for (size_t i = 0; i < SLOW_KEYS; i++) {
        warmring_status_t status = warmring_results_at(results, i)->status;
        wrong += status != WARMRING_OK && status != WARMRING_NOT_FOUND;
    }
    return wrong;
}

static warmring_bytes_t keys[SLOW_KEYS];

static void make_keys(void) {
    for (size_t i = 0; i < SLOW_KEYS; i++) {
        snprintf(text[i], sizeof text[i], "slow-%zu", i);
        keys[i] = (warmring_bytes_t){text[i], strlen(text[i])};
    }
}

static void test_slow(void) {
    static const char *const usual[] = {"failure_limit", "2", NULL};
    char servers[256];
    fixture_t *fixture = fixture_start(3, NULL);
    fake_server_t *server = fake_server_start(slow);
    snprintf(servers, sizeof servers, "%s,%s", fake_server_address(server),
             fixture_servers(fixture));
    warmring_t *client = faults_open(servers, usual);
    warmring_results_t *results = warmring_results_create();
    warmring_call_t call = WARMRING_CALL_INIT;
    call.deadline_ms = DEADLINE_MS;
    for (int round = 0; round < ROUNDS; round++) {
        tap_status(warmring_get_multi(client, keys, SLOW_KEYS, results, &call), WARMRING_OK,
                   "%s: round %d", test_transport(), round);
        tap_int(faults_of(results), 0, "every key is answered");
    }
    tap_ok(fake_server_commands(server) >= ROUNDS, "the slow server was asked each time");
    warmring_results_free(results);
    warmring_close(client);
    fake_server_free(server);
    fixture_free(fixture);
}

/* ---- among those that hang ------------------------------------------------- */

enum { FULL_BACKLOG, NO_ACCEPT, SLOW_ONE, SLOW_TWO, FAKES };

static void count_statuses(warmring_t *client, const warmring_results_t *results,
                           fake_server_t *const fakes[FAKES], int keys_of[FAKES],
                           int timeouts[FAKES], int hits[FAKES]) {
    for (size_t i = 0; i < SLOW_KEYS; i++) {
        char owner[64];
        warmring_status_t status = warmring_results_at(results, i)->status;
        (void)!warmring_locate(client, keys[i].data, keys[i].length, owner, sizeof owner, NULL);
        for (int j = 0; j < FAKES; j++) {
            bool owns = strcmp(owner, fake_server_address(fakes[j])) == 0;
            keys_of[j] += owns;
            timeouts[j] += owns && status == WARMRING_TIMEOUT;
            hits[j] += owns && status == WARMRING_OK;
        }
    }
}

static void test_others_hang(void) {
    static const fake_step_t once[] = {FAKE_GREET(), FAKE_PAUSE(MOST_OF_IT_MS),
                                       FAKE_ANSWER(fake_memcached, NULL), FAKE_MEMCACHED()};
    fake_server_t *fakes[FAKES] = {fake_server_start_full(), fake_server_start_deaf(),
                                   fake_server_start(once), fake_server_start(once)};
    int keys_of[FAKES] = {0};
    int timeouts[FAKES] = {0};
    int hits[FAKES] = {0};
    char servers[256];
    snprintf(servers, sizeof servers, "%s,%s,%s,%s", fake_server_address(fakes[0]),
             fake_server_address(fakes[1]), fake_server_address(fakes[2]),
             fake_server_address(fakes[3]));
    warmring_t *client = faults_open(servers, NULL);
    warmring_results_t *results = warmring_results_create();
    warmring_call_t call = WARMRING_CALL_INIT;
    call.deadline_ms = DEADLINE_MS;
    int64_t begun = now_ms();
    tap_status(warmring_get_multi(client, keys, SLOW_KEYS, results, &call), WARMRING_TIMEOUT,
               "two of four hang");
    in_time(begun, DEADLINE_MS, true, "two of four hang");
    count_statuses(client, results, fakes, keys_of, timeouts, hits);
    for (int i = 0; i < FAKES; i++) {
        tap_ok(keys_of[i] > 0, "server %d has keys", i);
        tap_int(i < SLOW_ONE ? timeouts[i] : hits[i], keys_of[i], "server %d: all its keys", i);
    }
    warmring_results_free(results);
    warmring_close(client);
    for (int i = 0; i < FAKES; i++) {
        fake_server_free(fakes[i]);
    }
}

static void run(void) {
    test_slow();
    if (test_is_meta()) {
        test_others_hang();
    }
}

int main(void) {
    make_keys();
    test_transports(run);
    return tap_done();
}
