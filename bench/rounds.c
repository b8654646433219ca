/* SPDX-License-Identifier: Apache-2.0 */
#include "rounds.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH 8 /* operations between two looks at the clock */

typedef struct {
    double rate, cpu; /* operations a second, microseconds of CPU an operation */
} result_t;

typedef struct {
    const way_t *way;
    void *state;
    double end;
    uint64_t operations;
    bool failed;
} worker_t;

static double seconds_of(clockid_t clock) {
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *work(void *argument) {
    worker_t *worker = argument;

    while (!worker->failed && seconds_of(CLOCK_MONOTONIC) < worker->end)
        for (int i = 0; i < BATCH && !worker->failed; i++) {
            worker->failed = !worker->way->operate(worker->state);
            worker->operations++;
        }
    return NULL;
}

static bool run_round(worker_t *workers, unsigned threads, result_t *result) {
    double begin = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    pthread_t ids[MAX_THREADS];
    uint64_t operations = 0;
    unsigned started = 0;
    bool good = true;

    for (; started < threads; started++) {
        workers[started].end = begin + ROUND_SECONDS;
        workers[started].operations = 0;
        if (pthread_create(&ids[started], NULL, work, &workers[started]) != 0)
            break;
    }
    for (unsigned i = 0; i < started; i++) {
        pthread_join(ids[i], NULL);
        operations += workers[i].operations;
        good = good && !workers[i].failed;
    }
    result->rate = (double)operations / (seconds_of(CLOCK_MONOTONIC) - begin);
    result->cpu = 1e6 * (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)operations;
    return good && started == threads;
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(double *values) {
    qsort(values, ROUNDS, sizeof(*values), by_value);
    return values[ROUNDS / 2];
}

static void print_metric(const char *name, const char *metric, int decimals, double *first,
                         double *second) {
    double ratios[ROUNDS];

    for (int i = 0; i < ROUNDS; i++)
        ratios[i] = first[i] / second[i];
    printf("%s\t%s\t%.*f\t%.*f\t%.2f\n", name, metric, decimals, median(first), decimals,
           median(second), median(ratios));
    fflush(stdout);
}

static bool open_workers(worker_t *workers, unsigned threads, const way_t *way, const void *setup) {
    for (unsigned i = 0; i < threads; i++) {
        workers[i] = (worker_t){.way = way, .state = way->open(setup, i)};
        if (workers[i].state == NULL)
            return false;
    }
    return true;
}

static void close_workers(worker_t *workers, unsigned threads) {
    for (unsigned i = 0; i < threads; i++)
        if (workers[i].state != NULL)
            workers[i].way->close(workers[i].state);
}

bool compare_ways(const char *name, unsigned threads, const way_t *first, const way_t *second,
                  const void *setup) {
    worker_t workers[2][MAX_THREADS] = {0};
    double rates[2][ROUNDS], cpus[2][ROUNDS];
    result_t result;
    bool good = threads <= MAX_THREADS && open_workers(workers[0], threads, first, setup) &&
                open_workers(workers[1], threads, second, setup);

    for (int round = -1; good && round < ROUNDS; round++) /* the first is to warm up */
        for (int way = 0; way < 2; way++) {
            good = good && run_round(workers[way], threads, &result);
            if (round >= 0) {
                rates[way][round] = result.rate;
                cpus[way][round] = result.cpu;
            }
        }
    close_workers(workers[0], threads);
    close_workers(workers[1], threads);
    if (!good)
        return false;
    print_metric(name, "operations_per_second", 0, rates[0], rates[1]);
    print_metric(name, "cpu_microseconds", 2, cpus[0], cpus[1]);
    return true;
}
