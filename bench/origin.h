/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An origin in memory, as a database stands behind a cache: a version for
 * each key, a lock for each key, and which version was last acknowledged.
 *
 * A loader and every writer hold a key's lock around origin and cache. So
 * what a reader may see is exact: at least the version whose write or delete
 * was acknowledged before the read began.
 */
#ifndef BENCH_ORIGIN_H
#define BENCH_ORIGIN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    pthread_mutex_t lock;
    uint64_t version;              /* under the lock */
    bool deleted;                  /* from the cache, by a writer; under the lock */
    _Atomic uint64_t stores;       /* into the cache; changed under the lock */
    _Atomic uint64_t acknowledged; /* changed under the lock */
} origin_key_t;

typedef struct {
    size_t count;
    origin_key_t *keys;
} origin_t;

/* All keys at version 1, acknowledged. False when memory is out. */
bool origin_open(origin_t *origin, size_t count);
void origin_close(origin_t *origin);

#define ORIGIN_KEY_SIZE 32
#define ORIGIN_VALUE_SIZE 100

/* The name of a key, and the text of a value; return the length. */
size_t origin_name(char name[ORIGIN_KEY_SIZE], size_t key);
size_t origin_value(char value[ORIGIN_VALUE_SIZE], size_t key, uint64_t version);

/* The version in a value of this key; 0 when it is not one. */
uint64_t origin_version(const char *value, size_t length, size_t key);

#endif
