/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork() while threads are at work: the child has a server object that works
 * and connections of its own, the parent's go on undisturbed.
 */
#include "net.h"
#include "tests/lib/child.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 6, FORKS = 30, CHILD_SECONDS = 20 };

static wr_server_t *server;
static atomic_bool stop;
static atomic_int wrong;
static atomic_int done;

static bool exchange(const char *key, int i) {
    net_call_t call;
    char value[48];
    snprintf(value, sizeof value, "%s-%d", key, i);
    return net_do(&call, server, WR_SET, key, value) == WARMRING_OK &&
           net_do(&call, server, WR_GET, key, NULL) == WARMRING_OK &&
           call.request.value_length == strlen(value) &&
           memcmp(call.request.value_out, value, strlen(value)) == 0;
}

static void *work(void *argument) {
    char key[32];
    snprintf(key, sizeof key, "thread-%d", *(int *)argument);
    for (int i = 0; !atomic_load(&stop); i++) {
        if (!exchange(key, i)) {
            atomic_fetch_add(&wrong, 1);
            tap_note("parent: %s", warmring_error_detail());
        }
        atomic_fetch_add(&done, 1);
    }
    return NULL;
}

/* Exit status of a child: 0 when all was well. */
static int child(int number) {
    char key[32];
    snprintf(key, sizeof key, "child-%d", number);
    for (int i = 0; i < 5; i++) {
        if (!exchange(key, i)) {
            return 1;
        }
    }
    if (net_counters(server).connections != 1) {
        return 2;
    }
    if (number % 2 == 0) {
        wr_server_release(server);
    }
    return 0;
}

static void check_forks(void) {
    int bad = 0;
    for (int i = 0; i < FORKS && bad < 2; i++) {
        pid_t pid = child_fork(CHILD_SECONDS);
        if (pid == 0) {
            _exit(child(i));
        }
        int status = child_wait(pid);
        if (status != 0) {
            tap_note("child %d: status %x", i, (unsigned)status);
            bad++;
        }
    }
    tap_int(bad, 0, "%d children work", FORKS);
}

static void run_all(void) {
    fixture_t *fixture = fixture_start(1, NULL);
    wr_net_config_t config = net_config(NULL);
    config.pool_max = 4; /* fewer than threads: some wait on the condition */
    server = net_server(fixture, 0, &config);
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    while (atomic_load(&done) < 100) {
        usleep(1000);
    }
    check_forks();
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    tap_int(wrong, 0, "the parent's threads never noticed, in %d exchanges", done);
    warmring_server_counters_t counters = net_counters(server);
    tap_int((int64_t)counters.lost_connections, 0, "no connection was lost");
    tap_ok(counters.connects <= 4, "none was opened again");
    wr_server_release(server);
    net_free(&config);
    fixture_free(fixture);
}

int main(void) {
    if (!child_may_allocate()) {
        tap_skip_all(CHILD_MAY_NOT_ALLOCATE);
    }
    test_transports(run_all);
    return tap_done();
}
