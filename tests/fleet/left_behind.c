/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose copy of the file is no longer updated learns from the
 * servers that it was left behind, and asking them never hurts its calls.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fleet/support.h"
#include "tests/lib/calls.h"
#include "tests/lib/raw.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

/* What has to come is waited for as long as a busy machine may take. */
enum { SECOND = 1000, LOOK = 1500, PATIENCE = 12000 };

static fleet_t *fleet;
static char copy[160];

static void start(void) {
    fleet = fleet_start(3, 2, 60);
    snprintf(copy, sizeof copy, "%s/copy.json", fleet->directory);
    fleet_put_text(copy, warmring_file_text(fleet->file));
}

/* Calls for a while; the first status that is not OK, or OK. */
static warmring_status_t call_for_ms(warmring_t *client, const char *key, unsigned milliseconds) {
    unsigned began = fleet_clock_ms();
    warmring_status_t status = WARMRING_OK;
    while (status == WARMRING_OK && fleet_clock_ms() - began < milliseconds) {
        status = store_key(client, key, "value");
        fleet_sleep_ms(5);
    }
    return status;
}

static void check_left_behind(void) {
    static const char *const prefixed[] = {"prefix", "app:", NULL};
    const char *kind = test_transport();
    start();
    fleet_announce(fleet);
    warmring_t *client = fleet_open_copy(copy, NULL);
    tap_status(call_for_ms(client, "key", LOOK), WARMRING_OK, "%s: in step", kind);
    fleet_begin(fleet, fixture_first_servers(fleet->fixture, 3));
    fleet_announce(fleet);
    tap_status(call_for_ms(client, "key", LOOK), WARMRING_OK, "%s: a step behind", kind);
    fleet_step(fleet, WARMRING_WARM);
    fleet_announce(fleet);
    tap_status(call_for_ms(client, "key", PATIENCE), WARMRING_TOPOLOGY_STALE,
               "%s: two steps behind", kind);
    tap_contains(warmring_error_detail(), copy, "%s: the text names the file", kind);
    tap_contains(warmring_error_detail(), "is not updated here", "%s: and says what is wrong",
                 kind);
    tap_contains(warmring_error_detail(), "0 steps", "%s: with its count", kind);
    tap_status(warmring_tick(client, 100), WARMRING_TOPOLOGY_STALE, "%s: tick says so", kind);

    warmring_t *late = fleet_open_copy(copy, prefixed);
    for (int i = 0; i < 5 && store_key(late, "key", "value") == WARMRING_OK; i++) {
        warmring_close(late); /* on a busy machine no server may answer in time */
        late = fleet_open_copy(copy, prefixed);
    }
    tap_status(store_key(late, "key", "value"), WARMRING_TOPOLOGY_STALE,
               "%s: one that starts with the old file is told at its first call, with a prefix too",
               kind);
    fleet_put_text(copy, warmring_file_text(fleet->file));
    fleet_await(client, warmring_topology_epoch(fleet->file->topology));
    fleet_await(late, warmring_topology_epoch(fleet->file->topology));
    tap_status(call_for_ms(client, "key", LOOK), WARMRING_OK, "%s: the copy was updated", kind);
    tap_status(store_key(late, "key", "value"), WARMRING_OK, "%s: for both", kind);
    warmring_close(late);
    warmring_close(client);
    fleet_free(fleet);
}

/* Servers that have lost their counts do not take back what they have told. */
static void check_flushed(void) {
    const char *kind = test_transport();
    char reply[64];
    start();
    fleet_announce(fleet);
    warmring_t *client = fleet_open_copy(copy, NULL);
    fleet_begin(fleet, fixture_first_servers(fleet->fixture, 3));
    fleet_step(fleet, WARMRING_WARM);
    fleet_announce(fleet);
    tap_status(call_for_ms(client, "key", PATIENCE), WARMRING_TOPOLOGY_STALE,
               "%s: two steps behind", kind);
    for (size_t i = 0; i < 3; i++) {
        fixture_raw(fleet->fixture, i, "flush_all\r\n", "OK\r\n", reply, sizeof reply);
    }
    unsigned began = fleet_clock_ms();
    warmring_status_t status = WARMRING_TOPOLOGY_STALE;
    while (status == WARMRING_TOPOLOGY_STALE && fleet_clock_ms() - began < LOOK) {
        status = store_key(client, "key", "value");
        fleet_sleep_ms(20);
    }
    tap_status(status, WARMRING_TOPOLOGY_STALE, "%s: the servers are flushed, and it still is",
               kind);
    fleet_put_text(copy, warmring_file_text(fleet->file));
    fleet_await(client, warmring_topology_epoch(fleet->file->topology));
    tap_status(store_key(client, "key", "value"), WARMRING_OK, "%s: until its copy is updated",
               kind);
    warmring_close(client);
    fleet_free(fleet);
}

/* When no server answered in time, all are asked again at once. */
static void check_all_late(void) {
    const char *kind = test_transport();
    start();
    fleet_announce(fleet);
    warmring_t *client = fleet_open_copy(copy, NULL);
    tap_status(store_key(client, "key", "value"), WARMRING_OK, "%s: all are well", kind);
    fleet_begin(fleet, fixture_first_servers(fleet->fixture, 3));
    fleet_step(fleet, WARMRING_WARM);
    fleet_announce(fleet);
    for (size_t i = 0; i < 3; i++) {
        fixture_stop(fleet->fixture, i);
    }
    fleet_sleep_ms(SECOND + 100);
    (void)!warmring_tick(client, SECOND);
    for (size_t i = 0; i < 3; i++) {
        fixture_continue(fleet->fixture, i);
    }
    tap_status(call_for_ms(client, "key", 2 * LOOK), WARMRING_TOPOLOGY_STALE,
               "%s: all were late once, and soon tell", kind);
    warmring_close(client);
    fleet_free(fleet);
}

/* A count that is wrong counts no more when all servers were told a right one. */
static void check_repaired(void) {
    const char *kind = test_transport();
    char key[64];
    char command[96];
    char reply[64];
    start();
    fleet_announce(fleet);
    warmring_t *client = fleet_open(fleet, NULL);
    snprintf(key, sizeof key, "warmring:%016" PRIx64 ":steps", fleet->file->id);
    raw_store(fleet->fixture, 0, key, 0, 0, "1000");
    tap_status(call_for_ms(client, "key", PATIENCE), WARMRING_TOPOLOGY_STALE,
               "%s: a count out of nowhere", kind);
    snprintf(command, sizeof command, "delete %s\r\n", key);
    fixture_raw(fleet->fixture, 0, command, "DELETED\r\n", reply, sizeof reply);
    fleet_announce(fleet);
    unsigned began = fleet_clock_ms();
    warmring_status_t status = WARMRING_TOPOLOGY_STALE;
    while (status == WARMRING_TOPOLOGY_STALE && fleet_clock_ms() - began < PATIENCE) {
        status = store_key(client, "key", "value");
        fleet_sleep_ms(20);
    }
    tap_status(status, WARMRING_OK, "%s: deleted, and all were told again", kind);
    warmring_close(client);
    fleet_free(fleet);
}

/* The key in `key` is the client's on that server. */
static void find_key(warmring_t *client, size_t server, char key[16]) {
    char address[64] = "";
    for (unsigned i = 0; strcmp(address, fixture_address(fleet->fixture, server)) != 0; i++) {
        snprintf(key, 16, "key%u", i);
        if (warmring_locate(client, key, strlen(key), address, sizeof address, NULL) !=
            WARMRING_OK) {
            tap_bail("locate: %s", warmring_error_detail());
        }
    }
}

/* Counters of one server of the client. */
static warmring_server_counters_t look_at(warmring_t *client, size_t index) {
    warmring_server_counters_t counters = {.size = sizeof counters};
    warmring_snapshot_t *snapshot = NULL;
    if (warmring_snapshot_create(client, &snapshot) != WARMRING_OK ||
        warmring_snapshot_server(snapshot, index, &counters) != WARMRING_OK) {
        tap_bail("snapshot: %s", warmring_error_detail());
    }
    counters.address = counters.name = NULL;
    warmring_snapshot_free(snapshot);
    return counters;
}

static void check_hanging(void) {
    static const char *const strict[] = {"failure_limit", "1", NULL};
    const char *kind = test_transport();
    char key[16];
    char other[16];
    start();
    warmring_t *client = fleet_open(fleet, strict);
    find_key(client, 0, key);
    find_key(client, 1, other);
    tap_status(store_key(client, key, "value"), WARMRING_OK, "%s: all are well", kind);
    fixture_stop(fleet->fixture, 1);
    unsigned began = fleet_clock_ms();
    unsigned longest = 0;
    warmring_status_t status = WARMRING_OK;
    while (status == WARMRING_OK && fleet_clock_ms() - began < 2 * LOOK) {
        unsigned before = fleet_clock_ms();
        status = store_key(client, key, "value");
        unsigned took = fleet_clock_ms() - before;
        longest = took > longest ? took : longest;
        fleet_sleep_ms(5);
    }
    tap_status(status, WARMRING_OK, "%s: another server hangs, calls go on", kind);
    tap_ok(longest <= 100 + tap_slack_ms(), "%s: held up for %u ms at most", kind, longest);
    tap_ok(!look_at(client, 1).down, "%s: it is not held against the server", kind);
    fixture_continue(fleet->fixture, 1);
    tap_status(store_key(client, other, "value"), WARMRING_OK, "%s: which is there again", kind);
    warmring_close(client);
    fleet_free(fleet);
}

static void check_down(void) {
    const char *kind = test_transport();
    char key[16];
    start();
    warmring_t *client = fleet_open_copy(copy, NULL);
    find_key(client, 0, key);
    tap_status(store_key(client, key, "value"), WARMRING_OK, "%s: all are well", kind);
    fixture_kill(fleet->fixture, 1);
    unsigned began = fleet_clock_ms();
    warmring_status_t status = WARMRING_OK;
    while (status == WARMRING_OK && fleet_clock_ms() - began < LOOK) {
        status = store_key(client, key, "value");
        fleet_sleep_ms(5);
    }
    tap_status(status, WARMRING_OK, "%s: another server is down, calls go on", kind);
    char command[128];
    char reply[64];
    snprintf(command, sizeof command, "set warmring:%016" PRIx64 ":steps 0 0 1\r\n2\r\n",
             fleet->file->id);
    fixture_raw(fleet->fixture, 0, command, "STORED\r\n", reply, sizeof reply);
    tap_status(call_for_ms(client, key, PATIENCE), WARMRING_TOPOLOGY_STALE,
               "%s: the others still tell", kind);
    warmring_close(client);
    fleet_free(fleet);
}

static void check_junk(void) {
    static const char *const values[] = {"", "junk", "-1", "12x", "99999999999999999999999999"};
    const char *kind = test_transport();
    char key[64];
    start();
    warmring_t *client = fleet_open(fleet, NULL);
    snprintf(key, sizeof key, "warmring:%016" PRIx64 ":steps", fleet->file->id ^ 1);
    raw_store(fleet->fixture, 0, key, 0, 0, "1000");
    tap_status(call_for_ms(client, "key", LOOK), WARMRING_OK,
               "%s: another fleet's count is not ours", kind);
    snprintf(key, sizeof key, "warmring:%016" PRIx64 ":steps", fleet->file->id);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        raw_store(fleet->fixture, 0, key, 0, 0, values[i]);
        uint64_t before = fleet_counters(client).fence_errors;
        unsigned began = fleet_clock_ms();
        warmring_status_t status = WARMRING_OK;
        while (status == WARMRING_OK && fleet_counters(client).fence_errors == before &&
               fleet_clock_ms() - began < PATIENCE) {
            status = store_key(client, "key", "value");
            fleet_sleep_ms(5);
        }
        tap_status(status, WARMRING_OK, "%s: a count of '%s' is ignored", kind, values[i]);
        tap_ok(fleet_counters(client).fence_errors > before, "%s: and counted", kind);
    }
    warmring_close(client);
    fleet_free(fleet);
}

static void run(void) {
    check_left_behind();
    check_hanging();
    check_down();
    check_junk();
}

int main(void) {
    test_transports(run);
    check_all_late();
    check_flushed();
    check_repaired();
    return tap_done();
}
