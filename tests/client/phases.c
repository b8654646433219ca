/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each phase does to a key, seen from both sides: what a store and a
 * delete leave on which server, that what was stored in one phase is there in
 * all later ones and after a rollback, and that what was deleted stays so.
 *
 * The old ring is server 0 alone, the new one both: moved keys go from 0 (O)
 * to 1 (N), unmoved ones stay on 0.
 */
#include <string.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { O = 0, N = 1, PLACES };

/* Where a migration stands: the phases, STABLE before and after them, and
 * WARMING with and without the key rolled in. */
typedef enum {
    OLD,
    PREPARED,
    WARMING_OUT,
    WARMING_IN,
    HANDOVER,
    DRAINING,
    CLOSING,
    SETTLING,
    NEW,
    STAGES
} stage_t;
static const char *const stage_names[STAGES] = {
    "STABLE on the old ring",
    "PREPARED",
    "WARMING at 0 %",
    "WARMING at 100 %",
    "HANDOVER",
    "DRAINING",
    "CLOSING",
    "SETTLING",
    "STABLE on the new ring",
};

typedef struct {
    fixture_t *fixture;
    char before[64];
    const char *after;
    unsigned next; /* number of the next key */
} plan_t;

/* One stage onward; from the last one there is none. */
static void advance(const plan_t *plan, warmring_t *client, stage_t stage) {
    static const warmring_step_t steps[STAGES] = {
        [PREPARED] = WARMRING_WARM,   [WARMING_IN] = WARMRING_COMMIT, [HANDOVER] = WARMRING_COMMIT,
        [DRAINING] = WARMRING_FINISH, [CLOSING] = WARMRING_FINISH,    [SETTLING] = WARMRING_SETTLE};
    if (stage == OLD) {
        steps_begin(client, plan->after);
    } else if (stage == WARMING_OUT) {
        steps_rollout(client, WARMRING_ROLLOUT_ALL);
    } else {
        steps_take(client, steps[stage]);
    }
}

static warmring_t *client_at(const plan_t *plan, stage_t stage) {
    warmring_t *client = steps_open(plan->before, NULL);
    for (stage_t at = OLD; at < stage; at++) {
        advance(plan, client, at);
    }
    return client;
}

/* A key that the migration to come moves, or does not: asked of a client that
 * is in it. */
static void new_key(plan_t *plan, bool moved, char *key) {
    warmring_t *client = client_at(plan, PREPARED);
    choose_key(client, moved ? "moved" : "unmoved", moved, &plan->next, key);
    warmring_close(client);
}

/* ---- the table: what a write leaves where ---------------------------------------- */

typedef enum { KEEPS, STORES, LOSES } effect_t;

static const struct {
    effect_t store[PLACES], erase[PLACES];
} table[STAGES] = {
    [OLD] = {{STORES, KEEPS}, {LOSES, KEEPS}},
    [PREPARED] = {{STORES, LOSES}, {LOSES, LOSES}},
    [WARMING_OUT] = {{STORES, LOSES}, {LOSES, LOSES}},
    [WARMING_IN] = {{STORES, LOSES}, {LOSES, LOSES}},
    [HANDOVER] = {{LOSES, LOSES}, {LOSES, LOSES}},
    [DRAINING] = {{LOSES, STORES}, {LOSES, LOSES}},
    [CLOSING] = {{LOSES, STORES}, {LOSES, LOSES}},
    [SETTLING] = {{KEEPS, STORES}, {KEEPS, LOSES}},
    [NEW] = {{KEEPS, STORES}, {KEEPS, LOSES}},
};
static const effect_t unmoved_store[PLACES] = {STORES, KEEPS},
                      unmoved_erase[PLACES] = {LOSES, KEEPS};

static void check_effect(const plan_t *plan, const char *key, const effect_t *effect,
                         const char *what) {
    static const char *const before[PLACES] = {"on-o", "on-n"};
    for (size_t i = O; i < PLACES; i++) {
        const char *value = effect[i] == KEEPS ? before[i] : effect[i] == STORES ? "stored" : NULL;
        raw_holds(plan->fixture, i, key, value, what);
    }
}

/* Both servers hold something. */
static void put_both(plan_t *plan, warmring_t *client, bool moved, stage_t stage, char *key) {
    if (stage == OLD || stage == NEW) {
        new_key(plan, moved, key);
    } else {
        choose_key(client, moved ? "moved" : "unmoved", moved, &plan->next, key);
    }
    raw_store(plan->fixture, O, key, 0, 0, "on-o");
    raw_store(plan->fixture, N, key, 0, 0, "on-n");
}

static void test_table_row(plan_t *plan, stage_t stage) {
    char key[CALLS_KEY_SIZE], what[128];
    warmring_t *client = client_at(plan, stage);
    for (int moved = 0; moved < 2; moved++) {
        for (size_t i = 0; i < STORE_WAYS; i++) {
            put_both(plan, client, moved, stage, key);
            snprintf(what, sizeof what, "%s in %s", store_ways[i].name, stage_names[stage]);
            tap_status(store_ways[i].call(client, key, "stored", 77, 0), WARMRING_OK, "%s", what);
            check_effect(plan, key, moved ? table[stage].store : unmoved_store, what);
        }
        for (size_t i = 0; i < ERASE_WAYS; i++) {
            put_both(plan, client, moved, stage, key);
            snprintf(what, sizeof what, "%s in %s", erase_ways[i].name, stage_names[stage]);
            tap_status(erase_ways[i].call(client, key, 0), WARMRING_OK, "%s", what);
            check_effect(plan, key, moved ? table[stage].erase : unmoved_erase, what);
        }
    }
    warmring_close(client);
}

/* A delete finds a key that either server has, where it looks at both. */
static void test_found(plan_t *plan, stage_t stage) {
    char key[CALLS_KEY_SIZE];
    warmring_t *client = client_at(plan, stage);
    for (size_t i = 0; i < ERASE_WAYS; i++) {
        for (size_t place = O; place < PLACES; place++) {
            put_both(plan, client, true, stage, key);
            raw_delete(plan->fixture, 1 - place, key);
            bool found = table[stage].erase[place] == LOSES;
            tap_status(erase_ways[i].call(client, key, 0), found ? WARMRING_OK : WARMRING_NOT_FOUND,
                       "%s of a key on server %zu alone in %s", erase_ways[i].name, place,
                       stage_names[stage]);
        }
        put_both(plan, client, true, stage, key);
        raw_delete(plan->fixture, O, key);
        raw_delete(plan->fixture, N, key);
        tap_status(erase_ways[i].call(client, key, 0), WARMRING_NOT_FOUND, "%s of no key in %s",
                   erase_ways[i].name, stage_names[stage]);
    }
    warmring_close(client);
}

/* ---- what was stored is there ------------------------------------------------------ */

/* Every way to read finds `value` (NULL: nothing). */
static void check_reads(warmring_t *client, char keys[READ_WAYS][CALLS_KEY_SIZE], const char *value,
                        const char *what, stage_t stored, stage_t read) {
    for (size_t i = 0; i < READ_WAYS; i++) {
        answer_t answer = read_ways[i].call(client, keys[i], 0);
        tap_string(shown(&answer), value, "%s in %s, %s in %s", what, stage_names[stored],
                   read_ways[i].name, stage_names[read]);
        if (value != NULL) {
            tap_int(answer.flags, 77, "with its flags");
        }
    }
}

static void new_keys(plan_t *plan, bool moved, char keys[READ_WAYS][CALLS_KEY_SIZE]) {
    for (size_t i = 0; i < READ_WAYS; i++) {
        new_key(plan, moved, keys[i]);
    }
}

static void store_keys(warmring_t *client, char keys[READ_WAYS][CALLS_KEY_SIZE], stage_t stage) {
    for (size_t i = 0; i < READ_WAYS; i++) {
        tap_status(store_ways[i % STORE_WAYS].call(client, keys[i], "stored", 77, 0), WARMRING_OK,
                   "%s in %s", store_ways[i % STORE_WAYS].name, stage_names[stage]);
    }
}

static void test_kept(plan_t *plan, stage_t stored, bool moved) {
    char keys[READ_WAYS][CALLS_KEY_SIZE];
    new_keys(plan, moved, keys);
    warmring_t *client = client_at(plan, stored);
    store_keys(client, keys, stored);
    const char *value = stored == HANDOVER && moved ? NULL : "stored";
    for (stage_t read = stored; read < STAGES; read++) {
        check_reads(client, keys, value, "stored", stored, read);
        if (read < NEW) {
            advance(plan, client, read);
        }
    }
    warmring_close(client);
}

/* Stored in `stored`, which is before HANDOVER, and rolled back from `turn`. */
static void test_kept_in_rollback(plan_t *plan, stage_t stored, stage_t turn) {
    char keys[READ_WAYS][CALLS_KEY_SIZE];
    new_keys(plan, true, keys);
    warmring_t *client = client_at(plan, stored);
    store_keys(client, keys, stored);
    for (stage_t read = stored; read < turn; read++) {
        check_reads(client, keys, "stored", "stored", stored, read);
        advance(plan, client, read);
    }
    while (steps_phase(client) != WARMRING_STABLE) {
        steps_take(client, WARMRING_ROLLBACK);
        for (size_t i = 0; i < READ_WAYS; i++) {
            answer_t answer = read_ways[i].call(client, keys[i], 0);
            tap_string(shown(&answer), "stored", "stored in %s, rolled back from %s: %s in %s",
                       stage_names[stored], stage_names[turn], read_ways[i].name,
                       warmring_phase_name(steps_phase(client)));
        }
    }
    warmring_close(client);
}

/* ---- what was deleted is not --------------------------------------------------------- */

/* Stored on the old ring and copied where the phases between do that, then
 * deleted. */
static warmring_t *client_after_delete(plan_t *plan, stage_t deleted, bool moved,
                                       char keys[READ_WAYS][CALLS_KEY_SIZE]) {
    new_keys(plan, moved, keys);
    warmring_t *client = client_at(plan, OLD);
    store_keys(client, keys, OLD);
    for (stage_t at = OLD; at < deleted; at++) {
        advance(plan, client, at);
        check_reads(client, keys, "stored", "stored", OLD, at + 1);
    }
    for (size_t i = 0; i < READ_WAYS; i++) {
        const erase_way_t *way = &erase_ways[i % ERASE_WAYS];
        tap_status(way->call(client, keys[i], 0), WARMRING_OK, "%s in %s", way->name,
                   stage_names[deleted]);
    }
    return client;
}

static void test_deleted(plan_t *plan, stage_t deleted, bool moved) {
    char keys[READ_WAYS][CALLS_KEY_SIZE];
    warmring_t *client = client_after_delete(plan, deleted, moved, keys);
    for (stage_t read = deleted; read < STAGES; read++) {
        check_reads(client, keys, NULL, "deleted", deleted, read);
        if (read < NEW) {
            advance(plan, client, read);
        }
    }
    warmring_close(client);
}

static void test_deleted_in_rollback(plan_t *plan, stage_t deleted) {
    char keys[READ_WAYS][CALLS_KEY_SIZE];
    warmring_t *client = client_after_delete(plan, deleted, true, keys);
    while (steps_phase(client) != WARMRING_STABLE) {
        steps_take(client, WARMRING_ROLLBACK);
        check_reads(client, keys, NULL, "rolled back, deleted", deleted,
                    steps_phase(client) == WARMRING_HANDOVER   ? HANDOVER
                    : steps_phase(client) == WARMRING_PREPARED ? PREPARED
                                                               : OLD);
    }
    warmring_close(client);
}

static void run_all(void) {
    plan_t plan = {.fixture = fixture_start(PLACES, NULL)};
    snprintf(plan.before, sizeof plan.before, "%s", fixture_address(plan.fixture, O));
    plan.after = fixture_servers(plan.fixture);
    for (stage_t stage = OLD; stage < STAGES; stage++) {
        test_table_row(&plan, stage);
        test_found(&plan, stage);
        test_kept(&plan, stage, true);
        test_kept(&plan, stage, false);
        test_deleted(&plan, stage, true);
        test_deleted(&plan, stage, false);
    }
    for (stage_t stage = OLD; stage <= WARMING_IN; stage++) {
        for (stage_t turn = WARMING_OUT; turn <= CLOSING; turn++) {
            if (stage <= turn) {
                test_kept_in_rollback(&plan, stage, turn);
            }
        }
    }
    for (stage_t deleted = PREPARED; deleted <= CLOSING; deleted++) {
        test_deleted_in_rollback(&plan, deleted);
    }
    fixture_free(plan.fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
