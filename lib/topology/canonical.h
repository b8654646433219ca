/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashing values as bytes that are the same on every machine.
 */
#ifndef WR_TOPOLOGY_CANONICAL_H
#define WR_TOPOLOGY_CANONICAL_H

#include <stdint.h>
#include <string.h>

#include "base/hash.h"

/* Continues `hash` over eight little-endian bytes of a number. */
static inline uint64_t wr_canonical_u64(uint64_t hash, uint64_t value) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(value >> 8 * i);
    }
    return wr_xxh64(bytes, sizeof bytes, hash);
}

/* The same of a finite double; -0 is 0. */
static inline uint64_t wr_canonical_double(uint64_t hash, double value) {
    double positive = value + 0.0;
    uint64_t bits;
    memcpy(&bits, &positive, sizeof bits);
    return wr_canonical_u64(hash, bits);
}

#endif
