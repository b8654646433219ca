/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routing: two owners and a cell of the phase table.
 */
#include "topology/route.h"

#include "base/hash.h"
#include "ring/ring.h"
#include "topology/phase.h"
#include "topology/topology.h"

typedef struct {
    uint32_t endpoint[2];
} owners_t;

static uint32_t hash_on(const warmring_ring_t *ring, wr_place_t place) {
    return wr_ring_hash_key(ring, place.bytes, place.length, place.prefix_length);
}

/* Server i of the old ring is endpoint i. */
static owners_t owners_of(const warmring_topology_t *topology, wr_place_t place) {
    const warmring_ring_t *before = wr_cluster_ring(topology->cluster[WARMRING_OLD_RING]);
    uint32_t hash = hash_on(before, place);
    owners_t owners;
    owners.endpoint[WARMRING_OLD_RING] = wr_ring_owner(before, hash);
    owners.endpoint[WARMRING_NEW_RING] = owners.endpoint[WARMRING_OLD_RING];
    if (topology->cluster[WARMRING_NEW_RING] != NULL) {
        const warmring_ring_t *after = wr_cluster_ring(topology->cluster[WARMRING_NEW_RING]);
        hash = topology->hashes_alike ? hash : hash_on(after, place);
        owners.endpoint[WARMRING_NEW_RING] = topology->endpoints.of_new[wr_ring_owner(after, hash)];
    }
    return owners;
}

static bool is_moved(owners_t owners) {
    return owners.endpoint[WARMRING_OLD_RING] != owners.endpoint[WARMRING_NEW_RING];
}

/* Every seed draws another order of the keys, in which a rollout takes the
 * first ones: who is in at 1,000 is in at 5,000. */
static bool is_rolled_in(const warmring_topology_t *topology, wr_place_t place, uint32_t rollout) {
    uint32_t hash = wr_xxh32(place.bytes, place.length, (uint32_t)topology->seed);
    return (uint64_t)hash * WARMRING_ROLLOUT_ALL >> 32 < rollout;
}

wr_route_t wr_route(const warmring_topology_t *topology, wr_place_t place, wr_kind_t kind,
                    uint32_t rollout) {
    owners_t owners = owners_of(topology, place);
    bool moved = is_moved(owners);
    const wr_phase_row_t *row = &wr_phase_table[moved ? topology->phase : WARMRING_STABLE];
    const wr_steps_t *steps = &row->cells[kind];
    if (moved && kind == WR_KIND_READ && is_rolled_in(topology, place, rollout)) {
        steps = &row->read_rolled_in;
    }
    return (wr_route_t){
        .steps = steps,
        .owner = {owners.endpoint[WARMRING_OLD_RING], owners.endpoint[WARMRING_NEW_RING]},
        .moved = moved,
    };
}

bool warmring_topology_moved(const warmring_topology_t *topology, const char *key,
                             size_t key_length) {
    wr_place_t place = {.bytes = key, .length = key_length};
    return is_moved(owners_of(topology, place));
}
