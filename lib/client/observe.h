/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling the client's observer, if there is one, of a key.
 */
#ifndef WR_CLIENT_OBSERVE_H
#define WR_CLIENT_OBSERVE_H

#include "client/client.h"

void wr_observe_now(const wr_operation_t *operation, wr_verb_t verb, const wr_route_t *route,
                    uint8_t side, warmring_status_t status);

/* `side` is that of the server whose answer counted. */
static inline void wr_observe(const wr_operation_t *operation, wr_verb_t verb,
                              const wr_route_t *route, uint8_t side, warmring_status_t status) {
    if (operation->client->observer != NULL) {
        wr_observe_now(operation, verb, route, side, status);
    }
}

#endif
