/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four servers grow to six, with other weights, under the traffic of eight
 * threads: three times the same traffic, once without any change, once with
 * a warm migration and once with a cold flip of the same rings. What the
 * change costs is what the origin is asked beyond the first.
 *
 * Phases last for numbers of operations, so nothing here depends on how fast
 * the machine is. Copies have to outlive the migration: fill_ttl_s says so.
 */
#include "tests/lib/fixture.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"

enum { SERVERS = 6, KEYS = 20000, THREADS = 8 };

static const char *const options[] = {"fill_ttl_s",      "86400", "deadline_ms", "30000",
                                      "max_deadline_ms", "30000", NULL};

typedef struct {
    fixture_t *servers;
    char before[512], after[512];
    uint64_t operations; /* of each thread, in one run */
} plan_t;

static void describe(plan_t *plan) {
    static const double weights[2][SERVERS] = {{1, 1, 1, 1}, {1, 2, 1, 1, 1, 2}};
    char *const text[2] = {plan->before, plan->after};
    for (size_t ring = 0; ring < 2; ring++) {
        size_t used = 0;
        for (size_t i = 0; i < SERVERS; i++) {
            if (weights[ring][i] > 0) {
                used += (size_t)snprintf(text[ring] + used, sizeof plan->before - used, "%s:%g,",
                                         fixture_address(plan->servers, i), weights[ring][i]);
            }
        }
        text[ring][used - 1] = '\0';
    }
}

/* ---- the three runs ----------------------------------------------------------- */

/* Lets a share of the run pass. */
static void pass(const plan_t *plan, const traffic_t *traffic, unsigned per_cent) {
    traffic_wait(traffic, plan->operations * per_cent / 100);
}

static void change_nothing(const plan_t *plan, warmring_t *client, traffic_t *traffic) {
    (void)client;
    pass(plan, traffic, 100);
}

static void flip(const plan_t *plan, warmring_t *client, traffic_t *traffic) {
    pass(plan, traffic, 5);
    steps_flip(client, plan->after);
    pass(plan, traffic, 95);
}

static void migrate(const plan_t *plan, warmring_t *client, traffic_t *traffic) {
    static const struct {
        uint32_t rollout;
        unsigned per_cent;
    } ramp[] = {{0, 2}, {1000, 4}, {5000, 9}, {WARMRING_ROLLOUT_ALL, 45}};
    pass(plan, traffic, 5);
    steps_begin(client, plan->after);
    pass(plan, traffic, 2);
    steps_take(client, WARMRING_WARM);
    for (size_t i = 0; i < sizeof ramp / sizeof ramp[0]; i++) {
        steps_rollout(client, ramp[i].rollout);
        pass(plan, traffic, ramp[i].per_cent);
    }
    steps_take(client, WARMRING_COMMIT);
    pass(plan, traffic, 1);
    steps_take(client, WARMRING_COMMIT);
    pass(plan, traffic, 24);
    steps_take(client, WARMRING_FINISH);
    pass(plan, traffic, 3);
    steps_take(client, WARMRING_FINISH);
    pass(plan, traffic, 3);
    steps_take(client, WARMRING_SETTLE);
    pass(plan, traffic, 2);
}

static void note_counters(warmring_t *client) {
    warmring_snapshot_t *snapshot = NULL;
    warmring_counters_t counters = {.size = sizeof counters};
    if (warmring_snapshot_create(client, &snapshot) == WARMRING_OK &&
        warmring_snapshot_client(snapshot, -1, &counters) == WARMRING_OK) {
        tap_note("  hits new %llu, fallbacks %llu, fills %llu, refused %llu, ghosts %llu",
                 (unsigned long long)counters.hits_new, (unsigned long long)counters.fallbacks,
                 (unsigned long long)counters.fills, (unsigned long long)counters.fills_refused,
                 (unsigned long long)counters.ghosts);
    }
    warmring_snapshot_free(snapshot);
}

/* Runs the traffic around `change`; what it counted. */
static traffic_counts_t run(const plan_t *plan, const char *name,
                            void (*change)(const plan_t *, warmring_t *, traffic_t *)) {
    const traffic_options_t shape = {.threads = THREADS,
                                     .keys = KEYS,
                                     .sets = 15,
                                     .deletes = 5,
                                     .seed = 20260,
                                     .limit = plan->operations};
    fixture_flush(plan->servers);
    warmring_t *client = steps_open(plan->before, options);
    traffic_t *traffic = traffic_create(client, &shape);
    traffic_fill(traffic);
    traffic_start(traffic);
    change(plan, client, traffic);
    traffic_wait(traffic, plan->operations);
    traffic_stop(traffic);
    traffic_counts_t counts = traffic_counts(traffic);
    traffic_note(name, &counts);
    note_counters(client);
    traffic_free(traffic);
    warmring_close(client);
    tap_int((int64_t)counts.stale, 0, "%s: no stale read", name);
    tap_int((int64_t)counts.unwritten, 0, "%s: no unwritten value", name);
    tap_int((int64_t)counts.errors, 0, "%s: no call failed", name);
    return counts;
}

/* ---- what they cost ------------------------------------------------------------- */

static double added_loads(const traffic_counts_t *counts, const traffic_counts_t *still) {
    return ((double)counts->origin_loads - (double)still->origin_loads) / (double)counts->reads;
}

int main(void) {
    plan_t plan = {.operations = (uint64_t)(7500 * tap_seconds())};
    plan.operations = plan.operations < 15000 ? 15000 : plan.operations;
    plan.servers = fixture_start(SERVERS, NULL);
    describe(&plan);

    traffic_counts_t still = run(&plan, "no change", change_nothing);
    traffic_counts_t warm = run(&plan, "warm migration", migrate);
    traffic_counts_t cold = run(&plan, "cold flip", flip);

    double added_warm = added_loads(&warm, &still);
    double added_cold = added_loads(&cold, &still);
    tap_note("origin loads: no change %llu, warm %llu, cold %llu",
             (unsigned long long)still.origin_loads, (unsigned long long)warm.origin_loads,
             (unsigned long long)cold.origin_loads);
    tap_ok(added_warm <= 0.01, "the warm migration adds %.2f %% of all reads as origin loads",
           100 * added_warm);
    tap_ok(added_cold > 5 * added_warm && added_cold > 0.02,
           "the cold flip adds many times more, %.2f %%", 100 * added_cold);
    fixture_free(plan.servers);
    return tap_done();
}
