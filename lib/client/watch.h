/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody who wants to know of every request that was run: the results of a
 * multi call, for the status of each server.
 */
#ifndef WR_CLIENT_WATCH_H
#define WR_CLIENT_WATCH_H

#include <stdint.h>

#include <warmring/status.h>

typedef struct wr_watch {
    void (*ran)(struct wr_watch *watch, uint32_t seat, warmring_status_t status);
} wr_watch_t;

static inline void wr_watch_tell(wr_watch_t *watch, uint32_t seat, warmring_status_t status) {
    if (watch != NULL) {
        watch->ran(watch, seat, status);
    }
}

#endif
