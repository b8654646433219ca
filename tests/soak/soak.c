/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The soak: the processes of the race, two with each transport, go on for as
 * long as one likes with the clients they have, in one cluster of real servers,
 * half of them behind a proxy. Migrations go forward and back, one in a minute
 * where there is time, and faults come one after another.
 *
 * A history that is judged at the end only would not fit. So the run is made of
 * stretches: at the end of each all workers rest, everything that they saw is
 * judged, what each process uses is looked at, and they go on with other keys.
 * Topologies, connections and what old rings left behind stay as they are.
 *
 * Short with TEST_SECONDS, long by SOAK_SECONDS (scripts/soak.sh); TEST_SEED
 * repeats the steps, faults and choices of a run, though not its timing.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/race/drive.h"
#include "tests/race/judge.h"
#include "tests/soak/network.h"
#include "tests/soak/trouble.h"

enum {
    STRETCHES = 4, /* at least */
    LONGEST_STRETCH_S = 90,
    MIGRATION_S = 60,
    STEPS_OF_MIGRATION = 8, /* and the rest in STABLE, in the longest rests */
    REST_S = 60,            /* within which all workers rest */
    ALL_FAULTS_S = 30       /* in which each fault is made at least once */
};

static const shape_t shape = {.name = "soak",
                              .transport = {"meta", "libmemcached", "meta", "libmemcached"},
                              .restarts = true,
                              .stops = true};

typedef struct {
    uint64_t seed;
    double seconds;
    unsigned stretches;
    fixture_t *fixture;
    proxy_t *proxy;
    race_t *race;
    pid_t children[PROCESSES];
    trouble_t trouble;
    drive_t drive;
    verdict_t sum;
    usage_t warm[PROCESSES];
    long most_descriptors[PROCESSES];
    bool well;
} soak_t;

/* ---- a stretch ------------------------------------------------------------------ */

/* False when one does not come to rest, or has ended. */
static bool let_rest(race_t *race) {
    uint32_t rests = atomic_fetch_add(&race->rests, 1) + 1;
    int64_t end = race_now() + (int64_t)REST_S * 1000000000;
    for (unsigned i = 0; i < PROCESSES; i++) {
        while (atomic_load(&race->rested[i]) != rests) {
            if (race_now() > end) {
                tap_note("process %u does not rest", i);
                return false;
            }
            race_sleep_us(1000);
        }
    }
    return true;
}

static void go_on(race_t *race) {
    for (unsigned i = 0; i <= WORKERS; i++) {
        race->worker[i].count = race->worker[i].texts = 0;
    }
    race->round++;
    race->seed++; /* of this round, see judge_accuse() */
    atomic_fetch_add(&race->rests, 1);
}

static void note_verdict(const char *what, const verdict_t *verdict, const driven_t *driven) {
    tap_note("%s: %" PRIu64 " operations, %" PRIu64 " reads, %" PRIu64 " hits, %" PRIu64
             " writes, %" PRIu64 " unknown; %u steps, %u migrations, %u rollbacks so far; %" PRIu64
             " violations",
             what, verdict->operations, verdict->reads, verdict->hits, verdict->writes,
             verdict->unknown, driven->steps, driven->migrations, driven->rollbacks,
             verdict->violations);
}

static void note_usage(soak_t *soak, bool warm) {
    for (unsigned i = 0; i < PROCESSES; i++) {
        const usage_t *usage = &soak->race->usage[i];
        if (usage->descriptors > soak->most_descriptors[i]) {
            soak->most_descriptors[i] = usage->descriptors;
        }
        if (warm) {
            soak->warm[i] = *usage;
        }
        tap_note("  process %u (%s): %ld blocks, %ld KB, %ld descriptors", i, shape.transport[i],
                 usage->blocks, usage->resident_kb, usage->descriptors);
    }
}

static void do_stretch(soak_t *soak, unsigned number) {
    char what[32];
    soak->well = race_drive_for(&soak->drive, soak->seconds / soak->stretches);
    soak->well = soak->well && let_rest(soak->race);
    if (!soak->well) {
        return;
    }
    verdict_t verdict = race_judge(soak->race);
    snprintf(what, sizeof what, "stretch %u of %u", number + 1, soak->stretches);
    note_verdict(what, &verdict, &soak->drive.driven);
    note_usage(soak, number == soak->stretches / STRETCHES - 1);
    judge_add_up(&soak->sum, &verdict);
    if (number + 1 < soak->stretches) {
        go_on(soak->race);
    }
}

/* ---- the run ---------------------------------------------------------------------- */

static void set_servers(soak_t *soak) {
    const char *at[SERVERS];
    for (size_t i = 0; i < SERVERS; i++) {
        at[i] =
            i < DIRECT ? fixture_address(soak->fixture, i) : soak->proxy->way[i - DIRECT].address;
    }
    race_set_servers(soak->race, at);
}

/* In which a migration fits, of the rests before its steps. */
static uint32_t longest_rest_ms(const soak_t *soak) {
    double migration = soak->seconds / STRETCHES;
    migration = migration < MIGRATION_S ? migration : MIGRATION_S;
    return (uint32_t)(migration * 1000 / STEPS_OF_MIGRATION);
}

static void begin(soak_t *soak) {
    uint16_t behind[PROXY_WAYS];
    double stretch = soak->seconds / soak->stretches;
    soak->fixture = fixture_start(SERVERS, NULL);
    for (size_t i = 0; i < PROXY_WAYS; i++) {
        behind[i] = fixture_port(soak->fixture, DIRECT + i);
    }
    soak->proxy = proxy_start(behind, (unsigned)(3 * soak->seconds) + 600, soak->seed + 1);
    soak->race = race_create(0, soak->seed, &shape, soak->fixture, stretch + REST_S);
    set_servers(soak);
    usage_count_blocks();
    race_start_processes(soak->race, soak->fixture, soak->children);
    trouble_begin(&soak->trouble, soak->fixture, soak->proxy, soak->seed + 2);
    soak->drive = (drive_t){.race = soak->race,
                            .children = soak->children,
                            .faults = &trouble_faults,
                            .context = &soak->trouble,
                            .longest_ms = longest_rest_ms(soak),
                            .dice = {soak->seed + 3},
                            .next_step = race_now()};
}

static void end(soak_t *soak) {
    atomic_store(&soak->race->stop, true);
    soak->well = race_end_processes(soak->race, soak->children, soak->well);
}

/* ---- what is to hold ----------------------------------------------------------------- */

static void check_usage(const soak_t *soak) {
    char what[64];
    for (unsigned i = 0; i < PROCESSES; i++) {
        snprintf(what, sizeof what, "process %u (%s), warm and at the end", i, shape.transport[i]);
        usage_flat(&soak->warm[i], &soak->race->usage[i], what);
        long most = soak->race->descriptors_before[i] + SERVERS * (THREADS + 1);
        tap_ok(soak->most_descriptors[i] <= most,
               "process %u: never more descriptors than one of each thread with each server, %ld "
               "of %ld",
               i, soak->most_descriptors[i], most);
        tap_int(soak->race->blocks_left[i], 0, "process %u: closed, no block is left", i);
    }
}

static void check_faults(const soak_t *soak) {
    for (unsigned i = 0; i < TROUBLES; i++) {
        const char *lack = trouble_lack(i);
        if (*lack != '\0') {
            tap_skip("%s: %s", trouble_name(i), lack);
        } else {
            tap_ok(soak->trouble.made[i] > 0 || soak->seconds < ALL_FAULTS_S, "%s: %u times",
                   trouble_name(i), soak->trouble.made[i]);
        }
    }
    uint64_t resets = 0, dripped = 0;
    for (size_t i = 0; i < PROXY_WAYS; i++) {
        resets += atomic_load(&soak->proxy->way[i].resets);
        dripped += atomic_load(&soak->proxy->way[i].dripped);
    }
    tap_note("by the proxy: %" PRIu64 " connections reset, %" PRIu64 " bytes dripped", resets,
             dripped);
}

static void check_all(soak_t *soak) {
    note_verdict("in all", &soak->sum, &soak->drive.driven);
    judge_note_faults(&soak->sum);
    tap_ok(soak->well, "all processes went on to the end");
    tap_ok(soak->sum.violations == 0 && soak->sum.hits > 0 && soak->drive.driven.steps > 0,
           "%" PRIu64 " violations in %" PRIu64 " reads, %u steps, TEST_SEED=%" PRIu64,
           soak->sum.violations, soak->sum.reads, soak->drive.driven.steps, soak->seed);
    check_faults(soak);
    check_usage(soak);
    tap_ok(proxy_end(soak->proxy), "the proxy went on to the end");
}

int main(void) {
    soak_t soak = {.seed = race_seed(), .well = true};
    soak.seconds = race_setting("SOAK_SECONDS", 2 * tap_seconds());
    unsigned cycles = (unsigned)(soak.seconds / (STRETCHES * LONGEST_STRETCH_S)) + 1;
    soak.stretches = STRETCHES * cycles;
    bool isolated = network_isolate();
    tap_note("TEST_SEED=%" PRIu64 ", %u processes of %u threads, %u keys, %u servers, %u of them "
             "behind a proxy; %.0f s in %u stretches",
             soak.seed, PROCESSES, THREADS, KEYS, SERVERS, PROXY_WAYS, soak.seconds,
             soak.stretches);
    tap_note("%s; delay: %s; partition: %s",
             isolated ? "in a network of its own" : "in the network of all",
             network_means(NETWORK_DELAY), network_means(NETWORK_PARTITION));
    begin(&soak);
    for (unsigned i = 0; i < soak.stretches && soak.well; i++) {
        do_stretch(&soak, i);
    }
    end(&soak);
    check_all(&soak);
    race_free(soak.race);
    fixture_free(soak.fixture);
    return tap_done();
}
