/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A number that grows in the child of every fork(), so that whoever owns
 * descriptors can tell at the cost of one load that it must open its own.
 */
#ifndef WR_BASE_FORK_H
#define WR_BASE_FORK_H

#include <stdatomic.h>
#include <stdint.h>

/* Registers the fork handler; safe to repeat, from any thread. Returns 0, or
 * an errno. */
int wr_fork_watch(void);

/* The generation of this process; fork.c writes it. */
extern _Atomic uint32_t wr_fork_count;
static inline uint32_t wr_fork_generation(void) {
    return atomic_load_explicit(&wr_fork_count, memory_order_relaxed);
}

/*
 * One lock of the process for who puts its own state in order after a fork:
 * never held across one, so always free in the child. Hold it briefly.
 */
void wr_fork_lock(void);
void wr_fork_unlock(void);

#endif
