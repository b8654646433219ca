/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Six bytes a point: an array of hashes to search, and one of 16-bit member
 * numbers beside it, so that neither needs padding.
 *
 * The search halves the array without branches that depend on data. Many
 * searches run in step: at each halving their loads are independent, so the
 * waits for memory overlap.
 */
#include "ring/points.h"

#include "base/memory.h"

enum { LANES = 16 };

bool wr_points_create(wr_points_t *points, const wr_raw_point_t *raw, uint64_t count) {
    *points = (wr_points_t){.count = count};
    points->hashes = wr_calloc((size_t)count, sizeof *points->hashes);
    points->members = wr_calloc((size_t)count, sizeof *points->members);
    if (points->hashes == NULL || points->members == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        points->hashes[i] = wr_raw_hash(raw[i]);
        points->members[i] = (uint16_t)wr_raw_member(raw[i]);
    }
    return true;
}

void wr_points_free(wr_points_t *points) {
    wr_free(points->hashes);
    wr_free(points->members);
    *points = (wr_points_t){0};
}

size_t wr_points_bytes(const wr_points_t *points) {
    return (size_t)points->count * (sizeof *points->hashes + sizeof *points->members);
}

static wr_point_t point_at(const wr_points_t *points, uint64_t position) {
    return (wr_point_t){position, points->hashes[position], points->members[position]};
}

wr_point_t wr_points_first(const wr_points_t *points) {
    return point_at(points, 0);
}

wr_point_t wr_points_next(const wr_points_t *points, wr_point_t point) {
    uint64_t next = point.position + 1;
    return point_at(points, next < points->count ? next : 0);
}

/* From the last place whose hash may be below to the first at or above. */
static uint64_t settle(const wr_points_t *points, uint64_t position, uint32_t hash) {
    position += points->hashes[position] < hash;
    return position < points->count ? position : 0;
}

static uint64_t position_of(const wr_points_t *points, uint32_t hash) {
    uint64_t position = 0;
    for (uint64_t left = points->count; left > 1; left -= left / 2) {
        uint64_t half = left / 2;
        position += points->hashes[position + half - 1] < hash ? half : 0;
    }
    return settle(points, position, hash);
}

wr_point_t wr_points_seek(const wr_points_t *points, uint32_t hash) {
    return point_at(points, position_of(points, hash));
}

uint32_t wr_points_owner(const wr_points_t *points, uint32_t hash) {
    return points->members[position_of(points, hash)];
}

static void owners_in_step(const wr_points_t *points, const uint32_t hashes[LANES],
                           uint32_t owners[LANES]) {
    uint64_t position[LANES] = {0};
    for (uint64_t left = points->count; left > 1; left -= left / 2) {
        uint64_t half = left / 2;
        for (int i = 0; i < LANES; i++) {
            position[i] += points->hashes[position[i] + half - 1] < hashes[i] ? half : 0;
        }
    }
    for (int i = 0; i < LANES; i++) {
        owners[i] = points->members[settle(points, position[i], hashes[i])];
    }
}

void wr_points_owners(const wr_points_t *points, const uint32_t *hashes, size_t count,
                      uint32_t *owners) {
    size_t i = 0;
    for (; count - i >= LANES; i += LANES) {
        owners_in_step(points, hashes + i, owners + i);
    }
    for (; i < count; i++) {
        owners[i] = wr_points_owner(points, hashes[i]);
    }
}
