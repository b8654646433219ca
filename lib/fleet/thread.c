/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The optional thread that looks, so that no operation has to, and that builds
 * large rings. It takes no signals, which are the application's.
 *
 * A child of fork() does not have it and gets no other: what a process may
 * start after a fork is for the program to decide, and most children that fork
 * off a busy parent want to stay small. There operations look, as without it.
 */
#include <signal.h>

#include "base/fork.h"
#include "fleet/follower.h"

enum { LOOK_MS = 400, BUDGET_MS = 5000 };

static bool wait_a_while(wr_file_follower_t *follower) {
    struct timespec until = wr_deadline_timespec(wr_deadline_in_ms(LOOK_MS));
    int result = 0;
    pthread_mutex_lock(&follower->mutex);
    while (!follower->stop && result == 0) {
        result = pthread_cond_timedwait(&follower->wake, &follower->mutex, &until);
    }
    bool stop = follower->stop;
    pthread_mutex_unlock(&follower->mutex);
    return !stop;
}

static void *look(void *argument) {
    wr_file_follower_t *follower = argument;
    while (wait_a_while(follower)) {
        wr_file_follower_work(follower, follower->client, wr_deadline_in_ms(BUDGET_MS));
    }
    return NULL;
}

warmring_status_t wr_thread_start(wr_file_follower_t *follower) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    follower->has_thread = pthread_create(&follower->thread, NULL, look, follower) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return follower->has_thread
               ? WARMRING_OK
               : wr_fail(WARMRING_OUT_OF_MEMORY, "the system gives no thread (reload_thread)");
}

void wr_thread_stop(wr_file_follower_t *follower) {
    pthread_mutex_lock(&follower->mutex);
    bool joins = follower->has_thread;
    follower->stop = true;
    pthread_cond_broadcast(&follower->wake);
    pthread_mutex_unlock(&follower->mutex);
    if (joins) {
        pthread_join(follower->thread, NULL);
    }
}
