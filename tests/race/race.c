/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races on real servers: rounds of each kind in turn, each judged by itself.
 *
 * Short with TEST_SECONDS, long by RACE_SECONDS (scripts/race.sh); TEST_SEED
 * repeats the steps, faults and choices of a run, though not its timing.
 */
#include <inttypes.h>
#include <string.h>

#include "tests/lib/tap.h"
#include "tests/race/judge.h"

#define ALL(transport) \
    { transport, transport, transport, transport }
#define BOTH \
    { "meta", "libmemcached", "meta", "libmemcached" }

static const shape_t shapes[] = {
    {.name = "meta", .transport = ALL("meta")},
    {.name = "libmemcached", .transport = ALL("libmemcached")},
    {.name = "both transports", .transport = BOTH},
    {.name = "direct commits", .transport = BOTH, .direct = true},
    {.name = "evictions", .transport = BOTH, .evicts = true},
    {.name = "restarts", .transport = ALL("meta"), .restarts = true},
    {.name = "stops", .transport = ALL("meta"), .stops = true},
    {.name = "all faults", .transport = BOTH, .evicts = true, .restarts = true, .stops = true},
};
static const shape_t wrong_shapes[] = {
    {.name = "a plain add", .transport = ALL("meta"), .wrong = PLAIN_ADD},
    {.name = "N deleted before O", .transport = ALL("meta"), .wrong = NEW_BEFORE_OLD},
};
enum {
    SHAPES = sizeof shapes / sizeof shapes[0],
    WRONG_SHAPES = sizeof wrong_shapes / sizeof wrong_shapes[0],
    WRONG_ROUNDS = 20
};

typedef struct {
    uint64_t seed;
    uint32_t round;
    double seconds; /* of a round */
    verdict_t sum;  /* of the rounds of right clients */
    driven_t driven;
} run_t;

/* ---- one round ------------------------------------------------------------------ */

static void note_round(const race_t *race, const verdict_t *verdict, const driven_t *driven) {
    warmring_counters_t sum = {.size = sizeof sum};
    for (unsigned i = 0; i < PROCESSES; i++) {
        sum.fills += race->counters[i].fills;
        sum.fills_refused += race->counters[i].fills_refused;
        sum.ghosts += race->counters[i].ghosts;
    }
    tap_note("round %" PRIu32 " (%s): %" PRIu64 " operations, %" PRIu64 " reads, %" PRIu64
             " hits, %" PRIu64 " misses, %" PRIu64 " writes, %" PRIu64 " unknown, %" PRIu64
             " refused for now, %" PRIu64 " not supported",
             race->round, race->shape.name, verdict->operations, verdict->reads, verdict->hits,
             verdict->misses, verdict->writes, verdict->unknown, verdict->refused,
             verdict->unsupported);
    tap_note("  %u steps, %u migrations, %u rollbacks; %u evictions, %u restarts, %u stops; "
             "%" PRIu64 " fills, %" PRIu64 " refused, %" PRIu64 " ghosts; %" PRIu64
             " counters created again; %" PRIu64 " violations",
             driven->steps, driven->migrations, driven->rollbacks, driven->evictions,
             driven->restarts, driven->stops, sum.fills, sum.fills_refused, sum.ghosts,
             verdict->creations, verdict->violations);
    judge_note_faults(verdict);
}

static verdict_t run_round(run_t *run, const shape_t *shape, double seconds, driven_t *driven) {
    static const char *const small[] = {"-m", "2", "-o", "no_modern", NULL};
    pid_t children[PROCESSES];
    fixture_t *fixture = fixture_start(SERVERS, shape->evicts ? small : NULL);
    uint32_t round = run->round++;
    race_t *race = race_create(round, run->seed + round, shape, fixture, seconds);
    race_start_processes(race, fixture, children);
    *driven = (driven_t){0};
    bool well = race_drive(race, fixture, seconds, children, driven);
    well = race_end_processes(race, children, well);
    verdict_t verdict = race_judge(race);
    note_round(race, &verdict, driven);
    if (!well) {
        tap_ok(false, "round %" PRIu32 " (%s) ran to its end", round, shape->name);
    }
    race_free(race);
    fixture_free(fixture);
    return verdict;
}

/* ---- all rounds -------------------------------------------------------------------- */

static void add_up(run_t *run, const verdict_t *verdict, const driven_t *driven) {
    judge_add_up(&run->sum, verdict);
    run->driven.steps += driven->steps;
    run->driven.migrations += driven->migrations;
    run->driven.rollbacks += driven->rollbacks;
    run->driven.evictions += driven->evictions;
    run->driven.restarts += driven->restarts;
    run->driven.stops += driven->stops;
}

static void note_all(const run_t *run) {
    const verdict_t *sum = &run->sum;
    const driven_t *driven = &run->driven;
    tap_note("in all: %" PRIu64 " operations, %" PRIu64 " reads, %" PRIu64 " hits, %" PRIu64
             " misses; %u steps, %u migrations, %u rollbacks; %u evictions, %u restarts, %u "
             "stops; %" PRIu64 " violations; TEST_SEED=%" PRIu64,
             sum->operations, sum->reads, sum->hits, sum->misses, driven->steps, driven->migrations,
             driven->rollbacks, driven->evictions, driven->restarts, driven->stops, sum->violations,
             run->seed);
    tap_ok(sum->hits > 0 && driven->steps > 0, "values were read while steps were taken");
}

static void test_right(run_t *run, const shape_t *shape) {
    driven_t driven;
    verdict_t verdict = run_round(run, shape, run->seconds, &driven);
    add_up(run, &verdict, &driven);
    tap_ok(verdict.violations == 0,
           "%s: %" PRIu64 " violations in %" PRIu64 " reads, TEST_SEED=%" PRIu64, shape->name,
           verdict.violations, verdict.reads, run->seed);
}

/* The same judge on a client that breaks a rule: as many rounds as it takes. */
static void test_wrong(run_t *run, const shape_t *shape) {
    driven_t driven;
    uint64_t violations = 0;
    unsigned rounds = 0;
    for (; violations == 0 && rounds < WRONG_ROUNDS; rounds++) {
        violations = run_round(run, shape, 0.5, &driven).violations;
    }
    tap_ok(violations > 0, "%s: %" PRIu64 " violations found, in round %u", shape->name, violations,
           rounds);
}

/* Single faults meet each transport in turn. */
static void use_transports(shape_t *shape, unsigned turn) {
    static const char *const transports[][PROCESSES] = {ALL("meta"), ALL("libmemcached"), BOTH};
    memcpy(shape->transport, transports[turn % 3], sizeof shape->transport);
}

int main(void) {
    double total = race_setting("RACE_SECONDS", 2 * tap_seconds());
    double longest = 8;
    unsigned cycles = (unsigned)(total / (longest * SHAPES)) + 1;
    run_t run = {.seed = race_seed(), .seconds = total / (cycles * SHAPES)};
    tap_note("TEST_SEED=%" PRIu64 ", %u processes of %u threads, %u keys, %u servers", run.seed,
             PROCESSES, THREADS, KEYS, SERVERS);
    for (unsigned i = 0; i < WRONG_SHAPES; i++) {
        test_wrong(&run, &wrong_shapes[i]);
    }
    for (unsigned cycle = 0; cycle < cycles; cycle++) {
        for (unsigned i = 0; i < SHAPES; i++) {
            shape_t shape = shapes[i];
            if (shape.restarts != shape.stops) {
                use_transports(&shape, cycle);
            }
            test_right(&run, &shape);
        }
    }
    note_all(&run);
    return tap_done();
}
