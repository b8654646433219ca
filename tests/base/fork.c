/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fork generation grows in children, never in the parent; the fork lock
 * is free in all of them.
 */
#include "base/fork.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/child.h"
#include "tests/lib/tap.h"

enum { THREADS = 4 };

/* What the generation is in a descendant, `depth` forks down; -1: no child. */
static int generation_below(int depth) {
    if (depth == 0) {
        return (int)wr_fork_generation();
    }
    pid_t child = child_fork(20);
    if (child == 0) {
        _exit(generation_below(depth - 1));
    }
    int status = child_wait(child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void *watch(void *failed) {
    *(int *)failed = wr_fork_watch();
    return NULL;
}

/* Any number of registrations count a fork once. */
static void test_watch(void) {
    pthread_t threads[THREADS];
    int failed[THREADS];
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, watch, &failed[i]) != 0) {
            tap_bail("no thread");
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        tap_int(failed[i], 0, "watching in thread %d", i);
    }
    tap_int(wr_fork_watch(), 0, "watching once more");
}

static void *hold_lock(void *held) {
    wr_fork_lock();
    sem_post(held);
    usleep(50000);
    wr_fork_unlock();
    return NULL;
}

/* A fork while another thread holds the lock: the child, which does not have
 * that thread, must get it all the same. */
static void test_lock(void) {
    sem_t held;
    sem_init(&held, 0, 0);
    pthread_t thread;
    if (pthread_create(&thread, NULL, hold_lock, &held) != 0) {
        tap_bail("no thread");
    }
    sem_wait(&held);
    pid_t child = child_fork(20);
    if (child == 0) {
        wr_fork_lock();
        wr_fork_unlock();
        _exit(0);
    }
    tap_int(child_wait(child), 0, "the lock is free in the child");
    pthread_join(thread, NULL);
    wr_fork_lock();
    wr_fork_unlock();
    tap_ok(true, "and in the parent afterwards");
    sem_destroy(&held);
}

int main(void) {
    test_watch();
    test_lock();
    int ours = (int)wr_fork_generation();
    tap_int(generation_below(1), ours + 1, "a child is one generation on");
    tap_int(generation_below(1), ours + 1, "so is its sibling");
    tap_int(generation_below(2), ours + 2, "a grandchild is two on");
    tap_int(generation_below(3), ours + 3, "and so on");
    tap_int(wr_fork_generation(), ours, "the parent stays");
    return tap_done();
}
