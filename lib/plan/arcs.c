/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What flows between two rings.
 *
 * The space of 2^32 hashes is cut at every point of either ring. Within a
 * piece each ring has one owner, the server of its next point; behind a
 * ring's last point that is its first. Pieces are multiples of 2^-32, so any
 * sum of them is exact in a double.
 */
#include "plan/arcs.h"

static const double hash_space = 4294967296.0;
static const uint64_t hash_count = UINT64_C(1) << 32;

typedef struct {
    const wr_points_t *points;
    wr_point_t point;
    bool wrapped; /* behind the last point */
} cursor_t;

static cursor_t start_of(const warmring_ring_t *ring) {
    return (cursor_t){.points = &ring->points, .point = wr_points_first(&ring->points)};
}

static uint32_t end_of_piece(const cursor_t *cursor) {
    return cursor->wrapped ? UINT32_MAX : cursor->point.hash;
}

static void pass(cursor_t *cursor, uint32_t hash) {
    if (!cursor->wrapped && cursor->point.hash == hash) {
        cursor->point = wr_points_next(cursor->points, cursor->point);
        cursor->wrapped = cursor->point.position == 0;
    }
}

static void flow_by_arcs(const warmring_ring_t *from, const warmring_ring_t *to, wr_flow_t flow,
                         void *context) {
    cursor_t a = start_of(from), b = start_of(to);
    uint64_t start = 0;
    while (start <= UINT32_MAX) {
        uint32_t end = end_of_piece(&a);
        end = end_of_piece(&b) < end ? end_of_piece(&b) : end;
        flow(context, a.point.member, b.point.member, (double)(end - start + 1) / hash_space);
        pass(&a, end);
        pass(&b, end);
        start = (uint64_t)end + 1;
    }
}

static void flow_by_shares(const warmring_ring_t *from, const warmring_ring_t *to, wr_flow_t flow,
                           void *context) {
    for (uint32_t i = 0; i < warmring_ring_servers(from); i++) {
        for (uint32_t j = 0; j < warmring_ring_servers(to); j++) {
            flow(context, i, j, warmring_ring_share(from, i) * warmring_ring_share(to, j));
        }
    }
}

/* The owners of a ring without points repeat after as many hashes as there are
 * owners. So those of two repeat after the least common multiple, which is at
 * most 2^32: any rest that is below what does not fill it comes once more. */
static void flow_by_rests(const warmring_ring_t *from, const warmring_ring_t *to, wr_flow_t flow,
                          void *context) {
    uint64_t period = from->owners;
    while (period % to->owners != 0) {
        period += from->owners;
    }
    uint64_t whole = hash_count / period, left = hash_count % period;
    for (uint64_t rest = 0; rest < period; rest++) {
        uint32_t hash = (uint32_t)rest;
        flow(context, wr_ring_owner(from, hash), wr_ring_owner(to, hash),
             (double)(whole + (rest < left)) / hash_space);
    }
}

static bool has_points(const warmring_ring_t *ring) {
    return warmring_ring_points(ring) > 0;
}

bool wr_plan_independent(const warmring_ring_t *from, const warmring_ring_t *to) {
    return !wr_ring_hashes_alike(from, to) || has_points(from) != has_points(to);
}

void wr_plan_flow(const warmring_ring_t *from, const warmring_ring_t *to, wr_flow_t flow,
                  void *context) {
    if (wr_plan_independent(from, to)) {
        flow_by_shares(from, to, flow, context);
    } else if (has_points(from)) {
        flow_by_arcs(from, to, flow, context);
    } else {
        flow_by_rests(from, to, flow, context);
    }
}
