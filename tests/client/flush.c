/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flush in a migration beside a server that hangs: the others are emptied
 * twice all the same, so that no copy that was under way survives there.
 *
 * The old ring is server 0 (O) alone, the new one both.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/fixture.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { O = 0, N = 1, DEADLINE_MS = 600 };

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

    warmring_call_t call = WARMRING_CALL_INIT;
    call.deadline_ms = DEADLINE_MS;
    fixture_stop(fixture, O);
    tap_status(warmring_flush(client, &call), WARMRING_TIMEOUT, "while O hangs it is in vain");
    tap_int(flushes(fixture, N), 4, "but N is emptied twice again");
    fixture_continue(fixture, O);
    warmring_close(client);
    fixture_free(fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
