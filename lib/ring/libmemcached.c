/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ketama as libmemcached does it unless told to weigh: 100 points a server,
 * each the key hash of "IDENTITY-0", "IDENTITY-1" and so on.
 *
 * As soon as any server has a weight above 1 it goes over to the weighted
 * points of ketama.c, without saying so, and goes on hashing keys as before.
 */
#include <stdio.h>
#include <string.h>

#include "ring/ring.h"

enum { WEIGHTED_POINTS = 160 };

static bool is_weighted(const wr_members_t *members) {
    return members->heaviest > 1;
}

/* "/HOST:PORT", with the port always written. */
size_t wr_spy_identity(const wr_member_t *member, char *bytes) {
    return (size_t)snprintf(bytes, WR_IDENTITY_SIZE, "/%s:%u", member->host,
                            (unsigned)wr_member_port(member));
}

double wr_libmemcached_count(const wr_members_t *members, const wr_member_t *member,
                             double points_per_server) {
    return is_weighted(members) ? wr_ketama_count(members, member, WEIGHTED_POINTS)
                                : points_per_server;
}

static void make_unweighted(const warmring_ring_t *ring, uint32_t index, wr_raw_point_t *points) {
    const wr_member_t *member = &ring->members.list[index];
    char text[WR_IDENTITY_SIZE + 24];
    size_t identity = ring->dialect->identity(member, text);
    for (uint64_t i = 0; i < member->points; i++) {
        int digits = snprintf(text + identity, 24, "-%llu", (unsigned long long)i);
        points[i] = wr_raw_point(ring->hash_key(text, identity + (size_t)digits), index);
    }
}

void wr_libmemcached_make(const warmring_ring_t *ring, uint32_t index, wr_raw_point_t *points) {
    if (is_weighted(&ring->members)) {
        wr_ketama_make(ring, index, points);
    } else {
        make_unweighted(ring, index, points);
    }
}
