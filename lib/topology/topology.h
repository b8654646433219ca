/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a topology, for the files of this layer.
 */
#ifndef WR_TOPOLOGY_TOPOLOGY_H
#define WR_TOPOLOGY_TOPOLOGY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <warmring/topology.h>

#include "topology/cluster.h"
#include "topology/endpoints.h"
#include "topology/joint.h"

enum { WR_MAX_SCOPES = 64, WR_MAX_SCOPE = 63 };

/* What the clients of one scope have instead of the common rollout. */
typedef struct {
    char scope[WR_MAX_SCOPE + 1];
    uint32_t rollout;
} wr_scope_t;

struct warmring_topology {
    _Atomic size_t references;
    warmring_phase_t phase;
    uint64_t epoch;
    uint64_t seed;                  /* of the migration; 0 in STABLE */
    bool settled;                   /* nobody has to wait for it to settle */
    wr_cluster_t *cluster[2];       /* by side; the new one is NULL in STABLE */
    const warmring_ring_t *ring[2]; /* theirs */
    bool hashes_alike;              /* a key has the same position on both rings */
    wr_joint_t *joint;              /* of both, or NULL */
    wr_endpoints_t endpoints;
    uint32_t rollout;
    size_t scope_count;
    wr_scope_t scopes[];
};

/* What a topology is made of. The clusters and the joint stay the caller's. */
typedef struct {
    warmring_phase_t phase;
    uint64_t epoch;
    uint64_t seed;
    wr_cluster_t *cluster[2];
    wr_joint_t *joint;  /* that another topology has of these clusters, or NULL */
    size_t scope_count; /* room to leave; the maker fills it */
} wr_topology_parts_t;

/* Makes a topology, with the rollout its phase begins with. Returns OK or
 * OUT_OF_MEMORY; *topology is NULL then. */
warmring_status_t wr_topology_make(warmring_topology_t **topology,
                                   const wr_topology_parts_t *parts);

/* A STABLE topology of `cluster`, whose reference it takes over, also when it
 * fails. */
warmring_status_t wr_topology_make_stable(warmring_topology_t **topology, wr_cluster_t *cluster,
                                          uint64_t epoch);

/* warmring_topology_parse() with all ring options. */
warmring_status_t wr_topology_parse(warmring_topology_t **topology, const char *servers,
                                    const warmring_ring_options_t *options);

/* OK for a STABLE topology, else ILLEGAL_STEP. */
warmring_status_t wr_topology_demand_stable(const warmring_topology_t *topology);

#endif
