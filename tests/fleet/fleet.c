/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three fleets side by side, each with servers, a file and an operator of its
 * own: a migration from begin to finish, one rolled back from 60 %, one rolled
 * back from DRAINING. What a fleet is and does stands in fleet.h.
 *
 * Short with small lags; scripts/fleet.sh runs it with lags of seconds, as often
 * as you like. FLEET_LAG_S, FLEET_LATE_MS (how late the copies come, at most)
 * and FLEET_CYCLES set it; TEST_SEED repeats the choices of a run. With
 * FLEET_SAMPLES=FILE what the caches went through is written there, in rows for
 * docs/warm-migration.awk.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/fleet/fleet.h"
#include "tests/lib/tap.h"

enum {
    FLEETS = 3,
    STEPS = 12,
    DWELL_MS = 1500,
    DEADLINE_MS = 500,
    OPERATOR_MS = 3000,
    SAMPLE_MS = 500
};
static const int64_t ms = 1000000;

/* ---- what an operator does --------------------------------------------------------- */

typedef enum { END, BEGIN, STEP, ROLLOUT, DWELL } deed_t;

typedef struct {
    deed_t deed;
    uint32_t argument; /* warmring_step_t, basis points */
    uint32_t ramp_s;
} command_t;

typedef struct {
    const char *name;
    warmring_phase_t ends_in;
    bool on_new_ring;
    command_t commands[STEPS];
} plan_t;

static const plan_t plans[FLEETS] = {
    {"begin to finish",
     WARMRING_STABLE,
     true,
     {{BEGIN, 0, 0},
      {STEP, WARMRING_WARM, 0},
      {ROLLOUT, 3000, 0},
      {DWELL, 0, 0},
      {ROLLOUT, WARMRING_ROLLOUT_ALL, 1},
      {STEP, WARMRING_COMMIT, 0},
      {STEP, WARMRING_COMMIT, 0},
      {STEP, WARMRING_FINISH, 0},
      {STEP, WARMRING_FINISH, 0},
      {STEP, WARMRING_SETTLE, 0},
      {DWELL, 0, 0}}},
    {"rolled back from 60 %",
     WARMRING_STABLE,
     false,
     {{BEGIN, 0, 0},
      {STEP, WARMRING_WARM, 0},
      {ROLLOUT, 6000, 0},
      {DWELL, 0, 0},
      {STEP, WARMRING_ROLLBACK, 0},
      {STEP, WARMRING_ROLLBACK, 0},
      {DWELL, 0, 0}}},
    {"rolled back from DRAINING",
     WARMRING_STABLE,
     false,
     {{BEGIN, 0, 0},
      {STEP, WARMRING_WARM, 0},
      {ROLLOUT, WARMRING_ROLLOUT_ALL, 0},
      {STEP, WARMRING_COMMIT, 0},
      {STEP, WARMRING_COMMIT, 0},
      {DWELL, 0, 0},
      {STEP, WARMRING_ROLLBACK, 0},
      {STEP, WARMRING_ROLLBACK, 0},
      {STEP, WARMRING_ROLLBACK, 0},
      {DWELL, 0, 0}}},
};

/* What a fleet leaves behind for the test's own process. */
typedef struct {
    verdict_t verdict;
    uint64_t reads[2], loads[2], faults[STATUSES], writes, stale;
    uint64_t fills, ghosts, partial, reloads;
    unsigned steps;
    double seconds;
    bool ended; /* well, in the phase and on the ring of its plan */
} result_t;

typedef struct {
    const plan_t *plan;
    fleet_run_t run;
    fixture_t *fixture;
    char directory[64];
    warmring_file_t *file;
    dice_t dice;
    uint32_t late_ms;
    struct {
        int64_t due; /* 0: nothing to be copied */
    } copies[LATE];
    pid_t members[PROCESSES];
    unsigned steps;
    int64_t began;
    FILE *samples; /* or NULL */
    struct {
        int64_t at;
        uint64_t reads, loads, hits[2];
    } sampled;
} conductor_t;

static uint32_t setting(const char *name, uint32_t otherwise) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static void demand(warmring_status_t status, const char *what) {
    if (status != WARMRING_OK) {
        tap_bail("%s: %s: %s", what, warmring_status_name(status), warmring_error_detail());
    }
}

/* ---- the file and its copies --------------------------------------------------------- */

static const char *own_path(const conductor_t *conductor) {
    return conductor->run.path[0];
}

/* As a tool that distributes files does. */
static void copy_file(const conductor_t *conductor, unsigned copy) {
    char beside[PATH_LENGTH + 8];
    const char *path = conductor->run.path[PROCESSES - LATE + copy];
    snprintf(beside, sizeof beside, "%s.new", path);
    FILE *file = fopen(beside, "w");
    if (file == NULL || fputs(warmring_file_text(conductor->file), file) < 0 || fclose(file) != 0 ||
        rename(beside, path) != 0) {
        tap_bail("%s: %m", path);
    }
}

static void make_copies(conductor_t *conductor) {
    int64_t now = race_now();
    for (unsigned i = 0; i < LATE; i++) {
        if (conductor->copies[i].due != 0 && now >= conductor->copies[i].due) {
            copy_file(conductor, i);
            conductor->copies[i].due = 0;
        }
    }
}

/* ---- what the cache goes through ------------------------------------------------------- */

static const char *place(const conductor_t *conductor) {
    const warmring_topology_t *topology = warmring_file_topology(conductor->file);
    warmring_phase_t phase = warmring_topology_phase(topology);
    bool is_new = conductor->steps > 0 && conductor->plan->on_new_ring;
    return phase != WARMRING_STABLE ? warmring_phase_name(phase) : is_new ? "new ring" : "old ring";
}

static uint64_t sum(_Atomic uint64_t *a, _Atomic uint64_t *b) {
    return atomic_load(a) + atomic_load(b);
}

/* One line, written at once: the fleets share the file. */
static void sample(conductor_t *conductor) {
    cache_t *cache = conductor->run.cache;
    int64_t now = race_now();
    if (conductor->samples == NULL || now - conductor->sampled.at < SAMPLE_MS * ms) {
        return;
    }
    uint64_t reads = sum(&cache->counts[0].reads, &cache->counts[1].reads);
    uint64_t loads = sum(&cache->counts[0].loads, &cache->counts[1].loads);
    uint64_t hits[2] = {atomic_load(&cache->hits[0]), atomic_load(&cache->hits[1])};
    uint32_t rollout =
        warmring_topology_get_rollout(warmring_file_topology(conductor->file), NULL) / 100;
    fprintf(conductor->samples,
            "%s\t%.3f\t%.3f\t%s\t%u%%\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
            conductor->plan->name, (double)(now - conductor->began) / 1e9,
            (double)(now - conductor->sampled.at) / 1e9, place(conductor), rollout,
            reads - conductor->sampled.reads, hits[1] - conductor->sampled.hits[1],
            hits[0] - conductor->sampled.hits[0], loads - conductor->sampled.loads);
    fflush(conductor->samples);
    conductor->sampled.at = now;
    conductor->sampled.reads = reads;
    conductor->sampled.loads = loads;
    memcpy(conductor->sampled.hits, hits, sizeof hits);
}

static FILE *open_samples(const char *mode) {
    const char *path = getenv("FLEET_SAMPLES");
    if (path == NULL || *path == '\0') {
        return NULL;
    }
    FILE *samples = fopen(path, mode);
    if (samples == NULL) {
        tap_bail("%s: %m", path);
    }
    return samples;
}

static void begin_samples(void) {
    FILE *samples = open_samples("w");
    if (samples != NULL) {
        fputs("run\tseconds\tlength\tphase\trollout\treads\thits_new\thits_old\torigin_loads\n",
              samples);
        fclose(samples);
    }
}

static void wait_ms(conductor_t *conductor, uint32_t milliseconds) {
    int64_t end = race_now() + milliseconds * ms;
    do {
        make_copies(conductor);
        sample(conductor);
        race_sleep_us(5000);
    } while (race_now() < end);
}

static void put_file(conductor_t *conductor, warmring_file_t *next) {
    demand(warmring_file_replace(next, own_path(conductor), conductor->file), "replace");
    demand(warmring_fleet_announce(next, NULL, OPERATOR_MS), "announce");
    warmring_file_free(conductor->file);
    conductor->file = next;
    for (unsigned i = 0; i < LATE; i++) {
        int64_t late = roll(&conductor->dice, conductor->late_ms) + 1;
        conductor->copies[i].due = race_now() + late * ms;
    }
}

/* For the judge's explanations: about when the processes took it. */
static void note_step(conductor_t *conductor, const command_t *command) {
    race_t *race = conductor->run.race;
    uint32_t index = atomic_load(&race->announced);
    plan_step_t *step = &race->plan[index];
    step->action = command->deed == ROLLOUT ? SET_ROLLOUT : TAKE_STEP;
    step->argument = command->argument;
    step->phase = warmring_topology_phase(warmring_file_topology(conductor->file));
    step->announced = race_now();
    for (unsigned i = 0; i < PROCESSES; i++) {
        step->taken[i].begin = step->announced;
        step->taken[i].end = step->announced + 1000 * ms;
    }
    atomic_store(&race->announced, index + 1);
}

/* ---- the operator ----------------------------------------------------------------------- */

static warmring_status_t begin(const conductor_t *conductor, warmring_file_t **next) {
    warmring_topology_t *target = NULL;
    demand(warmring_topology_parse(&target, conductor->run.race->servers[1], NULL, 0), "parse");
    warmring_status_t status =
        warmring_fleet_begin(conductor->file, target, NULL, OPERATOR_MS, next);
    warmring_topology_release(target);
    return status;
}

static int64_t wall_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static warmring_status_t try_command(const conductor_t *conductor, const command_t *command,
                                     warmring_file_t **next) {
    switch (command->deed) {
    case BEGIN:
        return begin(conductor, next);
    case STEP:
        return warmring_fleet_step(conductor->file, (warmring_step_t)command->argument, NULL,
                                   OPERATOR_MS, next);
    default:
        return warmring_file_rollout(conductor->file, NULL, command->argument, command->ramp_s,
                                     wall_ms(), next);
    }
}

/* As soon as it may be done. */
static void do_command(conductor_t *conductor, const command_t *command) {
    warmring_file_t *next = NULL;
    warmring_status_t status;
    while ((status = try_command(conductor, command, &next)) == WARMRING_TRY_AGAIN) {
        wait_ms(conductor, 20);
    }
    demand(status, "operator");
    put_file(conductor, next);
    note_step(conductor, command);
    conductor->steps++;
}

static void carry_out(conductor_t *conductor) {
    for (const command_t *command = conductor->plan->commands; command->deed != END; command++) {
        if (command->deed == DWELL) {
            wait_ms(conductor, DWELL_MS);
        } else {
            do_command(conductor, command);
        }
    }
}

/* ---- a fleet's life -------------------------------------------------------------------------- */

static void *share(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        tap_bail("no shared memory");
    }
    return memory;
}

static void make_file(conductor_t *conductor, uint32_t lag_s) {
    warmring_file_settings_t settings = {sizeof settings, lag_s, DEADLINE_MS, 0};
    warmring_topology_t *topology = NULL;
    snprintf(conductor->directory, sizeof conductor->directory, "/tmp/warmring-fleet-XXXXXX");
    if (mkdtemp(conductor->directory) == NULL) {
        tap_bail("%s: %m", conductor->directory);
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        unsigned copy = i < PROCESSES - LATE ? 0 : i;
        snprintf(conductor->run.path[i], PATH_LENGTH, "%s/topology%u.json", conductor->directory,
                 copy);
    }
    demand(warmring_topology_parse(&topology, conductor->run.race->servers[0], NULL, 0), "parse");
    demand(warmring_file_create(&conductor->file, topology, &settings, wall_ms()), "create");
    demand(warmring_file_replace(conductor->file, own_path(conductor), NULL), "write");
    warmring_topology_release(topology);
    for (unsigned i = 0; i < LATE; i++) {
        copy_file(conductor, i);
    }
}

static void start_members(conductor_t *conductor) {
    for (unsigned i = 0; i < PROCESSES; i++) {
        conductor->members[i] = fork();
        if (conductor->members[i] == 0) {
            member_run(&conductor->run, i);
        }
    }
}

static bool end_members(conductor_t *conductor) {
    bool well = true;
    atomic_store(&conductor->run.race->stop, true);
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status = 0;
        if (waitpid(conductor->members[i], &status, 0) != conductor->members[i] || status != 0) {
            tap_note("%s: process %u ended with status %#x: %s", conductor->plan->name, i,
                     (unsigned)status, conductor->run.race->failure[i]);
            well = false;
        }
    }
    return well;
}

static void create(conductor_t *conductor, const plan_t *plan, uint64_t seed, uint32_t lag_s) {
    static const shape_t shape = {
        .transport = {"meta", "libmemcached", "meta", "libmemcached", "meta", "libmemcached"}};
    shape_t named = shape;
    named.name = plan->name;
    *conductor = (conductor_t){.plan = plan, .dice = {seed}};
    conductor->late_ms = setting("FLEET_LATE_MS", 400);
    conductor->fixture = fixture_start(SERVERS, NULL);
    conductor->run.fixture = conductor->fixture;
    conductor->run.deadline_ms = DEADLINE_MS;
    conductor->run.race = race_create(0, seed, &named, conductor->fixture, 20.0 + 20.0 * lag_s);
    conductor->run.cache = share(sizeof(cache_t));
    make_file(conductor, lag_s);
    warmring_t *client = member_open(own_path(conductor), "auto", DEADLINE_MS);
    if (client == NULL) {
        tap_bail("open: %s", warmring_error_detail());
    }
    warmring_t *after = NULL;
    demand(warmring_open(&after, conductor->run.race->servers[1], NULL), "open");
    cache_fill(conductor->run.cache, client, after);
    warmring_close(after);
    warmring_close(client);
}

static void destroy(conductor_t *conductor) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", conductor->directory);
    if (system(command) != 0) {
        tap_note("%s is left behind", conductor->directory);
    }
    warmring_file_free(conductor->file);
    munmap(conductor->run.cache, sizeof(cache_t));
    race_free(conductor->run.race);
    fixture_free(conductor->fixture);
}

static bool ended_as_planned(const conductor_t *conductor) {
    const warmring_topology_t *topology = warmring_file_topology(conductor->file);
    warmring_topology_t *ring = NULL;
    const race_t *race = conductor->run.race;
    demand(warmring_topology_parse(&ring, race->servers[conductor->plan->on_new_ring ? 1 : 0], NULL,
                                   0),
           "parse");
    bool same = strcmp(warmring_topology_label(topology, WARMRING_OLD_RING, 0),
                       warmring_topology_label(ring, WARMRING_OLD_RING, 0)) == 0;
    warmring_topology_release(ring);
    return same && warmring_topology_phase(topology) == conductor->plan->ends_in;
}

static void note_result(const conductor_t *conductor, result_t *result) {
    const race_t *race = conductor->run.race;
    cache_t *cache = conductor->run.cache;
    for (int i = 0; i < 2; i++) {
        result->reads[i] = atomic_load(&cache->counts[i].reads);
        result->loads[i] = atomic_load(&cache->counts[i].loads);
        for (int j = 0; j < STATUSES; j++) {
            result->faults[j] += atomic_load(&cache->counts[i].faults[j]);
        }
        result->writes += atomic_load(&cache->counts[i].writes);
        result->stale += atomic_load(&cache->counts[i].stale);
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        result->fills += race->counters[i].fills;
        result->ghosts += race->counters[i].ghosts;
        result->partial += race->counters[i].partial_writes;
        result->reloads += race->counters[i].reloads;
    }
    result->steps = conductor->steps;
    result->seconds = (double)(race_now() - conductor->began) / 1e9;
    result->verdict = race_judge(race);
}

_Noreturn static void conduct(const plan_t *plan, uint64_t seed, result_t *result) {
    conductor_t conductor;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    create(&conductor, plan, seed, setting("FLEET_LAG_S", 1));
    conductor.began = race_now();
    conductor.samples = open_samples("a");
    conductor.sampled.at = conductor.began;
    start_members(&conductor);
    wait_ms(&conductor, DWELL_MS);
    atomic_store(&conductor.run.cache->migrating, true);
    carry_out(&conductor);
    bool well = end_members(&conductor);
    note_result(&conductor, result);
    result->ended = well && ended_as_planned(&conductor);
    destroy(&conductor);
    exit(0);
}

/* ---- the test ----------------------------------------------------------------------------------
 */

static double percent(uint64_t part, uint64_t whole) {
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void judge(const plan_t *plan, const result_t *result, uint64_t seed) {
    const verdict_t *verdict = &result->verdict;
    double still = percent(result->loads[0], result->reads[0]);
    double moving = percent(result->loads[1], result->reads[1]);
    tap_note("%s: %u files in %.1f s, %" PRIu64 " reloads; judged: %" PRIu64 " operations, %" PRIu64
             " reads, %" PRIu64 " hits, %" PRIu64 " unknown",
             plan->name, result->steps, result->seconds, result->reloads, verdict->operations,
             verdict->reads, verdict->hits, verdict->unknown);
    tap_note("  cache: %" PRIu64
             " reads, loads %.2f %% without a migration, %.2f %% during it; %" PRIu64
             " writes, %" PRIu64 " fills, %" PRIu64 " ghosts, %" PRIu64 " partial",
             result->reads[0] + result->reads[1], still, moving, result->writes, result->fills,
             result->ghosts, result->partial);
    for (int i = 0; i < STATUSES; i++) {
        if (result->faults[i] > 0) {
            tap_note("  %s: %" PRIu64, warmring_status_name((warmring_status_t)i),
                     result->faults[i]);
        }
    }
    tap_ok(result->ended, "%s: it got there", plan->name);
    tap_ok(verdict->violations == 0 && verdict->reads > 0,
           "%s: %" PRIu64 " violations in %" PRIu64 " reads, TEST_SEED=%" PRIu64, plan->name,
           verdict->violations, verdict->reads, seed);
    tap_int((int64_t)result->stale, 0, "%s: no stale value in the cache", plan->name);
    tap_ok(result->reads[1] > 0 && moving - still <= 1,
           "%s: %.2f %% of all reads are loads because of the migration", plan->name,
           moving - still);
}

static void run_cycle(uint64_t seed) {
    result_t *results = share(FLEETS * sizeof *results);
    pid_t children[FLEETS];
    fflush(stdout);
    for (unsigned i = 0; i < FLEETS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            conduct(&plans[i], seed + i, &results[i]);
        }
    }
    for (unsigned i = 0; i < FLEETS; i++) {
        int status = 0;
        waitpid(children[i], &status, 0);
        tap_int(status, 0, "%s: its operator's process ended well", plans[i].name);
        judge(&plans[i], &results[i], seed);
    }
    munmap(results, FLEETS * sizeof *results);
}

int main(void) {
    const char *text = getenv("TEST_SEED");
    uint64_t seed =
        text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : (uint64_t)time(NULL) * 1000;
    uint32_t cycles = setting("FLEET_CYCLES", 1);
    tap_note("TEST_SEED=%" PRIu64 ", %d fleets of %d processes x %d threads, %d of them with late "
             "copies",
             seed, FLEETS, PROCESSES, THREADS, LATE);
    begin_samples();
    for (uint32_t i = 0; i < cycles; i++) {
        run_cycle(seed + 10 * i);
    }
    return tap_done();
}
