/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers, tokens and keys out of received bytes.
 *
 * Every function returns the place behind what it understood, or NULL. A NUL
 * stands behind what was received, at `stop`, which ends every walk. Items come
 * by the hundred, so all of this is inline, and reads eight bytes at once where
 * that is less work.
 */
#ifndef WR_NET_META_SCAN_H
#define WR_NET_META_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <warmring/ring.h>

/* Eight bytes, the first one lowest. */
enum { WR_SCAN_WORD = sizeof(uint64_t) };
static const uint64_t wr_scan_ones = UINT64_C(0x0101010101010101);

static inline bool wr_scan_has_word(const char *at, const char *stop) {
    return stop - at >= WR_SCAN_WORD;
}

static inline uint64_t wr_scan_word(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* ---- numbers --------------------------------------------------------------- */

static inline uint64_t wr_scan_digit(char c) {
    return (uint64_t)(unsigned char)c - '0';
}

/* Up to nineteen digits fit 64 bits. If twenty do not, what they came to is
 * less than the first one says, as 2 * 10^19 is beyond. */
static inline bool wr_scan_fits(const char *first, const char *end, uint64_t value) {
    static const uint64_t twenty_digits = UINT64_C(10000000000000000000);
    return end - first <= 19 ||
           (end - first == 20 && (*first == '0' || (*first == '1' && value >= twenty_digits)));
}

/* The digits from `at` on; those from `first` to there came to `value`. */
static inline const char *wr_scan_more(const char *first, const char *at, uint64_t value,
                                       uint64_t most, uint64_t *number) {
    for (uint64_t digit; (digit = wr_scan_digit(*at)) < 10; at++) {
        value = value * 10 + digit;
    }
    *number = value;
    return value <= most && wr_scan_fits(first, at, value) ? at : NULL;
}

static inline const char *wr_scan_number(const char *at, uint64_t most, uint64_t *number) {
    *number = wr_scan_digit(*at);
    return *number < 10 ? wr_scan_more(at, at + 1, *number, most, number) : NULL;
}

/* Of a value, which may be more than there can be memory. */
static inline const char *wr_scan_length(const char *at, uint64_t *length) {
    return wr_scan_number(at, UINT64_MAX, length);
}

/* Eight digits, as their values: neighbours are put together, three times. */
static inline uint64_t wr_scan_join(uint64_t word) {
    word = word * 10 + (word >> 8);
    word = (word & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
           (word >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001);
    return word >> 32;
}

/* A long number: CAS values are, on a server that has been up for a while.
 * Fewer than eight digits get zeros before them. */
static inline const char *wr_scan_cas(const char *at, const char *stop, uint64_t *cas) {
    if (!wr_scan_has_word(at, stop)) {
        return wr_scan_number(at, UINT64_MAX, cas);
    }
    uint64_t word = wr_scan_word(at) - wr_scan_ones * '0';
    uint64_t others = (word | (word + wr_scan_ones * 0x76)) & wr_scan_ones * 0x80;
    if (others == 0) {
        return wr_scan_more(at, at + WR_SCAN_WORD, wr_scan_join(word), UINT64_MAX, cas);
    }
    unsigned bits = (unsigned)__builtin_ctzll(others) & ~7u; /* of digits */
    *cas = bits > 0 ? wr_scan_join(word << (64 - bits)) : 0;
    return bits > 0 ? at + bits / 8 : NULL;
}

/* ---- tokens ----------------------------------------------------------------- */

/* The first blank or control character. Of the bytes that the difference marks
 * the lowest is surely one; a marked one above it may not be. */
static inline const char *wr_scan_blank(const char *at, const char *stop) {
    for (; wr_scan_has_word(at, stop); at += WR_SCAN_WORD) {
        uint64_t word = wr_scan_word(at);
        uint64_t low = (word - wr_scan_ones * (' ' + 1)) & ~word & wr_scan_ones * 0x80;
        if (low != 0) {
            return at + __builtin_ctzll(low) / 8;
        }
    }
    while ((unsigned char)*at > ' ') {
        at++;
    }
    return at;
}

/* Of 1 to `most` bytes. */
static inline const char *wr_scan_token(const char *at, const char *stop, size_t most,
                                        warmring_bytes_t *token) {
    const char *end = wr_scan_blank(at, stop);
    *token = (warmring_bytes_t){at, (size_t)(end - at)};
    return token->length - 1 < most ? end : NULL;
}

/* The same of keys of four to eight bytes. */
static inline bool wr_scan_same_short(const char *a, const char *b, size_t length) {
    uint32_t ours[2], theirs[2];
    size_t last = length - sizeof ours[0];
    memcpy(&ours[0], a, sizeof ours[0]);
    memcpy(&theirs[0], b, sizeof theirs[0]);
    memcpy(&ours[1], a + last, sizeof ours[1]);
    memcpy(&theirs[1], b + last, sizeof theirs[1]);
    return ((ours[0] ^ theirs[0]) | (ours[1] ^ theirs[1])) == 0;
}

/* Whether two keys of `length` bytes are the same. Most are short: a call of
 * memcmp() would take longer. The last bytes that are read may be some of those
 * before once more. */
static inline bool wr_scan_same(const char *a, const char *b, size_t length) {
    if (length < WR_SCAN_WORD) {
        return length < sizeof(uint32_t) ? memcmp(a, b, length) == 0
                                         : wr_scan_same_short(a, b, length);
    }
    size_t last = length - WR_SCAN_WORD;
    uint64_t ours, theirs, differ = 0;
    for (size_t at = 0; at < last; at += WR_SCAN_WORD) {
        memcpy(&ours, a + at, WR_SCAN_WORD);
        memcpy(&theirs, b + at, WR_SCAN_WORD);
        differ |= ours ^ theirs;
    }
    memcpy(&ours, a + last, WR_SCAN_WORD);
    memcpy(&theirs, b + last, WR_SCAN_WORD);
    return (differ | (ours ^ theirs)) == 0;
}

/* A token that is nearly always the expected one: *token is that itself then. */
static inline const char *wr_scan_expected(const char *at, const char *stop, size_t most,
                                           const warmring_bytes_t *expected,
                                           warmring_bytes_t *token) {
    size_t length = expected->length;
    if (length > 0 && (size_t)(stop - at) > length && at[length] == ' ' &&
        wr_scan_same(expected->data, at, length)) {
        *token = *expected;
        return at + length;
    }
    return wr_scan_token(at, stop, most, token);
}

#endif
