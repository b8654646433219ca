/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures several ways to do the same thing in short rounds, one after the
 * other, so that a noisy machine is noisy for all. Prints the median of each
 * and the median of the ratios of neighbouring rounds.
 */
#ifndef BENCH_ROUNDS_H
#define BENCH_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

#define ROUNDS 41
#define ROUND_SECONDS 0.05
#define MAX_THREADS 64
#define MAX_WAYS 4

/* Does one operation; `state` belongs to the thread. False ends the bench. */
typedef bool (*operation_t)(void *state);

/* One way: how a thread gets its state, and what it does with it. */
typedef struct {
    void *(*open)(const void *setup, unsigned thread);
    operation_t operate;
    void (*close)(void *state);
    unsigned threads;
} way_t;

/* How speed is told: for all threads together, or for one alone. */
typedef enum { OPERATIONS_PER_SECOND, WALL_MICROSECONDS } speed_t;

/* Prints two lines, "NAME metric first second ... ratio ...", for the speed
 * and the microseconds of CPU per operation, with the ratios of the first way
 * to each other. False when an operation failed. */
bool compare_ways(const char *name, speed_t speed, const way_t *ways, unsigned count,
                  const void *setup);

#endif
