/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sweeps of real servers: of thousands of items that lie everywhere, exactly
 * those go that nobody can read again. What these are is worked out here from
 * both rings and from when each item was stored.
 *
 * Each server holds every key, as no cluster does. A third of them are stored
 * again after the watermarks were taken.
 */
#include "operator_support.h"

enum { SERVERS = 3, KEYS = 1500 };

static fixture_t *servers;
static char rings[2][256];

static void key_of(size_t number, char key[64]) {
    static const char *const heads[] = {"key:", "p:", "\xc3\xbc%20=?&", "a+b/"};
    snprintf(key, 64, "%s%zu", heads[number % 4], number);
}

static bool is_late(size_t number) {
    return number % 3 == 0;
}

/* Stores keys on all servers with one connection's worth of commands each. */
static void store_all(bool late_only) {
    size_t room = KEYS * 128;
    char *commands = malloc(room), *reply = malloc(room);
    if (commands == NULL || reply == NULL) {
        tap_bail("no memory");
    }
    size_t used = 0;
    for (size_t i = 0; i < KEYS; i++) {
        char key[64];
        key_of(i, key);
        if (!late_only || is_late(i)) {
            used += (size_t)snprintf(commands + used, room - used, "ms %s 1 q\r\nx\r\n", key);
        }
    }
    snprintf(commands + used, room - used, "mn\r\n");
    for (size_t s = 0; s < SERVERS; s++) {
        fixture_raw(servers, s, commands, "MN\r\n", reply, room);
        if (strcmp(reply, "MN\r\n") != 0) {
            tap_bail("stores: %.100s", reply);
        }
    }
    free(commands);
    free(reply);
}

/* Which of the keys server `index` has, one after the other. */
static void look_all(size_t index, bool present[KEYS]) {
    size_t room = KEYS * 128;
    char *commands = malloc(room), *reply = malloc(room);
    size_t used = 0;
    if (commands == NULL || reply == NULL) {
        tap_bail("no memory");
    }
    for (size_t i = 0; i < KEYS; i++) {
        char key[64];
        key_of(i, key);
        used += (size_t)snprintf(commands + used, room - used, "mg %s s\r\n", key);
    }
    snprintf(commands + used, room - used, "mn\r\n");
    fixture_raw(servers, index, commands, "MN\r\n", reply, room);
    const char *line = reply;
    for (size_t i = 0; i < KEYS; i++, line = strchr(line, '\n') + 1) {
        present[i] = strncmp(line, "HD ", 3) == 0;
    }
    free(commands);
    free(reply);
}

/* ---- the truth -------------------------------------------------------------------- */

static const char *owner(const warmring_file_t *file, warmring_side_t side, const char *key) {
    const warmring_topology_t *topology = warmring_file_topology(file);
    const warmring_ring_t *ring = warmring_topology_ring(topology, side);
    return warmring_topology_label(topology, side, warmring_ring_locate(ring, key, strlen(key)));
}

/* Whether nobody can read this item again, as the design has it. */
static bool is_lost(const warmring_file_t *file, size_t index, size_t number) {
    char key[64];
    key_of(number, key);
    const char *here = fixture_address(servers, index);
    const char *before = owner(file, WARMRING_OLD_RING, key);
    if (phase_of(file) == WARMRING_STABLE) {
        return strcmp(before, here) != 0;
    }
    const char *after = owner(file, WARMRING_NEW_RING, key);
    bool moved = strcmp(before, after) != 0;
    bool ghost = moved && strcmp(after, here) == 0;
    bool nowhere = strcmp(before, here) != 0 && strcmp(after, here) != 0;
    bool left = phase_of(file) == WARMRING_SETTLING && moved && strcmp(before, here) == 0;
    return !is_late(number) && (ghost || nowhere || left);
}

static size_t lost_on(const warmring_file_t *file, size_t index, const char *prefix) {
    size_t count = 0;
    for (size_t i = 0; i < KEYS; i++) {
        char key[64];
        key_of(i, key);
        count += strncmp(key, prefix, strlen(prefix)) == 0 && is_lost(file, index, i);
    }
    return count;
}

/* ---- checks ------------------------------------------------------------------------ */

static warmring_status_t sweep(const warmring_file_t *file, size_t index,
                               const warmring_sweep_t *how, warmring_sweep_counts_t *counts) {
    warmring_options_t *options = test_options();
    warmring_status_t status = warmring_fleet_sweep(file, index, how, options, 5000, counts);
    warmring_options_free(options);
    return status;
}

/* The server's place in the file. */
static size_t place_of(const warmring_file_t *file, size_t index) {
    warmring_file_server_t server = {.size = sizeof server};
    for (size_t i = 0; warmring_file_server(file, i, &server) == WARMRING_OK; i++) {
        if (strcmp(server.label, fixture_address(servers, index)) == 0) {
            return i;
        }
    }
    tap_bail("server %zu is not in the file", index);
}

/* Every key is there unless it is lost (and begins with `prefix`). */
static void check_left(const warmring_file_t *file, size_t index, const char *prefix, bool swept) {
    bool present[KEYS];
    size_t wrong = 0;
    look_all(index, present);
    for (size_t i = 0; i < KEYS; i++) {
        char key[64];
        key_of(i, key);
        bool gone = swept && strncmp(key, prefix, strlen(prefix)) == 0 && is_lost(file, index, i);
        if (present[i] == gone) {
            wrong++;
            tap_note("%s: %s", key, present[i] ? "is there" : "is gone");
        }
    }
    tap_int((int64_t)wrong, 0, "%s: every key is %s", warmring_phase_name(phase_of(file)),
            swept ? "there or gone as it should" : "there");
}

static void check_sweep(const warmring_file_t *file, size_t index) {
    const char *phase = warmring_phase_name(phase_of(file));
    warmring_sweep_t how = WARMRING_SWEEP_INIT;
    warmring_sweep_counts_t counts;
    size_t place = place_of(file, index);
    tap_status(sweep(file, place, &how, &counts), WARMRING_OK, "%s: counted", phase);
    tap_int((int64_t)counts.found, (int64_t)lost_on(file, index, ""), "%s: what is lost", phase);
    tap_ok(counts.found > 50, "which is something");
    tap_int((int64_t)counts.removed, 0, "nothing is removed");
    tap_int((int64_t)counts.strange, 1, "a key of blanks is strange");
    tap_int((int64_t)counts.keys, KEYS + 1, "the fleet's own keys do not count");
    check_left(file, index, "", false);
    how.remove = true;
    how.prefix = "p:";
    tap_status(sweep(file, place, &how, &counts), WARMRING_OK, "%s: under a prefix", phase);
    tap_int((int64_t)counts.removed, (int64_t)lost_on(file, index, "p:"), "as many as there are");
    check_left(file, index, "p:", true);
    how.prefix = NULL;
    tap_status(sweep(file, place, &how, &counts), WARMRING_OK, "%s: swept", phase);
    tap_int((int64_t)counts.removed,
            (int64_t)(lost_on(file, index, "") - lost_on(file, index, "p:")), "the rest");
    tap_int((int64_t)counts.changed, 0, "nobody came between");
    check_left(file, index, "", true);
    tap_status(sweep(file, place, &how, &counts), WARMRING_OK, "%s: again", phase);
    tap_int((int64_t)counts.found, 0, "nothing is left");
}

/* A key with a blank, which no text command can have. */
static void store_strange(void) {
    char reply[64];
    for (size_t i = 0; i < SERVERS; i++) {
        fixture_raw(servers, i, "ms Zm9vIGJhcg== 1 b\r\nx\r\n", "\r\n", reply, sizeof reply);
    }
}

/* A migration as far as `steps` steps beyond PREPARED, over servers that hold
 * everything. */
static warmring_file_t *migrate(size_t steps) {
    static const warmring_step_t all[] = {WARMRING_WARM, WARMRING_COMMIT, WARMRING_COMMIT,
                                          WARMRING_FINISH, WARMRING_FINISH};
    fixture_flush(servers);
    store_all(false);
    store_strange();
    warmring_file_t *file = prepare(rings[0], rings[1]);
    store_all(true);
    for (size_t i = 0; i < steps; i++) {
        advance(&file, all[i]);
    }
    if (warmring_fleet_announce(file, NULL, 5000) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    return file;
}

static void test_migration(void) {
    tap_note("transport %s", test_transport());
    for (size_t steps = 0; steps <= 5; steps++) {
        warmring_file_t *file = migrate(steps);
        check_sweep(file, 1);
        if (steps == 1 || steps == 5) {
            check_sweep(file, 2);
        }
        warmring_sweep_t how = WARMRING_SWEEP_INIT;
        warmring_sweep_counts_t counts;
        tap_status(sweep(file, place_of(file, 0), &how, &counts), WARMRING_ILLEGAL_STEP,
                   "a server that leaves");
        tap_contains(warmring_error_detail(), fixture_address(servers, 0), "is told by name");
        warmring_file_free(file);
    }
}

static void test_stable(void) {
    fixture_flush(servers);
    store_all(false);
    store_strange();
    char all[512];
    snprintf(all, sizeof all, "%s", fixture_first_servers(servers, SERVERS));
    warmring_file_t *file = create(all);
    if (warmring_fleet_announce(file, NULL, 5000) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    for (size_t i = 0; i < SERVERS; i++) {
        check_sweep(file, i);
    }
    file->steps = 1;
    warmring_sweep_t how = WARMRING_SWEEP_INIT;
    warmring_sweep_counts_t counts;
    tap_status(sweep(file, 0, &how, &counts), WARMRING_TRY_AGAIN,
               "not while clients may be in the phase before");
    warmring_file_free(file);
}

/* ---- somebody comes between --------------------------------------------------------- */

typedef struct {
    const warmring_file_t *file;
    size_t calls, changed, deleted, kept[KEYS];
} meddler_t;

/* After the first hundred deletions: stores some of the lost ones anew, and
 * deletes some. */
static bool meddle(void *context, const warmring_sweep_counts_t *counts) {
    meddler_t *self = context;
    bool present[KEYS];
    if (++self->calls > 1 || counts->removed == 0) {
        return true;
    }
    look_all(1, present);
    for (size_t i = 0; i < KEYS && self->changed < 10; i++) {
        char key[64];
        key_of(i, key);
        if (present[i] && is_lost(self->file, 1, i)) {
            if (self->deleted < self->changed) {
                raw_delete(servers, 1, key);
                self->deleted++;
            } else {
                raw_store(servers, 1, key, 0, 0, "new");
                self->kept[self->changed++] = i;
            }
        }
    }
    return true;
}

static void test_race(void) {
    warmring_file_t *file = migrate(5);
    meddler_t meddler = {.file = file};
    warmring_sweep_t how = WARMRING_SWEEP_INIT;
    warmring_sweep_counts_t counts;
    how.remove = true;
    how.progress = meddle;
    how.context = &meddler;
    tap_status(sweep(file, place_of(file, 1), &how, &counts), WARMRING_OK, "swept while in use");
    tap_int((int64_t)meddler.changed, 10, "items were stored between list and deletion");
    tap_int((int64_t)counts.changed, (int64_t)(meddler.changed + meddler.deleted),
            "they are counted");
    tap_int((int64_t)(counts.removed + counts.changed), (int64_t)counts.found, "nothing else is");
    for (size_t i = 0; i < meddler.changed; i++) {
        char key[64];
        key_of(meddler.kept[i], key);
        raw_holds(servers, 1, key, "new", "they stay");
    }
    warmring_file_free(file);
}

static bool stop(void *context, const warmring_sweep_counts_t *counts) {
    (void)counts;
    return ++*(int *)context < 2;
}

static void test_stop_and_rate(void) {
    warmring_file_t *file = migrate(5);
    size_t place = place_of(file, 1);
    int calls = 0;
    warmring_sweep_t how = WARMRING_SWEEP_INIT;
    warmring_sweep_counts_t counts;
    how.remove = true;
    how.progress = stop;
    how.context = &calls;
    tap_status(sweep(file, place, &how, &counts), WARMRING_TRY_AGAIN, "stopped");
    size_t lost = lost_on(file, 1, "");
    tap_int((int64_t)counts.removed, 200, "where it was told to");
    how.progress = NULL;
    how.rate = 4000;
    int64_t begun = wall_ms();
    tap_status(sweep(file, place, &how, &counts), WARMRING_OK, "another goes on");
    tap_int((int64_t)counts.removed, (int64_t)lost - 200, "with the rest");
    tap_ok(wall_ms() - begun >= (int64_t)(counts.removed - 100) * 1000 / 4000,
           "not faster than it was allowed");
    check_left(file, 1, "", true);
    warmring_file_free(file);
}

/* ---- refusals --------------------------------------------------------------------------- */

static void test_unhashed(void) {
#if WR_WITH_LIBMEMCACHED
    warmring_topology_t *topology;
    warmring_file_t *file;
    if (warmring_topology_parse(&topology, fixture_first_servers(servers, SERVERS), "modula", 0) !=
            WARMRING_OK ||
        warmring_file_create(&file, topology, &quick, wall_ms()) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    fixture_flush(servers);
    store_all(false);
    warmring_sweep_t how = WARMRING_SWEEP_INIT;
    warmring_sweep_counts_t counts;
    size_t lost = 0;
    how.unhashed = "p:";
    for (size_t i = 1; i < KEYS; i += 4) {
        char key[64];
        key_of(i, key);
        lost += strcmp(owner(file, WARMRING_OLD_RING, key + 2), fixture_address(servers, 0)) != 0;
    }
    tap_status(sweep(file, 0, &how, &counts), WARMRING_OK, "a prefix that is not hashed");
    tap_int((int64_t)counts.found, (int64_t)lost, "is left out of the hash");
    tap_int((int64_t)counts.strange, KEYS - KEYS / 4, "keys without it are strange");
    warmring_file_free(file);
    warmring_topology_release(topology);
#else
    tap_skip("no dialect leaves a prefix out");
#endif
}

static void test_refusals(void) {
    warmring_file_t *file = migrate(5);
    size_t place = place_of(file, 1);
    warmring_sweep_t how = WARMRING_SWEEP_INIT;
    warmring_sweep_counts_t counts;
    tap_status(sweep(file, 9, &how, &counts), WARMRING_BAD_ARGUMENT, "no such server");
    tap_status(sweep(file, place, NULL, &counts), WARMRING_BAD_ARGUMENT, "NULL");
    tap_status(sweep(file, place, &how, NULL), WARMRING_BAD_ARGUMENT, "NULL");
    how.size = 3;
    tap_status(sweep(file, place, &how, &counts), WARMRING_BAD_ARGUMENT, "no size");
    how.size = sizeof how;
    fixture_kill(servers, 1);
    tap_status(sweep(file, place, &how, &counts), WARMRING_CONNECT_FAILED, "a server that is away");
    tap_contains(warmring_error_detail(), fixture_address(servers, 1), "is told by name");
    fixture_restart(servers, 1);
    store_all(false);
    how.remove = true;
    tap_status(sweep(file, place, &how, &counts), WARMRING_OK, "one that was started anew");
    tap_int((int64_t)counts.found, 0, "has nothing of an earlier ring");
    warmring_file_free(file);

    static const char *const without_cas[] = {"-C", NULL};
    static const char *const without_crawler[] = {"-o", "no_lru_crawler", NULL};
    size_t bare = fixture_add(servers, without_cas);
    file = create(fixture_address(servers, bare));
    tap_status(sweep(file, 0, &how, &counts), WARMRING_NOT_SUPPORTED, "a server without CAS");
    warmring_file_free(file);
    bare = fixture_add(servers, without_crawler);
    file = create(fixture_address(servers, bare));
    tap_status(sweep(file, 0, &how, &counts), WARMRING_NOT_SUPPORTED, "one without the crawler");
    tap_contains(warmring_error_detail(), fixture_address(servers, bare), "is told by name");
    warmring_file_free(file);
}

int main(void) {
    servers = fixture_start(SERVERS, NULL);
    snprintf(rings[0], sizeof rings[0], "%s,%s", fixture_address(servers, 0),
             fixture_address(servers, 1));
    snprintf(rings[1], sizeof rings[1], "%s,%s", fixture_address(servers, 1),
             fixture_address(servers, 2));
    test_transports(test_migration);
    test_use_transport("auto");
    test_stable();
    test_race();
    test_stop_and_rate();
    test_unhashed();
    test_refusals();
    fixture_free(servers);
    return tap_done();
}
