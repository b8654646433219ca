/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topologies changed while traffic runs: weights, servers added and removed,
 * a named server that moves to another address, first at once and then by a
 * migration each; and many threads that put topologies in force at the same
 * time.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/lib/fixture.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"
#include "tests/lib/transports.h"

enum { SERVERS = 6, KEYS = 2000, THREADS = 8, APPLIERS = 4 };

/* No call may fail because the machine is busy. */
static const char *const patient[] = {"deadline_ms", "30000", "max_deadline_ms", "30000", NULL};

typedef struct {
    fixture_t *fixture;
    warmring_t *client;
    traffic_t *traffic;
    uint64_t operations; /* of each thread, between two steps */
} plan_t;

static void demand(warmring_status_t status) {
    if (status != WARMRING_OK) {
        tap_bail("%s: %s", warmring_status_name(status), warmring_error_detail());
    }
}

/* ---- edits ------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    warmring_status_t (*make)(const plan_t *plan, const warmring_topology_t *now,
                              warmring_topology_t **next);
} edit_t;

static warmring_status_t raise(const plan_t *plan, const warmring_topology_t *now,
                               warmring_topology_t **next) {
    (void)plan;
    return warmring_topology_set_weight(now, "one", 2.5, next);
}

static warmring_status_t add(const plan_t *plan, const warmring_topology_t *now,
                             warmring_topology_t **next) {
    char server[128];
    snprintf(server, sizeof server, "five=%s:2", fixture_address(plan->fixture, 4));
    return warmring_topology_add_server(now, server, next);
}

static warmring_status_t drop(const plan_t *plan, const warmring_topology_t *now,
                              warmring_topology_t **next) {
    (void)plan;
    return warmring_topology_remove_server(now, "three", next);
}

static warmring_status_t move(const plan_t *plan, const warmring_topology_t *now,
                              warmring_topology_t **next) {
    return warmring_topology_set_address(now, "two", fixture_address(plan->fixture, 5), next);
}

static warmring_status_t lower(const plan_t *plan, const warmring_topology_t *now,
                               warmring_topology_t **next) {
    (void)plan;
    return warmring_topology_set_weight(now, "one", 1, next);
}

static warmring_status_t drain(const plan_t *plan, const warmring_topology_t *now,
                               warmring_topology_t **next) {
    (void)plan;
    return warmring_topology_set_weight(now, "five", 0, next);
}

static warmring_status_t move_back(const plan_t *plan, const warmring_topology_t *now,
                                   warmring_topology_t **next) {
    return warmring_topology_set_address(now, "two", fixture_address(plan->fixture, 1), next);
}

static warmring_status_t add_back(const plan_t *plan, const warmring_topology_t *now,
                                  warmring_topology_t **next) {
    char server[128];
    snprintf(server, sizeof server, "three=%s", fixture_address(plan->fixture, 2));
    return warmring_topology_add_server(now, server, next);
}

/* In this order no key goes to a server that had it before: what is there
 * from then would be taken for the value. */
static const edit_t at_once[] = {
    {"a weight raised", raise},
    {"a server added", add},
    {"a server moved to another address", move},
    {"a server removed", drop},
};

/* These go back to where keys have been. */
static const edit_t warm[] = {
    {"a weight lowered", lower},        {"a server drained", drain},
    {"a server moved back", move_back}, {"a server added again", add_back},
    {"a weight raised again", raise},   {"a server removed again", drop},
};

/* ---- putting them in force ----------------------------------------------------------- */

static void pass(const plan_t *plan) {
    traffic_wait(plan->traffic, plan->operations);
}

static warmring_topology_t *edited(const plan_t *plan, const edit_t *edit) {
    warmring_topology_t *next = NULL, *now = steps_present(plan->client);
    demand(edit->make(plan, now, &next));
    warmring_topology_release(now);
    return next;
}

static void do_at_once(const plan_t *plan, const edit_t *edit) {
    steps_apply(plan->client, edited(plan, edit));
    pass(plan);
}

static void do_warm(const plan_t *plan, const edit_t *edit) {
    warmring_topology_t *target = edited(plan, edit);
    steps_migrate(plan->client, target);
    warmring_topology_release(target);
    for (warmring_phase_t phase = WARMRING_WARMING; phase <= WARMRING_SETTLING; phase++) {
        pass(plan);
        steps_forward(plan->client, phase);
    }
    traffic_sweep(plan->traffic);
    steps_take(plan->client, WARMRING_SETTLE);
    pass(plan);
}

static void test_edit(const plan_t *plan, const edit_t *edit, const char *how,
                      void (*put)(const plan_t *, const edit_t *)) {
    traffic_counts_t before = traffic_counts(plan->traffic);
    put(plan, edit);
    traffic_counts_t after = traffic_counts(plan->traffic);
    traffic_counts_t counts = traffic_difference(&after, &before);
    bool good = tap_ok(counts.stale == 0 && counts.unwritten == 0 && counts.errors == 0,
                       "%s %s: %llu reads, none stale or unwritten, no call failed", edit->name,
                       how, (unsigned long long)counts.reads);
    if (!good) {
        traffic_note("  counts", &counts);
    }
}

/* ---- many at a time -------------------------------------------------------------------- */

typedef struct {
    warmring_t *client;
    pthread_t thread;
    uint32_t rollout;
    unsigned rounds;
    unsigned applied, refused, others;
} applier_t;

static _Atomic uint64_t newest; /* epoch that was applied */

static void apply_one(applier_t *applier, uint32_t rollout) {
    warmring_topology_t *next = NULL, *now = steps_present(applier->client);
    demand(warmring_topology_rollout(now, NULL, rollout, &next));
    warmring_status_t status = warmring_apply(applier->client, next, 10000);
    if (status == WARMRING_OK) {
        uint64_t seen = atomic_load(&newest), mine = warmring_topology_epoch(next);
        while (seen < mine && !atomic_compare_exchange_weak(&newest, &seen, mine)) {
        }
        applier->applied++;
    } else if (status == WARMRING_ILLEGAL_STEP) {
        applier->refused++; /* another thread was first with this epoch */
    } else {
        applier->others++;
        tap_note("apply: %s: %s", warmring_status_name(status), warmring_error_detail());
    }
    warmring_topology_release(next);
    warmring_topology_release(now);
}

static void *apply_many(void *argument) {
    applier_t *applier = argument;
    for (unsigned i = 0; i < applier->rounds; i++) {
        apply_one(applier, (applier->rollout + i * 977) % WARMRING_ROLLOUT_ALL);
    }
    return NULL;
}

static uint64_t applies(warmring_t *client) {
    warmring_snapshot_t *snapshot = NULL;
    warmring_counters_t counters = {.size = sizeof counters};
    demand(warmring_snapshot_create(client, &snapshot));
    demand(warmring_snapshot_client(snapshot, -1, &counters));
    warmring_snapshot_free(snapshot);
    return counters.applies;
}

static void test_concurrent(const plan_t *plan, const edit_t *edit) {
    applier_t appliers[APPLIERS];
    atomic_store(&newest, 0);
    warmring_topology_t *next = NULL, *now = steps_present(plan->client);
    warmring_topology_t *target = edited(plan, edit);
    demand(warmring_topology_migrate(now, target, &next));
    warmring_topology_release(target);
    warmring_topology_release(now);
    steps_apply(plan->client, next);
    steps_take(plan->client, WARMRING_WARM);
    traffic_counts_t before = traffic_counts(plan->traffic);
    uint64_t applied_before = applies(plan->client), applied = 0;
    unsigned others = 0;
    for (uint32_t i = 0; i < APPLIERS; i++) {
        appliers[i] = (applier_t){.client = plan->client,
                                  .rollout = i * 2000,
                                  .rounds = (unsigned)(100 * tap_seconds()) + 20};
        if (pthread_create(&appliers[i].thread, NULL, apply_many, &appliers[i]) != 0) {
            tap_bail("cannot start a thread");
        }
    }
    for (size_t i = 0; i < APPLIERS; i++) {
        pthread_join(appliers[i].thread, NULL);
        applied += appliers[i].applied;
        others += appliers[i].others;
    }
    now = steps_present(plan->client);
    traffic_counts_t after = traffic_counts(plan->traffic);
    traffic_counts_t counts = traffic_difference(&after, &before);
    tap_ok(applied > 0, "%llu of %u applies of %d threads at the same time were done",
           (unsigned long long)applied, APPLIERS * appliers[0].rounds, APPLIERS);
    tap_int(others, 0, "the others were refused, since another came first");
    tap_int((int64_t)(applies(plan->client) - applied_before), (int64_t)applied,
            "those done are counted");
    tap_int((int64_t)warmring_topology_epoch(now), (int64_t)atomic_load(&newest),
            "the newest is in force");
    tap_int((int64_t)(counts.stale + counts.unwritten + counts.errors), 0,
            "%llu reads meanwhile, none stale or unwritten, no call failed",
            (unsigned long long)counts.reads);
    warmring_topology_release(now);
}

static void run_all(void) {
    const traffic_options_t shape = {
        .threads = THREADS, .keys = KEYS, .sets = 15, .deletes = 5, .multi = 10, .seed = 99};
    plan_t plan = {.fixture = fixture_start(SERVERS, NULL),
                   .operations = 20 + (uint64_t)(40 * tap_seconds())};
    char servers[512];
    snprintf(servers, sizeof servers, "one=%s,two=%s,three=%s,four=%s",
             fixture_address(plan.fixture, 0), fixture_address(plan.fixture, 1),
             fixture_address(plan.fixture, 2), fixture_address(plan.fixture, 3));
    plan.client = steps_open(servers, patient);
    plan.traffic = traffic_create(plan.client, &shape);
    traffic_fill(plan.traffic);
    traffic_start(plan.traffic);
    pass(&plan);
    for (size_t i = 0; i < sizeof at_once / sizeof at_once[0]; i++) {
        test_edit(&plan, &at_once[i], "at once", do_at_once);
    }
    for (size_t i = 0; i < sizeof warm / sizeof warm[0]; i++) {
        test_edit(&plan, &warm[i], "warm", do_warm);
    }
    test_concurrent(&plan, &warm[0]);
    traffic_stop(plan.traffic);
    traffic_counts_t counts = traffic_counts(plan.traffic);
    traffic_note("all edits", &counts);
    traffic_free(plan.traffic);
    warmring_close(plan.client);
    fixture_free(plan.fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
