/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fork generation. The handler runs in the child before fork() returns,
 * while it has one thread.
 */
#include "base/fork.h"

#include <pthread.h>

_Atomic uint32_t wr_fork_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int failure;

static pthread_mutex_t renewal = PTHREAD_MUTEX_INITIALIZER;

void wr_fork_lock(void) {
    pthread_mutex_lock(&renewal);
}

void wr_fork_unlock(void) {
    pthread_mutex_unlock(&renewal);
}

static void in_child(void) {
    atomic_fetch_add_explicit(&wr_fork_count, 1, memory_order_relaxed);
    wr_fork_unlock();
}

static void watch(void) {
    failure = pthread_atfork(wr_fork_lock, wr_fork_unlock, in_child);
}

int wr_fork_watch(void) {
    pthread_once(&once, watch);
    return failure;
}
