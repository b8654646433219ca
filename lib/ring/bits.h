/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of any width, one behind the other in an array of bytes, the lowest
 * bit first. Bytes are copied, so neither alignment nor the order of bytes of
 * the machine matters.
 */
#ifndef WR_RING_BITS_H
#define WR_RING_BITS_H

#include <stdint.h>
#include <string.h>

enum {
    WR_BITS_MAX = 57,  /* of a field: what is left of 8 bytes behind 7 bits */
    WR_BITS_SLACK = 8, /* bytes behind the last field that may be read */
};

static inline uint64_t wr_bits_swap(uint64_t word) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(word);
#else
    return word;
#endif
}

static inline uint64_t wr_bits_mask(unsigned width) {
    return ((uint64_t)1 << width) - 1;
}

/* 64 bits, of which bit number `bit` is one of the lowest eight. */
static inline uint64_t wr_bits_word(const uint8_t *bytes, uint64_t bit) {
    uint64_t word;
    memcpy(&word, bytes + (size_t)(bit >> 3), sizeof word);
    return wr_bits_swap(word);
}

/* At least WR_BITS_MAX bits from bit number `bit` on. */
static inline uint64_t wr_bits_at(const uint8_t *bytes, uint64_t bit) {
    return wr_bits_word(bytes, bit) >> (bit & 7);
}

/* Where the next field goes. */
typedef struct {
    uint8_t *bytes;
    uint64_t pending; /* bits that do not fill a byte yet */
    unsigned count;   /* of them, below 8 */
} wr_bits_writer_t;

/* Appends a field; may write WR_BITS_SLACK bytes behind it. */
static inline void wr_bits_write(wr_bits_writer_t *writer, uint64_t field, unsigned width) {
    writer->pending |= field << writer->count;
    writer->count += width;
    uint64_t word = wr_bits_swap(writer->pending);
    memcpy(writer->bytes, &word, sizeof word);
    writer->bytes += writer->count >> 3;
    writer->pending >>= writer->count & ~7u;
    writer->count &= 7;
}

#endif
