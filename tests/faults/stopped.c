/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No lock is held across I/O: sixteen threads on one client, some of whose
 * keys belong to a server that is stopped. Each thread works on its own
 * server; those of the stopped one wait for their deadlines all the time, and
 * the others must not fall into that rhythm.
 *
 * A thread that shared a lock with a waiting one would do at most one
 * operation a deadline. So the stopped server's threads are the clock: while
 * they do TICKS operations each, a deadline apart, the others must do many
 * times that.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "faults.h"
#include "tests/lib/fixture.h"

enum { THREADS = 16, SERVERS = 4, STOPPED = 2, TICKS = 5, TIMES = 20 };

typedef struct {
    warmring_t *client;
    pthread_t thread;
    char key[KEY_SIZE];
    bool sick;
    _Atomic uint64_t done;
    _Atomic uint64_t wrong;
} worker_t;

static atomic_bool stop;

static void *work(void *argument) {
    worker_t *worker = argument;
    warmring_status_t right = worker->sick ? WARMRING_TIMEOUT : WARMRING_OK;
    for (uint64_t i = 0; !atomic_load(&stop); i++) {
        operation_t operation = i % 3 == 0 ? SET : i % 3 == 1 ? GET : MULTI;
        uint32_t ms = worker->sick ? SHORT_MS : LONG_MS;
        if (operate(worker->client, operation, worker->key, ms) != right) {
            atomic_fetch_add(&worker->wrong, 1);
        }
        atomic_fetch_add(&worker->done, 1);
    }
    return NULL;
}

static uint64_t least(const worker_t *workers, bool sick) {
    uint64_t number = UINT64_MAX;
    for (size_t i = 0; i < THREADS; i++) {
        uint64_t done = atomic_load(&workers[i].done);
        number = workers[i].sick == sick && done < number ? done : number;
    }
    return number;
}

static void start(worker_t *workers, warmring_t *client, const fixture_t *fixture) {
    unsigned next = 0;
    for (size_t i = 0; i < THREADS; i++) {
        workers[i].client = client;
        workers[i].sick = i % SERVERS == STOPPED;
        key_of(client, fixture_address(fixture, i % SERVERS), &next, workers[i].key);
        if (operate(client, SET, workers[i].key, LONG_MS) != WARMRING_OK) {
            tap_bail("cannot store: %s", warmring_error_detail());
        }
    }
}

static void run(void) {
    static worker_t workers[THREADS];
    fixture_t *fixture = fixture_start(SERVERS, NULL);
    warmring_t *client = faults_open(fixture_servers(fixture), NULL);
    atomic_store(&stop, false);
    start(workers, client, fixture);
    fixture_stop(fixture, STOPPED);
    for (size_t i = 0; i < THREADS; i++) {
        atomic_store(&workers[i].done, 0);
        atomic_store(&workers[i].wrong, 0);
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            tap_bail("no thread");
        }
    }
    const struct timespec pause = {.tv_nsec = 5000000};
    while (least(workers, true) < TICKS) {
        nanosleep(&pause, NULL);
    }
    uint64_t others = least(workers, false);
    atomic_store(&stop, true);
    fixture_continue(fixture, STOPPED);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        if (!workers[i].sick) {
            tap_int((int64_t)atomic_load(&workers[i].wrong), 0, "thread %zu: every call is right",
                    i);
        }
    }
    tap_ok(others >= TICKS * TIMES,
           "while those of the stopped server do %d each, the slowest other does %llu", TICKS,
           (unsigned long long)others);
    warmring_close(client);
    fixture_free(fixture);
}

int main(void) {
    test_transports(run);
    return tap_done();
}
