/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of traffic share.
 */
#ifndef TESTS_TRAFFIC_INTERNAL_H
#define TESTS_TRAFFIC_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "traffic.h"

enum { TRAFFIC_BATCH = 8, TRAFFIC_SWEEP = 32 };

#define COUNTERS (sizeof(traffic_counts_t) / sizeof(uint64_t))
#define COUNTER(field) (offsetof(traffic_counts_t, field) / sizeof(uint64_t))

typedef struct {
    pthread_mutex_t mutex;
    _Atomic uint64_t version;      /* newest in the origin */
    _Atomic uint64_t acknowledged; /* newest the cache has answered for */
    _Atomic bool in_doubt;
    unsigned class;
} row_t;

typedef struct {
    traffic_t *traffic;
    warmring_t *client;
    pthread_t thread;
    uint64_t random;
    _Atomic uint64_t done;
    _Atomic uint64_t counter[COUNTERS];
    warmring_results_t *results;
} worker_t;

struct traffic {
    traffic_options_t options;
    row_t *rows;
    worker_t *workers; /* one more than threads, for the caller's own */
    bool running;
    _Atomic bool stop;
    _Atomic int stories; /* told of bad reads */
    pthread_t metronome;
    _Atomic uint64_t stall_ms;
};

typedef struct {
    size_t key[TRAFFIC_SWEEP]; /* different and in order, so that locks nest */
    char text[TRAFFIC_SWEEP][TRAFFIC_KEY_SIZE];
    warmring_bytes_t name[TRAFFIC_SWEEP];
    uint64_t version[TRAFFIC_SWEEP];
    size_t count;
} batch_t;

uint64_t traffic_now_ms(void);
uint64_t traffic_mix(uint64_t x);

/* One operation of a thread. */
void traffic_do_one(worker_t *worker);

/* Keys `first`, `first` + `stride`, ... */
void traffic_name_batch(batch_t *batch, size_t first, size_t stride, size_t number);
/* Reads them and judges; loads those that miss if it may. */
void traffic_read_batch(worker_t *worker, const batch_t *batch, bool may_load);
/* Stores them at versions raised by `raise`. */
void traffic_store_batch(worker_t *worker, batch_t *batch, uint64_t raise);

#endif
