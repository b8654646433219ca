/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a ring: check the servers, count their points, make and sort them,
 * settle ties, store what is left, and add up the shares.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "ring/check.h"
#include "ring/ring.h"
#include "ring/sort.h"

static void make_points(const warmring_ring_t *ring, wr_raw_point_t *raw) {
    for (uint32_t i = 0; i < ring->members.count; i++) {
        const wr_member_t *member = &ring->members.list[i];
        ring->dialect->make(ring->dialect, member, i, member->points, raw);
        raw += member->points;
    }
}

static bool takes(const warmring_ring_t *ring, wr_raw_point_t challenger, wr_raw_point_t holder) {
    uint32_t from = wr_raw_member(challenger), to = wr_raw_member(holder);
    return from != to &&
           ring->dialect->wins(ring->dialect, &ring->members, from, to, wr_raw_hash(holder));
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

static warmring_status_t place_points(warmring_ring_t *ring, uint64_t count) {
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

static warmring_status_t fill_ring(warmring_ring_t *ring, const warmring_server_t *servers,
                                   size_t count, const wr_build_t *build) {
    ring->dialect = build->dialect;
    if (!wr_members_copy(&ring->members, servers, count)) {
        return wr_fail_memory();
    }
    uint64_t points = 0;
    warmring_status_t status = wr_check_distinct(&ring->members, build);
    if (status == WARMRING_OK) {
        status = wr_check_points(&ring->members, build, &points);
    }
    return status == WARMRING_OK ? place_points(ring, points) : status;
}

static warmring_status_t build_ring(const warmring_server_t *servers, size_t count,
                                    const wr_build_t *build, warmring_ring_t **ring) {
    warmring_ring_t *built = wr_calloc(1, sizeof *built);
    if (built == NULL) {
        return wr_fail_memory();
    }
    warmring_status_t status = fill_ring(built, servers, count, build);
    if (status != WARMRING_OK) {
        warmring_ring_free(built);
        return status;
    }
    *ring = built;
    return WARMRING_OK;
}

warmring_status_t warmring_ring_create(const warmring_server_t *servers, size_t count,
                                       const warmring_ring_options_t *options,
                                       warmring_ring_t **ring) {
    if (ring == NULL) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "ring is NULL");
    }
    *ring = NULL;
    wr_build_t build;
    warmring_status_t status = wr_check_options(options, &build);
    if (status == WARMRING_OK) {
        status = wr_check_servers(servers, count, &build);
    }
    return status == WARMRING_OK ? build_ring(servers, count, &build, ring) : status;
}
