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
 * its block, a group of 2^block_bits buckets with a 32-bit base. A block has
 * one more for its end, so that two neighbours tell a bucket's length:
 *
 *     offset = offsets[bucket + block],  block = bucket >> block_bits
 *     start(bucket) = bases[block] + offset
 *
 * Blocks are 128 buckets, or fewer when 255 points would not reach. A block of
 * one bucket always works, so any set of hashes can be stored, however
 * lopsided; it only takes more room. Behind the last point the first is stored
 * once more, since it owns what comes after the last.
 *
 * How many buckets? Measured, time and bytes together (bench/ring.c):
 *   - Up to four points a bucket are found by looking at four fields without a
 *     branch, which no search beats. A branch for each field, often guessed
 *     wrong, costs half as much again. So a bucket holds half a point to one,
 *     and rarely more than four.
 *   - Fields of whole bytes are read in 1 ns less, but take 0.5 to 0.8 bytes a
 *     point more, and then too many buckets to hold few points would take too
 *     much. Two fields out of each 8 bytes read win that nanosecond back.
 *   - Past 2^20 buckets the offsets leave the second-level cache, and a bucket
 *     holds one or two points: half the offsets, and still no branch to guess,
 *     so that the processor can go on with the next key while it waits.
 *   - A lookup waits for memory twice then, for the offset and for the point.
 *     But the bases stay nearer, and tell the point's place to within a few:
 *     asked for at once, both waits are one. That takes a quarter off the time
 *     from 400,000 points to 20 million.
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
    NEAR = 16,          /* bytes that a guessed place is off, most often */
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
    return (uint32_t)wr_bits_at(points->packed, position * points->width) & points->member_mask;
}

/* Where a bucket starts and how many points it has; of a block of one bucket
 * see end_of(), for it may have more than an offset can tell. */
typedef struct {
    uint64_t start;
    uint64_t length;
} bucket_t;

static INLINE bucket_t bucket_at(const wr_points_t *points, uint32_t bucket) {
    uint64_t block = bucket >> points->block_bits;
    const uint8_t *offset = points->offsets + (size_t)(bucket + block);
    return (bucket_t){(uint64_t)points->bases[block] + offset[0], (uint64_t)offset[1] - offset[0]};
}

static uint64_t end_of(const wr_points_t *points, uint32_t bucket) {
    if (points->block_bits == 0) {
        return points->bases[(uint64_t)bucket + 1];
    }
    bucket_t at = bucket_at(points, bucket);
    return at.start + at.length;
}

static INLINE uint32_t bucket_of(const wr_points_t *points, uint32_t hash) {
    return hash >> points->rest_bits;
}

/* ---- searching a bucket ---- */

/* What is asked for: the first of `length` fields from `start` on that is at
 * or above `top`, else the place behind them. Fields are compared at the top
 * of a word: what stands above one is shifted out, and what stands below it
 * makes no difference. */
typedef struct {
    uint64_t start;
    uint64_t length;
    uint64_t top;
} wanted_t;

static INLINE wanted_t want(const wr_points_t *points, uint32_t hash) {
    bucket_t bucket = bucket_at(points, bucket_of(points, hash));
    return (wanted_t){bucket.start, bucket.length, (uint64_t)hash << points->lift};
}

static INLINE uint64_t top_at(const wr_points_t *points, uint64_t position) {
    return wr_bits_at(points->packed, position * points->width) << points->rise;
}

/* The first of up to WINDOW fields: a bit is set for each that will do, and
 * one behind the bucket's last; fields of the next bucket stand above it. */
static INLINE uint64_t search_pairs(const wr_points_t *points, wanted_t wanted) {
    uint64_t bit = wanted.start * points->width;
    uint64_t found = (uint64_t)1 << wanted.length;
    for (unsigned i = 0; i < WINDOW; i += 2, bit += 2 * (uint64_t)points->width) {
        uint64_t pair = wr_bits_word(points->packed, bit);
        unsigned rise = points->rise - (unsigned)(bit & 7);
        found |= (uint64_t)(pair << rise >= wanted.top) << i;
        found |= (uint64_t)(pair << (rise - points->width) >= wanted.top) << (i + 1);
    }
    return wanted.start + (uint64_t)__builtin_ctzll(found);
}

/* The same of wider fields. */
static INLINE uint64_t search_window(const wr_points_t *points, wanted_t wanted) {
    unsigned found = 1u << wanted.length;
    for (unsigned i = 0; i < WINDOW; i++) {
        found |= (unsigned)(top_at(points, wanted.start + i) >= wanted.top) << i;
    }
    return wanted.start + (unsigned)__builtin_ctz(found);
}

static uint64_t search_halves(const wr_points_t *points, uint64_t low, uint64_t high,
                              uint64_t top) {
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (top_at(points, middle) < top) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The place that a uniform bucket would have the field at. */
static INLINE uint64_t guess(wanted_t wanted) {
    return wanted.start + (wanted.length * (wanted.top >> HASH_BITS) >> HASH_BITS);
}

/* In a bucket of any size: from the guess to the true place. */
static OUTLINE uint64_t search_crowd(const wr_points_t *points, uint32_t hash) {
    wanted_t wanted = want(points, hash);
    uint64_t end = end_of(points, bucket_of(points, hash));
    if (end - wanted.start > CROWD) {
        return search_halves(points, wanted.start, end, wanted.top);
    }
    uint64_t position = guess(wanted);
    while (position < end && top_at(points, position) < wanted.top) {
        position++;
    }
    while (position > wanted.start && top_at(points, position - 1) >= wanted.top) {
        position--;
    }
    return position;
}

/* The position may be the one behind the last point. */
static INLINE uint64_t search(const wr_points_t *points, uint32_t hash, wanted_t wanted) {
    if (wanted.length > WINDOW) {
        return search_crowd(points, hash);
    }
    return points->width <= PAIR_BITS ? search_pairs(points, wanted)
                                      : search_window(points, wanted);
}

/* Asks for the memory of the point that a uniform block would have there,
 * before the offset of its bucket has come. */
static INLINE void ask_ahead(const wr_points_t *points, uint32_t hash) {
    unsigned bits = (unsigned)points->rest_bits + points->block_bits;
    uint64_t block = (uint64_t)hash >> bits, rest = hash & wr_bits_mask(bits);
    uint64_t start = points->bases[block], length = points->bases[block + 1] - start;
    uint64_t position = start + (length * rest >> bits);
    const uint8_t *place = points->packed + (size_t)(position * points->width >> 3);
    __builtin_prefetch(place - NEAR);
    __builtin_prefetch(place + NEAR);
}

uint32_t wr_points_owner(const wr_points_t *points, uint32_t hash) {
    if (points->size > IN_CACHE) {
        ask_ahead(points, hash);
    }
    return member_at(points, search(points, hash, want(points, hash)));
}

/* ---- many searches ---- */

static void owners_in_stages(const wr_points_t *points, const uint32_t *hashes, size_t count,
                             uint32_t *owners) {
    wanted_t wanted[LANES];
    for (size_t i = 0; i < count; i++) {
        uint32_t bucket = bucket_of(points, hashes[i]), block = bucket >> points->block_bits;
        __builtin_prefetch(points->offsets + (size_t)bucket + block);
        __builtin_prefetch(&points->bases[block]);
    }
    for (size_t i = 0; i < count; i++) {
        wanted[i] = want(points, hashes[i]);
        __builtin_prefetch(points->packed + (size_t)(guess(wanted[i]) * points->width >> 3));
    }
    for (size_t i = 0; i < count; i++) {
        owners[i] = member_at(points, search(points, hashes[i], wanted[i]));
    }
}

void wr_points_owners(const wr_points_t *points, const uint32_t *hashes, size_t count,
                      uint32_t *owners) {
    if (points->size <= IN_CACHE) {
        for (size_t i = 0; i < count; i++) {
            owners[i] = member_at(points, search(points, hashes[i], want(points, hashes[i])));
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
    while (end_of(points, bucket) <= position) {
        bucket++;
    }
    uint64_t field = field_at(points, position);
    uint32_t rest = (uint32_t)(field >> points->member_bits);
    return (wr_point_t){.position = position,
                        .bucket = bucket,
                        .hash = bucket << points->rest_bits | rest,
                        .member = (uint32_t)field & points->member_mask};
}

wr_point_t wr_points_first(const wr_points_t *points) {
    return point_from(points, 0, 0);
}

wr_point_t wr_points_next(const wr_points_t *points, wr_point_t point) {
    uint64_t next = point.position + 1;
    return next < points->count ? point_from(points, next, point.bucket) : wr_points_first(points);
}

wr_point_t wr_points_seek(const wr_points_t *points, uint32_t hash) {
    uint64_t position = search(points, hash, want(points, hash));
    return position < points->count ? point_from(points, position, bucket_of(points, hash))
                                    : wr_points_first(points);
}

void wr_points_free(wr_points_t *points) {
    wr_free((void *)(uintptr_t)points->bases);
    *points = (wr_points_t){0};
}
