/* SPDX-License-Identifier: Apache-2.0 */
#include "rounds.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define BATCH 8 /* operations between two looks at the clock */

enum { SPEED, CPU, METRICS };

typedef struct {
    const way_t *way;
    void *state;
    pthread_barrier_t *start;
    double end;
    uint64_t operations;
    bool failed;
} worker_t;

/* A way with its threads' states, and what each round measured. */
typedef struct {
    worker_t workers[MAX_THREADS];
    double values[METRICS][ROUNDS];
} run_t;

static double now(void) {
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double cpu_seconds(void) {
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void operate(worker_t *worker, double end) {
    while (!worker->failed && now() < end)
        for (int i = 0; i < BATCH && !worker->failed; i++) {
            worker->failed = !worker->way->operate(worker->state);
            worker->operations++;
        }
}

static void *work(void *argument) {
    worker_t *worker = argument;

    pthread_barrier_wait(worker->start);
    pthread_barrier_wait(worker->start);
    operate(worker, worker->end);
    pthread_barrier_wait(worker->start);
    return NULL;
}

/* What it took, in seconds, and what was done. */
typedef struct {
    double wall, cpu;
    uint64_t operations;
} effort_t;

/* Between two barriers, so that making threads is not measured. */
static void run_threads(worker_t *workers, unsigned threads, effort_t *effort) {
    pthread_barrier_t start;
    pthread_t ids[MAX_THREADS];

    pthread_barrier_init(&start, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++) {
        workers[i].start = &start;
        if (pthread_create(&ids[i], NULL, work, &workers[i]) != 0)
            exit(1);
    }
    pthread_barrier_wait(&start);
    effort->wall = now();
    effort->cpu = cpu_seconds();
    for (unsigned i = 0; i < threads; i++)
        workers[i].end = effort->wall + ROUND_SECONDS;
    pthread_barrier_wait(&start);
    pthread_barrier_wait(&start);
    effort->wall = now() - effort->wall;
    effort->cpu = cpu_seconds() - effort->cpu;
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    pthread_barrier_destroy(&start);
}

static bool run_round(worker_t *workers, unsigned threads, effort_t *effort) {
    bool good = true;

    for (unsigned i = 0; i < threads; i++)
        workers[i].operations = 0;
    if (threads > 1) {
        run_threads(workers, threads, effort);
    } else {
        double wall = now(), cpu = cpu_seconds();
        operate(&workers[0], wall + ROUND_SECONDS);
        effort->wall = now() - wall;
        effort->cpu = cpu_seconds() - cpu;
    }
    effort->operations = 0;
    for (unsigned i = 0; i < threads; i++) {
        effort->operations += workers[i].operations;
        good = good && !workers[i].failed;
    }
    return good;
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(const double *values) {
    double sorted[ROUNDS];

    for (int i = 0; i < ROUNDS; i++)
        sorted[i] = values[i];
    qsort(sorted, ROUNDS, sizeof(*sorted), by_value);
    return sorted[ROUNDS / 2];
}

static double median_ratio(const double *first, const double *second) {
    double ratios[ROUNDS];

    for (int i = 0; i < ROUNDS; i++)
        ratios[i] = first[i] / second[i];
    return median(ratios);
}

static void print_metric(const char *name, const char *label, int decimals, const run_t *runs,
                         unsigned count, int metric) {
    printf("%s\t%s", name, label);
    for (unsigned i = 0; i < count; i++)
        printf("\t%.*f", decimals, median(runs[i].values[metric]));
    for (unsigned i = 1; i < count; i++)
        printf("\t%.3f", median_ratio(runs[0].values[metric], runs[i].values[metric]));
    printf("\n");
    fflush(stdout);
}

static bool open_workers(worker_t *workers, const way_t *way, const void *setup) {
    for (unsigned i = 0; i < way->threads; i++) {
        workers[i] = (worker_t){.way = way, .state = way->open(setup, i)};
        if (workers[i].state == NULL)
            return false;
    }
    return true;
}

static void close_workers(worker_t *workers, const way_t *way) {
    for (unsigned i = 0; i < way->threads; i++)
        if (workers[i].state != NULL)
            way->close(workers[i].state);
}

static bool run_all(run_t *runs, speed_t speed, const way_t *ways, unsigned count) {
    effort_t effort;

    for (int round = -1; round < ROUNDS; round++) /* the first is to warm up */
        for (unsigned i = 0; i < count; i++) {
            if (!run_round(runs[i].workers, ways[i].threads, &effort))
                return false;
            if (round < 0)
                continue;
            double each = effort.wall / (double)effort.operations;
            runs[i].values[SPEED][round] = speed == WALL_MICROSECONDS ? 1e6 * each : 1 / each;
            runs[i].values[CPU][round] = 1e6 * effort.cpu / (double)effort.operations;
        }
    return true;
}

bool compare_ways(const char *name, speed_t speed, const way_t *ways, unsigned count,
                  const void *setup) {
    static run_t runs[MAX_WAYS];
    bool good = count <= MAX_WAYS;

    for (unsigned i = 0; i < count; i++) {
        runs[i] = (run_t){0};
        good = good && ways[i].threads <= MAX_THREADS &&
               open_workers(runs[i].workers, &ways[i], setup);
    }
    good = good && run_all(runs, speed, ways, count);
    for (unsigned i = 0; i < count; i++)
        close_workers(runs[i].workers, &ways[i]);
    if (!good)
        return false;
    if (speed == WALL_MICROSECONDS)
        print_metric(name, "wall_microseconds", 2, runs, count, SPEED);
    else
        print_metric(name, "operations_per_second", 0, runs, count, SPEED);
    print_metric(name, "cpu_microseconds", 2, runs, count, CPU);
    return true;
}
