/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What depends on the present value, from DRAINING until SETTLING: it works
 * on the new owner, on what is really there. A value that only the old owner
 * has is moved first, with what is left of its life; ghosts and stubs are not
 * values. Doubts, and how a migration settles, too.
 *
 * The old ring is server 0 (O) alone, the new one both: moved keys go to 1 (N).
 */
#include <string.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"

enum { O = 0, N = 1, GHOSTS = 64 };

typedef struct {
    fixture_t *fixture;
    warmring_t *client;
    unsigned next;
    unsigned next_ghost;
} plan_t;

static const char *phase_of(const plan_t *plan) {
    return warmring_phase_name(steps_phase(plan->client));
}

/* ---- the calls ------------------------------------------------------------------ */

/* What each leaves of "10", and where there is nothing. */
typedef struct {
    const char *name;
    warmring_status_t (*call)(warmring_t *client, const char *key);
    warmring_status_t present;
    const char *from_ten;
    warmring_status_t missing;
    const char *from_nothing;
} modify_t;

static warmring_status_t call_add(warmring_t *client, const char *key) {
    return warmring_add(client, key, strlen(key), "added", 5, 0, 0, NULL);
}

static warmring_status_t call_replace(warmring_t *client, const char *key) {
    return warmring_replace(client, key, strlen(key), "other", 5, 0, 0, NULL);
}

static warmring_status_t call_append(warmring_t *client, const char *key) {
    return warmring_append(client, key, strlen(key), "7", 1, NULL);
}

static warmring_status_t call_prepend(warmring_t *client, const char *key) {
    return warmring_prepend(client, key, strlen(key), "7", 1, NULL);
}

static warmring_status_t count(warmring_t *client, const char *key, const uint64_t *initial,
                               uint64_t expected) {
    uint64_t number = 0;
    warmring_status_t status =
        warmring_increment(client, key, strlen(key), 3, initial, 0, &number, NULL);
    if (status == WARMRING_OK) {
        tap_int((int64_t)number, (int64_t)expected, "the number is told");
    }
    return status;
}

static warmring_status_t call_increment(warmring_t *client, const char *key) {
    return count(client, key, NULL, 13);
}

static uint64_t expected_with_initial;

static warmring_status_t call_initial(warmring_t *client, const char *key) {
    static const uint64_t initial = 40;
    return count(client, key, &initial, expected_with_initial);
}

static warmring_status_t call_decrement(warmring_t *client, const char *key) {
    return warmring_decrement(client, key, strlen(key), 1, NULL, 0, NULL, NULL);
}

static warmring_status_t call_touch(warmring_t *client, const char *key) {
    return warmring_touch(client, key, strlen(key), 5000, NULL);
}

static warmring_status_t call_get_and_touch(warmring_t *client, const char *key) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_status_t status = warmring_get_and_touch(client, key, strlen(key), 5000, &item, NULL);
    if (status == WARMRING_OK) {
        tap_bytes(item.value.data, item.value.length, "10", 2, "the value is read");
    }
    warmring_item_clear(&item);
    return status;
}

static warmring_status_t call_cas(warmring_t *client, const char *key) {
    answer_t answer = read_ways[0].call(client, key, WARMRING_FOR_CAS);
    if (answer.status != WARMRING_OK) {
        return answer.status;
    }
    tap_string(answer.value, "10", "read for cas");
    return warmring_cas(client, key, strlen(key), "new", 3, 0, 0, &answer.token, NULL);
}

static const modify_t modifies[] = {
    {"add", call_add, WARMRING_NOT_STORED, "10", WARMRING_OK, "added"},
    {"replace", call_replace, WARMRING_OK, "other", WARMRING_NOT_STORED, NULL},
    {"append", call_append, WARMRING_OK, "107", WARMRING_NOT_STORED, NULL},
    {"prepend", call_prepend, WARMRING_OK, "710", WARMRING_NOT_STORED, NULL},
    {"increment", call_increment, WARMRING_OK, "13", WARMRING_NOT_FOUND, NULL},
    {"increment with an initial value", call_initial, WARMRING_OK, "13", WARMRING_OK, "40"},
    {"decrement", call_decrement, WARMRING_OK, "9 ", WARMRING_NOT_FOUND, NULL},
    {"touch", call_touch, WARMRING_OK, "10", WARMRING_NOT_FOUND, NULL},
    {"get_and_touch", call_get_and_touch, WARMRING_OK, "10", WARMRING_NOT_FOUND, NULL},
    {"cas", call_cas, WARMRING_OK, "new", WARMRING_NOT_FOUND, NULL},
};
enum { MODIFIES = sizeof modifies / sizeof modifies[0] };

/* ---- what may be on the servers ---------------------------------------------------- */

typedef struct {
    const char *name;
    void (*make)(plan_t *plan, const char *key);
    bool present[3]; /* whether that is the value "10", by phase from DRAINING on */
} start_t;

static void make_nothing(plan_t *plan, const char *key) {
    (void)plan;
    (void)key;
}

static void make_new(plan_t *plan, const char *key) {
    raw_store(plan->fixture, N, key, 5, 1000, "10");
}

static void make_old(plan_t *plan, const char *key) {
    raw_store(plan->fixture, O, key, 5, 1000, "10");
}

static void make_stub(plan_t *plan, const char *key) {
    raw_stub(plan->fixture, N, key, 60);
}

static void make_stub_and_old(plan_t *plan, const char *key) {
    raw_stub(plan->fixture, N, key, 60);
    raw_store(plan->fixture, O, key, 5, 1000, "10");
}

static void make_both(plan_t *plan, const char *key) {
    raw_store(plan->fixture, N, key, 5, 1000, "10");
    raw_store(plan->fixture, O, key, 5, 1000, "older");
}

static const start_t starts[] = {
    {"nothing", make_nothing, {false, false, false}},
    {"the value on N", make_new, {true, true, true}},
    {"the value on O", make_old, {true, false, false}},
    {"the value on N, an older one on O", make_both, {true, true, true}},
    {"a stub", make_stub, {false, false, false}},
    {"a stub, the value on O", make_stub_and_old, {true, false, false}},
};
enum { STARTS = sizeof starts / sizeof starts[0] };

/* What N holds afterwards is what was asked for; O holds nothing that N's
 * readers could fall back to. */
static void check(plan_t *plan, const modify_t *modify, const char *key, bool present,
                  const char *start) {
    expected_with_initial = present ? 13 : 40;
    warmring_status_t expected = present ? modify->present : modify->missing;
    tap_status(modify->call(plan->client, key), expected, "%s in %s, from %s", modify->name,
               phase_of(plan), start);
    const char *after = present ? modify->from_ten : modify->from_nothing;
    raw_item_t item = raw_look(plan->fixture, N, key);
    raw_holds(plan->fixture, N, key, after, "afterwards");
    if (present && after != NULL && strcmp(after, "other") != 0 && strcmp(after, "new") != 0) {
        bool touched = modify->call == call_touch || modify->call == call_get_and_touch;
        tap_ok(touched ? item.ttl > 4900 : item.ttl > 980 && item.ttl <= 1000,
               "it lives on for %lld s", (long long)item.ttl);
        tap_int(item.flags, 5, "with its flags");
    }
    if (steps_phase(plan->client) == WARMRING_DRAINING && after != NULL) {
        answer_t answer = read_key(plan->client, key);
        tap_string(shown(&answer), after, "and is read");
    }
    if (steps_phase(plan->client) <= WARMRING_CLOSING && after != NULL && expected == WARMRING_OK) {
        raw_holds(plan->fixture, O, key, NULL, "the old copy is gone");
    }
}

static void test_phase(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    size_t column = (size_t)(steps_phase(plan->client) - WARMRING_DRAINING);
    for (size_t i = 0; i < STARTS; i++) {
        for (size_t j = 0; j < MODIFIES; j++) {
            choose_key(plan->client, "exact", true, &plan->next, key);
            starts[i].make(plan, key);
            check(plan, &modifies[j], key, starts[i].present[column], starts[i].name);
        }
    }
}

/* ---- ghosts ------------------------------------------------------------------------ */

/* Copies on N from before the migration. */
static void make_ghosts(plan_t *plan) {
    for (unsigned i = 0; i < GHOSTS * 8; i++) {
        char key[CALLS_KEY_SIZE];
        snprintf(key, sizeof key, "ghost-%u", i);
        raw_store(plan->fixture, N, key, 0, 0, "10");
    }
}

static void test_ghosts(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    for (size_t j = 0; j < MODIFIES; j++) {
        choose_key(plan->client, "ghost", true, &plan->next_ghost, key);
        check(plan, &modifies[j], key, false, "a ghost");
    }
    if (steps_phase(plan->client) == WARMRING_DRAINING) {
        for (size_t j = 0; j < MODIFIES; j++) {
            choose_key(plan->client, "ghost", true, &plan->next_ghost, key);
            raw_store(plan->fixture, N, "unrelated", 0, 0, "x");
            make_old(plan, key);
            check(plan, &modifies[j], key, true, "a ghost, the value on O");
        }
    }
}

/* ---- leases ------------------------------------------------------------------------ */

static warmring_status_t lease(const plan_t *plan, const char *key, warmring_item_t *item) {
    return warmring_get_or_lease(plan->client, key, strlen(key), 10000, item, NULL);
}

static warmring_status_t load(const plan_t *plan, const char *key, const warmring_item_t *item) {
    return warmring_cas(plan->client, key, strlen(key), "loaded", 6, 0, 3, &item->token, NULL);
}

static void test_lease(plan_t *plan, bool moved) {
    char key[CALLS_KEY_SIZE];
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_item_t other = WARMRING_ITEM_INIT;
    choose_key(plan->client, "lease", moved, &plan->next, key);
    tap_status(lease(plan, key, &item), WARMRING_LEASED, "%s key in %s: the first is to load it",
               moved ? "a moved" : "an unmoved", phase_of(plan));
    tap_status(lease(plan, key, &other), WARMRING_LEASE_BUSY, "the second is told");
    for (size_t i = 0; i < READ_WAYS; i++) {
        answer_t answer = read_ways[i].call(plan->client, key, 0);
        tap_string(shown(&answer), NULL, "a miss for %s", read_ways[i].name);
    }
    tap_status(load(plan, key, &item), WARMRING_OK, "the load is stored");
    tap_status(lease(plan, key, &other), WARMRING_OK, "then it is a hit");
    tap_bytes(other.value.data, other.value.length, "loaded", 6, "with what was loaded");
    tap_int(other.flags, 3, "and its flags");
    choose_key(plan->client, "lease", moved, &plan->next, key);
    tap_status(lease(plan, key, &item), WARMRING_LEASED, "leased");
    (void)call_append(plan->client, key);
    answer_t answer = read_key(plan->client, key);
    tap_string(shown(&answer), NULL, "an append meanwhile is no value");
    for (int way = 0; way < 2; way++) {
        choose_key(plan->client, "lease", moved, &plan->next, key);
        tap_status(lease(plan, key, &item), WARMRING_LEASED, "leased");
        if (way == 0) {
            tap_status(store_key(plan->client, key, "newer"), WARMRING_OK, "written meanwhile");
            tap_status(load(plan, key, &item), WARMRING_EXISTS, "the late load is refused");
            answer = read_key(plan->client, key);
            tap_string(shown(&answer), "newer", "what was written stays");
        } else {
            (void)erase_key(plan->client, key);
            tap_status(load(plan, key, &item), WARMRING_NOT_FOUND, "refused after a delete too");
            answer = read_key(plan->client, key);
            tap_string(shown(&answer), NULL, "it stays deleted");
        }
    }
    warmring_item_clear(&item);
    warmring_item_clear(&other);
}

static void test_lease_refused(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    warmring_item_t item = WARMRING_ITEM_INIT;
    choose_key(plan->client, "lease", true, &plan->next, key);
    tap_status(lease(plan, key, &item), WARMRING_TRY_AGAIN, "no lease of a moved key in HANDOVER");
    raw_store(plan->fixture, O, key, 0, 0, "value");
    tap_status(lease(plan, key, &item), WARMRING_OK, "but a hit is a hit");
    warmring_item_clear(&item);
    tap_status(warmring_get_or_lease(plan->client, key, strlen(key), 0, &item, NULL),
               WARMRING_BAD_ARGUMENT, "a lease of no time");
}

/* ---- how it ends ------------------------------------------------------------------- */

static warmring_status_t end_migration(const plan_t *plan, warmring_step_t step) {
    warmring_topology_t *next = NULL;
    warmring_topology_t *present = steps_present(plan->client);
    warmring_status_t status = warmring_topology_step(present, step, &next);
    if (status == WARMRING_OK) {
        status = warmring_apply(plan->client, next, 0);
    }
    warmring_topology_release(next);
    warmring_topology_release(present);
    return status;
}

static void run_phases(plan_t *plan) {
    for (warmring_phase_t phase = WARMRING_PREPARED; phase <= WARMRING_SETTLING; phase++) {
        if (phase == WARMRING_PREPARED) {
            steps_begin(plan->client, fixture_servers(plan->fixture));
        }
        steps_forward(plan->client, phase);
        if (phase >= WARMRING_DRAINING) {
            test_phase(plan);
            test_ghosts(plan);
        }
        test_lease(plan, false);
        if (phase == WARMRING_HANDOVER) {
            test_lease_refused(plan);
        } else {
            test_lease(plan, true);
        }
    }
}

static void test_settling(plan_t *plan) {
    tap_status(end_migration(plan, WARMRING_FINISH), WARMRING_ILLEGAL_STEP,
               "FINISH without a declared max_ttl_s");
    tap_contains(warmring_error_detail(), "max_ttl_s", "the text says what is missing");
    tap_int(steps_phase(plan->client), WARMRING_SETTLING, "still SETTLING");
    tap_status(end_migration(plan, WARMRING_SETTLE), WARMRING_OK, "SETTLE");
    tap_int(steps_phase(plan->client), WARMRING_STABLE, "STABLE");
}

/* A client opened in the middle of a migration was not there when watermarks
 * were taken: it believes nothing on N that is older than itself. */
static void test_newcomer(fixture_t *fixture) {
    char key[CALLS_KEY_SIZE];
    plan_t first = {.fixture = fixture, .client = steps_open(fixture_address(fixture, O), NULL)};
    plan_t plan = {.fixture = fixture};
    make_ghosts(&first);
    steps_begin(first.client, fixture_servers(fixture));
    steps_forward(first.client, WARMRING_WARMING);
    warmring_topology_t *topology = steps_present(first.client);
    tap_status(warmring_open_topology(&plan.client, topology, NULL), WARMRING_OK,
               "open in WARMING");
    for (int i = 0; i < 20; i++) {
        choose_key(plan.client, "ghost", true, &plan.next_ghost, key);
        if (i % 2 == 0) {
            raw_store(fixture, O, key, 0, 0, "new");
        }
        answer_t answer = read_key(plan.client, key);
        tap_string(shown(&answer), i % 2 == 0 ? "new" : NULL, "%s is no ghost's value", key);
    }
    choose_key(plan.client, "newcomer", true, &plan.next, key);
    raw_store(fixture, O, key, 0, 0, "value");
    answer_t answer = read_key(plan.client, key);
    answer = read_key(plan.client, key);
    tap_string(shown(&answer), "value", "reads go on");
    raw_holds(fixture, N, key, "value", "and fill");
    warmring_topology_release(topology);
    warmring_close(plan.client);
    steps_back(first.client);
    warmring_close(first.client);
    fixture_flush(fixture);
}

/* From HANDOVER on what is on N may be the only value: a newcomer leaves it
 * alone. */
static void test_late_newcomer(fixture_t *fixture) {
    char key[CALLS_KEY_SIZE];
    plan_t first = {.fixture = fixture, .client = steps_open(fixture_address(fixture, O), NULL)};
    plan_t plan = {.fixture = fixture};
    steps_begin(first.client, fixture_servers(fixture));
    steps_forward(first.client, WARMRING_DRAINING);
    choose_key(first.client, "late", true, &first.next, key);
    raw_store(fixture, N, key, 0, 0, "10");
    warmring_topology_t *topology = steps_present(first.client);
    tap_status(warmring_open_topology(&plan.client, topology, NULL), WARMRING_OK,
               "open in DRAINING");
    answer_t answer = read_key(plan.client, key);
    tap_string(shown(&answer), NULL, "it cannot tell whether N's value is old");
    tap_status(call_append(plan.client, key), WARMRING_TRY_AGAIN, "nor append to it");
    raw_holds(fixture, N, key, "10", "it leaves it alone");
    answer = read_key(first.client, key);
    tap_string(shown(&answer), "10", "for those who know");
    tap_status(store_key(plan.client, key, "new"), WARMRING_OK, "it stores");
    answer = read_key(plan.client, key);
    tap_string(shown(&answer), "new", "and reads what is newer than itself");
    warmring_topology_release(topology);
    warmring_close(plan.client);
    warmring_close(first.client);
    fixture_flush(fixture);
}

/* N hangs: moved reads are served by O within the deadline. */
static void test_hanging(fixture_t *fixture) {
    static const char *const options[] = {"deadline_ms", "400", "failure_limit", "1000", NULL};
    char key[CALLS_KEY_SIZE];
    plan_t plan = {.fixture = fixture, .client = steps_open(fixture_address(fixture, O), options)};
    steps_begin(plan.client, fixture_servers(fixture));
    steps_forward(plan.client, WARMRING_WARMING);
    choose_key(plan.client, "hanging", true, &plan.next, key);
    tap_status(store_key(plan.client, key, "value"), WARMRING_OK, "store");
    fixture_stop(fixture, N);
    for (size_t i = 0; i < READ_WAYS; i++) {
        answer_t answer = read_ways[i].call(plan.client, key, 0);
        tap_string(shown(&answer), "value", "%s while N hangs", read_ways[i].name);
    }
    fixture_continue(fixture, N);
    steps_back(plan.client);
    warmring_close(plan.client);
    fixture_flush(fixture);
}

/* With a declared TTL: stores keep to it, and FINISH waits for it. */
static void test_declared(fixture_t *fixture) {
    static const char *const options[] = {"max_ttl_s", "2", NULL};
    char key[CALLS_KEY_SIZE];
    plan_t plan = {.fixture = fixture, .client = steps_open(fixture_address(fixture, O), options)};
    steps_begin(plan.client, fixture_servers(fixture));
    choose_key(plan.client, "declared", false, &plan.next, key);
    tap_status(store_key(plan.client, key, "value"), WARMRING_OK, "store for ever");
    int64_t ttl = raw_look(fixture, O, key).ttl;
    tap_ok(ttl >= 0 && ttl <= 2, "it lives %lld s", (long long)ttl);
    steps_forward(plan.client, WARMRING_SETTLING);
    tap_status(end_migration(&plan, WARMRING_FINISH), WARMRING_TRY_AGAIN, "FINISH is too early");
    tap_contains(warmring_error_detail(), "another 2 s", "the text says how long");
    traffic_wait_ms(2100);
    tap_status(end_migration(&plan, WARMRING_FINISH), WARMRING_OK, "FINISH in time");
    warmring_close(plan.client);
}

/* N misses a deletion: its older copy is not served, not even after it is
 * back, and HANDOVER waits. */
static void test_doubt(fixture_t *fixture) {
    static const char *const options[] = {
        "deadline_ms", "500", "max_deadline_ms", "1000", "retry_ms", "50", NULL};
    char key[CALLS_KEY_SIZE];
    plan_t plan = {.fixture = fixture, .client = steps_open(fixture_address(fixture, O), options)};
    steps_begin(plan.client, fixture_servers(fixture));
    steps_forward(plan.client, WARMRING_WARMING);
    choose_key(plan.client, "doubt", true, &plan.next, key);
    tap_status(store_key(plan.client, key, "old"), WARMRING_OK, "store");
    answer_t answer = read_key(plan.client, key);
    raw_holds(fixture, N, key, "old", "copied");
    fixture_stop(fixture, N);
    tap_status(store_key(plan.client, key, "new"), WARMRING_PARTIAL, "N misses the deletion");
    fixture_continue(fixture, N);
    raw_store(fixture, N, key, 0, 0, "old"); /* as if the deletion was lost */
    for (int i = 0; i < 20; i++) {
        answer = read_key(plan.client, key);
        if (strcmp(answer.value, "new") != 0) {
            tap_string(shown(&answer), "new", "read %d", i);
        }
        traffic_wait_ms(10);
    }
    tap_string(shown(&answer), "new", "O is read as long as N is in doubt");
    warmring_topology_t *next = NULL;
    warmring_topology_t *present = steps_present(plan.client);
    (void)!warmring_topology_step(present, WARMRING_COMMIT, &next);
    tap_status(warmring_apply(plan.client, next, 0), WARMRING_TRY_AGAIN, "HANDOVER has to wait");
    tap_contains(warmring_error_detail(), fixture_address(fixture, N), "the text names N");
    warmring_status_t status = WARMRING_TRY_AGAIN;
    for (int i = 0; i < 100 && status == WARMRING_TRY_AGAIN; i++) {
        traffic_wait_ms(100);
        status = warmring_apply(plan.client, next, 0);
    }
    tap_status(status, WARMRING_OK, "until the doubt is over");
    answer = read_key(plan.client, key);
    tap_string(shown(&answer), "new", "N's old copy is a ghost now");
    warmring_topology_release(next);
    warmring_topology_release(present);
    warmring_close(plan.client);
}

int main(void) {
    fixture_t *fixture = fixture_start(2, NULL);
    plan_t plan = {.fixture = fixture, .client = steps_open(fixture_address(fixture, O), NULL)};
    make_ghosts(&plan);
    test_lease(&plan, false);
    run_phases(&plan);
    test_settling(&plan);
    warmring_close(plan.client);
    fixture_flush(fixture);
    test_newcomer(fixture);
    test_late_newcomer(fixture);
    test_hanging(fixture);
    test_declared(fixture);
    test_doubt(fixture);
    fixture_free(fixture);
    return tap_done();
}
