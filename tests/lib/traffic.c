/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic: its life, its threads and its sums; what they do is in
 * traffic_calls.c, what they are judged by in traffic.h.
 *
 * Versions only grow, so "acknowledged" is one number a key: a delete raises
 * it like a store does, and whatever an older version left in the cache must
 * not be seen again.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tap.h"
#include "traffic_internal.h"

enum { WAIT_SECONDS = 300 };

/* ---- threads --------------------------------------------------------------------- */

static void pause_for(uint32_t microseconds) {
    struct timespec pause = {(time_t)(microseconds / 1000000),
                             (long)(microseconds % 1000000) * 1000};
    while (microseconds != 0 && nanosleep(&pause, &pause) != 0) {
    }
}

/* What the machine does to threads that have nothing to do with the library. */
static void *keep_time(void *argument) {
    enum { TICK_MS = 5 };
    traffic_t *traffic = argument;
    while (!atomic_load(&traffic->stop)) {
        uint64_t start = traffic_now_ms();
        pause_for(TICK_MS * 1000);
        uint64_t took = traffic_now_ms() - start;
        if (took > TICK_MS + atomic_load(&traffic->stall_ms)) {
            atomic_store(&traffic->stall_ms, took - TICK_MS);
        }
    }
    return NULL;
}

uint64_t traffic_stall_ms(const traffic_t *traffic) {
    return atomic_load(&traffic->stall_ms);
}

static void *work(void *argument) {
    worker_t *worker = argument;
    uint64_t limit = worker->traffic->options.limit;
    limit = limit != 0 ? limit : UINT64_MAX;
    while (!atomic_load(&worker->traffic->stop) && atomic_load(&worker->done) < limit) {
        traffic_do_one(worker);
        atomic_fetch_add(&worker->done, 1);
        pause_for(worker->traffic->options.pause_us);
    }
    return NULL;
}

static void begin(pthread_t *thread, void *(*run)(void *), void *argument) {
    if (pthread_create(thread, NULL, run, argument) != 0) {
        tap_bail("traffic: cannot start a thread");
    }
}

void traffic_start(traffic_t *traffic) {
    atomic_store(&traffic->stop, false);
    for (unsigned i = 0; i < traffic->options.threads; i++) {
        begin(&traffic->workers[i].thread, work, &traffic->workers[i]);
    }
    begin(&traffic->metronome, keep_time, traffic);
    traffic->running = true;
}

void traffic_stop(traffic_t *traffic) {
    if (!traffic->running) {
        return;
    }
    atomic_store(&traffic->stop, true);
    for (unsigned i = 0; i < traffic->options.threads; i++) {
        pthread_join(traffic->workers[i].thread, NULL);
    }
    pthread_join(traffic->metronome, NULL);
    traffic->running = false;
}

void traffic_wait_ms(uint32_t milliseconds) {
    pause_for(milliseconds * 1000);
}

void traffic_wait(const traffic_t *traffic, uint64_t operations) {
    uint64_t end = traffic_now_ms() + WAIT_SECONDS * 1000;
    unsigned threads = traffic->options.threads;
    uint64_t *until = calloc(threads, sizeof *until);
    for (unsigned i = 0; i < threads && until != NULL; i++) {
        uint64_t limit = traffic->options.limit;
        until[i] = atomic_load(&traffic->workers[i].done) + operations;
        until[i] = limit != 0 && until[i] > limit ? limit : until[i];
    }
    for (unsigned i = 0; i < threads && until != NULL; i++) {
        while (atomic_load(&traffic->workers[i].done) < until[i]) {
            traffic_wait_ms(1);
            if (traffic_now_ms() > end) {
                tap_bail("traffic: thread %u did not get its operations done", i);
            }
        }
    }
    free(until);
}

/* ---- life -------------------------------------------------------------------------- */

static void seed_workers(traffic_t *traffic) {
    const char *text = getenv("TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : traffic->options.seed;
    tap_note("traffic: seed %llu, %u threads, %zu keys", (unsigned long long)seed,
             traffic->options.threads, traffic->options.keys);
    for (unsigned i = 0; i <= traffic->options.threads; i++) {
        worker_t *worker = &traffic->workers[i];
        worker->traffic = traffic;
        worker->random = traffic_mix(seed + traffic_mix(i));
        worker->results = warmring_results_create();
        if (worker->results == NULL) {
            tap_bail("traffic: out of memory");
        }
    }
}

traffic_t *traffic_create(warmring_t *client, const traffic_options_t *options) {
    traffic_t *traffic = calloc(1, sizeof *traffic);
    row_t *rows = calloc(options->keys, sizeof *rows);
    worker_t *workers = calloc(options->threads + 1, sizeof *workers);
    if (traffic == NULL || rows == NULL || workers == NULL) {
        tap_bail("traffic: out of memory");
    }
    traffic->options = *options;
    traffic->rows = rows;
    traffic->workers = workers;
    for (unsigned i = 0; i <= options->threads; i++) {
        workers[i].client = i % 2 == 1 && options->second != NULL ? options->second : client;
    }
    for (size_t i = 0; i < options->keys; i++) {
        pthread_mutex_init(&rows[i].mutex, NULL);
        atomic_init(&rows[i].version, 1);
    }
    seed_workers(traffic);
    return traffic;
}

void traffic_free(traffic_t *traffic) {
    traffic_stop(traffic);
    for (size_t i = 0; i < traffic->options.keys; i++) {
        pthread_mutex_destroy(&traffic->rows[i].mutex);
    }
    for (unsigned i = 0; i <= traffic->options.threads; i++) {
        warmring_results_free(traffic->workers[i].results);
    }
    free(traffic->rows);
    free(traffic->workers);
    free(traffic);
}

void traffic_classify(traffic_t *traffic, size_t index, unsigned class) {
    traffic->rows[index].class = class;
}

/* ---- every key once ------------------------------------------------------------------ */

static void for_all(traffic_t *traffic, void (*visit)(worker_t *worker, batch_t *batch)) {
    size_t keys = traffic->options.keys;
    for (size_t i = 0; i < keys; i += TRAFFIC_SWEEP) {
        batch_t batch;
        traffic_name_batch(&batch, i, 1, keys - i < TRAFFIC_SWEEP ? keys - i : TRAFFIC_SWEEP);
        visit(&traffic->workers[traffic->options.threads], &batch);
    }
}

static void fill_batch(worker_t *worker, batch_t *batch) {
    traffic_store_batch(worker, batch, 0);
}

static void sweep_batch(worker_t *worker, batch_t *batch) {
    traffic_read_batch(worker, batch, false);
}

void traffic_fill(traffic_t *traffic) {
    uint64_t errors = traffic_counts(traffic).errors;
    for_all(traffic, fill_batch);
    if (traffic_counts(traffic).errors != errors) {
        tap_bail("traffic: cannot store the first values: %s", warmring_error_detail());
    }
}

void traffic_sweep(traffic_t *traffic) {
    for_all(traffic, sweep_batch);
}

/* ---- sums ------------------------------------------------------------------------------ */

traffic_counts_t traffic_counts(const traffic_t *traffic) {
    uint64_t sums[COUNTERS] = {0};
    uint64_t longest = 0;
    for (unsigned i = 0; i <= traffic->options.threads; i++) {
        for (size_t j = 0; j < COUNTERS; j++) {
            uint64_t value =
                atomic_load_explicit(&traffic->workers[i].counter[j], memory_order_relaxed);
            longest = j == COUNTER(longest_ms) && value > longest ? value : longest;
            sums[j] += value;
        }
    }
    traffic_counts_t counts;
    memcpy(&counts, sums, sizeof counts);
    counts.longest_ms = longest;
    return counts;
}

traffic_counts_t traffic_difference(const traffic_counts_t *after, const traffic_counts_t *before) {
    uint64_t first[COUNTERS], second[COUNTERS];
    memcpy(first, before, sizeof first);
    memcpy(second, after, sizeof second);
    for (size_t i = 0; i < COUNTERS; i++) {
        second[i] -= first[i];
    }
    traffic_counts_t difference;
    memcpy(&difference, second, sizeof difference);
    difference.longest_ms = after->longest_ms;
    return difference;
}

void traffic_note(const char *what, const traffic_counts_t *counts) {
    tap_note("%s: %llu operations, %llu reads, %llu hits, %llu origin loads, stale %llu, "
             "unwritten %llu, longest call %llu ms",
             what, (unsigned long long)counts->operations, (unsigned long long)counts->reads,
             (unsigned long long)counts->hits, (unsigned long long)counts->origin_loads,
             (unsigned long long)counts->stale, (unsigned long long)counts->unwritten,
             (unsigned long long)counts->longest_ms);
    for (size_t i = WARMRING_NOT_STORED; i < TRAFFIC_STATUSES; i++) {
        if (counts->status[i] != 0) {
            tap_note("  %llu calls answered %s", (unsigned long long)counts->status[i],
                     warmring_status_name((warmring_status_t)i));
        }
    }
}
