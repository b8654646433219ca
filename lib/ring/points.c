/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The points of a ring, in about three bytes each.
 *
 * Hashes are uniform, so the upper bits of a sorted hash are nearly known from
 * its place and need not be stored with it. The space of hashes is cut into
 * 2^bucket_bits equal buckets. Of each point only the rest of its hash is
 * kept, and the number of its member in as few bits as the members need:
 *
 *     hash   = | bucket_bits: which bucket | rest_bits |
 *     packed = ... | rest : member | rest : member | ...     width bits each
 *
 * Within a bucket these fields are sorted as numbers, so the first point at or
 * after a hash is the first field at or above (rest of the hash : 0), or the
 * first point of the next bucket when there is none: no comparison is needed
 * to move on.
 *
 * Where buckets start is told in one byte for each, counted from the start of
 * its block, a group of 2^block_bits buckets with a 32-bit base:
 *
 *     start(bucket) = bases[bucket >> block_bits] + offsets[bucket]
 *
 * Blocks are 64 buckets, or fewer when 255 points would not reach. A block of
 * one bucket always works, so any set of hashes can be stored, however
 * lopsided; it only takes more room.
 *
 * How many buckets? Measured, time and bytes together (bench/ring.c):
 *   - One or two points a bucket are found by looking at four fields without
 *     a branch, which no search beats. A branch for each field, often guessed
 *     wrong, costs half as much again.
 *   - Fields of whole bytes are read in 1 ns less, but take 0.5 to 0.8 bytes a
 *     point more, and then too many buckets to hold few points would take too
 *     much. Two fields out of each 8 bytes read win that nanosecond back.
 *   - Past 2^20 buckets the offsets leave the second-level cache, and a lookup
 *     waits for memory twice. From there on a bucket holds about ten points,
 *     and one is found by guessing its place from the rest of the hash. (With
 *     20 million points 1, 2, 5, 10 or 20 points a bucket are equally fast
 *     within the noise, and 5 or 10 take the fewest bytes.)
 *   - With more than four bytes a point, fewer buckets save some: a ring of
 *     few points and many members gets fewer.
 *
 * The searches of wr_points_owners() run in stages, each of which asks for the
 * memory that the next one needs, so that the waits of many keys overlap.
 */
#include "ring/points.h"

#include "base/memory.h"
#include "ring/bits.h"

/* The common path is one piece of code; what it rarely needs stays outside. */
#define INLINE inline __attribute__((always_inline))
#define OUTLINE __attribute__((noinline))

enum {
    HASH_BITS = 32,
    MEMBER_BITS_MAX = 16,
    WINDOW = 4,         /* fields looked at without a branch */
    PAIR_BITS = 28,     /* two fields up to this width fit in one read */
    CROWD = 128,        /* points in a bucket that are searched by halving */
    LANES = 32,         /* keys under way in a stage */
    IN_CACHE = 1 << 18, /* bytes that need no asking ahead */
};

_Static_assert(HASH_BITS - 1 + MEMBER_BITS_MAX <= WR_BITS_MAX, "a field fits in one read");
_Static_assert(2 * PAIR_BITS <= WR_BITS_MAX, "two fields fit in one read");
_Static_assert(sizeof(uint8_t) == 1 && sizeof(uint32_t) == 4, "offsets and bases are packed");
_Static_assert(WARMRING_MAX_SERVERS == 1u << MEMBER_BITS_MAX, "a member's number fits");

/* ---- accessors ---- */

static INLINE uint64_t field_at(const wr_points_t *points, uint64_t position) {
    return wr_bits_at(points->packed, position * points->width) & wr_bits_mask(points->width);
}

static INLINE uint32_t member_at(const wr_points_t *points, uint64_t position) {
    return (uint32_t)(wr_bits_at(points->packed, position * points->width) &
                      wr_bits_mask(points->member_bits));
}

static INLINE uint64_t start_of(const wr_points_t *points, uint64_t bucket) {
    return (uint64_t)points->bases[bucket >> points->block_bits] + points->offsets[bucket];
}

static INLINE uint32_t bucket_of(const wr_points_t *points, uint32_t hash) {
    return hash >> points->rest_bits;
}

static INLINE uint32_t rest_of(const wr_points_t *points, uint32_t hash) {
    return hash & (uint32_t)wr_bits_mask(points->rest_bits);
}

/* ---- searching a bucket ---- */

/* What is asked for: the first of `length` fields from `start` on that is at
 * or above `field`, else the place behind them. */
typedef struct {
    uint64_t start;
    uint64_t length;
    uint64_t field;
} wanted_t;

static INLINE wanted_t want(const wr_points_t *points, uint32_t hash) {
    uint64_t bucket = bucket_of(points, hash);
    uint64_t start = start_of(points, bucket);
    return (wanted_t){start, start_of(points, bucket + 1) - start,
                      (uint64_t)rest_of(points, hash) << points->member_bits};
}

/* Up to WINDOW fields. A bit is set for each field that will do, and one
 * behind the bucket's last; fields of the next bucket stand above it. */
static INLINE uint64_t search_window(const wr_points_t *points, wanted_t wanted) {
    uint64_t mask = wr_bits_mask(points->width), bit = wanted.start * points->width;
    unsigned found = 1u << wanted.length;
    for (unsigned i = 0; i < WINDOW; i++, bit += points->width) {
        uint64_t field = wr_bits_at(points->packed, bit) & mask;
        found |= (unsigned)(field >= wanted.field) << i;
    }
    return wanted.start + (unsigned)__builtin_ctz(found);
}

static INLINE uint64_t search_pairs(const wr_points_t *points, wanted_t wanted) {
    uint64_t mask = wr_bits_mask(points->width), bit = wanted.start * points->width;
    unsigned found = 1u << wanted.length;
    for (unsigned i = 0; i < WINDOW; i += 2, bit += 2u * points->width) {
        uint64_t pair = wr_bits_at(points->packed, bit);
        found |= (unsigned)((pair & mask) >= wanted.field) << i;
        found |= (unsigned)((pair >> points->width & mask) >= wanted.field) << (i + 1);
    }
    return wanted.start + (unsigned)__builtin_ctz(found);
}

/* The place that a uniform bucket would have the field at. */
static INLINE uint64_t guess(const wr_points_t *points, wanted_t wanted) {
    uint64_t rest = wanted.field >> points->member_bits;
    return wanted.start + (wanted.length * rest >> points->rest_bits);
}

static uint64_t search_halves(const wr_points_t *points, uint64_t low, uint64_t high,
                              uint64_t field) {
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (field_at(points, middle) < field) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* From the guess to the true place. Its arguments are numbers, for they then
 * travel in registers. */
static OUTLINE uint64_t search_near(const wr_points_t *points, uint64_t start, uint64_t position,
                                    uint64_t end, uint64_t field) {
    if (end - start > CROWD) {
        return search_halves(points, start, end, field);
    }
    while (position < end && field_at(points, position) < field) {
        position++;
    }
    while (position > start && field_at(points, position - 1) >= field) {
        position--;
    }
    return position;
}

static INLINE uint64_t search(const wr_points_t *points, wanted_t wanted) {
    if (wanted.length <= WINDOW) {
        return points->width <= PAIR_BITS ? search_pairs(points, wanted)
                                          : search_window(points, wanted);
    }
    return search_near(points, wanted.start, guess(points, wanted), wanted.start + wanted.length,
                       wanted.field);
}

/* Behind the last point comes the first. */
static INLINE uint64_t wrap(const wr_points_t *points, uint64_t position) {
    return position < points->count ? position : 0;
}

uint32_t wr_points_owner(const wr_points_t *points, uint32_t hash) {
    return member_at(points, wrap(points, search(points, want(points, hash))));
}

/* ---- many searches ---- */

static void owners_in_stages(const wr_points_t *points, const uint32_t *hashes, size_t count,
                             uint32_t *owners) {
    wanted_t wanted[LANES];
    for (size_t i = 0; i < count; i++) {
        uint32_t bucket = bucket_of(points, hashes[i]);
        __builtin_prefetch(&points->offsets[bucket]);
        __builtin_prefetch(&points->bases[bucket >> points->block_bits]);
    }
    for (size_t i = 0; i < count; i++) {
        wanted[i] = want(points, hashes[i]);
        __builtin_prefetch(points->packed +
                           (size_t)(guess(points, wanted[i]) * points->width >> 3));
    }
    for (size_t i = 0; i < count; i++) {
        owners[i] = member_at(points, wrap(points, search(points, wanted[i])));
    }
}

void wr_points_owners(const wr_points_t *points, const uint32_t *hashes, size_t count,
                      uint32_t *owners) {
    if (points->size <= IN_CACHE) {
        for (size_t i = 0; i < count; i++) {
            owners[i] = member_at(points, wrap(points, search(points, want(points, hashes[i]))));
        }
        return;
    }
    for (size_t done = 0; done < count; done += LANES) {
        size_t batch = count - done < LANES ? count - done : LANES;
        owners_in_stages(points, hashes + done, batch, owners + done);
    }
}

/* ---- walking ---- */

/* The point at `position`, which stands in `bucket` or a later one. */
static wr_point_t point_from(const wr_points_t *points, uint64_t position, uint32_t bucket) {
    while (start_of(points, (uint64_t)bucket + 1) <= position) {
        bucket++;
    }
    uint64_t field = field_at(points, position);
    uint32_t rest = (uint32_t)(field >> points->member_bits);
    return (wr_point_t){.position = position,
                        .bucket = bucket,
                        .hash = bucket << points->rest_bits | rest,
                        .member = (uint32_t)(field & wr_bits_mask(points->member_bits))};
}

wr_point_t wr_points_first(const wr_points_t *points) {
    return point_from(points, 0, 0);
}

wr_point_t wr_points_next(const wr_points_t *points, wr_point_t point) {
    uint64_t next = point.position + 1;
    return next < points->count ? point_from(points, next, point.bucket) : wr_points_first(points);
}

wr_point_t wr_points_seek(const wr_points_t *points, uint32_t hash) {
    uint64_t position = search(points, want(points, hash));
    return position < points->count ? point_from(points, position, bucket_of(points, hash))
                                    : wr_points_first(points);
}

void wr_points_free(wr_points_t *points) {
    wr_free((void *)(uintptr_t)points->bases);
    *points = (wr_points_t){0};
}
