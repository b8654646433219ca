/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a cluster that grows under traffic: 4 servers to 6 with new weights,
 * first as a warm migration, then as a cold flip of the same rings on emptied
 * and refilled servers, with the same traffic for the same time.
 *
 *   migration [-o FILE] [-r RATE] [-t THREADS] [-k KEYS] [-x SPEED] OLD NEW...
 *
 * OLD are the servers before, named a to d; each NEW one is added. -o writes
 * samples as tab-separated values; -x runs through the phases faster. Ends
 * with an error when a read was stale or a call failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <warmring/warmring.h>

#include "origin.h"
#include "report.h"
#include "traffic.h"

#define SAMPLE_SECONDS 0.25
#define SAMPLES_PER_ROW 4

typedef struct {
    traffic_options_t traffic;
    double speed;
    FILE *samples;
} settings_t;

/* One run: warm or cold. */
typedef struct {
    const settings_t *settings;
    warmring_t *cache;
    const warmring_topology_t *target;
    traffic_t *traffic;
    report_t report;
    struct timespec begin;
    bool only_new;       /* the only ring is the new one */
    uint64_t stable_old; /* hits in STABLE until then */
} run_t;

/* What to do, and how long to watch it. */
typedef struct {
    void (*enter)(run_t *run, uint32_t argument);
    uint32_t argument;
    double seconds;
} stage_t;

static void must(warmring_status_t status, const char *what) {
    if (status == WARMRING_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, warmring_strerror(status), warmring_error_detail());
    exit(1);
}

/* ---- counting ---- */

static double seconds_since(const struct timespec *begin) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begin->tv_sec) + (double)(now.tv_nsec - begin->tv_nsec) / 1e9;
}

/* The hits in all phases, and in STABLE, of one snapshot. */
static void count_hits(warmring_t *cache, warmring_counters_t *all, uint64_t *stable) {
    warmring_counters_t counters = {.size = sizeof(counters)};
    warmring_snapshot_t *snapshot;

    must(warmring_snapshot_create(cache, &snapshot), "snapshot");
    must(warmring_snapshot_client(snapshot, WARMRING_STABLE, &counters), "snapshot");
    *stable = counters.hits_old;
    must(warmring_snapshot_client(snapshot, -1, &counters), "snapshot");
    *all = counters;
    warmring_snapshot_free(snapshot);
}

/* A client counts hits on its only ring as hits on the old one; from the
 * change on it is the new one. */
static report_totals_t totals(const run_t *run, const traffic_counters_t *traffic) {
    warmring_counters_t all;
    uint64_t stable, late;

    count_hits(run->cache, &all, &stable);
    late = run->only_new ? stable - run->stable_old : 0;
    return (report_totals_t){
        .seconds = seconds_since(&run->begin),
        .reads = traffic->reads,
        .hits_new = all.hits_new + late,
        .hits_old = all.hits_old - late,
        .deleted = traffic->deleted,
        .loads = traffic->loads,
    };
}

static report_place_t place(const run_t *run) {
    warmring_topology_t *now;
    report_place_t here;

    must(warmring_acquire(run->cache, &now), "acquire");
    here.phase = warmring_phase_name(warmring_topology_phase(now));
    here.rollout = warmring_topology_phase(now) == WARMRING_STABLE
                       ? -1
                       : warmring_topology_get_rollout(now, NULL) / 100.0;
    warmring_topology_release(now);
    return here;
}

/* ---- stages ---- */

static void apply(run_t *run, warmring_topology_t *next) {
    bool ends = warmring_topology_phase(next) == WARMRING_STABLE;
    warmring_counters_t all;
    uint64_t stable;

    count_hits(run->cache, &all, &stable);
    must(warmring_apply(run->cache, next, 0), "apply");
    warmring_topology_release(next);
    if (ends) {
        run->stable_old = stable;
        run->only_new = true;
    }
}

static void stay(run_t *run, uint32_t unused) {
    (void)run;
    (void)unused;
}

static void migrate(run_t *run, uint32_t unused) {
    warmring_topology_t *now, *next;

    (void)unused;
    must(warmring_acquire(run->cache, &now), "acquire");
    must(warmring_topology_migrate(now, run->target, &next), "migrate");
    warmring_topology_release(now);
    apply(run, next);
}

static void flip(run_t *run, uint32_t unused) {
    warmring_topology_t *now, *next;

    (void)unused;
    must(warmring_acquire(run->cache, &now), "acquire");
    must(warmring_topology_replace(now, run->target, &next), "replace");
    warmring_topology_release(now);
    apply(run, next);
}

static void step(run_t *run, uint32_t which) {
    warmring_topology_t *now, *next;

    must(warmring_acquire(run->cache, &now), "acquire");
    must(warmring_topology_step(now, (warmring_step_t)which, &next), "step");
    warmring_topology_release(now);
    apply(run, next);
}

static void roll_out(run_t *run, uint32_t basis_points) {
    warmring_topology_t *now, *next;

    must(warmring_acquire(run->cache, &now), "acquire");
    must(warmring_topology_rollout(now, NULL, basis_points, &next), "rollout");
    warmring_topology_release(now);
    apply(run, next);
}

static const stage_t warm_stages[] = {
    {stay, 0, 2},
    {migrate, 0, 1}, /* PREPARED */
    {step, WARMRING_WARM, 0},
    {roll_out, 1000, 1},
    {roll_out, 5000, 2},
    {roll_out, WARMRING_ROLLOUT_ALL, 5},
    {step, WARMRING_COMMIT, 0.1}, /* HANDOVER */
    {step, WARMRING_COMMIT, 4},   /* DRAINING */
    {step, WARMRING_FINISH, 1},   /* CLOSING */
    {step, WARMRING_FINISH, 1},   /* SETTLING */
    {step, WARMRING_SETTLE, 2},   /* STABLE */
};

static const stage_t cold_stages[] = {
    {stay, 0, 2},
    {flip, 0, 17.1},
};

static void sleep_until(const struct timespec *begin, double seconds) {
    double left = seconds - seconds_since(begin);

    if (left > 0) {
        struct timespec pause = {.tv_sec = (time_t)left};
        pause.tv_nsec = (long)((left - (double)pause.tv_sec) * 1e9);
        nanosleep(&pause, NULL);
    }
}

/* Samples until the stage ends; its last row may be shorter than others. */
static void watch(run_t *run, double end) {
    report_place_t here = place(run);
    traffic_counters_t counted;
    report_totals_t now;

    for (int samples = 1;; samples++) {
        double next = run->report.sampled.seconds + SAMPLE_SECONDS;
        bool last = next > end - SAMPLE_SECONDS / 2;
        sleep_until(&run->begin, last ? end : next);
        counted = traffic_count(run->traffic);
        now = totals(run, &counted);
        report_sample(&run->report, &here, &now);
        if (last || samples % SAMPLES_PER_ROW == 0)
            report_row(&run->report, &here, &now);
        if (last)
            return;
    }
}

/* Returns what the threads counted. */
static traffic_counters_t run_stages(run_t *run, origin_t *origin, const stage_t *stages,
                                     size_t count) {
    double end = 0;
    traffic_counters_t counted;
    report_totals_t last;

    run->traffic = traffic_start(run->cache, origin, &run->settings->traffic);
    if (run->traffic == NULL) {
        fprintf(stderr, "cannot start the threads\n");
        exit(1);
    }
    clock_gettime(CLOCK_MONOTONIC, &run->begin);
    for (size_t i = 0; i < count; i++) {
        stages[i].enter(run, stages[i].argument);
        end += stages[i].seconds / run->settings->speed;
        if (stages[i].seconds > 0)
            watch(run, end);
    }
    counted = traffic_stop(run->traffic);
    last = totals(run, &counted);
    report_end(&run->report, &last);
    return counted;
}

static traffic_counters_t run_on(const settings_t *settings, const char *name,
                                 const warmring_topology_t *before,
                                 const warmring_topology_t *target, const stage_t *stages,
                                 size_t count) {
    run_t run = {.settings = settings, .target = target};
    traffic_counters_t counted;
    origin_t origin;

    must(warmring_open_topology(&run.cache, target, NULL), "open");
    must(warmring_flush(run.cache, NULL), "flush"); /* all six */
    warmring_close(run.cache);
    if (!origin_open(&origin, settings->traffic.keys)) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    must(warmring_open_topology(&run.cache, before, NULL), "open");
    must(traffic_fill(run.cache, &origin), "fill");
    report_begin(&run.report, name, settings->samples);
    counted = run_stages(&run, &origin, stages, count);
    warmring_close(run.cache);
    origin_close(&origin);
    return counted;
}

/* ---- the two rings ---- */

static void replace(warmring_topology_t **topology, warmring_topology_t *next) {
    warmring_topology_release(*topology);
    *topology = next;
}

/* All new servers with weight 2, and the second of the old ones too. */
static warmring_topology_t *make_target(const warmring_topology_t *before, char **servers,
                                        int count) {
    warmring_topology_t *target = warmring_topology_retain(before), *next;

    for (int i = 0; i < count; i++) {
        char text[512];
        snprintf(text, sizeof(text), "%s:2", servers[i]);
        must(warmring_topology_add_server(target, text, &next), "add server");
        replace(&target, next);
    }
    must(warmring_topology_set_weight(target, warmring_topology_label(target, WARMRING_OLD_RING, 1),
                                      2, &next),
         "set weight");
    replace(&target, next);
    return target;
}

static void print_legend(const traffic_options_t *traffic) {
    printf("%u threads, %zu keys, 80%% reads, 15%% sets, 5%% deletes, %.0f operations a second.\n\n"
           "hits new      answered by the new owner of a key\n"
           "hits old      answered by the old owner, or the owner of a key that does not move\n"
           "deleted       loads from the origin of keys that a writer had deleted\n"
           "origin loads  all other loads: the cache had lost the key\n\n",
           traffic->threads, traffic->keys, traffic->rate);
}

static void print_plan(const warmring_topology_t *before, const warmring_topology_t *target) {
    warmring_preview_t *preview;

    must(warmring_topology_preview(before, target, &preview), "preview");
    printf("server  share before  after\n");
    for (size_t i = 0; i < warmring_preview_servers(preview); i++) {
        warmring_preview_server_t server = {.size = sizeof(server)};
        must(warmring_preview_server(preview, i, &server), "preview");
        printf("%-6s  %11.1f%%  %4.1f%%\n", server.label, 100 * server.share_before,
               100 * server.share_after);
    }
    printf("%.1f%% of the keys move.\n\n", 100 * warmring_preview_moved(preview));
    warmring_preview_free(preview);
}

/* ---- main ---- */

static void usage(void) {
    fprintf(stderr, "usage: migration [-o FILE] [-r RATE] [-t THREADS] [-k KEYS] [-x SPEED] "
                    "OLD,OLD,... NEW...\n");
    exit(2);
}

static void read_options(int argc, char **argv, settings_t *settings) {
    for (int option; (option = getopt(argc, argv, "o:r:t:k:x:")) != -1;) {
        switch (option) {
        case 'o':
            settings->samples = fopen(optarg, "w");
            if (settings->samples == NULL) {
                perror(optarg);
                exit(1);
            }
            report_samples_header(settings->samples);
            break;
        case 'r':
            settings->traffic.rate = strtod(optarg, NULL);
            break;
        case 't':
            settings->traffic.threads = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'k':
            settings->traffic.keys = strtoul(optarg, NULL, 10);
            break;
        case 'x':
            settings->speed = strtod(optarg, NULL);
            break;
        default:
            usage();
        }
    }
    if (argc - optind < 2 || !(settings->traffic.rate > 0) || settings->traffic.threads == 0 ||
        settings->traffic.keys == 0 || !(settings->speed > 0))
        usage();
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

int main(int argc, char **argv) {
    settings_t settings = {.traffic = {.threads = 8, .rate = 20000, .keys = 20000}, .speed = 1};
    warmring_topology_t *before, *target;
    traffic_counters_t warm, cold;

    read_options(argc, argv, &settings);
    must(warmring_topology_parse(&before, argv[optind], NULL, 0), "servers");
    target = make_target(before, argv + optind + 1, argc - optind - 1);
    print_legend(&settings.traffic);
    print_plan(before, target);
    printf("Warm migration\n");
    warm = run_on(&settings, "warm", before, target, warm_stages, COUNT_OF(warm_stages));
    printf("Cold flip of the same rings, servers emptied and filled again\n");
    cold = run_on(&settings, "cold", before, target, cold_stages, COUNT_OF(cold_stages));
    warmring_topology_release(target);
    warmring_topology_release(before);
    if (settings.samples != NULL)
        fclose(settings.samples);

    printf("origin loads: cold %llu, warm %llu\n", (unsigned long long)cold.loads,
           (unsigned long long)warm.loads);
    printf("stale reads: %llu\n", (unsigned long long)(warm.stale + cold.stale));
    if (warm.errors + cold.errors + warm.wrong + cold.wrong > 0)
        fprintf(stderr, "failed calls: %llu, wrong values: %llu\n",
                (unsigned long long)(warm.errors + cold.errors),
                (unsigned long long)(warm.wrong + cold.wrong));
    return warm.stale + cold.stale + warm.errors + cold.errors + warm.wrong + cold.wrong > 0;
}
