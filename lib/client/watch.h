/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who wants to know of every request that was run: the results of a multi
 * call, for the status of each server.
 */
#ifndef WR_CLIENT_WATCH_H
#define WR_CLIENT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "net/request.h"

/* Of one server: whether it was asked, and its first fault. */
typedef struct {
    const char *address;
    warmring_status_t status;
    bool asked;
} wr_server_result_t;

typedef struct {
    wr_server_result_t *servers; /* by seat */
} wr_watch_t;

static inline void wr_watch_tell(const wr_watch_t *watch, uint32_t seat, warmring_status_t status) {
    if (watch == NULL) {
        return;
    }
    wr_server_result_t *server = &watch->servers[seat];
    server->asked = true;
    if (status != WARMRING_OK && !wr_is_answer(status) && server->status == WARMRING_OK) {
        server->status = status;
    }
}

#endif
