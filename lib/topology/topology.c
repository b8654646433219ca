/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topologies as values: making, counting and asking them.
 */
#include "topology/topology.h"

#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "ring/ring.h"
#include "topology/phase.h"
#include "topology/server_text.h"

/* What is known of two rings together. */
static warmring_status_t join(warmring_topology_t *topology, const wr_topology_parts_t *parts) {
    wr_cluster_t *before = parts->cluster[WARMRING_OLD_RING];
    wr_cluster_t *after = parts->cluster[WARMRING_NEW_RING];
    if (!wr_endpoints_unite(&topology->endpoints, before, after)) {
        return wr_fail_memory();
    }
    if (after == NULL) {
        return WARMRING_OK;
    }
    const warmring_ring_t *const *ring = topology->ring;
    topology->hashes_alike =
        wr_ring_hashes_alike(ring[WARMRING_OLD_RING], ring[WARMRING_NEW_RING]);
    topology->joint = wr_joint_retain(parts->joint);
    return topology->joint != NULL ? WARMRING_OK
                                   : wr_joint_create(&topology->joint, ring[WARMRING_OLD_RING],
                                                     ring[WARMRING_NEW_RING]);
}

warmring_status_t wr_topology_make(warmring_topology_t **topology,
                                   const wr_topology_parts_t *parts) {
    *topology = NULL;
    warmring_topology_t *made =
        wr_calloc(1, sizeof *made + parts->scope_count * sizeof(wr_scope_t));
    if (made == NULL) {
        return wr_fail_memory();
    }
    atomic_init(&made->references, 1);
    made->phase = parts->phase;
    made->epoch = parts->epoch;
    made->seed = parts->seed;
    for (size_t side = 0; side < 2; side++) {
        made->cluster[side] = wr_cluster_retain(parts->cluster[side]);
        made->ring[side] =
            parts->cluster[side] != NULL ? wr_cluster_ring(parts->cluster[side]) : NULL;
    }
    made->rollout = wr_phase_table[parts->phase].rollout;
    made->scope_count = parts->scope_count;
    warmring_status_t status = join(made, parts);
    if (status != WARMRING_OK) {
        warmring_topology_release(made);
        return status;
    }
    *topology = made;
    return WARMRING_OK;
}

warmring_status_t wr_topology_make_stable(warmring_topology_t **topology, wr_cluster_t *cluster,
                                          uint64_t epoch) {
    wr_topology_parts_t parts = {
        .phase = WARMRING_STABLE, .epoch = epoch, .cluster = {cluster, NULL}};
    warmring_status_t status = wr_topology_make(topology, &parts);
    wr_cluster_release(cluster);
    return status;
}

warmring_status_t wr_topology_demand_stable(const warmring_topology_t *topology) {
    if (topology->phase == WARMRING_STABLE) {
        return WARMRING_OK;
    }
    return wr_fail(WARMRING_ILLEGAL_STEP,
                   "a migration is under way (phase %s): finish it or roll it back first",
                   warmring_phase_name(topology->phase));
}

warmring_status_t warmring_topology_create(warmring_topology_t **topology,
                                           const warmring_server_t *servers, size_t count,
                                           const warmring_ring_options_t *options) {
    wr_cluster_t *cluster;
    if (WR_HAS_NULL(topology)) {
        return WARMRING_BAD_ARGUMENT;
    }
    *topology = NULL;
    warmring_status_t status = wr_cluster_create(&cluster, servers, count, options);
    return status == WARMRING_OK ? wr_topology_make_stable(topology, cluster, 1) : status;
}

warmring_status_t wr_topology_parse(warmring_topology_t **topology, const char *servers,
                                    const warmring_ring_options_t *options) {
    wr_server_list_t list;
    if (WR_EMPTY_OR_NULL(topology, servers)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_status_t status = wr_server_list_parse(&list, servers);
    if (status == WARMRING_OK) {
        status = warmring_topology_create(topology, list.servers, list.count, options);
        wr_server_list_free(&list);
    }
    return status;
}

warmring_status_t warmring_topology_parse(warmring_topology_t **topology, const char *servers,
                                          const char *dialect, double points_per_weight) {
    warmring_ring_options_t options = {
        .size = sizeof options, .dialect = dialect, .points_per_weight = points_per_weight};
    return wr_topology_parse(topology, servers, &options);
}

/* The count is the one thing in a topology that changes. */
warmring_topology_t *warmring_topology_retain(const warmring_topology_t *topology) {
    warmring_topology_t *counted = (warmring_topology_t *)topology;
    atomic_fetch_add_explicit(&counted->references, 1, memory_order_relaxed);
    return counted;
}

void warmring_topology_release(const warmring_topology_t *topology) {
    warmring_topology_t *counted = (warmring_topology_t *)topology;
    if (counted == NULL ||
        atomic_fetch_sub_explicit(&counted->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    wr_cluster_release(counted->cluster[WARMRING_OLD_RING]);
    wr_cluster_release(counted->cluster[WARMRING_NEW_RING]);
    wr_endpoints_free(&counted->endpoints);
    wr_joint_release(counted->joint);
    wr_free(counted);
}

warmring_phase_t warmring_topology_phase(const warmring_topology_t *topology) {
    return topology->phase;
}

uint64_t warmring_topology_epoch(const warmring_topology_t *topology) {
    return topology->epoch;
}

/* NULL for a side that is none, or has no ring. */
static const wr_cluster_t *cluster_of(const warmring_topology_t *topology, warmring_side_t side) {
    return (size_t)side < 2 ? topology->cluster[side] : NULL;
}

static const wr_cluster_server_t *server_of(const warmring_topology_t *topology,
                                            warmring_side_t side, size_t index) {
    const wr_cluster_t *cluster = cluster_of(topology, side);
    return cluster != NULL ? wr_cluster_server(cluster, index) : NULL;
}

const warmring_ring_t *warmring_topology_ring(const warmring_topology_t *topology,
                                              warmring_side_t side) {
    const wr_cluster_t *cluster = cluster_of(topology, side);
    return cluster != NULL ? wr_cluster_ring(cluster) : NULL;
}

const warmring_server_t *warmring_topology_server(const warmring_topology_t *topology,
                                                  warmring_side_t side, size_t index) {
    const wr_cluster_server_t *server = server_of(topology, side, index);
    return server != NULL ? &server->server : NULL;
}

const char *warmring_topology_label(const warmring_topology_t *topology, warmring_side_t side,
                                    size_t index) {
    const wr_cluster_server_t *server = server_of(topology, side, index);
    return server != NULL ? server->label : NULL;
}

uint32_t wr_topology_endpoints(const warmring_topology_t *topology) {
    return topology->endpoints.count;
}

const wr_endpoint_t *wr_topology_endpoint(const warmring_topology_t *topology, uint32_t index) {
    return &topology->endpoints.list[index];
}
