/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases beside everything else: other calls on a leased key, in every phase;
 * leases that outlive a phase, forward and back; a waiter beside a change of
 * the topology; clients of both transports; servers without CAS.
 *
 * The old ring is server 0 (O) alone, the new one both: moved keys go to 1 (N).
 */
#include <pthread.h>
#include <string.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"
#include "tests/lib/transports.h"

enum { O = 0, N = 1, LONG_MS = 20000 };

static const char *const options[] = {"deadline_ms", "20000", "max_deadline_ms", "20000", NULL};

typedef struct {
    fixture_t *fixture;
    warmring_t *client;
    unsigned next;
} plan_t;

static const char *phase_of(const plan_t *plan) {
    return warmring_phase_name(steps_phase(plan->client));
}

static void open_plan(plan_t *plan) {
    plan->client = steps_open(fixture_address(plan->fixture, O), options);
    plan->next = 0;
}

static void close_plan(plan_t *plan) {
    warmring_close(plan->client);
    fixture_flush(plan->fixture);
}

static warmring_status_t lease(warmring_t *client, const char *key, uint32_t mode,
                               warmring_token_t *token) {
    warmring_call_t call = WARMRING_CALL_INIT;
    warmring_item_t item = WARMRING_ITEM_INIT;
    call.mode = mode;
    warmring_status_t status = warmring_get_or_lease(client, key, strlen(key), 60000, &item, &call);
    *token = item.token;
    warmring_item_clear(&item);
    return status;
}

static warmring_status_t load(warmring_t *client, const char *key, const warmring_token_t *token) {
    return warmring_cas(client, key, strlen(key), "loaded", 6, 0, 0, token, NULL);
}

/* ---- other calls on a leased key ---------------------------------------------- */

/* Where the key is in `phase`, and with it the lease. */
static size_t authority(const plan_t *plan, bool moved) {
    return moved && steps_phase(plan->client) >= WARMRING_DRAINING ? N : O;
}

static void leased_key(plan_t *plan, bool moved, char *key, warmring_token_t *token) {
    choose_key(plan->client, "leased", moved, &plan->next, key);
    tap_status(lease(plan->client, key, 0, token), WARMRING_LEASED, "a lease in %s",
               phase_of(plan));
}

static void test_get_and_touch(plan_t *plan, bool moved) {
    char key[CALLS_KEY_SIZE];
    warmring_token_t token;
    warmring_item_t item = WARMRING_ITEM_INIT;
    leased_key(plan, moved, key, &token);
    tap_status(warmring_get_and_touch(plan->client, key, strlen(key), 0, &item, NULL),
               WARMRING_NOT_FOUND, "get_and_touch: a miss");
    raw_item_t stub = raw_look(plan->fixture, authority(plan, moved), key);
    tap_ok(!stub.present || stub.ttl >= 0, "which has made no lease without end");
}

static void test_counters(plan_t *plan, bool moved) {
    char key[CALLS_KEY_SIZE];
    warmring_token_t token;
    const uint64_t initial = 40;
    uint64_t number = 0;
    leased_key(plan, moved, key, &token);
    tap_status(warmring_increment(plan->client, key, strlen(key), 3, NULL, 0, &number, NULL),
               WARMRING_NOT_FOUND, "increment of nothing but a lease");
    leased_key(plan, moved, key, &token);
    tap_status(warmring_increment(plan->client, key, strlen(key), 3, &initial, 0, &number, NULL),
               WARMRING_OK, "increment with an initial value");
    tap_int((int64_t)number, 40, "starts there");
    raw_holds(plan->fixture, authority(plan, moved), key, "40", "stored");
    tap_status(load(plan->client, key, &token), WARMRING_EXISTS, "the loader is too late");
    answer_t answer = read_key(plan->client, key);
    tap_string(shown(&answer), "40", "the counter stays");
}

/* An append to a lease makes no value, for a short buffer either. */
static void test_small_buffer(plan_t *plan, bool moved) {
    char key[CALLS_KEY_SIZE], buffer[1];
    warmring_token_t token;
    warmring_item_t item = WARMRING_ITEM_INIT;
    leased_key(plan, moved, key, &token);
    (void)!warmring_append(plan->client, key, strlen(key), "suffix", 6, NULL);
    tap_status(
        warmring_get_into(plan->client, key, strlen(key), buffer, sizeof buffer, &item, NULL),
        WARMRING_NOT_FOUND, "get_into with one byte, after an append");
}

static void test_calls(plan_t *plan, bool moved) {
    test_small_buffer(plan, moved);
    if (test_is_meta() || !moved || steps_phase(plan->client) < WARMRING_DRAINING) {
        test_get_and_touch(plan, moved); /* else it cannot be exact: NOT_SUPPORTED */
        test_counters(plan, moved);
    }
}

static void test_phases(plan_t *plan) {
    open_plan(plan);
    steps_begin(plan->client, fixture_servers(plan->fixture));
    for (warmring_phase_t phase = WARMRING_PREPARED; phase <= WARMRING_SETTLING; phase++) {
        steps_forward(plan->client, phase);
        test_calls(plan, false);
        if (phase != WARMRING_HANDOVER) {
            test_calls(plan, true);
        }
    }
    close_plan(plan);
}

/* ---- leases that outlive a phase ------------------------------------------------ */

static bool is_refusal(warmring_status_t status) {
    return status == WARMRING_EXISTS || status == WARMRING_NOT_FOUND ||
           status == WARMRING_TRY_AGAIN;
}

/* Who comes later finds a miss, and may load it itself. */
static void check_late_load(plan_t *plan, const char *key, const warmring_token_t *token) {
    warmring_token_t own;
    warmring_status_t status = load(plan->client, key, token);
    tap_ok(is_refusal(status), "a lease of another phase stores nothing in %s: %s", phase_of(plan),
           warmring_status_name(status));
    answer_t answer = read_key(plan->client, key);
    tap_string(shown(&answer), NULL, "a miss");
    if (steps_phase(plan->client) != WARMRING_HANDOVER) {
        status = lease(plan->client, key, 0, &own);
        bool busy = status == WARMRING_LEASE_BUSY;
        tap_ok(busy || status == WARMRING_LEASED, "the next: %s", warmring_status_name(status));
        if (!busy) {
            tap_status(load(plan->client, key, &own), WARMRING_OK, "it loads");
            answer = read_key(plan->client, key);
            tap_string(shown(&answer), "loaded", "and that is read");
        }
    }
}

static void test_forward(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    warmring_token_t token;
    open_plan(plan);
    steps_begin(plan->client, fixture_servers(plan->fixture));
    for (warmring_phase_t phase = WARMRING_PREPARED; phase < WARMRING_SETTLING; phase++) {
        if (phase != WARMRING_HANDOVER) {
            leased_key(plan, true, key, &token);
            steps_forward(plan->client, phase + 1);
            check_late_load(plan, key, &token);
        } else {
            steps_forward(plan->client, phase + 1);
        }
    }
    close_plan(plan);
}

static void test_back(plan_t *plan) {
    char key[3][CALLS_KEY_SIZE];
    warmring_token_t token[3];
    static const warmring_phase_t phases[] = {WARMRING_WARMING, WARMRING_DRAINING,
                                              WARMRING_CLOSING};
    open_plan(plan);
    steps_begin(plan->client, fixture_servers(plan->fixture));
    for (size_t i = 0; i < 3; i++) {
        steps_forward(plan->client, phases[i]);
        leased_key(plan, true, key[i], &token[i]);
    }
    steps_take(plan->client, WARMRING_ROLLBACK);
    for (size_t i = 0; i < 3; i++) {
        warmring_status_t status = load(plan->client, key[i], &token[i]);
        tap_ok(is_refusal(status), "back in HANDOVER: %s", warmring_status_name(status));
    }
    steps_take(plan->client, WARMRING_ROLLBACK);
    for (size_t i = 0; i < 3; i++) {
        check_late_load(plan, key[i], &token[i]);
    }
    close_plan(plan);
}

/* ---- a waiter -------------------------------------------------------------------- */

typedef struct {
    warmring_t *client;
    const char *key;
    warmring_token_t token;
    warmring_status_t status;
    pthread_t thread;
} waiter_t;

static void *wait_in_thread(void *argument) {
    waiter_t *waiter = argument;
    waiter->status = lease(waiter->client, waiter->key, WARMRING_WAIT, &waiter->token);
    return NULL;
}

static uint64_t count_reads(warmring_t *client) {
    warmring_snapshot_t *snapshot = NULL;
    warmring_counters_t counters = {.size = sizeof counters};
    if (warmring_snapshot_create(client, &snapshot) != WARMRING_OK ||
        warmring_snapshot_client(snapshot, -1, &counters) != WARMRING_OK) {
        tap_bail("no snapshot: %s", warmring_error_detail());
    }
    warmring_snapshot_free(snapshot);
    return counters.reads;
}

/* Returns when it has looked at least twice. */
static void start_waiter(const plan_t *plan, const char *key, waiter_t *waiter) {
    uint64_t reads = count_reads(plan->client);
    *waiter = (waiter_t){.client = plan->client, .key = key};
    if (pthread_create(&waiter->thread, NULL, wait_in_thread, waiter) != 0) {
        tap_bail("cannot start a thread");
    }
    for (int i = 0; count_reads(plan->client) < reads + 2; i++) {
        traffic_wait_ms(2);
        if (i > LONG_MS / 2) {
            tap_bail("the waiter does not look");
        }
    }
}

/* Steps, and a change that waits until no call of the old topology runs, are
 * not held up by who waits for a lease; the waiter goes on in the new one. */
static void test_waiter(plan_t *plan, bool cold) {
    char key[CALLS_KEY_SIZE];
    warmring_token_t token;
    waiter_t waiter;
    open_plan(plan);
    steps_begin(plan->client, fixture_servers(plan->fixture));
    choose_key(plan->client, "waited", true, &plan->next, key);
    steps_take(plan->client, WARMRING_ROLLBACK);
    tap_status(lease(plan->client, key, 0, &token), WARMRING_LEASED, "one loads");
    start_waiter(plan, key, &waiter);
    if (cold) {
        steps_flip(plan->client, fixture_servers(plan->fixture));
    } else {
        steps_begin(plan->client, fixture_servers(plan->fixture));
        steps_forward(plan->client, WARMRING_WARMING);
        steps_take(plan->client, WARMRING_COMMIT_DIRECTLY);
    }
    tap_status(load(plan->client, key, &token), WARMRING_EXISTS, "what it loaded came too late");
    pthread_join(waiter.thread, NULL);
    tap_status(waiter.status, WARMRING_LEASED, "who waited loads, after a %s",
               cold ? "cold change" : "migration");
    tap_status(load(plan->client, key, &waiter.token), WARMRING_OK, "and stores");
    raw_holds(plan->fixture, N, key, "loaded", "on the new owner");
    close_plan(plan);
}

/* ---- both transports --------------------------------------------------------------- */

static void test_mixed_phase(plan_t *plan, warmring_t *other) {
    char key[CALLS_KEY_SIZE];
    warmring_token_t token, others;
    leased_key(plan, true, key, &token);
    tap_status(lease(other, key, 0, &others), WARMRING_LEASE_BUSY, "the other client is told");
    answer_t answer = read_key(other, key);
    tap_string(shown(&answer), NULL, "and reads a miss");
    tap_status(store_key(other, key, "newer"), WARMRING_OK, "it stores");
    tap_ok(is_refusal(load(plan->client, key, &token)), "then the load is refused");
    answer = read_key(plan->client, key);
    tap_string(shown(&answer), "newer", "what was stored stays");

    leased_key(plan, true, key, &token);
    tap_status(load(plan->client, key, &token), WARMRING_OK, "a load is stored");
    answer = read_key(other, key);
    tap_string(shown(&answer), "loaded", "for the other client too");
}

static void test_mixed(plan_t *plan) {
    const char *mine = test_transport();
    open_plan(plan);
    test_use_transport(test_is_meta() ? "libmemcached" : "meta");
    warmring_t *other = steps_open(fixture_address(plan->fixture, O), options);
    test_use_transport(mine);
    steps_begin(plan->client, fixture_servers(plan->fixture));
    steps_apply(other, steps_present(plan->client));
    for (warmring_phase_t phase = WARMRING_PREPARED; phase <= WARMRING_SETTLING; phase++) {
        steps_forward(plan->client, phase);
        steps_forward(other, phase);
        if (phase != WARMRING_HANDOVER) {
            test_mixed_phase(plan, other);
        }
    }
    warmring_close(other);
    close_plan(plan);
}

/* ---- servers without CAS -------------------------------------------------------------- */

/* Nothing can be bound to what such a server holds. One that gains keys is
 * refused at PREPARED; a client that joins later has not asked. */
static void test_without_cas(void) {
    static const char *const no_cas[] = {"-C", NULL};
    char key[CALLS_KEY_SIZE];
    warmring_token_t token;
    plan_t plan = {.fixture = fixture_start(1, NULL)};
    (void)fixture_add(plan.fixture, no_cas);
    warmring_topology_t *now = NULL, *target = NULL, *prepared = NULL, *next = NULL;
    (void)!warmring_topology_parse(&now, fixture_address(plan.fixture, O), NULL, 0);
    (void)!warmring_topology_parse(&target, fixture_servers(plan.fixture), NULL, 0);
    (void)!warmring_topology_migrate(now, target, &prepared);
    (void)!warmring_topology_step(prepared, WARMRING_WARM, &next);

    warmring_options_t *set = test_options();
    tap_status(warmring_open_topology(&plan.client, now, set), WARMRING_OK, "open in STABLE");
    tap_status(warmring_apply(plan.client, prepared, 0), WARMRING_NOT_SUPPORTED,
               "PREPARED is refused");
    tap_contains(warmring_error_detail(), "-C", "the text says why");
    warmring_close(plan.client);
    tap_status(warmring_open_topology(&plan.client, next, set), WARMRING_OK, "open in WARMING");
    warmring_options_free(set);
    steps_rollout(plan.client, WARMRING_ROLLOUT_ALL);
    for (size_t i = 0; i < READ_WAYS; i++) {
        choose_key(plan.client, "bare", true, &plan.next, key);
        raw_store(plan.fixture, O, key, 0, 0, "10");
        answer_t answer = read_ways[i].call(plan.client, key, 0);
        tap_string(shown(&answer), "10", "%s in WARMING", read_ways[i].name);
        raw_item_t copy = raw_look(plan.fixture, N, key);
        tap_ok(!copy.present || copy.length == 0, "copies nothing");
    }
    steps_forward(plan.client, WARMRING_DRAINING);
    tap_status(warmring_append(plan.client, key, strlen(key), "7", 1, NULL), WARMRING_NOT_SUPPORTED,
               "append in DRAINING");
    raw_holds(plan.fixture, O, key, "10", "the value stays");
    choose_key(plan.client, "bare", true, &plan.next, key);
    for (int i = 0; i < 2; i++) {
        tap_status(lease(plan.client, key, 0, &token), WARMRING_NOT_SUPPORTED, "nor a lease");
    }
    raw_holds(plan.fixture, N, key, NULL, "no stub stays");
    raw_store(plan.fixture, N, key, 0, 0, "newer");
    answer_t answer = read_key(plan.client, key);
    tap_string(shown(&answer), NULL, "a value that cannot be told from a ghost is a miss");
    raw_holds(plan.fixture, N, key, "newer", "but not removed");
    warmring_topology_release(now);
    warmring_topology_release(target);
    warmring_topology_release(prepared);
    warmring_topology_release(next);
    warmring_close(plan.client);
    fixture_free(plan.fixture);
}

static void run_all(void) {
    plan_t plan = {.fixture = fixture_start(2, NULL)};
    test_phases(&plan);
    test_forward(&plan);
    test_back(&plan);
    test_waiter(&plan, false);
    test_waiter(&plan, true);
    if (TEST_TRANSPORTS_BUILT > 1) {
        test_mixed(&plan);
    }
    fixture_free(plan.fixture);
    test_without_cas();
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
