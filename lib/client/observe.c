/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The observer.
 */
#include "client/observe.h"

#include "base/fail.h"

void wr_observe_now(const wr_operation_t *operation, wr_verb_t verb, const wr_route_t *route,
                    uint8_t side, warmring_status_t status) {
    const warmring_t *client = operation->client;
    warmring_event_t event = {
        .size = sizeof event,
        .operation = wr_verb_info(verb)->name,
        .server = wr_server_address(operation->view->server[route->owner[side]]),
        .side = operation->view->marks != NULL ? (warmring_side_t)side : WARMRING_OLD_RING,
        .phase = operation->view->phase,
        .status = status,
        .duration_ns = (uint64_t)(wr_now() - operation->began),
    };
    client->observer(client->observer_context, &event);
}

warmring_status_t warmring_set_observer(warmring_t *client, warmring_observer_t *observer,
                                        void *context) {
    if (WR_HAS_NULL(client)) {
        return WARMRING_BAD_ARGUMENT;
    }
    client->observer = observer;
    client->observer_context = context;
    return WARMRING_OK;
}
