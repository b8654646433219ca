/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging the points of two rings.
 *
 * The space of 2^32 hashes is cut at every point of either ring. Within a
 * piece each ring has one owner, the server of its next point; behind a
 * ring's last point that is its first. Pieces are multiples of 2^-32, so any
 * sum of them is exact in a double.
 */
#include "plan/arcs.h"

static const double hash_space = 4294967296.0;

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

bool wr_plan_independent(const warmring_ring_t *from, const warmring_ring_t *to) {
    return !wr_ring_hashes_alike(from, to);
}

void wr_plan_flow(const warmring_ring_t *from, const warmring_ring_t *to, wr_flow_t flow,
                  void *context) {
    if (wr_plan_independent(from, to)) {
        flow_by_shares(from, to, flow, context);
    } else {
        flow_by_arcs(from, to, flow, context);
    }
}
