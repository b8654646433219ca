/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No ring at all: the owner of a key is server number `hash mod servers`, in
 * the order of the list and whatever their weights. It is what libmemcached
 * and the clients built on it do unless told otherwise, and it moves nearly
 * all keys when a server comes or goes.
 *
 * Drained servers are left out, as if they were not in the list. Servers met
 * from a key's owner on are those behind it in the list, and then the first.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "ring/ring.h"

double wr_modula_count(const wr_members_t *members, const wr_member_t *member,
                       double points_per_weight) {
    (void)members;
    (void)member;
    (void)points_per_weight;
    return 0;
}

/* How many of the 2^32 hashes leave this rest. */
static uint64_t hashes_with(uint32_t rest, uint32_t servers) {
    return ((uint64_t)UINT32_MAX - rest) / servers + 1;
}

warmring_status_t wr_modula_fill(warmring_ring_t *ring, uint64_t points) {
    (void)points;
    wr_members_t *members = &ring->members;
    ring->live = wr_calloc(members->live, sizeof *ring->live);
    if (ring->live == NULL) {
        return wr_fail_memory();
    }
    for (uint32_t i = 0; i < members->count; i++) {
        wr_member_t *member = &members->list[i];
        if (member->weight > 0) {
            member->arc = hashes_with(ring->owners, members->live);
            ring->live[ring->owners++] = i;
        }
    }
    return WARMRING_OK;
}

uint32_t wr_modula_owner(const warmring_ring_t *ring, uint32_t hash) {
    return ring->live[hash % ring->members.live];
}

void wr_modula_owners(const warmring_ring_t *ring, const uint32_t *hashes, size_t count,
                      uint32_t *owners) {
    for (size_t i = 0; i < count; i++) {
        owners[i] = wr_modula_owner(ring, hashes[i]);
    }
}

size_t wr_modula_walk(const warmring_ring_t *ring, uint32_t hash, uint32_t *owners,
                      size_t capacity) {
    uint32_t servers = ring->members.live, next = hash % servers;
    size_t wanted = capacity < servers ? capacity : servers;
    for (size_t i = 0; i < wanted; i++) {
        owners[i] = ring->live[next];
        next = next + 1 < servers ? next + 1 : 0;
    }
    return wanted;
}
