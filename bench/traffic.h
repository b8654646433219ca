/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic on a cache with an origin behind it: threads that read 80 %, write
 * 15 % and delete 5 %, over all keys alike, at a steady rate. Every value
 * that is read is checked against what was acknowledged.
 */
#ifndef BENCH_TRAFFIC_H
#define BENCH_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>
#include <warmring/warmring.h>

#include "origin.h"

typedef struct {
    unsigned threads;
    double rate; /* operations per second, all threads together */
    size_t keys;
} traffic_options_t;

/* What the threads count. */
#define TRAFFIC_COUNTER_LIST(X)                                       \
    X(reads)                                                          \
    X(writes)                                                         \
    X(deletes)                                                        \
    X(deleted) /* origin loads after a writer had deleted the key */  \
    X(loads)   /* all other origin loads: the cache lost the key */   \
    X(stale)   /* older than what was acknowledged before the read */ \
    X(wrong)   /* not a value of this key */                          \
    X(errors)

typedef struct {
#define TRAFFIC_FIELD(name) uint64_t name;
    TRAFFIC_COUNTER_LIST(TRAFFIC_FIELD)
#undef TRAFFIC_FIELD
} traffic_counters_t;

typedef struct traffic traffic_t;

/* Starts the threads; NULL when memory or threads are out. The same options
 * make the same sequence of operations. `origin` stays the caller's. */
traffic_t *traffic_start(warmring_t *cache, origin_t *origin, const traffic_options_t *options);

/* Sums while the threads run. */
traffic_counters_t traffic_count(const traffic_t *traffic);

/* Ends the threads, frees, and returns the last sums. */
traffic_counters_t traffic_stop(traffic_t *traffic);

/* Stores every key at its version. */
warmring_status_t traffic_fill(warmring_t *cache, origin_t *origin);

#endif
