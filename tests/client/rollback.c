/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Migrations that are rolled back and tried again: from every phase and at
 * several rollouts, there and back between two sets of servers, with traffic
 * all the time. Each second attempt meets what the first has left.
 *
 * SETTLING lasts until nothing older than the migration is left on the
 * servers that gained keys; here every key is read once for that.
 */
#include "tests/lib/fixture.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"
#include "tests/lib/transports.h"

enum { SERVERS = 5, KEYS = 1500, THREADS = 8 };

/* No call may fail because the machine is busy. */
static const char *const patient[] = {"deadline_ms", "30000", "max_deadline_ms", "30000", NULL};

typedef struct {
    warmring_t *client;
    traffic_t *traffic;
    const char *servers[2]; /* of the two rings */
    unsigned at;            /* which of them is served from */
    uint64_t operations;    /* of each thread, in each phase */
} plan_t;

typedef struct {
    warmring_phase_t from;
    uint32_t rollout;
    bool rests; /* goes back as far as STABLE before the second attempt */
} attempt_t;

static const attempt_t attempts[] = {
    {WARMRING_WARMING, 0, true},       {WARMRING_WARMING, 5000, true},
    {WARMRING_WARMING, 10000, true},   {WARMRING_WARMING, 5000, false},
    {WARMRING_HANDOVER, 0, true},      {WARMRING_HANDOVER, 5000, false},
    {WARMRING_HANDOVER, 10000, true},  {WARMRING_DRAINING, 0, true},
    {WARMRING_DRAINING, 5000, true},   {WARMRING_DRAINING, 10000, true},
    {WARMRING_DRAINING, 10000, false}, {WARMRING_CLOSING, 0, true},
    {WARMRING_CLOSING, 10000, true},   {WARMRING_CLOSING, 5000, false},
};

static void pass(const plan_t *plan) {
    traffic_wait(plan->traffic, plan->operations);
}

static void take(const plan_t *plan, warmring_step_t step) {
    steps_take(plan->client, step);
    pass(plan);
}

/* From PREPARED as far as `attempt` goes. */
static void advance(const plan_t *plan, const attempt_t *attempt) {
    take(plan, WARMRING_WARM);
    steps_rollout(plan->client, attempt->rollout);
    pass(plan);
    while (steps_phase(plan->client) < attempt->from) {
        bool commits = steps_phase(plan->client) < WARMRING_DRAINING;
        take(plan, commits ? WARMRING_COMMIT : WARMRING_FINISH);
    }
}

static void roll_back(const plan_t *plan, bool rests) {
    warmring_phase_t last = rests ? WARMRING_STABLE : WARMRING_PREPARED;
    while (steps_phase(plan->client) != last) {
        take(plan, WARMRING_ROLLBACK);
    }
}

/* Two attempts, the second to the end. */
static void migrate(plan_t *plan, const attempt_t *attempt) {
    static const attempt_t to_the_end = {WARMRING_SETTLING, WARMRING_ROLLOUT_ALL, false};
    traffic_counts_t before = traffic_counts(plan->traffic);
    steps_begin(plan->client, plan->servers[1 - plan->at]);
    pass(plan);
    advance(plan, attempt);
    roll_back(plan, attempt->rests);
    if (attempt->rests) {
        steps_begin(plan->client, plan->servers[1 - plan->at]);
        pass(plan);
    }
    advance(plan, &to_the_end);
    traffic_sweep(plan->traffic);
    take(plan, WARMRING_SETTLE);
    plan->at = 1 - plan->at;

    traffic_counts_t after = traffic_counts(plan->traffic);
    traffic_counts_t counts = traffic_difference(&after, &before);
    bool good = tap_ok(counts.stale == 0 && counts.unwritten == 0 && counts.errors == 0,
                       "rolled back from %s at %u %% to %s, then to the end: %llu reads, none "
                       "stale or unwritten, no call failed",
                       warmring_phase_name(attempt->from), attempt->rollout / 100,
                       attempt->rests ? "STABLE" : "PREPARED", (unsigned long long)counts.reads);
    if (!good) {
        traffic_note("  counts", &counts);
    }
}

/* A -> B -> A -> B without a rest between migrations. */
static void reweight(plan_t *plan) {
    static const attempt_t to_the_end = {WARMRING_SETTLING, WARMRING_ROLLOUT_ALL, false};
    traffic_counts_t before = traffic_counts(plan->traffic);
    for (int round = 0; round < 3; round++) {
        steps_begin(plan->client, plan->servers[1 - plan->at]);
        advance(plan, &to_the_end);
        traffic_sweep(plan->traffic);
        steps_take(plan->client, WARMRING_SETTLE);
        plan->at = 1 - plan->at;
    }
    traffic_counts_t after = traffic_counts(plan->traffic);
    traffic_counts_t counts = traffic_difference(&after, &before);
    tap_ok(counts.stale == 0 && counts.unwritten == 0 && counts.errors == 0,
           "there, back and there again: %llu reads, none stale or unwritten, no call failed",
           (unsigned long long)counts.reads);
}

static uint64_t ghosts(warmring_t *client) {
    warmring_snapshot_t *snapshot = NULL;
    warmring_counters_t counters = {.size = sizeof counters};
    if (warmring_snapshot_create(client, &snapshot) != WARMRING_OK ||
        warmring_snapshot_client(snapshot, -1, &counters) != WARMRING_OK) {
        tap_bail("no snapshot: %s", warmring_error_detail());
    }
    warmring_snapshot_free(snapshot);
    return counters.ghosts;
}

static void run(fixture_t *fixture) {
    const traffic_options_t shape = {
        .threads = THREADS, .keys = KEYS, .sets = 15, .deletes = 5, .multi = 15, .seed = 711};
    char here[256], there[256];
    snprintf(here, sizeof here, "%s:1,%s:1,%s:2,%s:1", fixture_address(fixture, 0),
             fixture_address(fixture, 1), fixture_address(fixture, 2), fixture_address(fixture, 3));
    snprintf(there, sizeof there, "%s:2,%s:1,%s:1,%s:1.5", fixture_address(fixture, 1),
             fixture_address(fixture, 2), fixture_address(fixture, 3), fixture_address(fixture, 4));
    plan_t plan = {.servers = {here, there}, .operations = (uint64_t)(15 * tap_seconds())};
    plan.operations = plan.operations < 15 ? 15 : plan.operations;
    plan.client = steps_open(here, patient);
    plan.traffic = traffic_create(plan.client, &shape);
    traffic_fill(plan.traffic);
    traffic_start(plan.traffic);
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
        migrate(&plan, &attempts[i]);
    }
    reweight(&plan);
    traffic_stop(plan.traffic);

    traffic_counts_t counts = traffic_counts(plan.traffic);
    traffic_note("all attempts", &counts);
    tap_note("  %llu ghosts met", (unsigned long long)ghosts(plan.client));
    tap_ok(ghosts(plan.client) > 0, "later attempts met ghosts of earlier ones");
    traffic_free(plan.traffic);
    warmring_close(plan.client);
}

static void run_all(void) {
    fixture_t *fixture = fixture_start(SERVERS, NULL);
    run(fixture);
    fixture_free(fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
