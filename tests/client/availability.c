/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of four servers killed, stopped and brought back under the traffic of
 * eight threads, without a migration and in two phases of one: keys of the
 * others never notice, no call passes its deadline, calls to the dead one fail
 * at once after its first failures, and it serves again within a second of
 * its return.
 *
 * A stopped server carries out what it was sent when it goes on, in any order
 * with what is sent later; keys written in vain are in doubt from then on, and
 * stale values of theirs are not counted.
 */
#include <string.h>
#include <time.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"

enum { SERVERS = 4, VICTIM = 1, KEYS = 2000, THREADS = 8, PAUSE_US = 500 };
enum { DEADLINE_MS = 500, LONGEST_MS = 15000 };

/* Classes of keys. */
enum { OF_OTHERS, OF_VICTIM };

static const char *const options[] = {"retry_ms", "100", "failure_limit", "2", "max_deadline_ms",
                                      "15000",    NULL};

typedef struct {
    fixture_t *fixture;
    warmring_t *client;
    traffic_t *traffic;
    uint32_t deadline_ms; /* of each call */
} plan_t;

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- what happens to the victim -------------------------------------------------- */

typedef struct {
    const char *name;
    void (*end)(fixture_t *fixture, size_t index);
    void (*begin)(fixture_t *fixture, size_t index);
} outage_t;

static const outage_t outages[] = {
    {"killed", fixture_kill, fixture_restart},
    {"stopped", fixture_stop, fixture_continue},
};

static warmring_server_counters_t counters_of(const plan_t *plan, size_t server) {
    warmring_snapshot_t *snapshot = NULL;
    warmring_server_counters_t counters = {.size = sizeof counters};
    if (warmring_snapshot_create(plan->client, &snapshot) != WARMRING_OK) {
        tap_bail("no snapshot: %s", warmring_error_detail());
    }
    for (size_t i = 0; warmring_snapshot_server(snapshot, i, &counters) == WARMRING_OK; i++) {
        if (strcmp(counters.address, fixture_address(plan->fixture, server)) == 0) {
            break;
        }
    }
    warmring_snapshot_free(snapshot);
    counters.address = counters.name = NULL;
    return counters;
}

/* What the traffic of `duration_ms` counts. */
static traffic_counts_t watch(const plan_t *plan, uint32_t duration_ms) {
    traffic_counts_t before = traffic_counts(plan->traffic);
    traffic_wait_ms(duration_ms);
    traffic_counts_t after = traffic_counts(plan->traffic);
    return traffic_difference(&after, &before);
}

/* How long it takes until a store on `key`, which needs the victim in every
 * phase, is served; `limit_ms` at most. */
static uint64_t wait_for_service(const plan_t *plan, const char *key, uint64_t limit_ms) {
    uint64_t start = now_ms();
    while (store_key(plan->client, key, "served") != WARMRING_OK && now_ms() - start < limit_ms) {
        traffic_wait_ms(2);
    }
    return now_ms() - start;
}

/* ---- checks ------------------------------------------------------------------------- */

/* Whether the machine has stalled for so long that calls may fail of it. */
static bool is_slow(const plan_t *plan) {
    return traffic_stall_ms(plan->traffic) > plan->deadline_ms / 4;
}

static void check_others(const plan_t *plan, const traffic_counts_t *counts, const char *what) {
    uint64_t errors = counts->class_errors[OF_OTHERS];
    if (errors > 0 && is_slow(plan)) {
        tap_skip("%s: %llu calls on keys of other servers failed, and the machine stalled for %llu "
                 "ms",
                 what, (unsigned long long)errors,
                 (unsigned long long)traffic_stall_ms(plan->traffic));
    } else {
        tap_int((int64_t)errors, 0, "%s: no call on keys of other servers failed, of %llu", what,
                (unsigned long long)counts->class_calls[OF_OTHERS]);
    }
    tap_int((int64_t)counts->late, 0,
            "%s: no call passed its deadline of %u ms (and %u ms, and stalls of %llu ms)", what,
            plan->deadline_ms, tap_slack_ms(), (unsigned long long)traffic_stall_ms(plan->traffic));
    tap_int((int64_t)(counts->stale + counts->unwritten), 0, "%s: nothing stale or unwritten",
            what);
}

/* Calls to the victim: first failures cost time, the rest none. */
static void check_fast(const plan_t *plan, const traffic_counts_t *counts,
                       const warmring_server_counters_t *before, const char *what) {
    warmring_server_counters_t after = counters_of(plan, VICTIM);
    uint64_t fast = after.fast_failures - before->fast_failures;
    uint64_t tried = after.connect_errors + after.timeouts + after.lost_connections -
                     before->connect_errors - before->timeouts - before->lost_connections;
    tap_ok(after.down, "%s: it is known to be down", what);
    tap_ok(counts->class_errors[OF_VICTIM] > 0, "%s: calls on its keys fail, %llu of %llu", what,
           (unsigned long long)counts->class_errors[OF_VICTIM],
           (unsigned long long)counts->class_calls[OF_VICTIM]);
    tap_ok(fast > 10 * tried && fast > 0, "%s: %llu fail at once, %llu after a try", what,
           (unsigned long long)fast, (unsigned long long)tried);
}

static uint64_t errors_of_some(const plan_t *plan) {
    traffic_counts_t before = traffic_counts(plan->traffic);
    traffic_wait(plan->traffic, 100);
    traffic_counts_t after = traffic_counts(plan->traffic);
    return traffic_difference(&after, &before).errors;
}

static void check_return(const plan_t *plan, const char *key, const char *what) {
    uint64_t took = wait_for_service(plan, key, 30000);
    tap_ok(took <= 1000 + tap_slack_ms() + traffic_stall_ms(plan->traffic),
           "%s: it serves again %llu ms after its return", what, (unsigned long long)took);
    traffic_wait(plan->traffic, 100);
    uint64_t errors = errors_of_some(plan);
    for (int i = 0; errors > 0 && is_slow(plan) && i < 20; i++) {
        errors = errors_of_some(plan);
    }
    tap_int((int64_t)errors, 0, "%s: then no call fails", what);
    tap_ok(!counters_of(plan, VICTIM).down, "%s: it is known to be up", what);
}

static void test_outage(const plan_t *plan, const outage_t *outage, const char *key,
                        const char *where) {
    char what[96];
    snprintf(what, sizeof what, "%s %s", outage->name, where);
    uint32_t duration_ms = (uint32_t)(150 * tap_seconds());
    warmring_server_counters_t start = counters_of(plan, VICTIM);
    traffic_counts_t before = traffic_counts(plan->traffic);
    outage->end(plan->fixture, VICTIM);
    traffic_wait_ms(plan->deadline_ms + plan->deadline_ms / 2); /* the first failures */
    warmring_server_counters_t known = counters_of(plan, VICTIM);
    traffic_counts_t counts = watch(plan, duration_ms);
    check_fast(plan, &counts, &known, what);
    tap_ok(known.fast_failures > start.fast_failures, "%s: fast failures begin early", what);
    outage->begin(plan->fixture, VICTIM);
    check_return(plan, key, what);
    traffic_counts_t after = traffic_counts(plan->traffic);
    counts = traffic_difference(&after, &before);
    check_others(plan, &counts, what);
    traffic_note(what, &counts);
}

/* ---- where keys live ----------------------------------------------------------------- */

static bool has_part(const warmring_topology_t *topology, const char *key) {
    return steps_owner(topology, WARMRING_OLD_RING, key) == VICTIM ||
           steps_owner(topology, WARMRING_NEW_RING, key) == VICTIM;
}

/* Sets the class of every key that the victim has a part in; `other` becomes
 * one that it has a part in too, and that is not of the traffic. */
static void classify(const plan_t *plan, char *other) {
    warmring_topology_t *topology = steps_present(plan->client);
    char key[TRAFFIC_KEY_SIZE];
    for (size_t i = 0; i < KEYS; i++) {
        traffic_key(i, key);
        traffic_classify(plan->traffic, i, has_part(topology, key) ? OF_VICTIM : OF_OTHERS);
    }
    unsigned number = 0;
    do {
        snprintf(other, TRAFFIC_KEY_SIZE, "other:%u", number++);
    } while (!has_part(topology, other));
    warmring_topology_release(topology);
}

/* A deadline for a machine as slow as this one is now: some times what the
 * longest call takes when nothing happens. */
static uint32_t measure_deadline(const plan_t *plan, traffic_options_t shape) {
    shape.deadline_ms = LONGEST_MS;
    shape.limit = 100;
    traffic_t *traffic = traffic_create(plan->client, &shape);
    traffic_start(traffic);
    traffic_wait(traffic, shape.limit);
    traffic_stop(traffic);
    uint64_t longest = traffic_counts(traffic).longest_ms;
    traffic_free(traffic);
    uint64_t deadline = 5 * longest;
    return (uint32_t)(deadline < DEADLINE_MS  ? DEADLINE_MS
                      : deadline > LONGEST_MS ? LONGEST_MS
                                              : deadline);
}

static void run(fixture_t *fixture, const char *servers, const char *next, warmring_phase_t phase,
                const char *where) {
    traffic_options_t shape = {.threads = THREADS,
                               .keys = KEYS,
                               .sets = 15,
                               .deletes = 5,
                               .multi = 10,
                               .slack_ms = tap_slack_ms(),
                               .pause_us = PAUSE_US,
                               .seed = 4};
    char other[TRAFFIC_KEY_SIZE] = "";
    plan_t plan = {.fixture = fixture, .client = steps_open(servers, options)};
    shape.deadline_ms = plan.deadline_ms = measure_deadline(&plan, shape);
    fixture_flush(fixture);
    plan.traffic = traffic_create(plan.client, &shape);
    if (next != NULL) {
        steps_begin(plan.client, next);
        steps_forward(plan.client, phase);
    }
    classify(&plan, other);
    traffic_fill(plan.traffic);
    traffic_start(plan.traffic);
    traffic_wait(plan.traffic, 100);
    for (size_t i = 0; i < sizeof outages / sizeof outages[0]; i++) {
        test_outage(&plan, &outages[i], other, where);
    }
    traffic_free(plan.traffic);
    warmring_close(plan.client);
}

int main(void) {
    fixture_t *fixture = fixture_start(SERVERS, NULL);
    char without[256], heavier[320];
    /* The victim keeps its place in both lists: steps_owner() is by place. */
    snprintf(without, sizeof without, "%s,%s:0,%s,%s", fixture_address(fixture, 0),
             fixture_address(fixture, 1), fixture_address(fixture, 2), fixture_address(fixture, 3));
    snprintf(heavier, sizeof heavier, "%s:2,%s:2,%s,%s", fixture_address(fixture, 0),
             fixture_address(fixture, 1), fixture_address(fixture, 2), fixture_address(fixture, 3));
    const char *all = fixture_servers(fixture);
    run(fixture, all, NULL, WARMRING_STABLE, "in STABLE");
    run(fixture, without, all, WARMRING_WARMING, "as a new owner in WARMING");
    run(fixture, without, heavier, WARMRING_DRAINING, "as a new owner in DRAINING");
    run(fixture, all, without, WARMRING_WARMING, "as an old owner in WARMING");
    run(fixture, all, without, WARMRING_DRAINING, "as an old owner in DRAINING");
    fixture_free(fixture);
    return tap_done();
}
