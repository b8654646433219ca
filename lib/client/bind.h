/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that depend on the present value, where that value is on the new
 * owner: the steps BIND and PROMOTE.
 */
#ifndef WR_CLIENT_BIND_H
#define WR_CLIENT_BIND_H

#include "client/write.h"

/* Whether a route ends in BIND. */
static inline bool wr_is_bound(const wr_route_t *route) {
    return route->steps->step[0].action == WR_STEP_BIND ||
           route->steps->step[1].action == WR_STEP_BIND;
}

/*
 * Runs `write`, whose route wr_is_bound() and is set, to its end: status,
 * and the answer in write->request[0], which is its result.
 */
void wr_bind(const wr_operation_t *operation, wr_write_t *write);

#endif
