/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fork generation: it grows in children, never in the parent.
 */
#include "base/fork.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/tap.h"

enum { THREADS = 4 };

/* What the generation is in a descendant, `depth` forks down; -1: no child. */
static int generation_below(int depth) {
    if (depth == 0) {
        return (int)wr_fork_generation();
    }
    pid_t child = fork();
    if (child == 0) {
        _exit(generation_below(depth - 1));
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return -1;
    }
    return WEXITSTATUS(status);
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

int main(void) {
    test_watch();
    int ours = (int)wr_fork_generation();
    tap_int(generation_below(1), ours + 1, "a child is one generation on");
    tap_int(generation_below(1), ours + 1, "so is its sibling");
    tap_int(generation_below(2), ours + 2, "a grandchild is two on");
    tap_int(generation_below(3), ours + 3, "and so on");
    tap_int(wr_fork_generation(), ours, "the parent stays");
    return tap_done();
}
