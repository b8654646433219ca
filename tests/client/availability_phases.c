/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each call answers when one owner of a moved key is dead, phase by
 * phase: reads that can still be answered truly are, others are errors and
 * never misses; writes that cannot be done on both sides say so, and touch
 * nothing once the death is known. Multi calls serve the keys of the living.
 *
 * The old ring is server 0 (O) alone, the new one both: moved keys go to 1 (N).
 */
#include <string.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { O = 0, N = 1 };

/* The first failure marks a server down, for longer than a test. None is a
 * deadline: the dead refuse at once, and the living may be slow. */
static const char *const options[] = {"failure_limit",   "1",           "retry_ms",
                                      "60000",           "deadline_ms", "60000",
                                      "max_deadline_ms", "60000",       NULL};

typedef struct {
    fixture_t *fixture;
    char before[64];
    const char *after;
    warmring_t *client;
    unsigned next;
    char key[CALLS_KEY_SIZE];
} plan_t;

static const char *phase_of(const plan_t *plan) {
    return warmring_phase_name(steps_phase(plan->client));
}

/* A client in `phase` with a moved key; then `server` dies. */
static void prepare(plan_t *plan, warmring_phase_t phase) {
    plan->client = steps_open(plan->before, options);
    steps_begin(plan->client, plan->after);
    steps_forward(plan->client, phase);
    choose_key(plan->client, "dead", true, &plan->next, plan->key);
}

/* Every way to read, twice: the first call meets a death that is not known
 * yet. */
static void check_reads(plan_t *plan, size_t dead, const char *value, const char *what) {
    for (size_t i = 0; i < READ_WAYS; i++) {
        for (int known = 0; known < 2; known++) {
            answer_t answer = read_ways[i].call(plan->client, plan->key, 0);
            if (value != NULL) {
                tap_string(shown(&answer), value, "%s in %s, %s, its death %s", read_ways[i].name,
                           phase_of(plan), what, known ? "known" : "new");
            } else {
                tap_ok(answer.status == WARMRING_SERVER_DOWN ||
                           answer.status == WARMRING_CONNECT_FAILED ||
                           answer.status == WARMRING_CONNECTION_LOST,
                       "%s in %s, %s: no miss but %s", read_ways[i].name, phase_of(plan), what,
                       warmring_status_name(answer.status));
                tap_contains(warmring_error_detail(), fixture_address(plan->fixture, dead),
                             "the text names the server");
            }
        }
    }
}

static void revive(plan_t *plan, size_t dead) {
    warmring_close(plan->client);
    fixture_restart(plan->fixture, dead);
}

/* ---- reads ------------------------------------------------------------------------ */

static void test_read(plan_t *plan, warmring_phase_t phase, size_t dead, const char *on_living,
                      const char *expected) {
    char what[96];
    size_t living = dead == O ? N : O;
    prepare(plan, phase);
    if (on_living != NULL) {
        raw_store(plan->fixture, living, plan->key, 0, 0, on_living);
    }
    fixture_kill(plan->fixture, dead);
    snprintf(what, sizeof what, "%s owner dead, the %s one has %s", dead == O ? "old" : "new",
             living == O ? "old" : "new", on_living != NULL ? on_living : "nothing");
    check_reads(plan, dead, expected, what);
    revive(plan, dead);
}

static void test_reads(plan_t *plan) {
    static const warmring_phase_t filling[] = {WARMRING_WARMING, WARMRING_HANDOVER,
                                               WARMRING_DRAINING};
    for (size_t i = 0; i < sizeof filling / sizeof filling[0]; i++) {
        test_read(plan, filling[i], N, "value", "value");
        test_read(plan, filling[i], O, "value", "value");
        test_read(plan, filling[i], O, NULL, NULL);
    }
    test_read(plan, WARMRING_HANDOVER, N, NULL, NULL);
    test_read(plan, WARMRING_DRAINING, N, NULL, NULL);
    test_read(plan, WARMRING_PREPARED, N, "value", "value");
    test_read(plan, WARMRING_PREPARED, O, "value", NULL);
    test_read(plan, WARMRING_CLOSING, N, "value", NULL);
    test_read(plan, WARMRING_CLOSING, O, "value", "value");
    test_read(plan, WARMRING_SETTLING, O, "value", "value");
}

/* ---- writes ------------------------------------------------------------------------- */

static bool is_fault(warmring_status_t status) {
    return status == WARMRING_PARTIAL || status == WARMRING_SERVER_DOWN ||
           status == WARMRING_CONNECT_FAILED || status == WARMRING_CONNECTION_LOST;
}

/* What a first write does on the living owner is not known to the caller; a
 * second one, when the death is known, does nothing there. */
static void test_write(plan_t *plan, warmring_phase_t phase, size_t dead, bool store) {
    size_t living = dead == O ? N : O;
    prepare(plan, phase);
    fixture_kill(plan->fixture, dead);
    for (int known = 0; known < 2; known++) {
        raw_store(plan->fixture, living, plan->key, 0, 0, "before");
        warmring_status_t status = store ? store_key(plan->client, plan->key, "value")
                                         : erase_key(plan->client, plan->key);
        tap_ok(is_fault(status), "%s in %s, %s owner dead: %s", store ? "set" : "delete",
               phase_of(plan), dead == O ? "old" : "new", warmring_status_name(status));
        if (known) {
            tap_status(status, WARMRING_SERVER_DOWN, "its death is known then");
            raw_holds(plan->fixture, living, plan->key, "before", "nothing was done");
        }
    }
    revive(plan, dead);
}

static void test_writes(plan_t *plan) {
    for (warmring_phase_t phase = WARMRING_PREPARED; phase <= WARMRING_CLOSING; phase++) {
        for (int store = 0; store < 2; store++) {
            test_write(plan, phase, O, store != 0);
            test_write(plan, phase, N, store != 0);
        }
    }
}

/* The old owner dies while there are connections to it, so it may have done what
 * was sent over one of them: the new one must have no copy then, whatever the
 * phase. */
static void test_write_unknown(plan_t *plan, warmring_phase_t phase, bool store) {
    prepare(plan, phase);
    (void)!erase_key(plan->client, plan->key); /* connects to both */
    raw_store(plan->fixture, N, plan->key, 0, 0, "before");
    fixture_kill(plan->fixture, O);
    warmring_status_t status =
        store ? store_key(plan->client, plan->key, "value") : erase_key(plan->client, plan->key);
    tap_status(status, WARMRING_CONNECTION_LOST, "%s in %s, the old owner dies: unknown",
               store ? "set" : "delete", phase_of(plan));
    tap_ok(!raw_look(plan->fixture, N, plan->key).present, "the new one has no copy");
    revive(plan, O);
}

static void test_writes_unknown(plan_t *plan) {
    for (warmring_phase_t phase = WARMRING_PREPARED; phase <= WARMRING_CLOSING; phase++) {
        test_write_unknown(plan, phase, true);
        test_write_unknown(plan, phase, false);
    }
}

/* A server that the key's phase does not write to may be dead. */
static void test_write_alone(plan_t *plan) {
    prepare(plan, WARMRING_SETTLING);
    fixture_kill(plan->fixture, O);
    tap_status(store_key(plan->client, plan->key, "value"), WARMRING_OK,
               "set in SETTLING needs the new owner alone");
    raw_holds(plan->fixture, N, plan->key, "value", "stored");
    revive(plan, O);
}

/* ---- many keys ------------------------------------------------------------------------ */

enum { MANY = 32 };

static void test_multi(plan_t *plan) {
    char keys[MANY][CALLS_KEY_SIZE];
    warmring_bytes_t names[MANY];
    size_t of_dead = 0;
    plan->client = steps_open(plan->after, options);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(keys[i], sizeof keys[i], "many:%zu", i);
        names[i] = (warmring_bytes_t){keys[i], strlen(keys[i])};
        tap_status(store_key(plan->client, keys[i], keys[i]), WARMRING_OK, "%s is stored", keys[i]);
    }
    fixture_kill(plan->fixture, N);
    warmring_results_t *results = warmring_results_create();
    warmring_status_t status = warmring_get_multi(plan->client, names, MANY, results, NULL);
    tap_ok(is_fault(status), "get_multi with a dead server answers %s",
           warmring_status_name(status));
    for (size_t i = 0; i < MANY; i++) {
        char address[128] = "";
        const warmring_item_t *item = warmring_results_at(results, i);
        tap_status(
            warmring_locate(plan->client, keys[i], strlen(keys[i]), address, sizeof address, NULL),
            WARMRING_OK, "locate");
        bool dead = strcmp(address, fixture_address(plan->fixture, N)) == 0;
        of_dead += dead;
        if (dead) {
            tap_status(item->status, status, "a key of the dead server");
        } else {
            tap_bytes(item->value.data, item->value.length, keys[i], strlen(keys[i]),
                      "a key of the living one");
        }
    }
    tap_ok(of_dead > 0 && of_dead < MANY, "%zu of %d keys were the dead server's", of_dead, MANY);
    const char *name = NULL;
    for (size_t i = 0; warmring_results_server(results, i, &name) == WARMRING_OK || name != NULL;
         i++) {
        bool dead = strcmp(name, fixture_address(plan->fixture, N)) == 0;
        tap_status(warmring_results_server(results, i, &name), dead ? status : WARMRING_OK,
                   "the status of %s", name);
    }
    warmring_results_free(results);
    revive(plan, N);
}

/* ---- one that hangs -------------------------------------------------------------------- */

/* A second new owner hangs: keys that have nothing to do with it are served
 * by multi calls, though they need more rounds than its keys get. */
typedef struct {
    char hung[CALLS_KEY_SIZE], well[CALLS_KEY_SIZE];
    warmring_bytes_t keys[2];
} pair_t;

static void choose_pair(plan_t *plan, size_t stopped, pair_t *pair) {
    warmring_topology_t *topology = steps_present(plan->client);
    do {
        choose_key(plan->client, "pair", true, &plan->next, pair->hung);
    } while (steps_owner(topology, WARMRING_NEW_RING, pair->hung) != stopped);
    do {
        choose_key(plan->client, "pair", true, &plan->next, pair->well);
    } while (steps_owner(topology, WARMRING_NEW_RING, pair->well) == stopped);
    warmring_topology_release(topology);
    pair->keys[0] = (warmring_bytes_t){pair->hung, strlen(pair->hung)};
    pair->keys[1] = (warmring_bytes_t){pair->well, strlen(pair->well)};
}

/* One whose old owner is O, and one whose is N. */
static void choose_pair_of_old(plan_t *plan, pair_t *pair) {
    warmring_topology_t *topology = steps_present(plan->client);
    do {
        choose_key(plan->client, "old", true, &plan->next, pair->hung);
    } while (steps_owner(topology, WARMRING_OLD_RING, pair->hung) != O);
    do {
        choose_key(plan->client, "old", true, &plan->next, pair->well);
    } while (steps_owner(topology, WARMRING_OLD_RING, pair->well) != N);
    warmring_topology_release(topology);
    pair->keys[0] = (warmring_bytes_t){pair->hung, strlen(pair->hung)};
    pair->keys[1] = (warmring_bytes_t){pair->well, strlen(pair->well)};
}

/* What the deadline leaves for the others is little where the machine is slow:
 * then they are asked again with twice as much. Where nothing is left for them
 * no deadline helps. */
enum { SHORTEST_MS = 800, LONGEST_MS = 12800 };
static const char *const patient[] = {"failure_limit", "1000000", "max_deadline_ms", "20000", NULL};

typedef bool attempt_t(plan_t *plan, const pair_t *pair, warmring_results_t *results,
                       const warmring_call_t *call);

static bool reads(plan_t *plan, const pair_t *pair, warmring_results_t *results,
                  const warmring_call_t *call) {
    raw_delete(plan->fixture, N, pair->well); /* the stub of another attempt */
    raw_store(plan->fixture, O, pair->well, 0, 0, "value");
    (void)!warmring_get_multi(plan->client, pair->keys, 2, results, call);
    return warmring_results_at(results, 1)->status == WARMRING_OK &&
           strcmp(raw_look(plan->fixture, N, pair->well).value, "value") == 0;
}

static bool stores(plan_t *plan, const pair_t *pair, warmring_results_t *results,
                   const warmring_call_t *call) {
    const warmring_entry_t entries[] = {{pair->keys[0], {"new", 3}, 0, 0},
                                        {pair->keys[1], {"new", 3}, 0, 0}};
    (void)!warmring_set_multi(plan->client, entries, 2, results, call);
    return warmring_results_at(results, 1)->status == WARMRING_OK;
}

static bool erases(plan_t *plan, const pair_t *pair, warmring_results_t *results,
                   const warmring_call_t *call) {
    (void)!warmring_delete_multi(plan->client, pair->keys, 2, results, call);
    warmring_status_t status = warmring_results_at(results, 1)->status;
    return status == WARMRING_OK ||
           (status == WARMRING_NOT_FOUND && call->deadline_ms > SHORTEST_MS);
}

static void check_served(plan_t *plan, const pair_t *pair, attempt_t *attempt, const char *what) {
    warmring_call_t call = WARMRING_CALL_INIT;
    warmring_results_t *results = warmring_results_create();
    bool served = false;
    for (call.deadline_ms = SHORTEST_MS; !served && call.deadline_ms <= LONGEST_MS;
         call.deadline_ms *= 2) {
        served = attempt(plan, pair, results, &call);
        if (!served) {
            tap_note("not with %u ms: %s", call.deadline_ms, warmring_error_detail());
        }
    }
    warmring_results_free(results);
    tap_ok(served, "%s in %s beside a key of a server that hangs", what, phase_of(plan));
}

static void open_patient(plan_t *plan, const char *before, warmring_phase_t phase) {
    plan->client = steps_open(before, patient);
    steps_begin(plan->client, fixture_servers(plan->fixture));
    steps_forward(plan->client, phase);
}

static void connect_both(plan_t *plan, const pair_t *pair) {
    warmring_call_t call = WARMRING_CALL_INIT;
    warmring_results_t *results = warmring_results_create();
    call.deadline_ms = LONGEST_MS;
    tap_ok(stores(plan, pair, results, &call), "connected in %s", phase_of(plan));
    (void)!warmring_get_multi(plan->client, pair->keys, 2, results, &call);
    warmring_results_free(results);
}

static void test_hung(plan_t *plan, size_t stopped, warmring_phase_t phase) {
    pair_t pair;
    open_patient(plan, plan->before, phase);
    choose_pair(plan, stopped, &pair);
    connect_both(plan, &pair);
    fixture_stop(plan->fixture, stopped);
    check_served(plan, &pair, reads, "get_multi with a copy");
    check_served(plan, &pair, stores, "set_multi");
    check_served(plan, &pair, erases, "delete_multi");
    fixture_continue(plan->fixture, stopped);
    warmring_close(plan->client);
}

/* The same when the first round of writes hangs: an old owner is stopped. */
static void test_hung_old(plan_t *plan, warmring_phase_t phase) {
    char before[160];
    pair_t pair;
    snprintf(before, sizeof before, "%s,%s", fixture_address(plan->fixture, O),
             fixture_address(plan->fixture, N));
    open_patient(plan, before, phase);
    choose_pair_of_old(plan, &pair);
    connect_both(plan, &pair);
    fixture_stop(plan->fixture, O);
    check_served(plan, &pair, stores, "set_multi, both moved,");
    fixture_continue(plan->fixture, O);
    warmring_close(plan->client);
}

static void run_all(void) {
    plan_t plan = {.fixture = fixture_start(2, NULL)};
    snprintf(plan.before, sizeof plan.before, "%s", fixture_address(plan.fixture, O));
    plan.after = fixture_servers(plan.fixture);
    test_reads(&plan);
    test_writes(&plan);
    test_writes_unknown(&plan);
    test_write_alone(&plan);
    test_multi(&plan);
    size_t third = fixture_add(plan.fixture, NULL);
    static const warmring_phase_t phases[] = {WARMRING_WARMING, WARMRING_HANDOVER,
                                              WARMRING_DRAINING};
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        if (phases[i] != WARMRING_HANDOVER) {
            test_hung(&plan, third, phases[i]);
        }
        test_hung_old(&plan, phases[i]);
    }
    fixture_free(plan.fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
