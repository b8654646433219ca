/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of the counters.
 */
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "client/client.h"

struct warmring_snapshot {
    warmring_phase_t phase;
    const warmring_topology_t *topology; /* keeps the names alive */
    uint64_t value[WR_PHASES][WR_COUNTERS];
    size_t servers;
    wr_server_t **held; /* keep the addresses alive */
    warmring_server_counters_t server[];
};

static void copy_counters(warmring_snapshot_t *snapshot, const warmring_t *client) {
    for (int phase = 0; phase < WR_PHASES; phase++) {
        uint64_t *value = snapshot->value[phase];
        for (int i = 0; i < WR_COUNTERS; i++) {
            value[i] = wr_counters_look(&client->counters, phase, i);
        }
        value[WR_COUNT_reads] += value[WR_COUNT_hits_old] + value[WR_COUNT_hits_new] +
                                 value[WR_COUNT_misses] + value[WR_COUNT_read_errors];
    }
}

static warmring_snapshot_t *make_snapshot(const wr_view_t *view) {
    warmring_snapshot_t *snapshot =
        wr_calloc(1, sizeof *snapshot + view->seats * sizeof snapshot->server[0]);
    if (snapshot == NULL) {
        return NULL;
    }
    snapshot->held = wr_calloc(view->seats, sizeof(wr_server_t *));
    if (snapshot->held == NULL) {
        wr_free(snapshot);
        return NULL;
    }
    snapshot->phase = view->phase;
    snapshot->topology = warmring_topology_retain(view->topology);
    for (uint32_t i = 0; i < view->seats; i++) {
        wr_server_t *server = wr_server_retain(view->server[i]);
        warmring_server_counters_t *counters = &snapshot->server[snapshot->servers];
        snapshot->held[snapshot->servers++] = server;
        counters->size = sizeof *counters;
        wr_server_count(server, counters);
        counters->name = wr_topology_endpoint(view->topology, i)->label;
    }
    return snapshot;
}

warmring_status_t warmring_snapshot_create(warmring_t *client, warmring_snapshot_t **snapshot) {
    if (WR_EMPTY_OR_NULL(snapshot, client)) {
        return WARMRING_BAD_ARGUMENT;
    }
    unsigned slot;
    wr_view_t *view = wr_gate_look(&client->gate, &slot);
    *snapshot = make_snapshot(view);
    if (*snapshot != NULL) {
        copy_counters(*snapshot, client);
    }
    wr_gate_leave(&client->gate, slot);
    return *snapshot != NULL ? WARMRING_OK : wr_fail_memory();
}

void warmring_snapshot_free(warmring_snapshot_t *snapshot) {
    if (snapshot == NULL) {
        return;
    }
    for (size_t i = 0; i < snapshot->servers; i++) {
        wr_server_release(snapshot->held[i]);
    }
    warmring_topology_release(snapshot->topology);
    wr_free(snapshot->held);
    wr_free(snapshot);
}

static uint64_t sum_of(const warmring_snapshot_t *snapshot, int phase, wr_counter_t counter) {
    uint64_t sum = 0;
    for (int i = 0; i < WR_PHASES; i++) {
        sum += phase == -1 || phase == i ? snapshot->value[i][counter] : 0;
    }
    return sum;
}

warmring_status_t warmring_snapshot_client(const warmring_snapshot_t *snapshot, int phase,
                                           warmring_counters_t *counters) {
    if (WR_HAS_NULL(snapshot, counters)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (counters->size != sizeof *counters || phase < -1 || phase >= WR_PHASES) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "phase %d is none, or counters->size is not set",
                       phase);
    }
#define COPY_COUNTER(name) counters->name = sum_of(snapshot, phase, WR_COUNT_##name);
    WARMRING_CLIENT_COUNTER_LIST(COPY_COUNTER)
#undef COPY_COUNTER
    return WARMRING_OK;
}

warmring_status_t warmring_snapshot_server(const warmring_snapshot_t *snapshot, size_t index,
                                           warmring_server_counters_t *server) {
    if (WR_HAS_NULL(snapshot, server)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (server->size != sizeof *server) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "server->size is not set");
    }
    if (index >= snapshot->servers) {
        return WARMRING_NOT_FOUND;
    }
    *server = snapshot->server[index];
    return WARMRING_OK;
}

warmring_phase_t warmring_snapshot_phase(const warmring_snapshot_t *snapshot) {
    return snapshot->phase;
}

uint64_t warmring_snapshot_epoch(const warmring_snapshot_t *snapshot) {
    return warmring_topology_epoch(snapshot->topology);
}

size_t warmring_snapshot_ring_bytes(const warmring_snapshot_t *snapshot) {
    const warmring_ring_t *old = warmring_topology_ring(snapshot->topology, WARMRING_OLD_RING);
    const warmring_ring_t *new = warmring_topology_ring(snapshot->topology, WARMRING_NEW_RING);
    return warmring_ring_bytes(old) + (new != NULL ? warmring_ring_bytes(new) : 0);
}
