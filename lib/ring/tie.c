/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who gets a point that several servers have.
 *
 * It matters more than it seems. With 2,048 servers of 100,000 points, one
 * point in twenty is shared. A rule with a favourite, such as the lowest
 * address, makes the shares vary by 1.41 % where chance alone gives 0.316 %;
 * a winner drawn anew for each point, from the identities and the hash,
 * gives 0.321 %.
 */
#include <string.h>

#include "base/hash.h"
#include "ring/address.h"
#include "ring/ring.h"

typedef struct {
    uint64_t draw;
    size_t length;
    unsigned char bytes[WR_IDENTITY_SIZE + 4];
} candidate_t;

static void identify(candidate_t *candidate, const warmring_ring_t *ring, uint32_t index) {
    candidate->length =
        ring->dialect->identity(&ring->members.list[index], (char *)candidate->bytes);
}

/* XXH64 of the identity followed by the little-endian hash. */
static void draw(candidate_t *candidate, uint32_t hash) {
    unsigned char *end = candidate->bytes + candidate->length;
    for (int i = 0; i < 4; i++) {
        end[i] = (unsigned char)(hash >> (8 * i));
    }
    candidate->draw = wr_xxh64(candidate->bytes, candidate->length + 4, 0);
}

/* Order of identities: by their bytes, then by their length. */
static int compare(const candidate_t *a, const candidate_t *b) {
    size_t common = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->bytes, b->bytes, common);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

/* The larger draw; of equal draws the larger identity. */
bool wr_tie_fair(const warmring_ring_t *ring, uint32_t challenger, uint32_t holder, uint32_t hash) {
    candidate_t a, b;
    identify(&a, ring, challenger);
    identify(&b, ring, holder);
    draw(&a, hash);
    draw(&b, hash);
    return a.draw != b.draw ? a.draw > b.draw : compare(&a, &b) > 0;
}

/* The lower identity: nginx leaves it to its sort, so any rule that does not
 * depend on the order of the list will do. */
bool wr_tie_identity(const warmring_ring_t *ring, uint32_t challenger, uint32_t holder,
                     uint32_t hash) {
    (void)hash;
    candidate_t a, b;
    identify(&a, ring, challenger);
    identify(&b, ring, holder);
    return compare(&a, &b) < 0;
}

/* The lower address: IPv4 before IPv6 before what is neither, by its number,
 * then by port. Two of the last kind are told apart by identity. */
bool wr_tie_address(const warmring_ring_t *ring, uint32_t challenger, uint32_t holder,
                    uint32_t hash) {
    int order = wr_address_compare(&ring->members.list[challenger], &ring->members.list[holder]);
    return order != 0 ? order < 0 : wr_tie_identity(ring, challenger, holder, hash);
}

/* The lower place in the list. */
bool wr_tie_index(const warmring_ring_t *ring, uint32_t challenger, uint32_t holder,
                  uint32_t hash) {
    (void)ring;
    (void)hash;
    return challenger < holder;
}
