/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routing: two owners and a cell of the phase table.
 */
#include "topology/route.h"

#include "base/hash.h"
#include "ring/ring.h"
#include "topology/phase.h"
#include "topology/topology.h"

static inline uint32_t hash_on(const warmring_ring_t *ring, const wr_place_t *place) {
    return wr_ring_hash_key(ring, place->bytes, place->length, place->prefix_length);
}

/* The servers that own a place, by side: one search each. */
static __attribute__((noinline)) void search_both(const warmring_topology_t *topology,
                                                  const wr_place_t *place, uint32_t server[2]) {
    const warmring_ring_t *before = topology->ring[WARMRING_OLD_RING];
    const warmring_ring_t *after = topology->ring[WARMRING_NEW_RING];
    uint32_t hash = hash_on(before, place);
    server[WARMRING_OLD_RING] = wr_ring_owner(before, hash);
    hash = topology->hashes_alike ? hash : hash_on(after, place);
    server[WARMRING_NEW_RING] = wr_ring_owner(after, hash);
}

/* The same, with one search for both where it can be. */
static inline void find_servers(const warmring_topology_t *topology, const wr_place_t *place,
                                uint32_t server[2]) {
    if (topology->joint == NULL) {
        search_both(topology, place, server);
        return;
    }
    uint32_t hash = hash_on(topology->ring[WARMRING_OLD_RING], place);
    const uint32_t *owners = wr_joint_owners(topology->joint, hash);
    server[WARMRING_OLD_RING] = owners[WARMRING_OLD_RING];
    server[WARMRING_NEW_RING] = owners[WARMRING_NEW_RING];
}

static inline uint32_t find_server(const warmring_ring_t *ring, const wr_place_t *place) {
    return wr_ring_owner(ring, hash_on(ring, place));
}

/* Stores the endpoints that own a place, by side; true when they differ.
 * Server i of the old ring is endpoint i. */
static inline bool find_owners(const warmring_topology_t *topology, const wr_place_t *place,
                               uint32_t owner[2]) {
    if (topology->ring[WARMRING_NEW_RING] == NULL) {
        owner[WARMRING_OLD_RING] = find_server(topology->ring[WARMRING_OLD_RING], place);
        owner[WARMRING_NEW_RING] = owner[WARMRING_OLD_RING];
        return false;
    }
    find_servers(topology, place, owner);
    owner[WARMRING_NEW_RING] = topology->endpoints.of_new[owner[WARMRING_NEW_RING]];
    return owner[WARMRING_OLD_RING] != owner[WARMRING_NEW_RING];
}

/* Every seed draws another order of the keys, in which a rollout takes the
 * first ones: who is in at 1,000 is in at 5,000. */
static bool is_rolled_in(const warmring_topology_t *topology, const wr_place_t *place,
                         uint32_t rollout) {
    uint32_t hash = wr_xxh32(place->bytes, place->length, (uint32_t)topology->seed);
    return (uint64_t)hash * WARMRING_ROLLOUT_ALL >> 32 < rollout;
}

static inline void route_on_two(const warmring_topology_t *topology, const wr_place_t *place,
                                wr_kind_t kind, uint32_t rollout, wr_route_t *route) {
    route->moved = find_owners(topology, place, route->owner);
    const wr_phase_row_t *row = &wr_phase_table[route->moved ? topology->phase : WARMRING_STABLE];
    route->steps = &row->cells[kind];
    if (route->moved && kind == WR_KIND_READ && is_rolled_in(topology, place, rollout)) {
        route->steps = &row->read_rolled_in;
    }
}

static inline void route_one(const warmring_topology_t *topology, const wr_place_t *place,
                             wr_kind_t kind, uint32_t rollout, wr_route_t *route) {
    if (topology->ring[WARMRING_NEW_RING] != NULL) {
        route_on_two(topology, place, kind, rollout, route);
        return;
    }
    uint32_t only = find_server(topology->ring[WARMRING_OLD_RING], place);
    *route =
        (wr_route_t){.steps = &wr_phase_table[WARMRING_STABLE].cells[kind], .owner = {only, only}};
}

wr_route_t wr_route(const warmring_topology_t *topology, const wr_place_t *place, wr_kind_t kind,
                    uint32_t rollout) {
    wr_route_t route;
    route_one(topology, place, kind, rollout, &route);
    return route;
}

/* Side by side on the only ring. */
static void route_on_one(const warmring_ring_t *ring, const wr_place_t *places, size_t count,
                         const wr_steps_t *steps, wr_route_t *routes) {
    uint32_t owners[WR_ROUTES_MOST];
    wr_ring_owners(ring, places, count, owners);
    for (size_t i = 0; i < count; i++) {
        routes[i] = (wr_route_t){.steps = steps, .owner = {owners[i], owners[i]}};
    }
}

void wr_route_many(const warmring_topology_t *topology, const wr_place_t *places, size_t count,
                   wr_kind_t kind, uint32_t rollout, wr_route_t *routes) {
    if (count > 1 && topology->ring[WARMRING_NEW_RING] == NULL) {
        route_on_one(topology->ring[WARMRING_OLD_RING], places, count,
                     &wr_phase_table[WARMRING_STABLE].cells[kind], routes);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        route_one(topology, &places[i], kind, rollout, &routes[i]);
    }
}

bool warmring_topology_moved(const warmring_topology_t *topology, const char *key,
                             size_t key_length) {
    wr_place_t place = {.bytes = key, .length = key_length};
    uint32_t owner[2];
    return find_owners(topology, &place, owner);
}
