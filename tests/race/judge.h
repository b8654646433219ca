/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging a round by its records.
 *
 * Times are those of the callers: an operation took effect somewhere between
 * its begin and its end. So one is surely before another only if it had ended
 * when the other began; whatever overlaps may have gone either way.
 *
 * What a key shows belongs to a generation: a value of its own, a counter
 * from one creation, a log from its first record. A generation is known once
 * its write has returned, or a read of it. A change is an acknowledged write
 * that ends all generations but its own. So
 *
 *   a generation G is gone when a change to another began after G was known,
 *   and whoever begins after that change has ended must not see G again.
 *
 * Writes with an unknown result (TIMEOUT, PARTIAL, CONNECTION_LOST) end
 * nothing, and may take effect at any later time, once. A miss is always
 * allowed.
 */
#ifndef TESTS_RACE_JUDGE_H
#define TESTS_RACE_JUDGE_H

#include "tests/race/race.h"

typedef struct {
    uint64_t operations, reads, hits, misses, writes, unknown, refused, unsupported;
    uint64_t creations; /* of counters, beyond the first of each */
    uint64_t violations;
    uint64_t status[KINDS][STATUSES];
} verdict_t;

/* Judges all keys; explains the first violation in TAP notes. */
verdict_t race_judge(const race_t *race);

/* Adds a verdict to a sum. */
void judge_add_up(verdict_t *sum, const verdict_t *verdict);

/* Notes statuses that are faults, by the kind of operation. */
void judge_note_faults(const verdict_t *verdict);

/* "get", "set", ... */
const char *judge_kind_name(kind_t kind);

/* ---- between the judge's parts ---------------------------------------------- */

/* One record, with its worker. */
typedef struct {
    const record_t *record;
    unsigned worker;
} event_t;

/* An acknowledged write, in order of its end. */
typedef struct {
    int64_t end;
    const record_t *record;
    uint64_t generation;
    /* Of this one and all before it: the one that began last, and the one
     * that did so among those of other generations. */
    size_t last, other;
} change_t;

/* When a generation was first known. */
typedef struct {
    uint64_t generation;
    int64_t known;
} sight_t;

/* All there is of one key. */
typedef struct {
    const race_t *race;
    unsigned key;
    event_t *events; /* in order of their begin */
    size_t count;
    change_t *changes;
    size_t change_count;
    sight_t *sights; /* in order of generation */
    size_t sight_count;
    verdict_t *verdict;
} history_t;

/* The record that a number names; NULL when there is none of that key. */
const record_t *judge_find(const history_t *history, uint64_t number);

/* The generation that an operation showed, NO_VALUE when none. */
uint64_t judge_shown(const record_t *record);

/* INT64_MAX when it was never known. */
int64_t judge_known(const history_t *history, uint64_t generation);

/* Of the changes to other generations that ended before `time`, the one that
 * began last; NULL when there is none. */
const record_t *judge_change_before(const history_t *history, uint64_t generation, int64_t time);

/* Counts a violation and explains the first; `culprits` are the records it is
 * about, NULL-terminated. */
void judge_accuse(const history_t *history, const char *what, const record_t *const *culprits);
#define ACCUSE(history, what, ...) \
    judge_accuse(history, what, (const record_t *const[]){__VA_ARGS__, NULL})

/* What holds for one class only. */
void judge_lease(const history_t *history);
void judge_counter(const history_t *history);
void judge_chain(const history_t *history);
void judge_log(const history_t *history);

#endif
