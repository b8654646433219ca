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
    wr_hash_t hash_key; /* the dialect's, or the one chosen */
    const char *hash;   /* the name of the one chosen, or NULL */
    char tag[3];        /* the characters around what is hashed alone, or "" */
    wr_members_t members;
    uint32_t owners;    /* members that own a part of the hash space */
    wr_points_t points; /* of dialects that have some, else */
    uint32_t *live;     /* the members in turn */
};

/* warmring_ring_create(), of a dialect that need not be in the list; NULL: the
 * one that the options name. */
warmring_status_t wr_ring_build(const warmring_server_t *servers, size_t count,
                                const warmring_ring_options_t *options, const wr_dialect_t *dialect,
                                warmring_ring_t **ring);

/*
 * The position of a key. The first `prefix_length` of its bytes are the
 * client's prefix, which some dialects do not hash; v2, nginx and twemproxy hash
 * the key as it is sent. A hash tag is looked for in what is left.
 */
uint32_t wr_ring_hash_key(const warmring_ring_t *ring, const char *bytes, size_t length,
                          size_t prefix_length);

/* The server that owns a position. */
uint32_t wr_ring_owner(const warmring_ring_t *ring, uint32_t hash);

/* The bytes that choose the server: the key, or the group. `prefix_length`
 * of them are the client's prefix, which some dialects do not hash. */
typedef struct {
    const char *bytes;
    size_t length;
    size_t prefix_length;
} wr_place_t;

/* The servers that own many places, whose searches overlap on large rings. */
void wr_ring_owners(const warmring_ring_t *ring, const wr_place_t *places, size_t count,
                    uint32_t *owners);

/* Server `index` as it was given; its texts live as long as the ring. See
 * wr_member_port() for its port. */
const wr_member_t *wr_ring_member(const warmring_ring_t *ring, uint32_t index);

/* Whether every key has the same position on both, whatever its prefix. */
bool wr_ring_hashes_alike(const warmring_ring_t *a, const warmring_ring_t *b);

#endif
