/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CRC-32 chain of v2, nginx and pingora.
 *
 * With base the CRC-32 of the identity bytes, the points of a server are
 *
 *     h(0) = 0,  h(i+1) = CRC-32 continued from base over the four
 *                         little-endian bytes of h(i),  points h(1), h(2) ...
 *
 * so its first k points are the same for every k: a change of weight adds or
 * removes its last points and touches nobody else's.
 */
#include <math.h>
#include <stdio.h>

#include "base/hash.h"
#include "ring/ring.h"

/* v2: NAME NUL, or HOST NUL PORT with the port always written. */
size_t wr_chain_identity(const wr_member_t *member, char *bytes) {
    return member->name != NULL ? wr_member_name(member, bytes) : wr_member_endpoint(member, bytes);
}

/* nginx has no names; its host is the configured text, so IPv6 keeps its
 * brackets, and a port that is not written stays so. */
size_t wr_chain_nginx_identity(const wr_member_t *member, char *bytes) {
    char bracketed[WR_NAME_MAX + 3];
    if (!wr_host_is_v6(member->host)) {
        return wr_host_port(member->host, member->port, bytes);
    }
    snprintf(bracketed, sizeof bracketed, "[%s]", member->host);
    return wr_host_port(bracketed, member->port, bytes);
}

/* The product passes through memory, so that no wider register makes it
 * round differently on another machine. */
double wr_chain_count(const wr_members_t *members, const wr_member_t *member,
                      double points_per_weight) {
    (void)members;
    volatile double product = member->weight * points_per_weight;
    double count = round(product);
    return count < 1 ? 1 : count;
}

void wr_chain_make(const warmring_ring_t *ring, uint32_t index, wr_raw_point_t *points) {
    const wr_member_t *member = &ring->members.list[index];
    char identity[WR_IDENTITY_SIZE];
    uint32_t base = wr_crc32(0, identity, ring->dialect->identity(member, identity));
    uint32_t hash = 0;
    for (uint64_t i = 0; i < member->points; i++) {
        const unsigned char link[4] = {(unsigned char)hash, (unsigned char)(hash >> 8),
                                       (unsigned char)(hash >> 16), (unsigned char)(hash >> 24)};
        hash = wr_crc32(base, link, sizeof link);
        points[i] = wr_raw_point(hash, index);
    }
}
