/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures two ways to do the same thing in short rounds, one after the
 * other, so that a noisy machine is noisy for both. Prints the median of each
 * and the median of the ratios of neighbouring rounds.
 */
#ifndef BENCH_ROUNDS_H
#define BENCH_ROUNDS_H

#include <stdbool.h>

#define ROUNDS 41
#define ROUND_SECONDS 0.05
#define MAX_THREADS 64

/* Does one operation; `state` belongs to the thread. False ends the bench. */
typedef bool (*operation_t)(void *state);

/* One way: how a thread gets its state, and what it does with it. */
typedef struct {
    void *(*open)(const void *setup, unsigned thread);
    operation_t operate;
    void (*close)(void *state);
} way_t;

/* Prints two lines, "NAME metric first second ratio", for the operations per
 * second and the microseconds of CPU per operation. False when an operation
 * failed. */
bool compare_ways(const char *name, unsigned threads, const way_t *first, const way_t *second,
                  const void *setup);

#endif
