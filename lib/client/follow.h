/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who decides which topology a client has in force, in place of
 * warmring_apply(): what is written in a file, see fleet/. Here is only when
 * it is asked: before an operation that begins at `look_at` or later.
 *
 * The time is CLOCK_BOOTTIME. Deadlines use CLOCK_MONOTONIC, which stands
 * still while the machine sleeps; by it a topology would seem fresh to an
 * operation that begins hours later, when the machine wakes up. There is no
 * coarse form of this clock, so clients that follow a file read the clock twice.
 */
#ifndef WR_CLIENT_FOLLOW_H
#define WR_CLIENT_FOLLOW_H

#include <stdatomic.h>

#include <warmring/client.h>

#include "base/deadline.h"

typedef struct wr_follower wr_follower_t;

typedef struct {
    /* Sees to it that what is in force may be used: OK, or what the operation
     * answers instead. */
    warmring_status_t (*confirm)(wr_follower_t *follower, warmring_t *client,
                                 wr_deadline_t deadline);
    /* What is better done off the hot path. */
    warmring_status_t (*tick)(wr_follower_t *follower, warmring_t *client, wr_deadline_t deadline);
    /* The client is about to be freed; so is this. */
    void (*close)(wr_follower_t *follower, warmring_t *client);
} wr_follower_kind_t;

struct wr_follower {
    const wr_follower_kind_t *kind;
    _Atomic wr_time_t look_at;
};

/* Where it takes time, the deadline's `made` is the present again. */
static inline warmring_status_t wr_follow(wr_follower_t *follower, warmring_t *client,
                                          wr_deadline_t *deadline) {
    if (follower == NULL ||
        wr_boot_now() < atomic_load_explicit(&follower->look_at, memory_order_relaxed)) {
        return WARMRING_OK;
    }
    warmring_status_t status = follower->kind->confirm(follower, client, *deadline);
    *deadline = wr_deadline_seen(*deadline);
    return status;
}

#endif
