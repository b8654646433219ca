/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key alone in a call has a shorter way than a list of keys. In every phase,
 * whatever its owners hold, both must answer the same, count the same and
 * leave the same on the servers.
 */
#include <stdio.h>
#include <string.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { O, N, PLACES };

/* What an owner holds before the call. */
typedef enum { NOTHING, ITEM, STUB, HELD } held_t;
static const char *const held_names[HELD] = {"nothing", "an item", "a stub"};

typedef enum { GET, SET, DELETE, VERBS } verb_t;
static const char *const verb_names[VERBS] = {"get", "set", "delete"};

typedef struct {
    warmring_status_t status;
    char value[CALLS_VALUE_SIZE];
    uint32_t flags;
    bool has_token;
    warmring_counters_t counters; /* what it added to them */
    raw_item_t left[PLACES];
} outcome_t;

typedef struct {
    const fixture_t *fixture;
    warmring_t *client;
    warmring_results_t *results;
    char key[CALLS_KEY_SIZE];
    held_t held[PLACES];
    verb_t verb;
    uint32_t mode;
} trial_t;

static warmring_counters_t look(warmring_t *client) {
    warmring_counters_t counters = {.size = sizeof counters};
    warmring_snapshot_t *snapshot;
    if (warmring_snapshot_create(client, &snapshot) != WARMRING_OK ||
        warmring_snapshot_client(snapshot, -1, &counters) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    warmring_snapshot_free(snapshot);
    return counters;
}

static void lay(const trial_t *trial) {
    for (size_t i = 0; i < PLACES; i++) {
        raw_delete(trial->fixture, i, trial->key);
        if (trial->held[i] == ITEM) {
            raw_store(trial->fixture, i, trial->key, 7, 0, i == O ? "on-o" : "on-n");
        } else if (trial->held[i] == STUB) {
            raw_stub(trial->fixture, i, trial->key, 60);
        }
    }
}

static warmring_item_t run_alone(const trial_t *trial, warmring_item_t *item,
                                 const warmring_call_t *call) {
    const char *key = trial->key;
    if (trial->verb == GET) {
        (void)!warmring_get(trial->client, key, strlen(key), item, call);
    } else if (trial->verb == SET) {
        item->status = warmring_set(trial->client, key, strlen(key), "new", 3, 0, 9, call);
    } else {
        item->status = warmring_delete(trial->client, key, strlen(key), call);
    }
    return *item;
}

static warmring_item_t run_list(const trial_t *trial, const warmring_call_t *call) {
    warmring_bytes_t key = {trial->key, strlen(trial->key)};
    warmring_entry_t entry = {.key = key, .value = {"new", 3}, .flags = 9};
    if (trial->verb == GET) {
        (void)!warmring_get_multi(trial->client, &key, 1, trial->results, call);
    } else if (trial->verb == SET) {
        (void)!warmring_set_multi(trial->client, &entry, 1, trial->results, call);
    } else {
        (void)!warmring_delete_multi(trial->client, &key, 1, trial->results, call);
    }
    return *warmring_results_at(trial->results, 0);
}

static outcome_t run(const trial_t *trial, bool alone) {
    outcome_t outcome;
    warmring_item_t own = WARMRING_ITEM_INIT;
    warmring_call_t call = WARMRING_CALL_INIT;
    call.mode = trial->mode;
    memset(&outcome, 0, sizeof outcome);
    lay(trial);
    warmring_counters_t before = look(trial->client);
    warmring_item_t item = alone ? run_alone(trial, &own, &call) : run_list(trial, &call);
    outcome.counters = look(trial->client);
#define TAKE_BEFORE(name) outcome.counters.name -= before.name;
    WARMRING_CLIENT_COUNTER_LIST(TAKE_BEFORE)
#undef TAKE_BEFORE
    outcome.status = item.status;
    if (trial->verb == GET && item.status == WARMRING_OK) {
        memcpy(outcome.value, item.value.data, item.value.length);
        outcome.flags = item.flags;
        outcome.has_token = item.token.word[0] != 0;
    }
    for (size_t i = 0; i < PLACES; i++) {
        outcome.left[i] = raw_look(trial->fixture, i, trial->key);
    }
    warmring_item_clear(&own);
    return outcome;
}

static bool is_same_item(const raw_item_t *a, const raw_item_t *b) {
    return a->present == b->present &&
           (!a->present || (a->flags == b->flags && a->length == b->length &&
                            memcmp(a->value, b->value, a->length) == 0));
}

static const char *difference(const outcome_t *a, const outcome_t *b) {
    const warmring_counters_t *c = &a->counters;
#define COMPARE(name)                  \
    if (c->name != b->counters.name) { \
        return "the counter " #name;   \
    }
    WARMRING_CLIENT_COUNTER_LIST(COMPARE)
#undef COMPARE
    return a->status != b->status || strcmp(a->value, b->value) != 0 || a->flags != b->flags ||
                   a->has_token != b->has_token
               ? "the answer"
           : !is_same_item(&a->left[O], &b->left[O]) ? "what O has"
           : !is_same_item(&a->left[N], &b->left[N]) ? "what N has"
                                                     : NULL;
}

/* A read ends as one of five counters says. */
static bool adds_up(const trial_t *trial, const warmring_counters_t *c) {
    return c->reads == (trial->verb == GET) && c->writes == (trial->verb != GET) &&
           (trial->verb != GET ||
            c->reads == c->hits_old + c->hits_new + c->misses + c->read_errors + c->try_again);
}

/* Returns whether it held. */
static bool try(const trial_t *trial, const char *phase) {
    outcome_t list = run(trial, false), alone = run(trial, true);
    const char *wrong = difference(&alone, &list);
    wrong = wrong == NULL && !adds_up(trial, &alone.counters) ? "the sum of the counters" : wrong;
    if (wrong != NULL) {
        tap_note("%s differs: %s of %s in %s, mode %u, O has %s, N %s: %s and %s", wrong,
                 verb_names[trial->verb], trial->key, phase, trial->mode,
                 held_names[trial->held[O]], held_names[trial->held[N]],
                 warmring_status_name(alone.status), warmring_status_name(list.status));
    }
    return wrong == NULL;
}

static void test_phase(trial_t *trial, const char *phase, bool moves) {
    static const uint32_t modes[VERBS][3] = {{0, WARMRING_NO_FILL, WARMRING_FOR_CAS}};
    unsigned next = 0, number = 0, held = 0;
    for (int moved = 0; moved <= (int)moves; moved++) {
        choose_key(trial->client, moved ? "moved" : "unmoved", moved, &next, trial->key);
        for (int i = 0; i < VERBS * 3 * HELD * HELD; i++) {
            int mode = i / (HELD * HELD) % 3;
            trial->held[O] = (held_t)(i % HELD);
            trial->held[N] = (held_t)(i / HELD % HELD);
            trial->verb = (verb_t)(i / (HELD * HELD * 3));
            trial->mode = modes[trial->verb][mode];
            if (trial->verb == GET || mode == 0) {
                number++;
                held += try(trial, phase);
            }
        }
    }
    tap_int(held, number, "a key alone and in a list, in phase %s", phase);
}

static void run_all(void) {
    fixture_t *fixture = fixture_start(PLACES, NULL);
    trial_t trial = {.fixture = fixture,
                     .client = steps_open(fixture_address(fixture, O), NULL),
                     .results = warmring_results_create()};
    test_phase(&trial, "STABLE", false);
    steps_begin(trial.client, fixture_servers(fixture));
    for (warmring_phase_t phase = WARMRING_PREPARED; phase <= WARMRING_SETTLING; phase++) {
        steps_forward(trial.client, phase);
        test_phase(&trial, warmring_phase_name(phase), true);
    }
    warmring_results_free(trial.results);
    warmring_close(trial.client);
    fixture_free(fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
