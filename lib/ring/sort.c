/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An American flag sort: in place, byte by byte from the top of the hash.
 *
 * Each pass counts how many points go into each of 256 buckets, then follows
 * the cycles of the permutation: it takes a point that is out of place, puts
 * it at the next free place of its bucket, and goes on with the one that was
 * there. Every point moves once a pass, no second array is needed, and hashes
 * are uniform, so buckets are even. Small buckets are sorted by insertion.
 */
#include "ring/sort.h"

enum { BUCKETS = 256, SMALL = 48, TOP_SHIFT = 56, LAST_SHIFT = 32 };

typedef struct {
    uint64_t next[BUCKETS]; /* the next place to fill */
    uint64_t end[BUCKETS];
} buckets_t;

static unsigned byte_of(wr_raw_point_t point, unsigned shift) {
    return (unsigned)(point >> shift) & (BUCKETS - 1);
}

static void sort_small(wr_raw_point_t *points, uint64_t count) {
    for (uint64_t i = 1; i < count; i++) {
        wr_raw_point_t point = points[i];
        uint64_t j = i;
        for (; j > 0 && points[j - 1] > point; j--) {
            points[j] = points[j - 1];
        }
        points[j] = point;
    }
}

static void measure(buckets_t *buckets, const wr_raw_point_t *points, uint64_t count,
                    unsigned shift) {
    *buckets = (buckets_t){0};
    for (uint64_t i = 0; i < count; i++) {
        buckets->end[byte_of(points[i], shift)]++;
    }
    uint64_t start = 0;
    for (unsigned b = 0; b < BUCKETS; b++) {
        buckets->next[b] = start;
        start += buckets->end[b];
        buckets->end[b] = start;
    }
}

static void permute(buckets_t *buckets, wr_raw_point_t *points, unsigned shift) {
    for (unsigned b = 0; b < BUCKETS; b++) {
        while (buckets->next[b] < buckets->end[b]) {
            wr_raw_point_t point = points[buckets->next[b]];
            unsigned to = byte_of(point, shift);
            while (to != b) {
                wr_raw_point_t *place = &points[buckets->next[to]++];
                wr_raw_point_t other = *place;
                *place = point;
                point = other;
                to = byte_of(point, shift);
            }
            points[buckets->next[b]++] = point;
        }
    }
}

static void sort_from(wr_raw_point_t *points, uint64_t count, unsigned shift) {
    if (count <= SMALL) {
        sort_small(points, count);
        return;
    }
    buckets_t buckets;
    measure(&buckets, points, count, shift);
    permute(&buckets, points, shift);
    if (shift == LAST_SHIFT) {
        return;
    }
    uint64_t start = 0;
    for (unsigned b = 0; b < BUCKETS; b++) {
        sort_from(points + start, buckets.end[b] - start, shift - 8);
        start = buckets.end[b];
    }
}

void wr_sort(wr_raw_point_t *points, uint64_t count) {
    sort_from(points, count, TOP_SHIFT);
}
