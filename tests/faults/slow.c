/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that is slow, not dead, among fast ones: calls of many keys wait
 * for it within their deadline, from the first connection on, and do not take
 * it for down.
 */
#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "tests/lib/fixture.h"

enum { SLOW_KEYS = 40, ROUNDS = 5, ANSWER_MS = 150, DEADLINE_MS = 1400 };

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

static void run(void) {
    warmring_bytes_t keys[SLOW_KEYS];
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
    for (size_t i = 0; i < SLOW_KEYS; i++) {
        snprintf(text[i], sizeof text[i], "slow-%zu", i);
        keys[i] = (warmring_bytes_t){text[i], strlen(text[i])};
    }
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

int main(void) {
    test_transports(run);
    return tap_done();
}
