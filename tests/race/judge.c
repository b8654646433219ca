/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: gathers each key's records, and finds generations that come
 * back. What holds for single classes is in judge_classes.c.
 */
#include "tests/race/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tap.h"

static void *take(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (memory == NULL) {
        tap_bail("no memory for the judge");
    }
    return memory;
}

static int by_begin(const void *a, const void *b) {
    int64_t first = ((const event_t *)a)->record->begin;
    int64_t second = ((const event_t *)b)->record->begin;
    return (first > second) - (first < second);
}

static int by_end(const void *a, const void *b) {
    int64_t first = ((const change_t *)a)->end, second = ((const change_t *)b)->end;
    return (first > second) - (first < second);
}

static int by_generation(const void *a, const void *b) {
    const sight_t *first = a, *second = b;
    int order = (first->generation > second->generation) - (first->generation < second->generation);
    return order != 0 ? order : (first->known > second->known) - (first->known < second->known);
}

/* ---- generations -------------------------------------------------------------- */

static bool counts(const record_t *record) {
    class_t class = class_of(record->key);
    return class == COUNTER || class == BALANCE;
}

uint64_t judge_shown(const record_t *record) {
    if (record->value == NO_VALUE) {
        return NO_VALUE;
    }
    return counts(record) ? generation_of_count(record->value) : record->value;
}

static bool is_hit(const record_t *record) {
    return record->kind == GET && record->status == WARMRING_OK && record->end != 0;
}

/* Whether the operation shows that its generation is there. */
static bool is_sight(const record_t *record) {
    bool written = record->kind != GET && record->kind != DELETE && record->kind != APPEND;
    return is_hit(record) || (written && race_outcome(record) == DONE);
}

/* An append leaves the generation, and does not tell which it is. */
static bool is_change(const record_t *record) {
    return record->kind != GET && record->kind != APPEND && race_outcome(record) == DONE;
}

const record_t *judge_find(const history_t *history, uint64_t number) {
    uint64_t worker = number >> 24, index = number & 0xffffff;
    if (worker > WORKERS || index >= history->race->worker[worker].count) {
        return NULL;
    }
    const record_t *record = &history->race->worker[worker].records[index];
    return record->key == history->key ? record : NULL;
}

int64_t judge_known(const history_t *history, uint64_t generation) {
    size_t low = 0, high = history->sight_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (history->sights[middle].generation < generation) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < history->sight_count && history->sights[low].generation == generation;
    return found ? history->sights[low].known : INT64_MAX;
}

const record_t *judge_change_before(const history_t *history, uint64_t generation, int64_t time) {
    const change_t *changes = history->changes;
    size_t low = 0, high = history->change_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (changes[middle].end < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return NULL;
    }
    size_t found = changes[low - 1].last;
    if (changes[found].generation == generation) {
        found = changes[low - 1].other;
    }
    return found != SIZE_MAX ? changes[found].record : NULL;
}

/* ---- gathering -------------------------------------------------------------------- */

static void gather_events(history_t *history) {
    size_t total = 0;
    for (unsigned i = 0; i <= WORKERS; i++) {
        total += history->race->worker[i].count;
    }
    history->events = take(total, sizeof *history->events);
    for (unsigned i = 0; i <= WORKERS; i++) {
        const worker_log_t *log = &history->race->worker[i];
        for (uint32_t j = 0; j < log->count; j++) {
            if (log->records[j].key == history->key) {
                history->events[history->count++] = (event_t){&log->records[j], i};
            }
        }
    }
    qsort(history->events, history->count, sizeof *history->events, by_begin);
}

/* Keeps at each change which one before it began last. */
static void note_latest(history_t *history) {
    change_t *changes = history->changes;
    size_t last = SIZE_MAX, other = SIZE_MAX;
    for (size_t i = 0; i < history->change_count; i++) {
        if (last == SIZE_MAX || changes[i].record->begin > changes[last].record->begin) {
            if (last != SIZE_MAX && changes[last].generation != changes[i].generation) {
                other = last;
            }
            last = i;
        } else if (changes[i].generation != changes[last].generation &&
                   (other == SIZE_MAX || changes[i].record->begin > changes[other].record->begin)) {
            other = i;
        }
        changes[i].last = last;
        changes[i].other = other;
    }
}

static void gather_changes(history_t *history) {
    history->changes = take(history->count, sizeof *history->changes);
    for (size_t i = 0; i < history->count; i++) {
        const record_t *record = history->events[i].record;
        if (is_change(record)) {
            history->changes[history->change_count++] =
                (change_t){record->end, record, judge_shown(record), 0, 0};
        }
    }
    qsort(history->changes, history->change_count, sizeof *history->changes, by_end);
    note_latest(history);
}

static void gather_sights(history_t *history) {
    history->sights = take(history->count, sizeof *history->sights);
    for (size_t i = 0; i < history->count; i++) {
        const record_t *record = history->events[i].record;
        if (is_sight(record) && judge_shown(record) != NO_VALUE) {
            history->sights[history->sight_count++] = (sight_t){judge_shown(record), record->end};
        }
    }
    qsort(history->sights, history->sight_count, sizeof *history->sights, by_generation);
}

/* ---- what holds for all generations ------------------------------------------------ */

/* Whether the number is that of a write that may have happened by `time`. */
static bool may_have_been_written(const history_t *history, uint64_t generation, int64_t time) {
    const record_t *write = judge_find(history, generation);
    if (write == NULL || write->kind == GET || write->kind == DELETE || write->kind == APPEND ||
        race_outcome(write) == NOT_DONE || write->begin >= time) {
        return false;
    }
    return race_outcome(write) == UNKNOWN || judge_shown(write) == generation;
}

/* What was seen at `time` by an operation that ended at `end`. */
static void check_generation(const history_t *history, const record_t *seer, uint64_t generation,
                             int64_t time) {
    if (!may_have_been_written(history, generation, seer->end)) {
        ACCUSE(history, "never written", seer, judge_find(history, generation));
        return;
    }
    const record_t *change = judge_change_before(history, generation, time);
    if (change != NULL && change->begin > judge_known(history, generation)) {
        ACCUSE(history, "overwritten or deleted before", seer, change,
               judge_find(history, generation));
    }
}

static void judge_generations(const history_t *history) {
    for (size_t i = 0; i < history->count; i++) {
        const record_t *record = history->events[i].record;
        bool counted = counts(record) && record->kind != GET && race_outcome(record) == DONE;
        if (is_hit(record) || counted) {
            if (class_of(record->key) == LOG && record->length == 0) {
                continue; /* no room was left to keep it */
            }
            check_generation(history, record, judge_shown(record), record->begin);
        }
        if (record->kind == CAS && race_outcome(record) == DONE) {
            check_generation(history, record, record->before, record->begin);
        }
    }
}

/* ---- all keys ------------------------------------------------------------------------ */

static void judge_key(const race_t *race, unsigned key, verdict_t *verdict) {
    static void (*const judges[CLASSES])(const history_t *) = {[LEASE] = judge_lease,
                                                               [COUNTER] = judge_counter,
                                                               [BALANCE] = judge_counter,
                                                               [CHAIN] = judge_chain,
                                                               [LOG] = judge_log};
    history_t history = {.race = race, .key = key, .verdict = verdict};
    gather_events(&history);
    gather_changes(&history);
    gather_sights(&history);
    if (class_of(key) != LEASE) {
        judge_generations(&history);
    }
    if (judges[class_of(key)] != NULL) {
        judges[class_of(key)](&history);
    }
    free(history.events);
    free(history.changes);
    free(history.sights);
}

static void count(const race_t *race, unsigned worker, const record_t *record, verdict_t *verdict) {
    verdict->operations++;
    verdict->status[record->kind][record->status]++;
    if (record->kind == GET) {
        verdict->reads++;
        verdict->hits += record->status == WARMRING_OK;
        verdict->misses += record->status == WARMRING_NOT_FOUND ||
                           record->status == WARMRING_LEASED ||
                           record->status == WARMRING_LEASE_BUSY;
    } else {
        verdict->writes += race_outcome(record) == DONE;
        verdict->unknown += race_outcome(record) == UNKNOWN;
    }
    verdict->refused += record->status == WARMRING_TRY_AGAIN;
    if (record->status == WARMRING_NOT_SUPPORTED) {
        verdict->unsupported++;
        if (worker < WORKERS && strcmp(race->shape.transport[worker / THREADS], "meta") == 0) {
            history_t history = {.race = race, .key = record->key, .verdict = verdict};
            ACCUSE(&history, "not supported, by meta commands", record);
        }
    }
}

verdict_t race_judge(const race_t *race) {
    verdict_t verdict = {0};
    for (unsigned i = 0; i <= WORKERS; i++) {
        for (uint32_t j = 0; j < race->worker[i].count; j++) {
            count(race, i, &race->worker[i].records[j], &verdict);
        }
    }
    for (unsigned key = 0; key < KEYS; key++) {
        judge_key(race, key, &verdict);
    }
    return verdict;
}
