/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Things that meet in a migration and are not what it is made for: keys given
 * twice to one call, tokens that outlive a phase, a flush beside a copy,
 * values that the new owner does not take, values of every expiration, groups,
 * prefixes, counters that many begin at once, and a fork in the middle.
 *
 * The old ring is server 0 (O) alone, the new one both: moved keys go to 1 (N).
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/calls.h"
#include "tests/lib/child.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"
#include "tests/lib/transports.h"

enum { O = 0, N = 1, THREADS = 8 };

static const char *const options[] = {"deadline_ms", "10000", "max_deadline_ms", "10000", NULL};

typedef struct {
    fixture_t *fixture;
    warmring_t *client;
    unsigned next;
} plan_t;

static const char *phase_of(const plan_t *plan) {
    return warmring_phase_name(steps_phase(plan->client));
}

static void open_plan(plan_t *plan, const char *const *with) {
    plan->client = steps_open(fixture_address(plan->fixture, O), with);
    plan->next = 0;
    steps_begin(plan->client, fixture_servers(plan->fixture));
}

static void close_plan(plan_t *plan) {
    warmring_close(plan->client);
    fixture_flush(plan->fixture);
}

static void moved_key(plan_t *plan, const char *name, char *key) {
    choose_key(plan->client, name, true, &plan->next, key);
}

/* ---- one key twice in a call ---------------------------------------------------- */

static void check_twice(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    moved_key(plan, "twice", key);
    const warmring_bytes_t name = {key, strlen(key)};
    const warmring_bytes_t keys[] = {name, name, name};
    const warmring_entry_t entries[] = {{name, {"1", 1}, 0, 0}, {name, {"22", 2}, 0, 0}};
    warmring_phase_t phase = steps_phase(plan->client);
    warmring_results_t *results = warmring_results_create();

    raw_store(plan->fixture, phase < WARMRING_CLOSING ? O : N, key, 0, 0, "value");
    tap_status(warmring_get_multi(plan->client, keys, 3, results, NULL), WARMRING_OK,
               "get_multi of a key three times in %s", phase_of(plan));
    for (size_t i = 0; i < 3; i++) {
        const warmring_item_t *item = warmring_results_at(results, i);
        tap_bytes(item->value.data, item->value.length, "value", 5, "number %zu", i);
    }
    tap_status(warmring_set_multi(plan->client, entries, 2, results, NULL), WARMRING_OK,
               "set_multi of a key twice");
    answer_t answer = read_key(plan->client, key);
    tap_string(shown(&answer), phase == WARMRING_HANDOVER ? NULL : "22", "the last one stays");
    tap_status(store_key(plan->client, key, "value"), WARMRING_OK, "set");
    (void)!warmring_delete_multi(plan->client, keys, 3, results, NULL);
    answer = read_key(plan->client, key);
    tap_string(shown(&answer), NULL, "delete_multi of it three times");
    warmring_results_free(results);
}

static void test_twice(plan_t *plan) {
    open_plan(plan, options);
    for (warmring_phase_t phase = WARMRING_PREPARED; phase <= WARMRING_SETTLING; phase++) {
        steps_forward(plan->client, phase);
        check_twice(plan);
    }
    close_plan(plan);
}

/* ---- tokens ---------------------------------------------------------------------- */

/* A token of one phase stores nothing in the next, whatever came between. */
static void check_token(plan_t *plan, bool moved, warmring_step_t step) {
    char key[CALLS_KEY_SIZE];
    choose_key(plan->client, "token", moved, &plan->next, key);
    tap_status(store_key(plan->client, key, "value"), WARMRING_OK, "set in %s", phase_of(plan));
    answer_t answer = read_ways[0].call(plan->client, key, WARMRING_FOR_CAS);
    steps_take(plan->client, step);
    if (answer.status != WARMRING_OK) {
        return; /* in HANDOVER */
    }
    warmring_status_t status =
        warmring_cas(plan->client, key, strlen(key), "late", 4, 0, 0, &answer.token, NULL);
    bool refused = moved && steps_phase(plan->client) == WARMRING_HANDOVER;
    tap_status(status, refused ? WARMRING_TRY_AGAIN : WARMRING_EXISTS, "its token in %s, %s key",
               phase_of(plan), moved ? "a moved" : "an unmoved");
    answer = read_key(plan->client, key);
    tap_ok(strcmp(answer.value, "late") != 0, "nothing was stored by it");
}

static void test_tokens(plan_t *plan, bool moved) {
    static const warmring_step_t steps[] = {
        WARMRING_WARM,   WARMRING_COMMIT,   WARMRING_COMMIT,   WARMRING_FINISH, WARMRING_ROLLBACK,
        WARMRING_COMMIT, WARMRING_ROLLBACK, WARMRING_ROLLBACK, WARMRING_WARM,   WARMRING_COMMIT,
        WARMRING_COMMIT, WARMRING_FINISH,   WARMRING_FINISH};
    open_plan(plan, options);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        check_token(plan, moved, steps[i]);
    }
    close_plan(plan);
}

/* ---- a flush beside a copy --------------------------------------------------------- */

typedef struct {
    warmring_t *client;
    const char *key;
    pthread_t thread;
    warmring_status_t status;
} caller_t;

static void *read_in_thread(void *argument) {
    caller_t *caller = argument;
    caller->status = read_key(caller->client, caller->key).status;
    return NULL;
}

static void *flush_in_thread(void *argument) {
    caller_t *caller = argument;
    caller->status = warmring_flush(caller->client, NULL);
    return NULL;
}

static void start(caller_t *caller, void *(*run)(void *)) {
    if (pthread_create(&caller->thread, NULL, run, caller) != 0) {
        tap_bail("cannot start a thread");
    }
}

/* O answers the read and the flush when it goes on, in any order. */
static void test_flush(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    open_plan(plan, options);
    steps_forward(plan->client, WARMRING_WARMING);
    for (int round = 0; round < 10; round++) {
        moved_key(plan, "flushed", key);
        raw_store(plan->fixture, O, key, 0, 0, "value");
        caller_t reader = {.client = plan->client, .key = key};
        caller_t flusher = {.client = plan->client};
        fixture_stop(plan->fixture, O);
        start(&reader, read_in_thread);
        while (!raw_look(plan->fixture, N, key).present) {
            traffic_wait_ms(1);
        }
        start(&flusher, flush_in_thread);
        traffic_wait_ms((uint32_t)round);
        fixture_continue(plan->fixture, O);
        pthread_join(reader.thread, NULL);
        pthread_join(flusher.thread, NULL);
        tap_status(flusher.status, WARMRING_OK, "flush beside a copy");
        raw_item_t copy = raw_look(plan->fixture, N, key);
        tap_ok(!copy.present || copy.flags == WARMRING_RESERVED_FLAGS,
               "nothing is copied after it");
        answer_t answer = read_key(plan->client, key);
        tap_string(shown(&answer), NULL, "nothing is left");
    }
    close_plan(plan);
}

/* ---- sizes ---------------------------------------------------------------------------- */

/* The largest value that a server takes is copied as well. */
static void test_largest(plan_t *plan) {
    enum { LIMIT = 1024 * 1024 };
    static char value[LIMIT];
    char key[CALLS_KEY_SIZE];
    memset(value, 'x', LIMIT);
    open_plan(plan, options);
    moved_key(plan, "largest", key);
    size_t least = LIMIT - 4096, most = LIMIT;
    while (most - least > 1) {
        size_t middle = (least + most) / 2;
        bool fits = warmring_set(plan->client, key, strlen(key), value, middle, 5000, 7, NULL) ==
                    WARMRING_OK;
        least = fits ? middle : least;
        most = fits ? most : middle;
    }
    tap_note("the largest value has %zu bytes", least);
    tap_status(warmring_set(plan->client, key, strlen(key), value, least, 5000, 7, NULL),
               WARMRING_OK, "the largest value");
    steps_forward(plan->client, WARMRING_WARMING);
    for (int i = 0; i < 2; i++) {
        warmring_item_t item = WARMRING_ITEM_INIT;
        tap_status(warmring_get(plan->client, key, strlen(key), &item, NULL), WARMRING_OK,
                   "read %s", i == 0 ? "over" : "from the new owner");
        tap_bytes(item.value.data, item.value.length, value, least, "every byte of it");
        warmring_item_clear(&item);
        raw_delete(plan->fixture, O, key);
    }
    close_plan(plan);
}

/* A new owner that takes smaller values only: what it refuses stays where it
 * is, and calls on it end with the reason. */
static void test_too_large(void) {
    static const char *const large[] = {"-I", "4m", NULL};
    static const char *const roomy[] = {"max_value_bytes", "4194304", NULL};
    static char value[2 * 1024 * 1024];
    char key[CALLS_KEY_SIZE];
    plan_t plan = {.fixture = fixture_start(1, large)};
    (void)fixture_add(plan.fixture, NULL);
    memset(value, 'x', sizeof value);
    open_plan(&plan, roomy);
    moved_key(&plan, "large", key);
    tap_status(warmring_set(plan.client, key, strlen(key), value, sizeof value, 0, 0, NULL),
               WARMRING_OK, "2 MB on the old owner");
    static const warmring_phase_t phases[] = {WARMRING_WARMING, WARMRING_HANDOVER,
                                              WARMRING_DRAINING};
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        warmring_item_t item = WARMRING_ITEM_INIT;
        steps_forward(plan.client, phases[i]);
        for (int again = 0; again < 2; again++) {
            tap_status(warmring_get(plan.client, key, strlen(key), &item, NULL), WARMRING_OK,
                       "read in %s", phase_of(&plan));
            tap_bytes(item.value.data, item.value.length, value, sizeof value, "every byte");
        }
        warmring_item_clear(&item);
    }
    if (test_is_meta()) {
        tap_status(warmring_append(plan.client, key, strlen(key), "7", 1, NULL), WARMRING_TOO_LARGE,
                   "append in DRAINING to what the new owner does not take");
        warmring_item_t item = WARMRING_ITEM_INIT;
        tap_status(warmring_get(plan.client, key, strlen(key), &item, NULL), WARMRING_OK,
                   "it is still read");
        warmring_item_clear(&item);
    }
    warmring_close(plan.client);
    fixture_free(plan.fixture);
}

/* ---- expirations ------------------------------------------------------------------------ */

/* A copy ends at most a few seconds before the original and not after it. */
static void test_expirations(plan_t *plan) {
    static const int64_t month = 30 * 24 * 3600;
    const int64_t expirations[] = {0,
                                   4,
                                   100,
                                   month - 1,
                                   month,
                                   month + 1,
                                   2 * month,
                                   time(NULL) + 100,
                                   time(NULL) + 2 * month};
    char key[CALLS_KEY_SIZE];
    open_plan(plan, options);
    steps_forward(plan->client, WARMRING_WARMING);
    for (size_t i = 0; i < sizeof expirations / sizeof expirations[0]; i++) {
        moved_key(plan, "expires", key);
        tap_status(
            warmring_set(plan->client, key, strlen(key), "value", 5, expirations[i], 0, NULL),
            WARMRING_OK, "set with expiration %lld", (long long)expirations[i]);
        answer_t answer = read_key(plan->client, key);
        tap_string(shown(&answer), "value", "it is read");
        raw_item_t copy = raw_look(plan->fixture, N, key);
        raw_item_t original = raw_look(plan->fixture, O, key);
        if (expirations[i] == 0) {
            tap_int(original.ttl, -1, "the original does not end");
            tap_int(copy.ttl, test_is_meta() ? -1 : 60, "its copy as it should");
        } else if (test_is_meta()) {
            int64_t least = original.ttl - 3 < month - 3 ? original.ttl - 3 : month - 3;
            tap_ok(copy.present && copy.ttl >= least && copy.ttl <= original.ttl,
                   "%lld s left, its copy has %lld", (long long)original.ttl, (long long)copy.ttl);
        }
    }
    close_plan(plan);
}

/* ---- groups and prefixes ------------------------------------------------------------------ */

static void check_group(plan_t *plan, const char *key, const warmring_call_t *call, bool moved) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_token_t token;
    const char *phase = phase_of(plan);
    bool stores = !moved || steps_phase(plan->client) != WARMRING_HANDOVER;
    warmring_status_t there = stores ? WARMRING_OK : WARMRING_NOT_FOUND;
    tap_status(warmring_set(plan->client, key, strlen(key), "1", 1, 0, 0, call), WARMRING_OK,
               "set by a group in %s", phase);
    for (int i = 0; i < 2; i++) {
        tap_status(warmring_get(plan->client, key, strlen(key), &item, call), there, "get");
    }
    tap_status(warmring_delete(plan->client, key, strlen(key), call), there, "delete");
    warmring_status_t status =
        warmring_get_or_lease(plan->client, key, strlen(key), 5000, &item, call);
    tap_status(status, stores ? WARMRING_LEASED : WARMRING_TRY_AGAIN, "lease");
    token = item.token;
    if (stores) {
        tap_status(warmring_cas(plan->client, key, strlen(key), "10", 2, 0, 0, &token, call),
                   WARMRING_OK, "load");
        tap_status(warmring_get(plan->client, key, strlen(key), &item, call), WARMRING_OK, "get");
        tap_bytes(item.value.data, item.value.length, "10", 2, "what was loaded");
    }
    warmring_item_clear(&item);
}

/* The group alone says where its keys are, and whether they move. */
static void test_groups(plan_t *plan) {
    char groups[2][CALLS_KEY_SIZE], keys[2][CALLS_KEY_SIZE], *key;
    open_plan(plan, options);
    for (int moved = 0; moved < 2; moved++) {
        choose_key(plan->client, "group", moved != 0, &plan->next, groups[moved]);
        choose_key(plan->client, "member", moved == 0, &plan->next, keys[moved]);
    }
    for (warmring_phase_t phase = WARMRING_PREPARED; phase <= WARMRING_SETTLING; phase++) {
        steps_forward(plan->client, phase);
        for (int moved = 0; moved < 2; moved++) {
            warmring_call_t call = WARMRING_CALL_INIT;
            key = keys[moved];
            call.group = (warmring_bytes_t){groups[moved], strlen(groups[moved])};
            check_group(plan, key, &call, moved != 0);
            bool on_new = moved != 0 && phase >= WARMRING_DRAINING;
            raw_holds(plan->fixture, on_new ? N : O, key,
                      moved != 0 && phase == WARMRING_HANDOVER ? NULL : "10", "by its group");
            raw_delete(plan->fixture, O, key);
            raw_delete(plan->fixture, N, key);
        }
    }
    close_plan(plan);
}

/* A value stored with a prefix is found by the same client in every phase, in
 * dialects that hash the prefix and in those that do not. */
static void test_prefix(plan_t *plan, const char *dialect) {
    const char *const with[] = {"prefix", "p:", "dialect", dialect, NULL};
    char keys[16][16], wire[512];
    plan->client = steps_open(fixture_address(plan->fixture, O), with);
    warmring_topology_t *target = NULL, *next = NULL, *now = steps_present(plan->client);
    unsigned on_new = 0;
    if (warmring_topology_parse(&target, fixture_servers(plan->fixture), dialect, 0) !=
            WARMRING_OK ||
        warmring_topology_migrate(now, target, &next) != WARMRING_OK) {
        tap_bail("%s: %s", dialect, warmring_error_detail());
    }
    steps_apply(plan->client, next);
    warmring_topology_release(now);
    warmring_topology_release(target);
    for (size_t i = 0; i < 16; i++) {
        snprintf(keys[i], sizeof keys[i], "%zu:key", i);
        tap_status(store_key(plan->client, keys[i], keys[i]), WARMRING_OK, "set");
    }
    for (warmring_phase_t phase = WARMRING_WARMING; phase <= WARMRING_SETTLING; phase++) {
        steps_forward(plan->client, phase);
        for (size_t i = 0; i < 16; i++) {
            answer_t answer = read_key(plan->client, keys[i]);
            tap_string(shown(&answer), keys[i], "%s with a prefix in %s", dialect, phase_of(plan));
        }
    }
    for (size_t i = 0; i < 16; i++) {
        char address[128] = "";
        snprintf(wire, sizeof wire, "p:%s", keys[i]);
        (void)!warmring_locate(plan->client, keys[i], strlen(keys[i]), address, sizeof address,
                               NULL);
        size_t owner = strcmp(address, fixture_address(plan->fixture, N)) == 0 ? N : O;
        on_new += owner == N;
        raw_holds(plan->fixture, owner, wire, keys[i], "where locate says");
    }
    tap_ok(on_new > 0, "%u of 16 have moved", on_new);
    close_plan(plan);
}

/* ---- counters that many begin ----------------------------------------------------------- */

enum { ADDITIONS = 20 };

static void *add_in_thread(void *argument) {
    caller_t *caller = argument;
    const uint64_t initial = 1;
    caller->status = WARMRING_OK;
    for (int i = 0; i < ADDITIONS && caller->status == WARMRING_OK; i++) {
        caller->status = warmring_increment(caller->client, caller->key, strlen(caller->key), 1,
                                            &initial, 0, NULL, NULL);
    }
    return NULL;
}

/* Each increment counts once, wherever the counter is found: the first one
 * makes it 1 or moves it, the others add to that. */
static void check_counter(plan_t *plan, const char *start_value) {
    char key[CALLS_KEY_SIZE], expected[24];
    caller_t callers[THREADS];
    moved_key(plan, "counter", key);
    if (start_value != NULL) {
        raw_store(plan->fixture, O, key, 0, 0, start_value);
    }
    for (size_t i = 0; i < THREADS; i++) {
        callers[i] = (caller_t){.client = plan->client, .key = key};
        start(&callers[i], add_in_thread);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        tap_status(callers[i].status, WARMRING_OK, "each of %d increments", ADDITIONS);
    }
    int total = (start_value != NULL ? atoi(start_value) : 0) + THREADS * ADDITIONS;
    snprintf(expected, sizeof expected, "%d", total);
    answer_t answer = read_key(plan->client, key);
    tap_string(shown(&answer), expected, "%d threads begin a counter in %s, from %s", THREADS,
               phase_of(plan), start_value != NULL ? start_value : "nothing");
}

static void test_counters(plan_t *plan) {
    static const char *const slow[] = {
        "deadline_ms", "60000", "max_deadline_ms", "60000", "pool_max", "16", NULL};
    open_plan(plan, slow);
    static const warmring_phase_t phases[] = {WARMRING_WARMING, WARMRING_DRAINING,
                                              WARMRING_SETTLING};
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        steps_forward(plan->client, phases[i]);
        if (test_is_meta() || phases[i] == WARMRING_WARMING) {
            check_counter(plan, NULL);
            if (phases[i] != WARMRING_SETTLING) {
                check_counter(plan, "1000");
            }
        }
    }
    close_plan(plan);
}

/* ---- a fork in DRAINING --------------------------------------------------------------------- */

/* What the child finds wrong; 0: nothing. */
static int be_child(plan_t *plan, const char *old, const char *ghost, const char *mine) {
    answer_t answer = read_key(plan->client, old);
    if (strcmp(answer.value, "value") != 0) {
        return 1;
    }
    answer = read_key(plan->client, ghost);
    if (answer.status != WARMRING_NOT_FOUND) {
        return 2;
    }
    if (store_key(plan->client, mine, "child's") != WARMRING_OK) {
        return 3;
    }
    steps_take(plan->client, WARMRING_FINISH);
    answer = read_key(plan->client, mine);
    return strcmp(answer.value, "child's") == 0 ? 0 : 4;
}

static void test_fork(plan_t *plan) {
    char old[CALLS_KEY_SIZE], ghost[CALLS_KEY_SIZE], mine[CALLS_KEY_SIZE];
    open_plan(plan, options);
    moved_key(plan, "forked", ghost);
    steps_back(plan->client);
    raw_store(plan->fixture, N, ghost, 0, 0, "ghost");
    steps_begin(plan->client, fixture_servers(plan->fixture));
    steps_forward(plan->client, WARMRING_DRAINING);
    moved_key(plan, "forked", old);
    moved_key(plan, "forked", mine);
    raw_store(plan->fixture, O, old, 0, 0, "value");
    (void)read_key(plan->client, mine); /* connects */
    pid_t child = child_fork(60);
    if (child == 0) {
        _exit(be_child(plan, old, ghost, mine));
    }
    tap_int(child_wait(child), 0, "a child forked in DRAINING fills, filters, stores and goes on");
    answer_t answer = read_key(plan->client, mine);
    tap_string(shown(&answer), "child's", "the parent, still in DRAINING, reads what it stored");
    answer = read_key(plan->client, ghost);
    tap_string(shown(&answer), NULL, "and no ghost");
    close_plan(plan);
}

static void run_all(void) {
    plan_t plan = {.fixture = fixture_start(2, NULL)};
    test_twice(&plan);
    test_tokens(&plan, true);
    test_tokens(&plan, false);
    test_flush(&plan);
    test_largest(&plan);
    test_expirations(&plan);
    test_groups(&plan);
    test_prefix(&plan, "v2");
    if (WR_WITH_LIBMEMCACHED) { /* its dialects hash keys without the prefix */
        test_prefix(&plan, "libmemcached");
    }
    test_prefix(&plan, "nginx");
    test_counters(&plan);
    test_fork(&plan);
    fixture_free(plan.fixture);
    test_too_large();
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
