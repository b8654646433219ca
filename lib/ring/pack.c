/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing sorted points into the layout that points.c explains.
 */
#include "base/memory.h"
#include "ring/bits.h"
#include "ring/points.h"

enum {
    HASH_BITS = 32,
    CACHED_BUCKET_BITS = 20, /* offsets of more do not stay in the cache */
    BLOCK_BITS_MAX = 7,
    OFFSET_MAX = UINT8_MAX,
    SLACK_FIELDS = 4, /* written or read behind the last point */
    FEW_BYTES = 35    /* eighths of bytes a point that are few enough */
};

static unsigned bits_of(uint64_t value) {
    unsigned bits = 0;
    for (; value != 0; value >>= 1) {
        bits++;
    }
    return bits;
}

static uint64_t packed_bytes(uint64_t count, unsigned width) {
    return (count * width + 7) / 8;
}

/* Eighths of bytes that all points take, blocks being of full size. */
static uint64_t cost(uint64_t count, unsigned bucket_bits, unsigned member_bits) {
    uint64_t buckets = (uint64_t)1 << bucket_bits, block = (uint64_t)1 << BLOCK_BITS_MAX;
    return count * (HASH_BITS - bucket_bits + member_bits) + 8 * buckets + buckets * 8 * 5 / block;
}

/* See "How many buckets?". */
static unsigned choose_bucket_bits(uint64_t count, unsigned member_bits) {
    unsigned bits = bits_of(count);
    bits -= bits > CACHED_BUCKET_BITS;
    while (bits > 1 && cost(count, bits, member_bits) > FEW_BYTES * count &&
           cost(count, bits - 1, member_bits) < cost(count, bits, member_bits)) {
        bits--;
    }
    return bits;
}

/* Whether no block has more than OFFSET_MAX points. */
static bool blocks_fit(const wr_raw_point_t *raw, uint64_t count, unsigned rest_bits,
                       unsigned block_bits) {
    uint64_t block = 0;
    uint32_t points = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t own = (uint64_t)wr_raw_hash(raw[i]) >> (rest_bits + block_bits);
        points = own == block ? points + 1 : 1;
        block = own;
        if (points > OFFSET_MAX) {
            return false;
        }
    }
    return true;
}

/* The largest blocks that fit; 3/5 of OFFSET_MAX is what they would hold if
 * all were even. */
static unsigned choose_block_bits(const wr_raw_point_t *raw, uint64_t count, unsigned bucket_bits) {
    unsigned bits = bucket_bits < BLOCK_BITS_MAX ? bucket_bits : BLOCK_BITS_MAX;
    while (bits > 0 && (count << bits >> bucket_bits > 3 * OFFSET_MAX / 5 ||
                        !blocks_fit(raw, count, HASH_BITS - bucket_bits, bits))) {
        bits--;
    }
    return bits;
}

/* Each block has an offset for each of its buckets and one for its end; that
 * of a block of one bucket is cut if it is too large, see end_of(). */
static void write_starts(const wr_points_t *points, const wr_raw_point_t *raw, uint32_t *bases,
                         uint8_t *offset) {
    uint64_t buckets = (uint64_t)1 << points->bucket_bits, position = 0;
    uint64_t in_block = wr_bits_mask(points->block_bits), base = 0;
    for (uint64_t bucket = 0; bucket < buckets; bucket++) {
        if ((bucket & in_block) == 0) {
            base = position;
            bases[bucket >> points->block_bits] = (uint32_t)position;
            *offset++ = 0;
        }
        while (position < points->count &&
               wr_raw_hash(raw[position]) >> points->rest_bits <= bucket) {
            position++;
        }
        *offset++ = (uint8_t)(position - base < OFFSET_MAX ? position - base : OFFSET_MAX);
    }
    bases[buckets >> points->block_bits] = (uint32_t)position;
}

/* Behind the last point stands the first once more, since it owns what comes
 * after the last. */
static void write_fields(const wr_points_t *points, const wr_raw_point_t *raw, uint8_t *packed) {
    uint64_t rest = wr_bits_mask(points->rest_bits);
    wr_bits_writer_t writer = {.bytes = packed};
    for (uint64_t i = 0; i <= points->count; i++) {
        wr_raw_point_t point = raw[i < points->count ? i : 0];
        uint64_t field = (wr_raw_hash(point) & rest) << points->member_bits;
        wr_bits_write(&writer, field | wr_raw_member(point), points->width);
    }
}

static wr_points_t layout(const wr_raw_point_t *raw, uint64_t count, uint32_t members) {
    unsigned member_bits = bits_of(members - 1);
    unsigned bucket_bits = choose_bucket_bits(count, member_bits);
    unsigned rest_bits = HASH_BITS - bucket_bits, width = rest_bits + member_bits;
    return (wr_points_t){.count = count,
                         .member_mask = (uint32_t)wr_bits_mask(member_bits),
                         .bucket_bits = (uint8_t)bucket_bits,
                         .rest_bits = (uint8_t)rest_bits,
                         .member_bits = (uint8_t)member_bits,
                         .width = (uint8_t)width,
                         .rise = (uint8_t)(64 - width),
                         .lift = (uint8_t)(64 - rest_bits),
                         .block_bits = (uint8_t)choose_block_bits(raw, count, bucket_bits)};
}

bool wr_points_create(wr_points_t *points, const wr_raw_point_t *raw, uint64_t count,
                      uint32_t members) {
    *points = layout(raw, count, members);
    uint64_t buckets = (uint64_t)1 << points->bucket_bits, blocks = buckets >> points->block_bits;
    uint64_t bases_size = 4 * (blocks + 1), offsets_size = buckets + blocks;
    uint64_t packed_size =
        packed_bytes(count + SLACK_FIELDS, points->width) + (uint64_t)WR_BITS_SLACK;
    points->size = bases_size + offsets_size + packed_size;
    uint8_t *block = points->size <= SIZE_MAX ? wr_malloc_large((size_t)points->size) : NULL;
    if (block == NULL) {
        return false;
    }
    uint32_t *bases = (void *)block;
    uint8_t *offsets = block + bases_size, *packed = offsets + offsets_size;
    memset(packed, 0, (size_t)packed_size);
    write_starts(points, raw, bases, offsets);
    write_fields(points, raw, packed);
    points->bases = bases;
    points->offsets = offsets;
    points->packed = packed;
    return true;
}
