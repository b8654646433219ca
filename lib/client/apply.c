/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting a topology in force.
 */
#include <inttypes.h>

#include "base/fail.h"
#include "client/client.h"

/* The view of the next topology, with the watermarks a migration starts
 * from. */
static warmring_status_t make_view(warmring_t *client, const warmring_topology_t *topology,
                                   wr_deadline_t deadline, wr_view_t **made) {
    const wr_view_t *present = wr_gate_present(&client->gate);
    wr_view_t *view = wr_view_create(topology, client->options.scope, present, &client->net);
    if (view == NULL) {
        return wr_fail_memory();
    }
    bool begins = warmring_topology_ring(topology, WARMRING_NEW_RING) != NULL &&
                  !wr_topology_same_migration(present->topology, topology);
    warmring_status_t status = begins ? wr_view_probe(view, deadline) : WARMRING_OK;
    if (status != WARMRING_OK) {
        wr_view_free(view);
        return status;
    }
    *made = view;
    return WARMRING_OK;
}

static warmring_status_t apply_locked(warmring_t *client, const warmring_topology_t *topology,
                                      wr_deadline_t deadline) {
    const wr_view_t *present = wr_gate_present(&client->gate);
    wr_follows_t follows = wr_topology_follows(present->topology, topology);
    if (follows == WR_FOLLOWS_NOT) {
        return WARMRING_ILLEGAL_STEP;
    }
    wr_view_t *view = NULL;
    warmring_status_t status = make_view(client, topology, deadline, &view);
    if (status != WARMRING_OK) {
        return status;
    }
    if (!wr_gate_publish(&client->gate, view, follows == WR_FOLLOWS_AFTER_ALL, deadline)) {
        wr_view_free(view);
        return wr_fail(WARMRING_TIMEOUT, "operations of an earlier topology have not ended");
    }
    wr_count(&client->counters, warmring_topology_phase(topology), WR_COUNT_applies);
    return WARMRING_OK;
}

warmring_status_t warmring_apply(warmring_t *client, const warmring_topology_t *topology,
                                 uint32_t deadline_ms) {
    if (client == NULL || topology == NULL) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "client or topology is NULL");
    }
    uint32_t limit = deadline_ms != 0 ? deadline_ms : (uint32_t)client->options.deadline_ms;
    wr_deadline_t deadline = wr_deadline_in_ms(limit);
    if (!wr_gate_lock(&client->gate, deadline)) {
        return wr_fail(WARMRING_TIMEOUT, "another apply ran for longer than %" PRIu32 " ms", limit);
    }
    warmring_status_t status = apply_locked(client, topology, deadline);
    wr_gate_unlock(&client->gate);
    return status;
}
