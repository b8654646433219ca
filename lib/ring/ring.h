/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What plan/ and topology/ see of a ring beyond warmring/ring.h.
 */
#ifndef WR_RING_RING_H
#define WR_RING_RING_H

#include "ring/dialect.h"
#include "ring/points.h"

struct warmring_ring {
    const wr_dialect_t *dialect;
    wr_members_t members;
    uint32_t owners; /* members that own a part of the hash space */
    wr_points_t points;
};

/*
 * The position of a key. The first `prefix_length` of its bytes are the
 * client's prefix, which some dialects do not hash; v2 and nginx hash the key
 * as it is sent.
 */
uint32_t wr_ring_hash_key(const warmring_ring_t *ring, const char *bytes, size_t length,
                          size_t prefix_length);

/* The server that owns a position. */
uint32_t wr_ring_owner(const warmring_ring_t *ring, uint32_t hash);

/* Server `index` as it was given; its texts live as long as the ring. See
 * wr_member_port() for its port. */
const wr_member_t *wr_ring_member(const warmring_ring_t *ring, uint32_t index);

/* Whether every key has the same position on both. */
bool wr_ring_hashes_alike(const warmring_ring_t *a, const warmring_ring_t *b);

#endif
