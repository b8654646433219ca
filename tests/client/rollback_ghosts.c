/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies that an earlier ring or a first attempt left on the new owner, step
 * by step and without traffic: whatever phase of the second migration meets a
 * ghost first, and by whatever call, it is not the answer.
 *
 * The old ring is server 0 alone, the new one both: moved keys go from 0 to 1.
 */
#include <string.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

static const warmring_phase_t phases[] = {WARMRING_WARMING, WARMRING_HANDOVER, WARMRING_DRAINING,
                                          WARMRING_CLOSING, WARMRING_SETTLING};
enum { PHASES = sizeof phases / sizeof phases[0] };

/* No call ends because the machine is slow: a copy that is given up leaves a
 * stub, which is not what is looked for here. */
static const char *const options[] = {"deadline_ms", "60000", "max_deadline_ms", "60000", NULL};

/* ---- keys ---------------------------------------------------------------------- */

/* One moved key for each phase that meets it first and each reader. */
typedef struct {
    char key[PHASES][READ_WAYS][CALLS_KEY_SIZE];
} keys_t;

static void choose_keys(warmring_t *client, const char *name, keys_t *keys) {
    unsigned next = 0;
    for (size_t i = 0; i < PHASES * READ_WAYS; i++) {
        choose_key(client, name, true, &next, keys->key[i / READ_WAYS][i % READ_WAYS]);
    }
}

static void set_all(warmring_t *client, const keys_t *keys, const char *value) {
    for (size_t i = 0; i < PHASES * READ_WAYS; i++) {
        const char *key = keys->key[i / READ_WAYS][i % READ_WAYS];
        if (store_key(client, key, value) != WARMRING_OK) {
            tap_bail("set %s: %s", key, warmring_error_detail());
        }
    }
}

static void delete_all(warmring_t *client, const keys_t *keys) {
    for (size_t i = 0; i < PHASES * READ_WAYS; i++) {
        const char *key = keys->key[i / READ_WAYS][i % READ_WAYS];
        if (erase_key(client, key) != WARMRING_OK) {
            tap_bail("delete %s: %s", key, warmring_error_detail());
        }
    }
}

static void read_all(warmring_t *client, const keys_t *keys) {
    for (size_t i = 0; i < PHASES * READ_WAYS; i++) {
        (void)read_key(client, keys->key[i / READ_WAYS][i % READ_WAYS]);
    }
}

/* ---- the second migration --------------------------------------------------------- */

typedef struct {
    fixture_t *fixture;
    warmring_t *client;
    const char *before, *after; /* of the second migration */
    size_t gainer;              /* the new owner of moved keys */
} plan_t;

/* Reads one key: `value` (NULL: none) or, where the phase has no way to it, a
 * miss; never the ghost. */
static void meet(const plan_t *plan, const char *key, size_t reader, const char *value,
                 const char *what) {
    warmring_phase_t phase = steps_phase(plan->client);
    bool falls_back = phase < WARMRING_CLOSING;
    answer_t answer = read_ways[reader].call(plan->client, key, 0);
    const char *expected = falls_back ? value : NULL;
    tap_string(shown(&answer), expected, "%s: first met in %s by %s", what,
               warmring_phase_name(phase), read_ways[reader].name);
    raw_holds(plan->fixture, plan->gainer, key, expected, "after it");
}

/* Migrates to the end, while each phase meets its own keys; `value` is what
 * the old owner holds. */
static void migrate_over_ghosts(const plan_t *plan, const keys_t *keys, const char *value,
                                const char *what) {
    steps_begin(plan->client, plan->after);
    for (size_t i = 0; i < PHASES; i++) {
        steps_forward(plan->client, phases[i]);
        for (size_t reader = 0; reader < READ_WAYS; reader++) {
            const char *key = keys->key[i][reader];
            raw_holds(plan->fixture, plan->gainer, key, "ghost", "before it");
            meet(plan, key, reader, value, what);
        }
    }
    steps_forward(plan->client, WARMRING_STABLE);
    for (size_t i = 0; i < PHASES * READ_WAYS; i++) {
        const char *key = keys->key[i / READ_WAYS][i % READ_WAYS];
        bool copied = value != NULL && phases[i / READ_WAYS] < WARMRING_CLOSING;
        answer_t answer = read_key(plan->client, key);
        tap_string(shown(&answer), copied ? value : NULL, "%s: in the end, met in %s", what,
                   warmring_phase_name(phases[i / READ_WAYS]));
    }
}

/* ---- where ghosts come from --------------------------------------------------------- */

static void start(plan_t *plan, const char *name, keys_t *keys) {
    fixture_flush(plan->fixture);
    plan->client = steps_open(plan->before, options);
    steps_begin(plan->client, plan->after);
    choose_keys(plan->client, name, keys);
}

/* Stored in DRAINING, on the new owner, then rolled back. */
static void test_stored_in_draining(plan_t plan, bool deleted) {
    keys_t keys;
    start(&plan, deleted ? "drained-deleted" : "drained", &keys);
    steps_forward(plan.client, WARMRING_DRAINING);
    set_all(plan.client, &keys, "ghost");
    steps_back(plan.client);
    set_all(plan.client, &keys, "present");
    if (deleted) {
        delete_all(plan.client, &keys);
    }
    migrate_over_ghosts(&plan, &keys, deleted ? NULL : "present",
                        deleted ? "stored in DRAINING, rolled back, deleted"
                                : "stored in DRAINING, rolled back, overwritten");
    warmring_close(plan.client);
}

/* Copied in WARMING, then rolled back. */
static void test_copied_in_warming(plan_t plan) {
    keys_t keys;
    start(&plan, "copied", &keys);
    steps_forward(plan.client, WARMRING_WARMING);
    set_all(plan.client, &keys, "ghost");
    read_all(plan.client, &keys);
    steps_back(plan.client);
    set_all(plan.client, &keys, "present");
    migrate_over_ghosts(&plan, &keys, "present", "copied in WARMING, rolled back, overwritten");
    warmring_close(plan.client);
}

/* There and back: what the first owner kept when the keys went away. */
static void test_there_and_back(plan_t plan) {
    keys_t keys;
    start(&plan, "returned", &keys);
    set_all(plan.client, &keys, "ghost");
    steps_forward(plan.client, WARMRING_DRAINING);
    read_all(plan.client, &keys);
    steps_forward(plan.client, WARMRING_STABLE);
    set_all(plan.client, &keys, "present");
    plan_t back = plan;
    back.before = plan.after;
    back.after = plan.before;
    back.gainer = 1 - plan.gainer;
    migrate_over_ghosts(&back, &keys, "present", "there and back");
    warmring_close(plan.client);
}

/* Weights there and back, and nobody reads or writes the keys in between: what
 * their owner kept may be as old as it likes. */
static void test_untouched(plan_t plan) {
    char light[160], heavy[160];
    snprintf(light, sizeof light, "%s:1,%s:1", fixture_address(plan.fixture, 0),
             fixture_address(plan.fixture, 1));
    snprintf(heavy, sizeof heavy, "%s:1,%s:3", fixture_address(plan.fixture, 0),
             fixture_address(plan.fixture, 1));
    keys_t keys;
    plan.before = light;
    plan.after = heavy;
    start(&plan, "untouched", &keys);
    set_all(plan.client, &keys, "ghost");
    steps_forward(plan.client, WARMRING_STABLE);
    plan_t back = plan;
    back.before = heavy;
    back.after = light;
    back.gainer = 1 - plan.gainer;
    migrate_over_ghosts(&back, &keys, NULL, "weights there and back");
    warmring_close(plan.client);
}

/* A server that was restarted counts anew: what it holds then is no ghost,
 * however low its CAS value. */
static void test_restarted(plan_t plan) {
    keys_t keys;
    start(&plan, "restarted", &keys);
    for (int i = 0; i < 100; i++) {
        raw_store(plan.fixture, plan.gainer, "counted", 0, 0, "up");
    }
    steps_back(plan.client);
    steps_begin(plan.client, plan.after);
    steps_forward(plan.client, WARMRING_DRAINING);
    fixture_restart(plan.fixture, plan.gainer);
    set_all(plan.client, &keys, "present");
    for (size_t reader = 0; reader < READ_WAYS; reader++) {
        meet(&plan, keys.key[0][reader], reader, "present", "stored after a restart");
    }
    warmring_close(plan.client);
}

static void run_all(void) {
    fixture_t *fixture = fixture_start(2, NULL);
    char before[64];
    snprintf(before, sizeof before, "%s", fixture_address(fixture, 0));
    plan_t plan = {
        .fixture = fixture, .before = before, .after = fixture_servers(fixture), .gainer = 1};
    test_stored_in_draining(plan, false);
    test_stored_in_draining(plan, true);
    test_copied_in_warming(plan);
    test_there_and_back(plan);
    test_untouched(plan);
    test_restarted(plan);
    fixture_free(fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
