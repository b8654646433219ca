/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fleet test: processes that share nothing but a topology file, of which
 * some have copies that come late, go through migrations that an operator
 * takes step by step, in the real times. Meanwhile each of their threads does
 * two kinds of work:
 *
 * - that of the race (tests/race), which is recorded and judged afterwards;
 * - a cache as an application has it: keys read through get_or_lease from an
 *   origin, rarely overwritten. It counts the loads from the origin, and looks
 *   for values that are older than what was acknowledged before the read.
 */
#ifndef TESTS_FLEET_FLEET_H
#define TESTS_FLEET_FLEET_H

#include <stdatomic.h>

#include <warmring/fleet.h>

#include "tests/race/judge.h"
#include "tests/race/race.h"

enum { CACHED = 4000, LATE = 2, PATH_LENGTH = 128, ADDRESS_LENGTH = 32 };

/* What is counted of the cache. */
typedef struct {
    _Atomic uint64_t reads, loads, writes, stale;
    _Atomic uint64_t faults[STATUSES];
} cache_counts_t;

/* The origin of the cached keys. */
typedef struct {
    _Atomic uint64_t version[CACHED];
    _Atomic uint64_t acknowledged[CACHED]; /* the newest whose store returned OK */
    _Atomic bool writing[CACHED];          /* one at a time */
    _Atomic bool doubtful[CACHED];         /* a store with an unknown result may come any time */
    _Atomic bool migrating;
    cache_counts_t counts[2]; /* without a migration, and during one */
    _Atomic uint64_t hits[2]; /* of moved keys on their new owner: [1]; all others: [0] */
    char new_owner[CACHED][ADDRESS_LENGTH]; /* its address; "": the key does not move */
} cache_t;

/* What the processes of a run share. */
typedef struct {
    race_t *race;
    cache_t *cache;
    const fixture_t *fixture;
    char path[PROCESSES][PATH_LENGTH]; /* each one's copy of the file, or the file */
    uint32_t deadline_ms;
} fleet_run_t;

/* cache.c: stores all keys, and notes which of them move to the ring of the
 * second client; has the client's hits counted; one call on one key. */
void cache_fill(cache_t *cache, warmring_t *client, warmring_t *after);
void cache_watch(cache_t *cache, warmring_t *client);
void cache_call(cache_t *cache, warmring_t *client, dice_t *dice);

/* member.c: a process of the fleet, to its end. */
_Noreturn void member_run(const fleet_run_t *run, unsigned number);
/* A client of that file; NULL when it cannot be opened. */
warmring_t *member_open(const char *path, const char *transport, uint32_t deadline_ms);

#endif
