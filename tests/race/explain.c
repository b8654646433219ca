/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shortest story of a violation: the records it is about, with the phase
 * each process was in, then what else happened to the key meanwhile.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tests/lib/tap.h"
#include "tests/race/judge.h"

enum { EXPLAINED = 2, AROUND = 40 };

static const char *const kind_names[KINDS] = {[GET] = "get",
                                              [SET] = "set",
                                              [ADD] = "add",
                                              [REPLACE] = "replace",
                                              [DELETE] = "delete",
                                              [CAS] = "cas",
                                              [COUNT_UP] = "increment",
                                              [COUNT_DOWN] = "decrement",
                                              [APPEND] = "append"};

const char *judge_kind_name(kind_t kind) {
    return kind_names[kind];
}

/* Whose record it is. */
static unsigned worker_of(const race_t *race, const record_t *record) {
    unsigned worker = 0;
    while (worker < WORKERS &&
           (record < race->worker[worker].records ||
            record >= race->worker[worker].records + race->worker[worker].count)) {
        worker++;
    }
    return worker;
}

/* The last step that the process had begun to take. */
static const plan_step_t *step_at(const race_t *race, unsigned process, int64_t time) {
    const plan_step_t *found = NULL;
    for (uint32_t i = 0; i < atomic_load(&race->announced); i++) {
        int64_t begin = race->plan[i].taken[process].begin;
        if (begin != 0 && begin < time) {
            found = &race->plan[i];
        }
    }
    return found;
}

static void show(const race_t *race, const record_t *record, int64_t origin, const char *mark) {
    unsigned worker = worker_of(race, record);
    unsigned process = worker < WORKERS ? worker / THREADS : 0;
    const plan_step_t *step = step_at(race, process, record->begin);
    int64_t applied = step != NULL ? step->taken[process].end : 0;
    bool turning = step != NULL && (applied == 0 || applied > record->begin);
    char value[96] = "-";
    if (record->value != NO_VALUE) {
        snprintf(value, sizeof value, "%" PRIx64, record->value);
    }
    if (record->kind == CAS) {
        snprintf(value + 0, sizeof value, "%" PRIx64 " for %" PRIx64, record->value,
                 record->before);
    }
    tap_note("  %s %10.3f to %10.3f ms  process %u thread %u  %s%s%s%s  %s %s: %s", mark,
             (double)(record->begin - origin) / 1e6,
             record->end != 0 ? (double)(record->end - origin) / 1e6 : -1.0, process, worker,
             race->shape.transport[process], turning ? " turning to " : " in ",
             step != NULL ? warmring_phase_name(step->phase) : "STABLE",
             step != NULL && step->action == SET_ROLLOUT ? (step->argument == 0      ? " at 0"
                                                            : step->argument == 5000 ? " at 50"
                                                                                     : " at 100")
                                                         : "",
             kind_names[record->kind], value,
             record->end != 0 ? warmring_status_name((warmring_status_t)record->status)
                              : "never returned");
}

static void show_around(const history_t *history, int64_t from, int64_t to) {
    unsigned shown = 0;
    for (size_t i = history->count; i > 0 && shown < AROUND; i--) {
        const record_t *record = history->events[i - 1].record;
        if (record->begin <= to && (record->end >= from || record->end == 0)) {
            show(history->race, record, history->race->plan[0].announced, " ");
            shown++;
        }
    }
}

void judge_accuse(const history_t *history, const char *what, const record_t *const *culprits) {
    char name[KEY_SIZE];
    race_key(history->race->round, history->key, name);
    if (history->verdict->violations++ >= EXPLAINED || history->race->shape.wrong != NO_WRONG) {
        return;
    }
    tap_note("violation in round %" PRIu32 " (%s, TEST_SEED=%" PRIu64 "), key %s: %s",
             history->race->round, history->race->shape.name,
             history->race->seed - history->race->round, name, what);
    int64_t from = INT64_MAX, to = 0;
    for (size_t i = 0; culprits[i] != NULL; i++) {
        show(history->race, culprits[i], history->race->plan[0].announced, "*");
        from = culprits[i]->begin < from ? culprits[i]->begin : from;
        to = culprits[i]->end > to ? culprits[i]->end : to;
    }
    tap_note("  of this key around that time, the latest first:");
    show_around(history, from, to);
}
