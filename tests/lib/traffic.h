/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic as an application makes it, with a judge: threads that read, store
 * and delete keys of one client before an in-memory origin.
 *
 * Each key has a lock and a version in the origin. A writer takes the lock,
 * raises the version and stores (or deletes) in the cache; a reader that
 * misses takes the lock, loads the present version and stores it. A version
 * is acknowledged when its store or delete returned OK (or NOT_FOUND).
 *
 * Values carry key and version and are verified byte by byte, flags included.
 * A hit is
 *
 *   unwritten  when the value is not one that a version up to now could have:
 *              torn, of another key, made up
 *   stale      when its version is older than the newest that was acknowledged
 *              before the read began
 *
 * After a write with an unknown result (PARTIAL, TIMEOUT, ...) a key is in
 * doubt, since a server may carry it out at any later time: its old values
 * are counted apart.
 *
 * Each thread's sequence of operations follows from the seed (TEST_SEED
 * replaces it), which is printed.
 */
#ifndef TESTS_TRAFFIC_H
#define TESTS_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warmring/client.h>

enum { TRAFFIC_CLASSES = 2, TRAFFIC_STATUSES = WARMRING_OUT_OF_MEMORY + 1 };

typedef struct {
    unsigned threads;
    size_t keys;
    unsigned sets, deletes; /* per cent of the operations; the rest reads */
    unsigned multi;         /* per cent of the operations made on 8 keys at once */
    uint32_t deadline_ms;   /* of each call; 0: the client's */
    uint32_t slack_ms;      /* beyond which a call with a deadline is late; what
                               the machine was seen to stall is added */
    uint32_t pause_us;      /* between two operations of a thread */
    uint64_t seed;
    int64_t expiration;
    uint64_t limit;     /* operations of a thread, after which it ends; 0: none */
    warmring_t *second; /* the client of every second thread; NULL: the same */
} traffic_options_t;

typedef struct {
    uint64_t operations, reads, hits, misses, sets, deletes;
    uint64_t origin_loads;
    uint64_t stale, stale_in_doubt, unwritten;
    uint64_t late;       /* calls that outlasted deadline, slack and stall */
    uint64_t longest_ms; /* of any call */
    uint64_t errors;     /* statuses that are no plain answers */
    uint64_t status[TRAFFIC_STATUSES];
    uint64_t class_errors[TRAFFIC_CLASSES]; /* by class of key */
    uint64_t class_calls[TRAFFIC_CLASSES];
} traffic_counts_t;

typedef struct traffic traffic_t;

traffic_t *traffic_create(warmring_t *client, const traffic_options_t *options);
void traffic_free(traffic_t *traffic);

/* Key `index`, as traffic names it; NUL-terminated in `key`. Returns its
 * length. */
enum { TRAFFIC_KEY_SIZE = 24 };
size_t traffic_key(size_t index, char *key);

/* Whether a value is one that key `index` has had or may get. */
bool traffic_recognises(size_t index, const warmring_item_t *item);

/* The class of a key, 0 at first; set them while no traffic runs. */
void traffic_classify(traffic_t *traffic, size_t index, unsigned class);

/* Stores every key once, acknowledged. Bails when that fails. */
void traffic_fill(traffic_t *traffic);
/* Reads every key once, on this thread, and judges it; a miss is not loaded.
 * Counts like any read. */
void traffic_sweep(traffic_t *traffic);

/* Starts the threads, and ends them; may be repeated. */
void traffic_start(traffic_t *traffic);
void traffic_stop(traffic_t *traffic);

/* Returns when every thread did `operations` more, or reached its limit. */
void traffic_wait(const traffic_t *traffic, uint64_t operations);
/* Returns after that time, for tests that wait for a clock's effect. */
void traffic_wait_ms(uint32_t milliseconds);

/* The longest that a thread which sleeps a while overslept while traffic ran. */
uint64_t traffic_stall_ms(const traffic_t *traffic);

/* The sums so far. */
traffic_counts_t traffic_counts(const traffic_t *traffic);
/* `after` - `before`; longest_ms is that of `after`. */
traffic_counts_t traffic_difference(const traffic_counts_t *after, const traffic_counts_t *before);
/* One TAP note, and one for each status that is a fault. */
void traffic_note(const char *what, const traffic_counts_t *counts);

#endif
