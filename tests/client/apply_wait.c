/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom apply waits for, and who waits for apply.
 *
 * A call that is under way is one on a stopped server. The old ring is server
 * 0 (O) alone, the new one both; O is the one that is stopped, so calls that
 * need N alone show which topology new calls see.
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

enum { O = 0, N = 1, LONG_MS = 20000, SHORT_MS = 300 };

static const char *const options[] = {
    "deadline_ms", "20000", "max_deadline_ms", "20000", "failure_limit", "1000000", NULL};

typedef struct {
    fixture_t *fixture;
    char before[64];
    const char *after;
    warmring_t *client;
    char on_old[CALLS_KEY_SIZE], on_new[CALLS_KEY_SIZE];
} plan_t;

/* ---- calls of other threads ------------------------------------------------------- */

typedef struct {
    warmring_t *client;
    const char *key;
    pthread_t thread;
    answer_t answer;
} reader_t;

static void *read_in_thread(void *argument) {
    reader_t *reader = argument;
    reader->answer = read_key(reader->client, reader->key);
    return NULL;
}

typedef struct {
    warmring_t *client;
    const warmring_topology_t *next;
    pthread_t thread;
    warmring_status_t status;
} applier_t;

static void *apply_in_thread(void *argument) {
    applier_t *applier = argument;
    applier->status = warmring_apply(applier->client, applier->next, LONG_MS);
    return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), void *argument) {
    if (pthread_create(thread, NULL, run, argument) != 0) {
        tap_bail("cannot start a thread");
    }
}

/* Starts a call and returns when it is under way, on the stopped O. It first
 * asks N, where that can be seen; there is no copy and NO_FILL is not set, so
 * its stub tells. */
static void start_call(const plan_t *plan, reader_t *reader) {
    *reader = (reader_t){.client = plan->client, .key = plan->on_old};
    start(&reader->thread, read_in_thread, reader);
    for (int i = 0; !raw_look(plan->fixture, N, plan->on_old).present; i++) {
        traffic_wait_ms(2);
        if (i > LONG_MS / 2) {
            tap_bail("the call does not get under way");
        }
    }
}

static void end_call(const plan_t *plan, reader_t *reader) {
    fixture_continue(plan->fixture, O);
    pthread_join(reader->thread, NULL);
    tap_string(shown(&reader->answer), "old", "the call under way ends well");
}

/* ---- topologies -------------------------------------------------------------------- */

static void demand(warmring_status_t status) {
    if (status != WARMRING_OK) {
        tap_bail("%s: %s", warmring_status_name(status), warmring_error_detail());
    }
}

static warmring_topology_t *next_rollout(const warmring_topology_t *from, uint32_t rollout) {
    warmring_topology_t *next = NULL;
    demand(warmring_topology_rollout(from, NULL, rollout, &next));
    return next;
}

static uint32_t rollout_in_force(const plan_t *plan) {
    warmring_topology_t *present = steps_present(plan->client);
    uint32_t rollout = warmring_topology_get_rollout(present, NULL);
    warmring_topology_release(present);
    return rollout;
}

/* WARMING, all rolled in, with a key on O alone and one on N alone. */
static void prepare(plan_t *plan) {
    unsigned next = 0;
    fixture_flush(plan->fixture);
    plan->client = steps_open(plan->before, options);
    steps_begin(plan->client, plan->after);
    steps_forward(plan->client, WARMRING_WARMING);
    choose_key(plan->client, "wait", true, &next, plan->on_old);
    choose_key(plan->client, "wait", true, &next, plan->on_new);
    (void)read_key(plan->client, plan->on_new); /* connects to both */
    raw_store(plan->fixture, O, plan->on_old, 0, 0, "old");
    raw_store(plan->fixture, N, plan->on_new, 0, 0, "new");
    fixture_stop(plan->fixture, O);
}

static void check_new(const plan_t *plan, const char *what) {
    answer_t answer = read_key(plan->client, plan->on_new);
    tap_string(shown(&answer), "new", "%s", what);
}

/* ---- neighbours ---------------------------------------------------------------------- */

/* Two topologies may be in use, not three. */
static void test_neighbours(plan_t *plan) {
    reader_t reader;
    prepare(plan);
    warmring_topology_t *first = steps_present(plan->client);
    warmring_topology_t *second = next_rollout(first, 9999);
    warmring_topology_t *third = next_rollout(second, 9998);
    start_call(plan, &reader);
    tap_status(warmring_apply(plan->client, second, SHORT_MS), WARMRING_OK,
               "a neighbour is put in force while a call is under way");
    tap_int(rollout_in_force(plan), 9999, "it is in force");
    check_new(plan, "new calls work with it");
    tap_status(warmring_apply(plan->client, third, SHORT_MS), WARMRING_TIMEOUT,
               "the next one has to wait for that call, and gives up");
    tap_contains(warmring_error_detail(), "have not ended", "the text says why");
    tap_int(rollout_in_force(plan), 9999, "what was in force stays");
    check_new(plan, "calls go on");

    applier_t applier = {.client = plan->client, .next = third};
    start(&applier.thread, apply_in_thread, &applier);
    traffic_wait_ms(50);
    check_new(plan, "and while an apply waits");
    end_call(plan, &reader);
    pthread_join(applier.thread, NULL);
    tap_status(applier.status, WARMRING_OK, "that apply ends when the call has ended");
    tap_int(rollout_in_force(plan), 9998, "and is in force");
    warmring_topology_release(third);
    warmring_topology_release(second);
    warmring_topology_release(first);
    warmring_close(plan->client);
}

/* ---- others ---------------------------------------------------------------------------- */

typedef warmring_topology_t *maker_t(const plan_t *plan, const warmring_topology_t *present);

static warmring_topology_t *draining_directly(const plan_t *plan,
                                              const warmring_topology_t *present) {
    (void)plan;
    warmring_topology_t *next = NULL;
    demand(warmring_topology_step(present, WARMRING_COMMIT_DIRECTLY, &next));
    return next;
}

/* Reads until a call does not get in. */
static warmring_status_t wait_until_refused(const plan_t *plan) {
    warmring_call_t call = WARMRING_CALL_INIT;
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_status_t status = WARMRING_OK;
    call.deadline_ms = SHORT_MS;
    for (int i = 0; i < LONG_MS && status == WARMRING_OK; i++) {
        status = warmring_get(plan->client, plan->on_new, strlen(plan->on_new), &item, &call);
        warmring_item_clear(&item);
    }
    return status;
}

/* They are not in use together: calls wait while apply does, within their
 * deadlines. */
static void test_after_all(plan_t *plan, maker_t *make, const char *what) {
    reader_t reader, waiter;
    warmring_topology_t *present = steps_present(plan->client);
    warmring_topology_t *next = make(plan, present);
    start_call(plan, &reader);
    tap_status(warmring_apply(plan->client, next, SHORT_MS), WARMRING_TIMEOUT,
               "%s waits for the call under way, and gives up", what);
    check_new(plan, "then calls go on");

    applier_t applier = {.client = plan->client, .next = next};
    start(&applier.thread, apply_in_thread, &applier);
    tap_status(wait_until_refused(plan), WARMRING_TIMEOUT,
               "while %s waits a call waits too, until its deadline", what);
    tap_contains(warmring_error_detail(), "topology", "the text says for what");
    waiter = (reader_t){.client = plan->client, .key = plan->on_new};
    start(&waiter.thread, read_in_thread, &waiter);
    traffic_wait_ms(20);
    tap_int(steps_phase(plan->client), warmring_topology_phase(present),
            "looking at the topology does not wait");
    end_call(plan, &reader);
    pthread_join(applier.thread, NULL);
    pthread_join(waiter.thread, NULL);
    tap_status(applier.status, WARMRING_OK, "%s is done", what);
    tap_string(shown(&waiter.answer), "new", "the call with a longer deadline is served then");
    tap_int(steps_phase(plan->client), warmring_topology_phase(next), "and the next is in force");
    warmring_topology_release(next);
    warmring_topology_release(present);
    warmring_close(plan->client);
}

/* ---- one STABLE after another -------------------------------------------------------------- */

static warmring_topology_t *cold_flip(const plan_t *plan, const warmring_topology_t *present) {
    warmring_topology_t *next = NULL;
    demand(warmring_topology_add_server(present, fixture_address(plan->fixture, N), &next));
    return next;
}

/* Without a migration there is no stub to watch a call by: it has the only
 * connection when there is none for others. */
static void wait_until_busy(const plan_t *plan) {
    warmring_call_t call = WARMRING_CALL_INIT;
    warmring_item_t item = WARMRING_ITEM_INIT;
    call.deadline_ms = 20;
    do {
        (void)!warmring_get(plan->client, "other", 5, &item, &call);
    } while (strstr(warmring_error_detail(), "pool_max") == NULL);
}

static void test_stable(plan_t *plan) {
    const char *one[] = {"deadline_ms", "20000",         "max_deadline_ms", "20000", "pool_max",
                         "1",           "failure_limit", "1000000",         NULL};
    reader_t reader = {.key = "stable"};
    plan->client = steps_open(plan->before, one);
    reader.client = plan->client;
    tap_status(store_key(plan->client, "stable", "old"), WARMRING_OK, "a key on the only server");
    warmring_topology_t *present = steps_present(plan->client);
    warmring_topology_t *next = cold_flip(plan, present);
    fixture_stop(plan->fixture, O);
    start(&reader.thread, read_in_thread, &reader);
    wait_until_busy(plan);
    tap_status(warmring_apply(plan->client, next, SHORT_MS), WARMRING_TIMEOUT,
               "a cold flip waits for the call under way, and gives up");
    tap_int(steps_phase(plan->client), WARMRING_STABLE, "STABLE stays");
    applier_t applier = {.client = plan->client, .next = next};
    start(&applier.thread, apply_in_thread, &applier);
    end_call(plan, &reader);
    pthread_join(applier.thread, NULL);
    tap_status(applier.status, WARMRING_OK, "it is done when the call has ended");
    warmring_topology_release(next);
    warmring_topology_release(present);
    warmring_close(plan->client);
}

/* ---- applies among themselves ---------------------------------------------------------------- */

static void test_second_apply(plan_t *plan) {
    reader_t reader;
    prepare(plan);
    warmring_topology_t *first = steps_present(plan->client);
    warmring_topology_t *second = next_rollout(first, 9999);
    warmring_topology_t *third = next_rollout(second, 9998);
    warmring_topology_t *fourth = next_rollout(third, 9997);
    start_call(plan, &reader);
    demand(warmring_apply(plan->client, second, SHORT_MS));
    applier_t applier = {.client = plan->client, .next = third};
    start(&applier.thread, apply_in_thread, &applier);
    warmring_status_t status;
    do { /* until the other is first */
        status = warmring_apply(plan->client, fourth, SHORT_MS);
    } while (status == WARMRING_TIMEOUT && strstr(warmring_error_detail(), "earlier") != NULL);
    tap_status(status, WARMRING_TIMEOUT, "an apply waits for another one, and gives up");
    tap_contains(warmring_error_detail(), "another apply", "the text says so");
    end_call(plan, &reader);
    pthread_join(applier.thread, NULL);
    tap_status(applier.status, WARMRING_OK, "the other one is done");
    tap_status(warmring_apply(plan->client, fourth, SHORT_MS), WARMRING_OK, "and so is the next");
    warmring_topology_release(fourth);
    warmring_topology_release(third);
    warmring_topology_release(second);
    warmring_topology_release(first);
    warmring_close(plan->client);
}

static void run_all(void) {
    plan_t plan = {.fixture = fixture_start(2, NULL)};
    snprintf(plan.before, sizeof plan.before, "%s", fixture_address(plan.fixture, O));
    plan.after = fixture_servers(plan.fixture);
    test_neighbours(&plan);
    prepare(&plan);
    test_after_all(&plan, draining_directly, "WARMING to DRAINING");
    test_stable(&plan);
    test_second_apply(&plan);
    fixture_free(plan.fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
