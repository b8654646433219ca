/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash functions the library uses, each from a maintained library:
 * CRC-32 from libdeflate, XXH from libxxhash, MD5 from libhashkit.
 */
#ifndef WR_BASE_HASH_H
#define WR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32 (IEEE, as zlib's) of `length` bytes, continued from `crc`; start
 * with 0. */
uint32_t wr_crc32(uint32_t crc, const void *bytes, size_t length);

uint64_t wr_xxh64(const void *bytes, size_t length, uint64_t seed);
uint32_t wr_xxh32(const void *bytes, size_t length, uint32_t seed);

/* The MD5 of `length` bytes as four little-endian words; only in builds with
 * libmemcached, as libhashkit is part of it. */
void wr_md5_words(const void *bytes, size_t length, uint32_t words[4]);

#endif
