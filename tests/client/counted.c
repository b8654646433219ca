/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client counts of its reads, phase by phase, beside what the calls
 * answered: each key that is read ends as a hit, a miss, refused or an error,
 * and `reads` is all of them, whichever call it was.
 */
#include <stdio.h>
#include <string.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { SERVERS = 3, KEYS = 120, STORED = 80 }; /* the rest are never there */

static const char *const options[] = {"failure_limit", "1000000", NULL};

static char text[KEYS][24];
static warmring_bytes_t keys[KEYS];

static void make_keys(void) {
    for (size_t i = 0; i < KEYS; i++) {
        int length = snprintf(text[i], sizeof text[i], "counted-%zu", i);
        keys[i] = (warmring_bytes_t){text[i], (size_t)length};
    }
}

/* How keys ended: what the calls said, or what was counted. */
typedef struct {
    int64_t reads, hits, misses, refused, errors;
} ends_t;

static ends_t counted(warmring_t *client) {
    warmring_snapshot_t *snapshot = NULL;
    warmring_counters_t of = {.size = sizeof of};
    if (warmring_snapshot_create(client, &snapshot) != WARMRING_OK ||
        warmring_snapshot_client(snapshot, (int)steps_phase(client), &of) != WARMRING_OK) {
        tap_bail("no counters: %s", warmring_error_detail());
    }
    warmring_snapshot_free(snapshot);
    return (ends_t){(int64_t)of.reads, (int64_t)(of.hits_old + of.hits_new), (int64_t)of.misses,
                    (int64_t)of.try_again, (int64_t)of.read_errors};
}

static void note(ends_t *ends, warmring_status_t status) {
    ends->reads++;
    ends->hits += status == WARMRING_OK;
    ends->misses += status == WARMRING_NOT_FOUND;
    ends->refused += status == WARMRING_TRY_AGAIN;
    ends->errors +=
        status != WARMRING_NOT_FOUND && status != WARMRING_TRY_AGAIN && status != WARMRING_OK;
}

/* Every key by every call. */
static ends_t read_all(warmring_t *client, uint32_t mode) {
    ends_t ends = {0};
    char buffer[16];
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_call_t call = WARMRING_CALL_INIT;
    warmring_results_t *results = warmring_results_create();
    call.mode = mode;
    for (size_t i = 0; i < KEYS; i++) {
        note(&ends, warmring_get(client, keys[i].data, keys[i].length, &item, &call));
        note(&ends, warmring_get_into(client, keys[i].data, keys[i].length, buffer, sizeof buffer,
                                      &item, &call));
    }
    warmring_status_t status = warmring_get_multi(client, keys, KEYS, results, &call);
    for (size_t i = 0; i < warmring_results_count(results); i++) {
        note(&ends, warmring_results_at(results, i)->status);
    }
    tap_ok(warmring_results_count(results) == KEYS, "all keys have a result, %s",
           warmring_status_name(status));
    warmring_item_clear(&item);
    warmring_results_free(results);
    return ends;
}

static ends_t check(warmring_t *client, uint32_t mode, const char *name) {
    ends_t before = counted(client);
    ends_t told = read_all(client, mode);
    ends_t now = counted(client);
    tap_int(now.reads - before.reads, 3 * KEYS, "%s: reads", name);
    tap_int(now.hits - before.hits, told.hits, "%s: hits", name);
    tap_int(now.misses - before.misses, told.misses, "%s: misses", name);
    tap_int(now.refused - before.refused, told.refused, "%s: refused", name);
    tap_int(now.errors - before.errors, told.errors, "%s: errors", name);
    return told;
}

static void check_stored(warmring_t *client, const char *name) {
    ends_t told = check(client, 0, name);
    tap_int(told.hits, 3 * STORED, "%s: all that is stored is found", name);
    tap_int(told.misses, 3 * (KEYS - STORED), "%s: and nothing else", name);
}

static void check_phases(warmring_t *client) {
    for (int phase = WARMRING_WARMING; phase <= WARMRING_SETTLING; phase++) {
        const char *name = warmring_phase_name((warmring_phase_t)phase);
        steps_forward(client, (warmring_phase_t)phase);
        check_stored(client, name);
        ends_t told = check(client, WARMRING_FOR_CAS, name);
        tap_ok((told.refused > 0) == (phase == WARMRING_HANDOVER), "%s: reads for cas are %s", name,
               phase == WARMRING_HANDOVER ? "refused" : "answered");
    }
}

static void run(void) {
    fixture_t *fixture = fixture_start(SERVERS, NULL);
    warmring_t *client = steps_open(fixture_first_servers(fixture, SERVERS - 1), options);
    for (size_t i = 0; i < STORED; i++) {
        store_key(client, text[i], "value");
    }
    check_stored(client, "STABLE");
    steps_begin(client, fixture_servers(fixture));
    check_phases(client);
    fixture_kill(fixture, 0);
    ends_t told = check(client, 0, "a server is gone");
    tap_ok(told.errors > 0 && told.hits > 0, "which some keys notice");
    warmring_close(client);
    fixture_free(fixture);
}

int main(void) {
    make_keys();
    test_transports(run);
    return tap_done();
}
