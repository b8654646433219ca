/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stored points of a ring, sorted by hash, no hash twice. How they are
 * laid out is known to points.c and pack.c alone.
 */
#ifndef WR_RING_POINTS_H
#define WR_RING_POINTS_H

#include "ring/dialect.h"

/* See the essay in points.c. All arrays stand in one block of memory. */
typedef struct {
    uint64_t count;
    const uint8_t *packed;  /* count x width bits, and the first again */
    const uint8_t *offsets; /* of buckets from their block's base, and its end */
    const uint32_t *bases;  /* the first point of each block of buckets */
    uint64_t size;          /* of the block of memory */
    uint32_t member_mask;   /* member_bits ones */
    uint8_t bucket_bits;    /* bits of a hash that choose its bucket */
    uint8_t rest_bits;      /* the others, which a point stores */
    uint8_t member_bits;    /* and the bits that tell its member */
    uint8_t width;          /* both together */
    uint8_t rise;           /* 64 - width */
    uint8_t lift;           /* 64 - rest_bits */
    uint8_t block_bits;     /* a block is 2^block_bits buckets */
} wr_points_t;

/* A point and where it stands; `position` counts from 0. */
typedef struct {
    uint64_t position;
    uint32_t bucket;
    uint32_t hash;
    uint32_t member;
} wr_point_t;

/* Stores `count` points, 1 or more, in order of hash, whose members are below
 * `members`; false: no memory. Free them in either case. */
bool wr_points_create(wr_points_t *points, const wr_raw_point_t *raw, uint64_t count,
                      uint32_t members);
void wr_points_free(wr_points_t *points);

/* The lowest point; the one after `point`, which after the last is the
 * lowest; the first at or after `hash`, wrapping likewise. */
wr_point_t wr_points_first(const wr_points_t *points);
wr_point_t wr_points_next(const wr_points_t *points, wr_point_t point);
wr_point_t wr_points_seek(const wr_points_t *points, uint32_t hash);

/* The members of the points that wr_points_seek() finds. */
uint32_t wr_points_owner(const wr_points_t *points, uint32_t hash);
void wr_points_owners(const wr_points_t *points, const uint32_t *hashes, size_t count,
                      uint32_t *owners);

#endif
