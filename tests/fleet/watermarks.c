/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watermarks of a topology file: clients that open in the middle of a
 * migration know as much as those that were there, a restarted server's items
 * are good, and a deletion that failed here is known everywhere.
 *
 * The old ring is server 0 alone, the new one both: moved keys go from 0 to 1.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/fleet/support.h"
#include "tests/lib/calls.h"
#include "tests/lib/raw.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { GHOSTS = 60, LOOK = 1500, HOLD = 4300, EARLY = 3500, OLDER_S = 4 };

static fleet_t *fleet;

static const char *ghost(unsigned number) {
    static char key[16];
    snprintf(key, sizeof key, "g%u", number);
    return key;
}

/* Copies of an earlier ring on server 1, in PREPARED. */
static void begin_with_ghosts(uint32_t lag_s) {
    fleet = fleet_start(2, 1, lag_s);
    for (unsigned i = 0; i < GHOSTS; i++) {
        raw_store(fleet->fixture, 1, ghost(i), 0, 0, "ghost");
    }
    fleet_begin(fleet, fixture_servers(fleet->fixture));
}

/* The next one that moves, from number *next on. */
static void choose_ghost(unsigned *next, char key[16]) {
    for (;; ++*next) {
        const char *name = ghost(*next);
        if (*next == GHOSTS) {
            tap_bail("not enough keys move");
        }
        if (warmring_topology_moved(fleet->file->topology, name, strlen(name))) {
            memcpy(key, name, strlen(name) + 1);
            ++*next;
            return;
        }
    }
}

static void expect(warmring_t *client, const char *key, const char *value, const char *what) {
    answer_t answer = read_key(client, key);
    tap_string(shown(&answer), value, "%s: %s", test_transport(), what);
}

/* ---- late joiners ---------------------------------------------------------------- */

static void check_late(void) {
    enum { REAL, LOST, FRESH, ADDED, APPENDED, CLOSED, KEYS };
    char key[KEYS][16];
    unsigned next = 0;
    begin_with_ghosts(60);
    for (unsigned i = 0; i < KEYS; i++) {
        choose_ghost(&next, key[i]);
    }
    fleet_step(fleet, WARMRING_WARM);
    fleet_step(fleet, WARMRING_COMMIT);
    fleet_step(fleet, WARMRING_COMMIT);
    raw_store(fleet->fixture, 0, key[REAL], 0, 0, "real");
    warmring_t *first = fleet_open(fleet, NULL);
    tap_status(store_key(first, key[FRESH], "fresh"), WARMRING_OK, "stored in DRAINING");

    warmring_t *late = fleet_open(fleet, NULL);
    expect(late, key[REAL], "real", "joined in DRAINING: the old owner's value, not the ghost");
    expect(late, key[LOST], NULL, "a ghost alone is a miss");
    expect(late, key[FRESH], "fresh", "what was stored is a hit");
    tap_status(warmring_add(late, key[ADDED], strlen(key[ADDED]), "added", 5, 0, 0, NULL),
               WARMRING_OK, "%s: add on a ghost", test_transport());
    tap_status(warmring_append(late, key[APPENDED], strlen(key[APPENDED]), "x", 1, NULL),
               WARMRING_NOT_STORED, "%s: append to a ghost", test_transport());
    tap_ok(fleet_counters(late).ghosts >= 4, "ghosts are counted");
    raw_holds(fleet->fixture, 1, key[LOST], NULL, "the ghost is gone");

    fleet_step(fleet, WARMRING_FINISH);
    fleet_step(fleet, WARMRING_FINISH);
    warmring_t *later = fleet_open(fleet, NULL);
    expect(later, key[CLOSED], NULL, "joined in SETTLING: a ghost is a miss");
    expect(later, key[ADDED], "added", "what was added is a hit");
    expect(later, key[FRESH], "fresh", "and what was stored");
    warmring_close(later);
    warmring_close(late);
    warmring_close(first);
    fleet_free(fleet);
}

/* ---- restarts ----------------------------------------------------------------------- */

/* The counter alone would not tell: it is above the watermark again. */
static void check_restart(void) {
    char key[16];
    char other[16];
    unsigned next = 0;
    begin_with_ghosts(60);
    choose_ghost(&next, key);
    choose_ghost(&next, other);
    fleet_step(fleet, WARMRING_WARM);
    fleet_step(fleet, WARMRING_COMMIT);
    fleet_step(fleet, WARMRING_COMMIT);
    warmring_t *first = fleet_open(fleet, NULL);
    expect(first, other, NULL, "before the restart: a ghost");
    uint64_t born = fleet_stat(fleet, 1, "uptime");
    while (fleet_stat(fleet, 1, "uptime") < born + OLDER_S) {
        fleet_sleep_ms(50);
    }
    fixture_restart(fleet->fixture, 1);
    raw_store(fleet->fixture, 1, key, 0, 0, "good");
    raw_store(fleet->fixture, 1, other, 0, 0, "good too");
    for (unsigned i = 0; i < 2 * GHOSTS; i++) {
        raw_store(fleet->fixture, 1, "filler", 0, 0, "x");
    }
    tap_ok(raw_look(fleet->fixture, 1, key).cas < fleet->file->watermarks[1].cas,
           "the item is below the watermark");
    warmring_t *late = fleet_open(fleet, NULL);
    expect(late, key, "good", "restarted: an item below the watermark is good");
    expect(first, other, "good too", "also to who was there before");
    expect(late, key, "good", "and again");
    warmring_close(late);
    warmring_close(first);
    fleet_free(fleet);
}

/* ---- failed deletions ------------------------------------------------------------------ */

static bool report_is_left(size_t server, const char *key) {
    char seed[24];
    raw_item_t item = raw_look(fleet->fixture, server, key);
    snprintf(seed, sizeof seed, "%016" PRIx64, fleet->file->topology->seed);
    return item.present && strcmp(item.value, seed) == 0;
}

/* Calls that have nothing to do with it, until there is one, or for a while. */
static bool await_report(warmring_t *client, size_t server, const char *key) {
    unsigned began = fleet_clock_ms();
    while (!report_is_left(server, key) && fleet_clock_ms() - began < LOOK) {
        (void)!store_key(client, "other", "value");
        fleet_sleep_ms(20);
    }
    return report_is_left(server, key);
}

/* What has to come may take a busy machine some seconds. */
static bool await_long(warmring_t *client, size_t server, const char *key) {
    bool left = false;
    for (int i = 0; i < 8 && !left; i++) {
        left = await_report(client, server, key);
    }
    return left;
}

static void check_reports(void) {
    const char *kind = test_transport();
    static const char *const options[] = {"deadline_ms", "300", NULL};
    char key[16];
    char report[128];
    unsigned next = 0;
    begin_with_ghosts(1);
    choose_ghost(&next, key);
    raw_delete(fleet->fixture, 1, key);
    fleet_step(fleet, WARMRING_WARM);
    fleet_rollout(fleet, WARMRING_ROLLOUT_ALL, 0);
    snprintf(report, sizeof report, "warmring:%016" PRIx64 ":partial:%s", fleet->file->id,
             fixture_address(fleet->fixture, 1));
    warmring_t *writer = fleet_open(fleet, options);
    warmring_t *reader = fleet_open(fleet, NULL);
    tap_status(store_key(writer, key, "one"), WARMRING_OK, "%s: one", kind);
    expect(reader, key, "one", "is copied");
    raw_holds(fleet->fixture, 1, key, "one", "here it is");
    fixture_stop(fleet->fixture, 1);
    tap_status(store_key(writer, key, "two"), WARMRING_PARTIAL, "%s: two, but the copy stays",
               kind);
    unsigned failed = fleet_clock_ms();
    fixture_continue(fleet->fixture, 1);
    raw_store(fleet->fixture, 1, key, 0, 0, "one"); /* as if the deletion had got lost */

    tap_ok(await_long(writer, 0, report), "%s: the old owner has the report", kind);
    tap_ok(await_long(writer, 1, report), "%s: and the new one", kind);
    int64_t ttl = raw_look(fleet->fixture, 0, report).ttl;
    raw_delete(fleet->fixture, 0, report);
    tap_ok(await_long(writer, 0, report), "%s: it is left again", kind);
    tap_ok(raw_look(fleet->fixture, 0, report).ttl <= ttl, "%s: its life tells the same age", kind);

    while (fleet_clock_ms() - failed < HOLD) {
        (void)!store_key(writer, "other", "value");
        fleet_sleep_ms(20);
    }
    fleet_raise(fleet, 1);
    uint64_t epoch = warmring_topology_epoch(fleet->file->topology);
    fleet_await(reader, epoch);
    fleet_await(writer, epoch);
    expect(reader, key, "two", "the raised watermark tells another client that the copy is old");
    raw_delete(fleet->fixture, 0, report);
    raw_delete(fleet->fixture, 1, report);
    tap_ok(!await_report(writer, 0, report), "%s: no more reports", kind);
    warmring_close(reader);
    warmring_close(writer);
    fleet_free(fleet);
}

/* The operator may have looked for reports as long ago as a client may be
 * behind: a raise says nothing of failures since. */
static void check_early_raise(void) {
    static const char *const options[] = {"deadline_ms", "300", NULL};
    char key[16];
    char report[128];
    unsigned next = 0;
    begin_with_ghosts(60);
    choose_ghost(&next, key);
    fleet_step(fleet, WARMRING_WARM);
    snprintf(report, sizeof report, "warmring:%016" PRIx64 ":partial:%s", fleet->file->id,
             fixture_address(fleet->fixture, 1));
    warmring_t *writer = fleet_open(fleet, options);
    fixture_stop(fleet->fixture, 1);
    tap_status(store_key(writer, key, "one"), WARMRING_PARTIAL, "a deletion fails");
    fixture_continue(fleet->fixture, 1);
    tap_ok(await_long(writer, 0, report), "which is reported");
    fleet_sleep_ms(EARLY);
    fleet_raise(fleet, 1);
    fleet_await(writer, warmring_topology_epoch(fleet->file->topology));
    raw_delete(fleet->fixture, 0, report);
    tap_ok(await_long(writer, 0, report), "also after a raise that may have been decided before");
    warmring_close(writer);
    fleet_free(fleet);
}

static void run(void) {
    check_late();
    check_restart();
    check_reports();
}

int main(void) {
    test_transports(run);
    check_early_raise();
    return tap_done();
}
