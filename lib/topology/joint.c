/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging two rings.
 *
 * The space of hashes is cut at every point of either ring. A piece belongs to
 * a pair of servers, its owner on each ring. So the pieces are a ring as well,
 * whose members are the pairs that occur, and are stored as one: a point at
 * the end of each piece. Neighbours of one pair make one piece, and two rings
 * that differ by a few weights have most points in common, so there are about
 * as many points as on the larger ring.
 */
#include "topology/joint.h"

#include <stdatomic.h>

#include "base/fail.h"
#include "base/memory.h"

enum {
    MOST_POINTS = 1 << 21, /* of both: more are not worth their memory */
    MOST_PAIRS = WARMRING_MAX_SERVERS,
    NO_PAIR = -1,
};

typedef struct {
    uint32_t owner[2];
} pair_t;

struct wr_joint {
    _Atomic size_t references;
    wr_points_t points;
    pair_t *pairs;
};

/* ---- pairs ---- */

/* The numbers of pairs, in a hash table with open addressing that is at most
 * half full; a slot has the number plus 1. */
typedef struct {
    pair_t *list;
    uint32_t count, capacity;
    uint32_t *slots;
    size_t mask;
} pairs_t;

static bool pairs_create(pairs_t *pairs, uint64_t most) {
    size_t slots = 2;
    *pairs = (pairs_t){.capacity = most < MOST_PAIRS ? (uint32_t)most : MOST_PAIRS};
    while (slots < 2 * (size_t)pairs->capacity) {
        slots *= 2;
    }
    pairs->mask = slots - 1;
    pairs->list = wr_calloc(pairs->capacity, sizeof *pairs->list);
    pairs->slots = wr_calloc(slots, sizeof *pairs->slots);
    return pairs->list != NULL && pairs->slots != NULL;
}

/* The number of a pair, new or not; NO_PAIR: there is no room for it. */
static int64_t pairs_add(pairs_t *pairs, uint32_t before, uint32_t after) {
    uint64_t key = ((uint64_t)before << 32 | after) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(key >> 32) & pairs->mask;
    for (; pairs->slots[at] != 0; at = (at + 1) & pairs->mask) {
        uint32_t number = pairs->slots[at] - 1;
        if (pairs->list[number].owner[0] == before && pairs->list[number].owner[1] == after) {
            return number;
        }
    }
    if (pairs->count == pairs->capacity) {
        return NO_PAIR;
    }
    pairs->list[pairs->count] = (pair_t){{before, after}};
    pairs->slots[at] = ++pairs->count;
    return pairs->count - 1;
}

/* ---- pieces ---- */

typedef struct {
    const wr_points_t *points;
    wr_point_t point;
    bool wrapped; /* behind the last point, where the first owns */
} cursor_t;

static cursor_t start_of(const warmring_ring_t *ring) {
    return (cursor_t){.points = &ring->points, .point = wr_points_first(&ring->points)};
}

static uint32_t end_of(const cursor_t *cursor) {
    return cursor->wrapped ? UINT32_MAX : cursor->point.hash;
}

static void pass(cursor_t *cursor, uint32_t hash) {
    if (!cursor->wrapped && cursor->point.hash == hash) {
        cursor->point = wr_points_next(cursor->points, cursor->point);
        cursor->wrapped = cursor->point.position == 0;
    }
}

/* Writes a point for each piece, and returns how many; 0: too many pairs. What
 * is behind the last points of both rings has the owners of the first piece,
 * which come round by themselves. */
static uint64_t cut(const warmring_ring_t *before, const warmring_ring_t *after,
                    wr_raw_point_t *raw, pairs_t *pairs) {
    cursor_t a = start_of(before), b = start_of(after);
    uint64_t count = 0;
    while (!a.wrapped || !b.wrapped) {
        uint32_t end = end_of(&a) < end_of(&b) ? end_of(&a) : end_of(&b);
        int64_t pair = pairs_add(pairs, a.point.member, b.point.member);
        if (pair == NO_PAIR) {
            return 0;
        }
        count -= count > 0 && wr_raw_member(raw[count - 1]) == (uint32_t)pair;
        raw[count++] = wr_raw_point(end, (uint32_t)pair);
        pass(&a, end);
        pass(&b, end);
    }
    return count;
}

/* ---- making one ---- */

static bool is_possible(const warmring_ring_t *before, const warmring_ring_t *after) {
    uint64_t a = warmring_ring_points(before), b = warmring_ring_points(after);
    return a > 0 && b > 0 && a + b <= MOST_POINTS && wr_ring_hashes_alike(before, after);
}

/* Takes over the list of pairs, where it succeeds. */
static warmring_status_t store(wr_joint_t **joint, const wr_raw_point_t *raw, uint64_t count,
                               pairs_t *pairs) {
    wr_joint_t *made = wr_calloc(1, sizeof *made);
    if (made == NULL || !wr_points_create(&made->points, raw, count, pairs->count)) {
        wr_free(made);
        return wr_fail_memory();
    }
    atomic_init(&made->references, 1);
    made->pairs = pairs->list;
    pairs->list = NULL;
    *joint = made;
    return WARMRING_OK;
}

static warmring_status_t merge(wr_joint_t **joint, const warmring_ring_t *before,
                               const warmring_ring_t *after, wr_raw_point_t *raw, pairs_t *pairs) {
    uint64_t most =
        (uint64_t)warmring_ring_servers(before) * (uint64_t)warmring_ring_servers(after);
    if (raw == NULL || !pairs_create(pairs, most)) {
        return wr_fail_memory();
    }
    uint64_t count = cut(before, after, raw, pairs);
    return count > 0 ? store(joint, raw, count, pairs) : WARMRING_OK;
}

warmring_status_t wr_joint_create(wr_joint_t **joint, const warmring_ring_t *before,
                                  const warmring_ring_t *after) {
    *joint = NULL;
    if (!is_possible(before, after)) {
        return WARMRING_OK;
    }
    pairs_t pairs = {0};
    size_t most = (size_t)(warmring_ring_points(before) + warmring_ring_points(after));
    wr_raw_point_t *raw = wr_calloc(most, sizeof *raw);
    warmring_status_t status = merge(joint, before, after, raw, &pairs);
    wr_free(raw);
    wr_free(pairs.list);
    wr_free(pairs.slots);
    return status;
}

wr_joint_t *wr_joint_retain(wr_joint_t *joint) {
    if (joint != NULL) {
        atomic_fetch_add_explicit(&joint->references, 1, memory_order_relaxed);
    }
    return joint;
}

void wr_joint_release(wr_joint_t *joint) {
    if (joint != NULL &&
        atomic_fetch_sub_explicit(&joint->references, 1, memory_order_acq_rel) == 1) {
        wr_points_free(&joint->points);
        wr_free(joint->pairs);
        wr_free(joint);
    }
}

const uint32_t *wr_joint_owners(const wr_joint_t *joint, uint32_t hash) {
    return joint->pairs[wr_points_owner(&joint->points, hash)].owner;
}
