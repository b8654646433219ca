/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring with points: make and sort them, settle ties, add up the shares, store
 * what is left; and then find the first point at or after a hash.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "ring/ring.h"
#include "ring/sort.h"

static void make_points(const warmring_ring_t *ring, wr_raw_point_t *raw) {
    for (uint32_t i = 0; i < ring->members.count; i++) {
        ring->dialect->make(ring, i, raw);
        raw += ring->members.list[i].points;
    }
}

static bool takes(const warmring_ring_t *ring, wr_raw_point_t challenger, wr_raw_point_t holder) {
    uint32_t from = wr_raw_member(challenger), to = wr_raw_member(holder);
    return from != to && ring->dialect->wins(ring, from, to, wr_raw_hash(holder));
}

/* Leaves one point of each hash; returns how many there are. */
static uint64_t settle_ties(const warmring_ring_t *ring, wr_raw_point_t *raw, uint64_t count) {
    uint64_t kept = 1;
    for (uint64_t i = 1; i < count; i++) {
        wr_raw_point_t *holder = &raw[kept - 1];
        if (wr_raw_hash(raw[i]) != wr_raw_hash(*holder)) {
            raw[kept++] = raw[i];
        } else if (takes(ring, raw[i], *holder)) {
            *holder = raw[i];
        }
    }
    return kept;
}

/* A point owns the hashes above the point before it, up to its own; the first
 * also those above the last. */
static void add_up_arcs(warmring_ring_t *ring, const wr_raw_point_t *raw, uint64_t count) {
    wr_member_t *list = ring->members.list;
    uint64_t start = 0; /* of the point's arc */
    for (uint64_t i = 0; i < count; i++) {
        uint64_t end = (uint64_t)wr_raw_hash(raw[i]) + 1;
        list[wr_raw_member(raw[i])].arc += end - start;
        start = end;
    }
    list[wr_raw_member(raw[0])].arc += ((uint64_t)1 << 32) - start;
    for (uint32_t i = 0; i < ring->members.count; i++) {
        ring->owners += list[i].arc > 0;
    }
}

static bool store(warmring_ring_t *ring, const wr_raw_point_t *raw, uint64_t count) {
    add_up_arcs(ring, raw, count);
    return wr_points_create(&ring->points, raw, count, ring->members.count);
}

warmring_status_t wr_continuum_fill(warmring_ring_t *ring, uint64_t count) {
    wr_raw_point_t *raw =
        count <= SIZE_MAX / sizeof *raw ? wr_malloc_large((size_t)count * sizeof *raw) : NULL;
    if (raw == NULL) {
        return wr_fail_memory();
    }
    make_points(ring, raw);
    wr_sort(raw, count);
    bool stored = store(ring, raw, settle_ties(ring, raw, count));
    wr_free(raw);
    return stored ? WARMRING_OK : wr_fail_memory();
}

uint32_t wr_continuum_owner(const warmring_ring_t *ring, uint32_t hash) {
    return wr_points_owner(&ring->points, hash);
}

void wr_continuum_owners(const warmring_ring_t *ring, const uint32_t *hashes, size_t count,
                         uint32_t *owners) {
    wr_points_owners(&ring->points, hashes, count, owners);
}

static bool contains(const uint32_t *list, size_t count, uint32_t value) {
    for (size_t i = 0; i < count; i++) {
        if (list[i] == value) {
            return true;
        }
    }
    return false;
}

size_t wr_continuum_walk(const warmring_ring_t *ring, uint32_t hash, uint32_t *owners,
                         size_t capacity) {
    size_t wanted = capacity < ring->owners ? capacity : ring->owners;
    wr_point_t point = wr_points_seek(&ring->points, hash);
    size_t stored = 0;
    while (stored < wanted) {
        if (!contains(owners, stored, point.member)) {
            owners[stored++] = point.member;
        }
        point = wr_points_next(&ring->points, point);
    }
    return stored;
}
