/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of fork() that cannot outlast their test: one ends with its
 * parent's main thread, and by SIGALRM when it takes too long, as with a lock
 * that nobody is left to release.
 */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether clang builds with a sanitizer; gcc has macros of its own for each. */
#ifdef __has_feature
#define CHILD_HAS_FEATURE(name) __has_feature(name)
#else
#define CHILD_HAS_FEATURE(name) 0
#endif

/* As fork(), called by the main thread, which bails when there is no child;
 * the child has `seconds` to live. What was printed is printed once. */
pid_t child_fork(unsigned seconds);

/* Waits for it; its wait status, 0 when all went well there. */
int child_wait(pid_t child);

/* Whether a child may allocate whose parent's threads did at the fork. Not
 * under AddressSanitizer: many versions leave the child their allocator's
 * locks as they were, held by threads that it does not have. */
bool child_may_allocate(void);
#define CHILD_MAY_NOT_ALLOCATE "under asan a child of a program with threads cannot allocate"

#endif
