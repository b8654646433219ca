/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routing: two owners and a cell of the phase table.
 */
#include "topology/route.h"

#include "base/hash.h"
#include "ring/ring.h"
#include "topology/phase.h"
#include "topology/topology.h"

static uint32_t hash_on(const warmring_ring_t *ring, const wr_place_t *place) {
    return wr_ring_hash_key(ring, place->bytes, place->length, place->prefix_length);
}

/* Stores the endpoints that own a place, by side; true when they differ.
 * Server i of the old ring is endpoint i. */
static bool find_owners(const warmring_topology_t *topology, const wr_place_t *place,
                        uint32_t owner[2]) {
    const warmring_ring_t *before = wr_cluster_ring(topology->cluster[WARMRING_OLD_RING]);
    const wr_cluster_t *new_cluster = topology->cluster[WARMRING_NEW_RING];
    uint32_t hash = hash_on(before, place);
    uint32_t old_owner = wr_ring_owner(before, hash);
    uint32_t new_owner = old_owner;
    if (new_cluster != NULL) {
        const warmring_ring_t *after = wr_cluster_ring(new_cluster);
        hash = topology->hashes_alike ? hash : hash_on(after, place);
        new_owner = topology->endpoints.of_new[wr_ring_owner(after, hash)];
    }
    owner[WARMRING_OLD_RING] = old_owner;
    owner[WARMRING_NEW_RING] = new_owner;
    return old_owner != new_owner;
}

/* Every seed draws another order of the keys, in which a rollout takes the
 * first ones: who is in at 1,000 is in at 5,000. */
static bool is_rolled_in(const warmring_topology_t *topology, const wr_place_t *place,
                         uint32_t rollout) {
    uint32_t hash = wr_xxh32(place->bytes, place->length, (uint32_t)topology->seed);
    return (uint64_t)hash * WARMRING_ROLLOUT_ALL >> 32 < rollout;
}

wr_route_t wr_route(const warmring_topology_t *topology, const wr_place_t *place, wr_kind_t kind,
                    uint32_t rollout) {
    wr_route_t route;
    route.moved = find_owners(topology, place, route.owner);
    const wr_phase_row_t *row = &wr_phase_table[route.moved ? topology->phase : WARMRING_STABLE];
    route.steps = &row->cells[kind];
    if (route.moved && kind == WR_KIND_READ && is_rolled_in(topology, place, rollout)) {
        route.steps = &row->read_rolled_in;
    }
    return route;
}

bool warmring_topology_moved(const warmring_topology_t *topology, const char *key,
                             size_t key_length) {
    wr_place_t place = {.bytes = key, .length = key_length};
    uint32_t owner[2];
    return find_owners(topology, &place, owner);
}
