/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings so dense that most points are shared: dialects of this test alone,
 * whose hashes have 12 bits, at the top of the 32 or at the bottom. Owners
 * come from a scan over all points that were asked for.
 */
#include <string.h>

#include "../lib/tap.h"
#include "ring/hashes.h"
#include "ring/ring.h"
#include "sample.h"

enum { ROUNDS = 60 };

static void keep_bits(const warmring_ring_t *ring, uint32_t index, wr_raw_point_t *points,
                      uint32_t mask) {
    wr_chain_make(ring, index, points);
    for (uint64_t i = 0; i < ring->members.list[index].points; i++) {
        points[i] = wr_raw_point(wr_raw_hash(points[i]) & mask, index);
    }
}

static void make_high(const warmring_ring_t *ring, uint32_t index, wr_raw_point_t *points) {
    keep_bits(ring, index, points, 0xfff00000u);
}

static void make_low(const warmring_ring_t *ring, uint32_t index, wr_raw_point_t *points) {
    keep_bits(ring, index, points, 0x00000fffu);
}

#define DENSE(dense_name, dense_make)                                                \
    {                                                                                \
        .name = dense_name, .prefix_hashed = true, .hash_key = wr_hash_crc32a,       \
        .identity = wr_chain_identity, .count = wr_chain_count, .make = dense_make,  \
        .wins = wr_tie_fair, .fill = wr_continuum_fill, .owner = wr_continuum_owner, \
        .owners = wr_continuum_owners, .walk = wr_continuum_walk                     \
    }

static const wr_dialect_t dense[] = {DENSE("high", make_high), DENSE("low", make_low)};

/* ---- the reference: the least distance, and of equal ones the winner ---- */

typedef struct {
    wr_raw_point_t points[40000];
    size_t count;
} scan_t;

static void scan_fill(scan_t *scan, const warmring_ring_t *ring) {
    scan->count = 0;
    for (uint32_t i = 0; i < ring->members.count; i++) {
        ring->dialect->make(ring, i, scan->points + scan->count);
        scan->count += (size_t)ring->members.list[i].points;
    }
}

static uint32_t scan_owner(const scan_t *scan, const warmring_ring_t *ring, uint32_t hash) {
    wr_raw_point_t best = scan->points[0];
    for (size_t i = 1; i < scan->count; i++) {
        wr_raw_point_t point = scan->points[i];
        uint32_t distance = wr_raw_hash(point) - hash, least = wr_raw_hash(best) - hash;
        bool tie = distance == least && wr_raw_member(point) != wr_raw_member(best) &&
                   wr_tie_fair(ring, wr_raw_member(point), wr_raw_member(best), wr_raw_hash(point));
        best = distance < least || tie ? point : best;
    }
    return wr_raw_member(best);
}

/* ---- the checks ---- */

static warmring_ring_t *random_ring(const wr_dialect_t *dialect, uint64_t *state) {
    static const double weights[] = {0, 1, 1, 2, 7};
    sample_t sample;
    warmring_ring_t *ring;
    sample_fill(&sample, 1 + sample_random(state, 12), 1);
    for (size_t i = 0; i < sample.count; i++) {
        sample.servers[i].weight = weights[sample_random(state, 5)];
    }
    sample.servers[sample_random(state, (uint32_t)sample.count)].weight = 3;
    warmring_ring_options_t options = {.size = sizeof options,
                                       .points_per_weight = 1 + sample_random(state, 400)};
    if (wr_ring_build(sample.servers, sample.count, &options, dialect, &ring) != WARMRING_OK) {
        tap_bail("no ring: %s", warmring_error_detail());
    }
    return ring;
}

static unsigned wrong_owners(const warmring_ring_t *ring, const scan_t *scan, uint64_t *state) {
    unsigned wrong = wr_ring_owner(ring, 0) != scan_owner(scan, ring, 0);
    wrong += wr_ring_owner(ring, UINT32_MAX) != scan_owner(scan, ring, UINT32_MAX);
    for (int i = 0; i < 40; i++) {
        uint32_t near = sample_random(state, (uint32_t)scan->count);
        uint32_t hash = wr_raw_hash(scan->points[near]) + sample_random(state, 3) - 1;
        wrong += wr_ring_owner(ring, hash) != scan_owner(scan, ring, hash);
        hash = sample_random(state, UINT32_MAX);
        wrong += wr_ring_owner(ring, hash) != scan_owner(scan, ring, hash);
    }
    return wrong;
}

/* No hash twice, each point the winner's, and arcs that make up the shares. */
static unsigned wrong_points(const warmring_ring_t *ring, const scan_t *scan) {
    uint64_t arcs[SAMPLE_MAX] = {0}, start = 0;
    unsigned wrong = 0;
    wr_point_t point = wr_points_first(&ring->points);
    for (uint64_t i = 0; i < warmring_ring_points(ring); i++) {
        wrong += point.hash < start;
        wrong += i % 16 == 0 && point.member != scan_owner(scan, ring, point.hash);
        arcs[point.member] += point.hash + 1 - start;
        start = (uint64_t)point.hash + 1;
        point = wr_points_next(&ring->points, point);
    }
    arcs[point.member] += ((uint64_t)1 << 32) - start;
    for (uint32_t i = 0; i < ring->members.count; i++) {
        wrong += warmring_ring_share(ring, i) * 4294967296.0 < (double)arcs[i] ||
                 warmring_ring_share(ring, i) * 4294967296.0 > (double)arcs[i];
    }
    return wrong;
}

static void test_dense(const wr_dialect_t *dialect) {
    static scan_t scan;
    uint64_t state = 7, asked = 0, kept = 0;
    unsigned wrong = 0, strange = 0;
    for (int i = 0; i < ROUNDS; i++) {
        warmring_ring_t *ring = random_ring(dialect, &state);
        scan_fill(&scan, ring);
        asked += scan.count;
        kept += warmring_ring_points(ring);
        wrong += wrong_owners(ring, &scan, &state);
        strange += wrong_points(ring, &scan);
        warmring_ring_free(ring);
    }
    tap_ok(4 * kept < 3 * asked, "%s: %llu points of %llu are left", dialect->name,
           (unsigned long long)kept, (unsigned long long)asked);
    tap_int(wrong, 0, "%s: owners of %d rings as by a scan", dialect->name, ROUNDS);
    tap_int(strange, 0, "%s: their points in order, and the winners'", dialect->name);
    tap_ok(wr_dialect_find(dialect->name) == NULL, "%s is no dialect elsewhere", dialect->name);
}

int main(void) {
    test_dense(&dense[0]);
    test_dense(&dense[1]);
    return tap_done();
}
