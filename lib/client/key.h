/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bytes make a key. Every call looks at all of them, so this is inline,
 * and eight at a time.
 */
#ifndef WR_CLIENT_KEY_H
#define WR_CLIENT_KEY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <warmring/ring.h>

/* Bytes 0x21 to 0x7e and from 0x80 on. */
static inline bool wr_is_good_byte(unsigned char byte) {
    return byte > 0x20 && byte != 0x7f;
}

/* How many there are before the first bad one. */
static inline size_t wr_count_good_bytes(warmring_bytes_t key) {
    size_t good = 0;
    while (good < key.length && wr_is_good_byte((unsigned char)key.data[good])) {
        good++;
    }
    return good;
}

/* Of eight bytes: each test sets the top bit of some byte exactly when a byte
 * is below 0x21, or is 0x7f. */
static inline uint64_t wr_mark_bad_bytes(const char *bytes) {
    static const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    uint64_t deletes = word ^ ones * 0x7f;
    uint64_t low = (word - ones * 0x21) & ~word;
    uint64_t none = (deletes - ones) & ~deletes;
    return (low | none) & ones * 0x80;
}

/* The last eight may be some of those before once more. */
static inline bool wr_are_good_bytes(const char *bytes, size_t length) {
    enum { WORD = sizeof(uint64_t) };
    if (length < WORD) {
        return wr_count_good_bytes((warmring_bytes_t){bytes, length}) == length;
    }
    uint64_t bad = wr_mark_bad_bytes(bytes + length - WORD);
    for (size_t at = 0; at + WORD < length; at += WORD) {
        bad |= wr_mark_bad_bytes(bytes + at);
    }
    return bad == 0;
}

/* Whether it has 1 to `most` bytes, and good ones. */
static inline bool wr_is_good_key(warmring_bytes_t key, size_t most) {
    return key.data != NULL && key.length - 1 < most && wr_are_good_bytes(key.data, key.length);
}

#endif
