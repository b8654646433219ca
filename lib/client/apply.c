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

/* Whether every copy on the new ring counts again, which a client must know
 * before it relies on them. */
static warmring_status_t check_doubts(const wr_view_t *present, const warmring_topology_t *next,
                                      wr_deadline_t deadline) {
    bool relies = warmring_topology_phase(next) > warmring_topology_phase(present->topology) &&
                  warmring_topology_phase(next) >= WARMRING_HANDOVER;
    for (uint32_t i = 0; relies && i < present->seats; i++) {
        if (wr_view_in_doubt(present, i, deadline)) {
            return wr_fail(WARMRING_TRY_AGAIN,
                           "%s missed deletions and may hold old copies: wait until it is "
                           "reachable and %" PRIu32 " s have passed",
                           wr_server_address(present->server[i]),
                           wr_server_config(present->server[i])->stub_lifetime_s);
        }
    }
    return WARMRING_OK;
}

/* Whether copies left by earlier rings have expired, or somebody vouches for
 * it, before the filter for them goes. */
static warmring_status_t check_settled(const warmring_t *client, const wr_view_t *present,
                                       const warmring_topology_t *next) {
    if (present->phase != WARMRING_SETTLING || warmring_topology_phase(next) != WARMRING_STABLE ||
        wr_topology_is_settled(next)) {
        return WARMRING_OK;
    }
    uint64_t longest = client->options.max_ttl_s;
    if (longest == 0) {
        return wr_fail(WARMRING_ILLEGAL_STEP,
                       "the longest TTL is not declared (option max_ttl_s): stay in SETTLING, or "
                       "take the step SETTLE when no copy of an earlier ring can be left");
    }
    wr_time_t passed = (wr_now() - atomic_load(&present->marks->settling_since)) / 1000000000;
    if ((uint64_t)passed < longest) {
        return wr_fail(WARMRING_TRY_AGAIN,
                       "copies of earlier rings may live for another %" PRIu64 " s (max_ttl_s)",
                       longest - (uint64_t)passed);
    }
    return WARMRING_OK;
}

static warmring_status_t apply_locked(warmring_t *client, const warmring_topology_t *topology,
                                      wr_deadline_t deadline) {
    const wr_view_t *present = wr_gate_present(&client->gate);
    wr_follows_t follows = wr_topology_follows(present->topology, topology);
    if (follows == WR_FOLLOWS_NOT) {
        return WARMRING_ILLEGAL_STEP;
    }
    warmring_status_t status = check_doubts(present, topology, deadline);
    if (status == WARMRING_OK) {
        status = check_settled(client, present, topology);
    }
    if (status != WARMRING_OK) {
        return status;
    }
    wr_view_t *view = NULL;
    status = make_view(client, topology, deadline, &view);
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
    if (WR_HAS_NULL(client, topology)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (client->follower != NULL) {
        return wr_fail(WARMRING_ILLEGAL_STEP,
                       "this client follows a topology file, which decides what is in force");
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
