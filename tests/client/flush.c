/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flush in a migration beside a server that hangs: the others are emptied
 * twice all the same, so that no copy that was under way survives there.
 *
 * The old ring is server 0 (O) alone, the new one both.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/fixture.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"
#include "tests/lib/transports.h"

enum { O = 0, N = 1, DEADLINE_MS = 2000 };

static long flushes(const fixture_t *fixture, size_t server) {
    static const char name[] = "STAT cmd_flush ";
    static char reply[8192];
    fixture_raw(fixture, server, "stats\r\n", "END\r\n", reply, sizeof reply);
    const char *at = strstr(reply, name);
    if (at == NULL) {
        tap_bail("stats without cmd_flush");
    }
    return strtol(at + sizeof name - 1, NULL, 10);
}

typedef struct {
    warmring_t *client;
    warmring_status_t status;
    _Atomic bool ended;
} flusher_t;

static void *flush(void *argument) {
    flusher_t *flusher = argument;
    warmring_call_t call = WARMRING_CALL_INIT;
    call.deadline_ms = DEADLINE_MS;
    flusher->status = warmring_flush(flusher->client, &call);
    atomic_store(&flusher->ended, true);
    return NULL;
}

/* N's second turn comes while there is time for its answer, not when the call
 * is about to end. */
static void check_hung(fixture_t *fixture, warmring_t *client) {
    flusher_t flusher = {.client = client};
    pthread_t thread;
    fixture_stop(fixture, O);
    if (pthread_create(&thread, NULL, flush, &flusher) != 0) {
        tap_bail("cannot start a thread");
    }
    bool in_time = false;
    while (!in_time && !atomic_load(&flusher.ended)) {
        in_time = flushes(fixture, N) == 4;
        traffic_wait_ms(10);
    }
    traffic_wait_ms(200);
    if (test_is_meta()) { /* libmemcached waits for one server after another */
        tap_ok(in_time && !atomic_load(&flusher.ended),
               "while O hangs, N is emptied twice, in time");
    }
    pthread_join(thread, NULL);
    tap_status(flusher.status, WARMRING_TIMEOUT, "and the call tells of O");
    fixture_continue(fixture, O);
}

static void run_all(void) {
    static const char *const options[] = {"deadline_ms", "10000", "max_deadline_ms", "20000", NULL};
    fixture_t *fixture = fixture_start(2, NULL);
    warmring_t *client = steps_open(fixture_first_servers(fixture, 1), options);
    steps_begin(client, fixture_servers(fixture));
    steps_forward(client, WARMRING_WARMING);
    tap_status(warmring_flush(client, NULL), WARMRING_OK, "a flush in WARMING");
    for (size_t i = 0; i < 2; i++) {
        tap_int(flushes(fixture, i), 2, "empties server %zu twice", i);
    }

    check_hung(fixture, client);
    warmring_close(client);
    fixture_free(fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
