/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process of the race: it opens a client of its own, lets its threads
 * work, and takes each step that the parent announces.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/race/race.h"

enum { POLL_US = 500, SKEW_US = 8000, APPLY_MS = 1000 };

typedef struct {
    race_t *race;
    unsigned number;
    const fixture_t *fixture;
    warmring_t *client;
    dice_t dice;
    pthread_t threads[THREADS + 1];
    worker_t workers[THREADS + 1];
} process_t;

_Noreturn static void give_up(process_t *process, const char *what) {
    snprintf(process->race->failure[process->number], TEXT_SIZE, "%s: %.180s", what,
             warmring_error_detail());
    _exit(1);
}

static void demand(process_t *process, warmring_status_t status, const char *what) {
    if (status != WARMRING_OK) {
        give_up(process, what);
    }
}

/* ---- the client --------------------------------------------------------------- */

static void open_client(process_t *process) {
    const race_t *race = process->race;
    char deadline[16];
    snprintf(deadline, sizeof deadline, "%u", race->deadline_ms);
    const char *options[] = {
        "transport",       race->shape.transport[process->number],       "deadline_ms", deadline,
        "max_deadline_ms", race->deadline_ms > 1000 ? deadline : "1000", "retry_ms",    "30"};
    warmring_options_t *set = warmring_options_create();
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i += 2) {
        demand(process, warmring_options_set(set, options[i], options[i + 1]), options[i]);
    }
    demand(process, warmring_open(&process->client, race->servers[0], set), "open");
    warmring_options_free(set);
}

/* ---- threads --------------------------------------------------------------------- */

static bool are_to_rest(const race_t *race) {
    return atomic_load(&race->rests) % 2 == 1;
}

static void *work(void *data) {
    worker_t *worker = data;
    bool wrong = worker->number == WORKERS;
    worker->results = warmring_results_create();
    while (!atomic_load(&worker->race->stop)) {
        atomic_fetch_add(&worker->log->activity, 1);
        bool rests = are_to_rest(worker->race);
        if (!rests) {
            wrong ? race_work_wrongly(worker) : race_work(worker);
        }
        atomic_fetch_add(&worker->log->activity, 1);
        if (rests) {
            race_sleep_us(POLL_US);
        }
    }
    warmring_results_free(worker->results);
    return NULL;
}

static unsigned threads_of(const process_t *process) {
    bool wrong = process->race->shape.wrong != NO_WRONG && process->number == 0;
    return THREADS + (wrong ? 1 : 0);
}

static void start_threads(process_t *process) {
    race_t *race = process->race;
    for (unsigned i = 0; i < threads_of(process); i++) {
        worker_t *worker = &process->workers[i];
        worker->race = race;
        worker->number = i < THREADS ? process->number * THREADS + i : WORKERS;
        worker->log = &race->worker[worker->number];
        worker->client = process->client;
        worker->fixture = process->fixture;
        worker->dice.state = race->seed * 1000003 + worker->number;
        if (pthread_create(&process->threads[i], NULL, work, worker) != 0) {
            give_up(process, "no thread");
        }
    }
}

/* Waits until every operation of this process that was under way has ended. */
static void let_all_end(process_t *process) {
    for (unsigned i = 0; i < threads_of(process); i++) {
        _Atomic uint64_t *activity = &process->workers[i].log->activity;
        uint64_t seen = atomic_load(activity);
        while (seen % 2 == 1 && atomic_load(activity) == seen) {
            race_sleep_us(POLL_US / 5);
        }
    }
}

/* Where workers were told to: they do when that is acknowledged. */
static void rest(process_t *process) {
    race_t *race = process->race;
    uint32_t rests = atomic_load(&race->rests);
    if (rests % 2 == 1 && atomic_load(&race->rested[process->number]) != rests) {
        let_all_end(process);
        race->usage[process->number] = usage_now();
        atomic_store(&race->rested[process->number], rests);
    }
}

/* ---- steps ------------------------------------------------------------------------- */

static warmring_topology_t *present(process_t *process) {
    warmring_topology_t *topology = NULL;
    demand(process, warmring_acquire(process->client, &topology), "acquire");
    return topology;
}

/* The same in every process: it follows from the plan. */
static warmring_topology_t *next_topology(process_t *process, const plan_step_t *step) {
    warmring_topology_t *now = present(process);
    warmring_topology_t *next = NULL, *target = NULL;
    switch ((action_t)step->action) {
    case BEGIN_MIGRATION:
        demand(process,
               warmring_topology_parse(&target, process->race->servers[step->argument], NULL, 0),
               "parse");
        demand(process, warmring_topology_migrate(now, target, &next), "migrate");
        break;
    case SET_ROLLOUT:
        demand(process, warmring_topology_rollout(now, NULL, step->argument, &next), "rollout");
        break;
    default:
        demand(process, warmring_topology_step(now, (warmring_step_t)step->argument, &next),
               "step");
    }
    warmring_topology_release(target);
    warmring_topology_release(now);
    return next;
}

/* Refusals that pass: doubts, servers that are down, operations under way. */
static void apply(process_t *process, const plan_step_t *step) {
    warmring_topology_t *next = next_topology(process, step);
    warmring_status_t status;
    while ((status = warmring_apply(process->client, next, APPLY_MS)) != WARMRING_OK &&
           !atomic_load(&process->race->stop)) {
        if (status == WARMRING_ILLEGAL_STEP || status == WARMRING_BAD_ARGUMENT ||
            status == WARMRING_NOT_SUPPORTED || status == WARMRING_OUT_OF_MEMORY) {
            give_up(process, "apply");
        }
        race_sleep_us(20 * POLL_US);
    }
    warmring_topology_release(next);
}

static uint64_t ghosts(process_t *process) {
    warmring_snapshot_t *snapshot = NULL;
    warmring_counters_t *counters = &process->race->counters[process->number];
    counters->size = sizeof *counters;
    demand(process, warmring_snapshot_create(process->client, &snapshot), "snapshot");
    demand(process, warmring_snapshot_client(snapshot, -1, counters), "counters");
    warmring_snapshot_free(snapshot);
    return counters->ghosts;
}

/* Reads every key until a pass gets an answer for each and meets no ghost:
 * then SETTLE is true to its word. */
static void sweep(process_t *process) {
    char name[KEY_SIZE];
    warmring_item_t item = WARMRING_ITEM_INIT;
    bool clean = false;
    while (!clean && !atomic_load(&process->race->stop)) {
        uint64_t before = ghosts(process);
        clean = true;
        for (unsigned key = 0; key < KEYS; key++) {
            size_t length = race_key(process->race->round, key, name);
            warmring_status_t status = warmring_get(process->client, name, length, &item, NULL);
            clean = clean && (status == WARMRING_OK || status == WARMRING_NOT_FOUND);
        }
        clean = clean && ghosts(process) == before;
    }
    warmring_item_clear(&item);
}

static void take_step(process_t *process, uint32_t index) {
    plan_step_t *step = &process->race->plan[index];
    race_sleep_us(roll(&process->dice, SKEW_US));
    step->taken[process->number].begin = race_now();
    if (step->action != SWEEP) {
        apply(process, step);
        let_all_end(process);
    } else if (process->number == 0) {
        sweep(process);
    }
    step->taken[process->number].end = race_now();
    atomic_store(&process->race->acknowledged[process->number], index + 1);
}

/* ---- life ----------------------------------------------------------------------------- */

void race_process(race_t *race, unsigned number, const fixture_t *fixture) {
    process_t process = {.race = race, .number = number, .fixture = fixture};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    process.dice.state = race->seed * 7919 + number;
    race->descriptors_before[number] = usage_now().descriptors;
    open_client(&process);
    start_threads(&process);
    uint32_t taken = 0;
    while (!atomic_load(&race->stop)) {
        if (taken < atomic_load(&race->announced)) {
            take_step(&process, taken++);
        } else {
            rest(&process);
            race_sleep_us(POLL_US);
        }
    }
    for (unsigned i = 0; i < threads_of(&process); i++) {
        pthread_join(process.threads[i], NULL);
    }
    ghosts(&process);
    warmring_close(process.client);
    race->blocks_left[number] = usage_now().blocks;
    exit(0); /* sanitizers have their say */
}
