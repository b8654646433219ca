/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What takes time: rollouts that grow on a ramp, and rings too large to be
 * built by a call.
 */
#include <stdio.h>
#include <string.h>

#include "tests/fleet/support.h"
#include "tests/lib/calls.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { KEYS = 300, RAMP_S = 3, SECOND = 1000, LARGE = 60000 };

static fleet_t *fleet;
static warmring_t *client;

/* ---- ramps -------------------------------------------------------------------------- */

/* The share of moved keys that are looked for at the new owner first; there is
 * none of them anywhere, so each of these falls back. */
static double share_rolled_in(void) {
    char key[16];
    unsigned moved = 0;
    uint64_t before = fleet_counters(client).fallbacks;
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "key%u", i);
        if (warmring_topology_moved(fleet->file->topology, key, strlen(key))) {
            moved++;
            (void)read_key(client, key);
        }
    }
    return (double)(fleet_counters(client).fallbacks - before) / moved;
}

static void check_ramp(void) {
    fleet = fleet_start(2, 1, 60);
    client = fleet_open(fleet, NULL);
    fleet_begin(fleet, fixture_servers(fleet->fixture));
    fleet_step(fleet, WARMRING_WARM);
    fleet_await(client, warmring_topology_epoch(fleet->file->topology));
    tap_near(share_rolled_in(), 0, 0, "no key at first");
    fleet_rollout(fleet, WARMRING_ROLLOUT_ALL, RAMP_S);
    uint64_t epoch = warmring_topology_epoch(fleet->file->topology);
    fleet_await(client, epoch);
    double last = 0;
    bool grows = true;
    bool between = false;
    int64_t ends = warmring_file_since(fleet->file) + RAMP_S * SECOND;
    while (fleet_now_ms() < ends + 2 * SECOND && last < 1) {
        double share = share_rolled_in();
        grows = grows && share > last - 1e-9; /* registers may hold more digits than memory */
        between = between || (share > 0.1 && share < 0.9);
        last = share;
        fleet_sleep_ms(50);
    }
    tap_ok(grows, "the share of keys grows");
    tap_ok(between, "and is somewhere in between meanwhile");
    tap_near(last, 1, 0, "all of them in the end");
    tap_int((int64_t)fleet_epoch(client), (int64_t)epoch, "with the same file");
    tap_int((int64_t)fleet_counters(client).reloads, 2, "that was read once");
    warmring_close(client);
    fleet_free(fleet);
}

/* Each site has its own rollout. */
static void check_scopes(void) {
    static const char *const scope[] = {"scope", "north", NULL};
    fleet = fleet_start(2, 1, 60);
    fleet_begin(fleet, fixture_servers(fleet->fixture));
    fleet_step(fleet, WARMRING_WARM);
    warmring_file_t *next = NULL;
    if (warmring_file_rollout(fleet->file, "north", WARMRING_ROLLOUT_ALL, 0, fleet_now_ms(),
                              &next) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    client = fleet_open(fleet, scope);
    fleet_put(fleet, next);
    fleet_await(client, warmring_topology_epoch(next->topology));
    tap_near(share_rolled_in(), 1, 0, "all keys, for the site named");
    warmring_close(client);
    client = fleet_open(fleet, NULL);
    tap_near(share_rolled_in(), 0, 0, "none for others");
    warmring_close(client);
    fleet_free(fleet);
}

/* ---- large rings --------------------------------------------------------------------- */

/* A file whose next ring has more than 100,000 points. */
static warmring_topology_t *large_topology(void) {
    warmring_topology_t *topology = NULL;
    if (warmring_topology_parse(&topology, fixture_servers(fleet->fixture), NULL, LARGE) !=
        WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    return topology;
}

static void put_large_edit(void) {
    warmring_topology_t *large = large_topology();
    warmring_file_t *next = NULL;
    if (warmring_file_edit(fleet->file, large, fleet_now_ms(), &next) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    warmring_topology_release(large);
    fleet_put(fleet, next);
}

static warmring_status_t call_for_ms(unsigned milliseconds) {
    unsigned began = fleet_clock_ms();
    warmring_status_t status = WARMRING_OK;
    while (status == WARMRING_OK && fleet_clock_ms() - began < milliseconds) {
        status = store_key(client, "key", "value");
        fleet_sleep_ms(10);
    }
    return status;
}

static void check_large_edit(void) {
    fleet = fleet_start(2, 2, 1);
    client = fleet_open(fleet, NULL);
    put_large_edit();
    tap_status(call_for_ms(3 * SECOND), WARMRING_TOPOLOGY_STALE,
               "a large ring in place of another: no longer than the lag");
    tap_contains(warmring_error_detail(), "warmring_tick", "the text says what to do");
    tap_int((int64_t)fleet_epoch(client), 1, "it was not built by a call");
    tap_status(warmring_tick(client, 100), WARMRING_OK, "a tick");
    tap_int((int64_t)fleet_epoch(client), 2, "builds it");
    tap_status(call_for_ms(SECOND), WARMRING_OK, "calls go on");
    warmring_close(client);

    client = fleet_open(fleet, NULL);
    tap_int((int64_t)fleet_epoch(client), 2, "opening builds it, too");
    tap_status(call_for_ms(SECOND), WARMRING_OK, "and calls go on");
    warmring_close(client);
    fleet_free(fleet);
}

static void check_large_step(void) {
    fleet = fleet_start(2, 2, 1);
    client = fleet_open(fleet, NULL);
    warmring_topology_t *large = large_topology();
    fleet_begin_to(fleet, large);
    warmring_topology_release(large);
    tap_status(call_for_ms(3 * SECOND), WARMRING_OK,
               "a large ring in PREPARED: the old topology stays in force");
    tap_int((int64_t)fleet_epoch(client), 1, "it was not built by a call");
    fleet_step(fleet, WARMRING_WARM);
    tap_status(call_for_ms(3 * SECOND), WARMRING_TOPOLOGY_STALE, "but not in the phase after it");
    tap_status(warmring_tick(client, 100), WARMRING_OK, "a tick");
    tap_int((int64_t)fleet_epoch(client), 3, "builds it");
    fleet_step(fleet, WARMRING_COMMIT);
    fleet_await(client, 4);
    tap_status(call_for_ms(SECOND), WARMRING_OK, "the next step builds nothing");
    warmring_close(client);
    fleet_free(fleet);
}

static void check_thread(void) {
    static const char *const thread[] = {"reload_thread", "1", NULL};
    fleet = fleet_start(2, 2, 60);
    client = fleet_open(fleet, thread);
    put_large_edit();
    unsigned began = fleet_clock_ms();
    while (fleet_epoch(client) != 2 && fleet_clock_ms() - began < 10 * SECOND) {
        fleet_sleep_ms(20);
    }
    tap_int((int64_t)fleet_epoch(client), 2, "a thread builds it, without any call");
    tap_status(call_for_ms(SECOND), WARMRING_OK, "calls go on");
    warmring_close(client);
    fleet_free(fleet);
}

int main(void) {
    check_ramp();
    check_scopes();
    check_large_edit();
    check_large_step();
    check_thread();
    return tap_done();
}
