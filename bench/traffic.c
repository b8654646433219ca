/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two loaders that miss the same key are one load, as in a real program: the
 * second waits for the lock and sees by the count of stores that the value
 * is there. So every load is the first after the key left the cache, and is
 * either a writer's delete or a loss.
 */
#include "traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TRIES 3 /* of a write whose result is unknown */
#define BURST 8 /* operations between two sleeps */
#define FILL_BATCH 500

typedef struct {
#define TRAFFIC_FIELD(name) _Atomic uint64_t name;
    TRAFFIC_COUNTER_LIST(TRAFFIC_FIELD)
#undef TRAFFIC_FIELD
    pthread_t thread;
    traffic_t *traffic;
    uint64_t random;
    warmring_item_t item;
    char padding[64];
} worker_t;

struct traffic {
    warmring_t *cache;
    origin_t *origin;
    traffic_options_t options;
    atomic_bool stop;
    unsigned started;
    worker_t *workers;
};

/* xorshift64*: fast, and the same everywhere. */
static uint64_t next_random(worker_t *worker) {
    worker->random ^= worker->random >> 12;
    worker->random ^= worker->random << 25;
    worker->random ^= worker->random >> 27;
    return (worker->random * 0x2545f4914f6cdd1dull) >> 16;
}

/* The first failure is shown; the rest are counted. */
static void fail(worker_t *worker, const char *what, warmring_status_t status) {
    static atomic_flag shown = ATOMIC_FLAG_INIT;

    worker->errors++;
    if (!atomic_flag_test_and_set(&shown))
        fprintf(stderr, "%s: %s: %s\n", what, warmring_strerror(status), warmring_error_detail());
}

static bool unknown(warmring_status_t status) {
    return status == WARMRING_PARTIAL || status == WARMRING_TIMEOUT ||
           status == WARMRING_CONNECTION_LOST;
}

/* Under the key's lock. True when it was acknowledged. */
static bool store(worker_t *worker, size_t key, origin_key_t *at) {
    char name[ORIGIN_KEY_SIZE], value[ORIGIN_VALUE_SIZE];
    size_t name_length = origin_name(name, key);
    size_t value_length = origin_value(value, key, at->version);
    warmring_status_t status = WARMRING_TIMEOUT;

    for (int i = 0; i < TRIES && unknown(status); i++)
        status = warmring_set(worker->traffic->cache, name, name_length, value, value_length, 0, 0,
                              NULL);
    at->stores++;
    at->deleted = false;
    if (status != WARMRING_OK)
        fail(worker, "set", status);
    return status == WARMRING_OK;
}

static bool discard(worker_t *worker, size_t key, origin_key_t *at) {
    char name[ORIGIN_KEY_SIZE];
    size_t name_length = origin_name(name, key);
    warmring_status_t status = WARMRING_TIMEOUT;

    for (int i = 0; i < TRIES && unknown(status); i++)
        status = warmring_delete(worker->traffic->cache, name, name_length, NULL);
    at->deleted = true;
    if (status != WARMRING_OK && status != WARMRING_NOT_FOUND)
        fail(worker, "delete", status);
    return status == WARMRING_OK || status == WARMRING_NOT_FOUND;
}

static void write_key(worker_t *worker, size_t key,
                      bool (*how)(worker_t *, size_t, origin_key_t *)) {
    origin_key_t *at = &worker->traffic->origin->keys[key];

    pthread_mutex_lock(&at->lock);
    at->version++;
    if (how(worker, key, at))
        at->acknowledged = at->version;
    pthread_mutex_unlock(&at->lock);
}

static void load(worker_t *worker, size_t key, uint64_t stores_seen) {
    origin_key_t *at = &worker->traffic->origin->keys[key];

    pthread_mutex_lock(&at->lock);
    if (at->stores == stores_seen) {
        if (at->deleted)
            worker->deleted++;
        else
            worker->loads++;
        store(worker, key, at);
    }
    pthread_mutex_unlock(&at->lock);
}

static void read_key(worker_t *worker, size_t key) {
    origin_key_t *at = &worker->traffic->origin->keys[key];
    uint64_t acknowledged = at->acknowledged, stores = at->stores, version;
    char name[ORIGIN_KEY_SIZE];
    warmring_status_t status =
        warmring_get(worker->traffic->cache, name, origin_name(name, key), &worker->item, NULL);

    worker->reads++;
    if (status == WARMRING_NOT_FOUND) {
        load(worker, key, stores);
        return;
    }
    if (status != WARMRING_OK) {
        fail(worker, "get", status);
        return;
    }
    version = origin_version(worker->item.value.data, worker->item.value.length, key);
    if (version == 0)
        worker->wrong++;
    else if (version < acknowledged)
        worker->stale++;
}

static void operate(worker_t *worker) {
    size_t key = (size_t)(next_random(worker) % worker->traffic->options.keys);
    unsigned kind = (unsigned)(next_random(worker) % 100);

    if (kind < 80) {
        read_key(worker, key);
    } else if (kind < 95) {
        worker->writes++;
        write_key(worker, key, store);
    } else {
        worker->deletes++;
        write_key(worker, key, discard);
    }
}

static void add_nanoseconds(struct timespec *time, double nanoseconds) {
    int64_t sum = time->tv_nsec + (int64_t)nanoseconds;

    time->tv_sec += (time_t)(sum / 1000000000);
    time->tv_nsec = (long)(sum % 1000000000);
}

static void *work(void *argument) {
    worker_t *worker = argument;
    const traffic_options_t *options = &worker->traffic->options;
    double pause = 1e9 * BURST * options->threads / options->rate;
    struct timespec next;

    clock_gettime(CLOCK_MONOTONIC, &next);
    while (!worker->traffic->stop) {
        for (int i = 0; i < BURST; i++)
            operate(worker);
        add_nanoseconds(&next, pause);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    warmring_item_clear(&worker->item);
    return NULL;
}

traffic_t *traffic_start(warmring_t *cache, origin_t *origin, const traffic_options_t *options) {
    traffic_t *traffic = calloc(1, sizeof(*traffic));

    if (traffic == NULL)
        return NULL;
    traffic->cache = cache;
    traffic->origin = origin;
    traffic->options = *options;
    traffic->workers = calloc(options->threads, sizeof(worker_t));
    for (unsigned i = 0; traffic->workers != NULL && i < options->threads; i++) {
        worker_t *worker = &traffic->workers[i];
        worker->traffic = traffic;
        worker->random = (i + 1) * 0x9e3779b97f4a7c15ull;
        worker->item = (warmring_item_t)WARMRING_ITEM_INIT;
        if (pthread_create(&worker->thread, NULL, work, worker) != 0)
            break;
        traffic->started++;
    }
    if (traffic->started == options->threads)
        return traffic;
    traffic_stop(traffic);
    return NULL;
}

traffic_counters_t traffic_count(const traffic_t *traffic) {
    traffic_counters_t sum = {0};

    for (unsigned i = 0; i < traffic->started; i++) {
#define TRAFFIC_ADD(name) sum.name += traffic->workers[i].name;
        TRAFFIC_COUNTER_LIST(TRAFFIC_ADD)
#undef TRAFFIC_ADD
    }
    return sum;
}

traffic_counters_t traffic_stop(traffic_t *traffic) {
    traffic_counters_t sum;

    traffic->stop = true;
    for (unsigned i = 0; i < traffic->started; i++)
        pthread_join(traffic->workers[i].thread, NULL);
    sum = traffic_count(traffic);
    free(traffic->workers);
    free(traffic);
    return sum;
}

static warmring_status_t fill_batch(warmring_t *cache, origin_t *origin, size_t from, size_t count,
                                    warmring_results_t *results) {
    static char names[FILL_BATCH][ORIGIN_KEY_SIZE], values[FILL_BATCH][ORIGIN_VALUE_SIZE];
    static warmring_entry_t entries[FILL_BATCH];

    for (size_t i = 0; i < count; i++) {
        size_t key = from + i;
        size_t value_length = origin_value(values[i], key, origin->keys[key].version);
        entries[i].key = (warmring_bytes_t){names[i], origin_name(names[i], key)};
        entries[i].value = (warmring_bytes_t){values[i], value_length};
    }
    return warmring_set_multi(cache, entries, count, results, NULL);
}

warmring_status_t traffic_fill(warmring_t *cache, origin_t *origin) {
    warmring_results_t *results = warmring_results_create();
    warmring_status_t status = results == NULL ? WARMRING_OUT_OF_MEMORY : WARMRING_OK;

    for (size_t from = 0; from < origin->count && status == WARMRING_OK; from += FILL_BATCH) {
        size_t left = origin->count - from;
        status = fill_batch(cache, origin, from, left < FILL_BATCH ? left : FILL_BATCH, results);
    }
    warmring_results_free(results);
    return status;
}
