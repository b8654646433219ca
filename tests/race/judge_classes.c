/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for the keys of one class beyond generations.
 *
 * LEASE    A value is a version of the origin. No reader sees a version below
 *          one whose deletion had returned before the reader began: a loader
 *          that loaded before is refused.
 * COUNTER  Nobody gets a number at or below one that was given out before.
 *          Each acknowledged count leads from one number to the next, so in a
 *          generation they form one chain from its base: every number in
 *          between is arrived at as often as it is left. A count that is lost
 *          leaves a number twice. Counts with an unknown result may be links.
 *          Without faults a counter vanishes only where a step says so.
 * CHAIN    Each value is replaced once: cas has one winner.
 * LOG      A record stands in the log once, in an order that its callers
 *          could have seen, and everything is there that was appended after
 *          the log was known to exist and before the reader began.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tap.h"
#include "tests/race/judge.h"

static void *take(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (memory == NULL) {
        tap_bail("no memory for the judge");
    }
    return memory;
}

/* ---- LEASE ------------------------------------------------------------------- */

/* The deletion with the highest version among those that ended before `time`. */
static const record_t *newest_version(const history_t *history, int64_t time) {
    const record_t *newest = NULL;
    for (size_t i = 0; i < history->change_count && history->changes[i].end < time; i++) {
        const record_t *record = history->changes[i].record;
        if (record->kind == DELETE && (newest == NULL || record->value > newest->value)) {
            newest = record;
        }
    }
    return newest;
}

void judge_lease(const history_t *history) {
    uint64_t present = atomic_load(&history->race->origin[history->key % KEYS_OF_CLASS]);
    for (size_t i = 0; i < history->count; i++) {
        const record_t *record = history->events[i].record;
        if (record->kind != GET || record->status != WARMRING_OK || record->end == 0) {
            continue;
        }
        const record_t *newest = newest_version(history, record->begin);
        if (record->value > present) {
            ACCUSE(history, "a version that the origin never had", record);
        } else if (newest != NULL && record->value < newest->value) {
            ACCUSE(history, "loaded before a deletion that had returned", record, newest);
        }
    }
}

/* ---- COUNTER, BALANCE ------------------------------------------------------------ */

static bool is_count(const record_t *record) {
    return (record->kind == COUNT_UP || record->kind == COUNT_DOWN) && race_outcome(record) == DONE;
}

static bool is_creation(const history_t *history, const record_t *record) {
    return is_count(record) && record == judge_find(history, generation_of_count(record->value));
}

/* Numbers only rise: within one pass in order of time, the highest number of
 * each generation that had been given out before an operation began. */
static void check_rising(const history_t *history) {
    size_t ended = 0;
    const record_t *highest = NULL;
    for (size_t i = 0; i < history->count; i++) {
        const record_t *record = history->events[i].record;
        bool counted = is_count(record);
        bool read = record->kind == GET && record->status == WARMRING_OK && record->end != 0;
        if (!counted && !read) {
            continue;
        }
        for (; ended < history->change_count && history->changes[ended].end < record->begin;
             ended++) {
            const record_t *change = history->changes[ended].record;
            bool other = highest == NULL ||
                         generation_of_count(change->value) != generation_of_count(highest->value);
            highest = other || change->value > highest->value ? change : highest;
        }
        if (highest != NULL &&
            generation_of_count(highest->value) == generation_of_count(record->value) &&
            (record->value < highest->value || (counted && record->value == highest->value))) {
            ACCUSE(history, "a number at or below one given out before", record, highest);
        }
    }
}

typedef struct {
    uint64_t number;
    int arrivals; /* less departures */
} link_t;

static int by_number(const void *a, const void *b) {
    uint64_t first = ((const link_t *)a)->number, second = ((const link_t *)b)->number;
    return (first > second) - (first < second);
}

/* The links of all chains, one for each number, in order. */
static size_t gather_links(const history_t *history, link_t *links) {
    size_t count = 0, merged = 0;
    for (size_t i = 0; i < history->count; i++) {
        const record_t *record = history->events[i].record;
        if (is_count(record)) {
            links[count++] = (link_t){record->value, 1};
            if (!is_creation(history, record)) {
                uint64_t from = record->kind == COUNT_UP ? record->value - 1 : record->value + 1;
                links[count++] = (link_t){from, -1};
            }
        }
    }
    qsort(links, count, sizeof *links, by_number);
    for (size_t i = 0; i < count; i++) {
        if (merged > 0 && links[merged - 1].number == links[i].number) {
            links[merged - 1].arrivals += links[i].arrivals;
        } else {
            links[merged++] = links[i];
        }
    }
    return merged;
}

/* Each generation has one loose end, the number it ended at; each count with
 * an unknown result may have made two more. */
static void check_chains(const history_t *history) {
    link_t *links = take(2 * history->count, sizeof *links);
    size_t count = gather_links(history, links);
    uint64_t unknown = 0, loose = 0, generations = 0;
    for (size_t i = 0; i < history->count; i++) {
        const record_t *record = history->events[i].record;
        unknown += record->kind != GET && race_outcome(record) == UNKNOWN;
    }
    for (size_t i = 0; i < count; i++) {
        bool first = i == 0 || generation_of_count(links[i].number) !=
                                   generation_of_count(links[i - 1].number);
        generations += first;
        loose += (uint64_t)abs(links[i].arrivals);
    }
    if (loose > generations + 2 * unknown) {
        const record_t *culprits[8] = {NULL};
        size_t found = 0;
        for (size_t i = 0; i < count && found == 0; i++) {
            for (size_t j = 0; links[i].arrivals > 1 && j < history->count && found < 7; j++) {
                const record_t *record = history->events[j].record;
                if (is_count(record) && record->value == links[i].number) {
                    culprits[found++] = record;
                }
            }
        }
        judge_accuse(history, "an acknowledged count was lost", culprits);
    }
    free(links);
}

/* Whether a step takes values away that the old owner alone had, or the new
 * one: into CLOSING, and back to PREPARED. */
static bool may_lose(const plan_step_t *step) {
    return step->action == TAKE_STEP &&
           (step->phase == WARMRING_CLOSING ||
            (step->phase == WARMRING_PREPARED && step->argument == WARMRING_ROLLBACK));
}

static bool may_have_been_lost(const race_t *race, int64_t seen, int64_t missed) {
    for (uint32_t i = 0; i < atomic_load(&race->announced); i++) {
        const plan_step_t *step = &race->plan[i];
        if (may_lose(step) && step->announced < missed && (step->done == 0 || step->done > seen)) {
            return true;
        }
    }
    return false;
}

static void check_losses(const history_t *history) {
    const shape_t *shape = &history->race->shape;
    bool faults = shape->evicts || shape->restarts || shape->stops;
    for (size_t i = 0; i < history->count; i++) {
        const record_t *record = history->events[i].record;
        if (!is_creation(history, record)) {
            continue;
        }
        uint64_t generation = generation_of_count(record->value);
        const record_t *last = judge_change_before(history, generation, record->begin);
        history->verdict->creations += last != NULL;
        if (last != NULL && !faults &&
            !may_have_been_lost(history->race, last->begin, record->end)) {
            ACCUSE(history, "a counter was lost without a fault", record, last);
        }
    }
}

void judge_counter(const history_t *history) {
    if (class_of(history->key) == COUNTER) {
        check_rising(history);
    }
    check_chains(history);
    check_losses(history);
}

/* ---- CHAIN ----------------------------------------------------------------------------- */

static int by_before(const void *a, const void *b) {
    const record_t *first = *(const record_t *const *)a, *second = *(const record_t *const *)b;
    return (first->before > second->before) - (first->before < second->before);
}

void judge_chain(const history_t *history) {
    const record_t **winners = take(history->count, sizeof *winners);
    size_t count = 0;
    for (size_t i = 0; i < history->count; i++) {
        const record_t *record = history->events[i].record;
        if (record->kind == CAS && race_outcome(record) == DONE) {
            winners[count++] = record;
        }
    }
    qsort(winners, count, sizeof *winners, by_before);
    for (size_t i = 1; i < count; i++) {
        if (winners[i]->before == winners[i - 1]->before) {
            ACCUSE(history, "two winners of cas over one value", winners[i - 1], winners[i],
                   judge_find(history, winners[i]->before));
        }
    }
    free(winners);
}

/* ---- LOG --------------------------------------------------------------------------------- */

enum { LOG_RECORD = 9, LOG_MOST = 512 };

static const char *text_of(const history_t *history, const event_t *event) {
    return history->race->worker[event->worker].text + event->record->before;
}

/* The records in a log's text, in order; 0 when it is none. */
static size_t parse_log(const history_t *history, const event_t *event,
                        const record_t *written[LOG_MOST]) {
    const char *text = text_of(history, event);
    size_t count = event->record->length / LOG_RECORD;
    if (event->record->length % LOG_RECORD != 0 || count > LOG_MOST) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        char *end;
        written[i] = judge_find(history, strtoull(text + i * LOG_RECORD, &end, 16));
        if (*end != ';' || written[i] == NULL || written[i]->kind != (i == 0 ? ADD : APPEND) ||
            race_outcome(written[i]) == NOT_DONE) {
            return 0;
        }
    }
    return count;
}

static bool is_among(const record_t *record, const record_t *const *written, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (written[i] == record) {
            return true;
        }
    }
    return false;
}

/* Appends that returned before the reader began and began after its log was
 * known; they are looked for from the latest back. */
static void check_complete(const history_t *history, const record_t *reader, int64_t known,
                           size_t before, const record_t *const *written, size_t count) {
    for (size_t i = before; i > 0 && history->events[i - 1].record->begin > known; i--) {
        const record_t *record = history->events[i - 1].record;
        if (record->kind == APPEND && race_outcome(record) == DONE && record->begin > known &&
            record->end < reader->begin && !is_among(record, written, count)) {
            ACCUSE(history, "an acknowledged append is missing", reader, record, written[0]);
            return;
        }
    }
}

static void check_log(const history_t *history, size_t index) {
    const record_t *written[LOG_MOST];
    const record_t *reader = history->events[index].record;
    size_t count = parse_log(history, &history->events[index], written);
    if (count == 0) {
        tap_note("  %.*s", reader->length, text_of(history, &history->events[index]));
        ACCUSE(history, "no log that was ever written", reader);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        if (is_among(written[i], written, i)) {
            ACCUSE(history, "an append is there twice", reader, written[i]);
        } else if (written[i]->end != 0 && written[i - 1]->begin > written[i]->end &&
                   race_outcome(written[i]) == DONE) {
            ACCUSE(history, "appends in an order nobody made", reader, written[i - 1], written[i]);
        }
    }
    int64_t known = judge_known(history, judge_shown(reader));
    check_complete(history, reader, known, index, written, count);
}

void judge_log(const history_t *history) {
    for (size_t i = 0; i < history->count; i++) {
        const record_t *record = history->events[i].record;
        if (record->kind == GET && record->status == WARMRING_OK && record->length > 0) {
            check_log(history, i);
        }
    }
}
