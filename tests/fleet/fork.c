/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that follows a file, in the children of fork(): whatever the
 * parent's threads were doing, a child takes over the newest file and works.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fleet/support.h"
#include "tests/lib/calls.h"
#include "tests/lib/child.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { FORKS = 20, THREADS = 3, CHILD_SECONDS = 60 };

static fleet_t *fleet;
static warmring_t *client;
static _Atomic bool stop;

/* Runs `body` in a child; its exit status. */
static int in_child(int (*body)(void)) {
    pid_t child = child_fork(CHILD_SECONDS);
    if (child == 0) {
        _exit(body());
    }
    int status = child_wait(child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The new file comes after the fork: the child finds it by itself. */
static int child_finds_file(void) {
    fleet_sleep_ms(1100);
    fleet_flip(fleet, fixture_first_servers(fleet->fixture, 3));
    if (store_key(client, "child", "value") != WARMRING_OK) {
        return 1;
    }
    return fleet_epoch(client) == 2 ? 0 : 2;
}

static void check_idle(const char *const *options) {
    fleet = fleet_start(3, 2, 60);
    client = fleet_open(fleet, options);
    tap_status(store_key(client, "key", "value"), WARMRING_OK, "before the fork");
    tap_int(in_child(child_finds_file), 0, "the child takes over the newest file");
    fleet_await(client, 2);
    tap_status(store_key(client, "key", "value"), WARMRING_OK, "and so does the parent");
    warmring_close(client);
    fleet_free(fleet);
}

static void *work(void *data) {
    (void)data;
    while (!atomic_load(&stop)) {
        (void)!warmring_tick(client, 1); /* looks, so that forks come upon one */
    }
    return NULL;
}

static int child_works(void) {
    fleet_sleep_ms(5);
    if (warmring_tick(client, 100) != WARMRING_OK || fleet_epoch(client) < 2) {
        return 1;
    }
    if (store_key(client, "child", "value") != WARMRING_OK) {
        return 2;
    }
    warmring_close(client);
    return 0;
}

static void check_busy(const char *const *options) {
    pthread_t threads[THREADS];
    fleet = fleet_start(3, 2, 60);
    client = fleet_open(fleet, options);
    fleet_flip(fleet, fixture_first_servers(fleet->fixture, 3));
    fleet_await(client, 2);
    atomic_store(&stop, false);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    int bad = 0;
    for (int i = 0; i < FORKS; i++) {
        fleet_flip(fleet, fixture_first_servers(fleet->fixture, 2 + (size_t)i % 2));
        bad += in_child(child_works) != 0;
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    tap_int(bad, 0, "%d children of a busy parent work, with new files all the time", FORKS);
    fleet_await(client, 2 + FORKS);
    warmring_close(client);
    fleet_free(fleet);
}

static void run(void) {
    static const char *const thread[] = {"reload_thread", "1", NULL};
    check_idle(NULL);
    if (!child_may_allocate()) {
        tap_skip(CHILD_MAY_NOT_ALLOCATE);
        return;
    }
    check_idle(thread);
    check_busy(NULL);
    check_busy(thread);
}

int main(void) {
    test_transports(run);
    return tap_done();
}
