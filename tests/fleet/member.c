/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process of the fleet. It knows its file and nothing else: no step is
 * announced to it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/fleet/fleet.h"

enum { CACHE_CALLS = 6, REST_US = 8000 };

typedef struct {
    const fleet_run_t *run;
    worker_t worker;
    pthread_t thread;
} hand_t;

_Noreturn static void give_up(const fleet_run_t *run, unsigned number, const char *what) {
    snprintf(run->race->failure[number], TEXT_SIZE, "%s: %.180s", what, warmring_error_detail());
    _exit(1);
}

warmring_t *member_open(const char *path, const char *transport, uint32_t deadline_ms) {
    char deadline[16];
    warmring_t *client = NULL;
    warmring_options_t *options = warmring_options_create();
    snprintf(deadline, sizeof deadline, "%u", deadline_ms);
    warmring_status_t status = warmring_options_set(options, "transport", transport);
    if (status == WARMRING_OK) {
        status = warmring_options_set(options, "deadline_ms", deadline);
    }
    if (status == WARMRING_OK) {
        status = warmring_open_file(&client, path, options);
    }
    warmring_options_free(options);
    return client;
}

static void *work(void *argument) {
    hand_t *hand = argument;
    worker_t *worker = &hand->worker;
    worker->results = warmring_results_create();
    while (!atomic_load(&worker->race->stop)) {
        race_work(worker);
        for (int i = 0; i < CACHE_CALLS; i++) {
            cache_call(hand->run->cache, worker->client, &worker->dice);
        }
        race_sleep_us(roll(&worker->dice, REST_US));
    }
    warmring_results_free(worker->results);
    return NULL;
}

static void keep_counters(race_t *race, unsigned number, warmring_t *client) {
    warmring_snapshot_t *snapshot = NULL;
    race->counters[number].size = sizeof race->counters[number];
    if (warmring_snapshot_create(client, &snapshot) == WARMRING_OK) {
        warmring_snapshot_client(snapshot, -1, &race->counters[number]);
        warmring_snapshot_free(snapshot);
    }
}

void member_run(const fleet_run_t *run, unsigned number) {
    race_t *race = run->race;
    hand_t hands[THREADS];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    warmring_t *client =
        member_open(run->path[number], race->shape.transport[number], run->deadline_ms);
    if (client == NULL) {
        give_up(run, number, "open");
    }
    cache_watch(run->cache, client);
    for (unsigned i = 0; i < THREADS; i++) {
        unsigned worker = number * THREADS + i;
        hands[i] = (hand_t){.run = run,
                            .worker = {.race = race,
                                       .number = worker,
                                       .log = &race->worker[worker],
                                       .client = client,
                                       .fixture = run->fixture,
                                       .dice = {race->seed * 1000003 + worker}}};
        if (pthread_create(&hands[i].thread, NULL, work, &hands[i]) != 0) {
            give_up(run, number, "no thread");
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(hands[i].thread, NULL);
    }
    keep_counters(race, number, client);
    warmring_close(client);
    exit(0); /* sanitizers have their say */
}
