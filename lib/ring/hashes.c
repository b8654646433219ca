/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most are libhashkit's, which libmemcached hashes with; twemproxy has copies
 * of them, and two of its own. Mind the CRC-32s: what both call crc32 is 15
 * bits of one; twemproxy's crc32a is the real one.
 */
#include "ring/hashes.h"

#include <string.h>

#if WR_WITH_LIBMEMCACHED
#include <libhashkit-1.0/hashkit.h>
#endif

#include "base/hash.h"

uint32_t wr_hash_crc32a(const char *bytes, size_t length) {
    return wr_crc32(0, bytes, length);
}

#if WR_WITH_LIBMEMCACHED

uint32_t wr_hash_md5(const char *bytes, size_t length) {
    uint32_t words[4];
    wr_md5_words(bytes, length, words);
    return words[0];
}

uint32_t wr_hash_one_at_a_time(const char *bytes, size_t length) {
    return libhashkit_one_at_a_time(bytes, length);
}

uint32_t wr_hash_fnv1a_64(const char *bytes, size_t length) {
    return libhashkit_fnv1a_64(bytes, length);
}

/* CRC-16/ARC: the reflected polynomial 0x8005, from 0. */
static uint32_t hash_crc16(const char *bytes, size_t length) {
    uint32_t crc = 0;
    for (size_t i = 0; i < length; i++) {
        crc ^= (unsigned char)bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0xa001u & (0u - (crc & 1u)));
        }
    }
    return crc;
}

enum { BOTH = WR_HASHES_LIBMEMCACHED | WR_HASHES_TWEMPROXY };

static const struct {
    const char *name;
    wr_hash_t hash;
    unsigned sets;
    hashkit_hash_algorithm_t needs; /* libhashkit may be built without it */
} hashes[] = {
    {"one_at_a_time", wr_hash_one_at_a_time, BOTH, HASHKIT_HASH_DEFAULT},
    {"md5", wr_hash_md5, BOTH, HASHKIT_HASH_DEFAULT},
    {"crc16", hash_crc16, WR_HASHES_TWEMPROXY, HASHKIT_HASH_DEFAULT},
    {"crc32", libhashkit_crc32, BOTH, HASHKIT_HASH_CRC},
    {"crc32a", wr_hash_crc32a, WR_HASHES_TWEMPROXY, HASHKIT_HASH_DEFAULT},
    {"fnv1_64", libhashkit_fnv1_64, BOTH, HASHKIT_HASH_FNV1_64},
    {"fnv1a_64", wr_hash_fnv1a_64, BOTH, HASHKIT_HASH_FNV1A_64},
    {"fnv1_32", libhashkit_fnv1_32, BOTH, HASHKIT_HASH_FNV1_32},
    {"fnv1a_32", libhashkit_fnv1a_32, BOTH, HASHKIT_HASH_FNV1A_32},
    {"hsieh", libhashkit_hsieh, BOTH, HASHKIT_HASH_HSIEH},
    {"murmur", libhashkit_murmur, BOTH, HASHKIT_HASH_MURMUR},
    {"murmur3", libhashkit_murmur3, WR_HASHES_LIBMEMCACHED, HASHKIT_HASH_MURMUR3},
    {"jenkins", libhashkit_jenkins, BOTH, HASHKIT_HASH_JENKINS},
};

wr_hash_t wr_hash_find(const char *name, unsigned sets, const char **static_name) {
    for (size_t i = 0; i < sizeof hashes / sizeof hashes[0]; i++) {
        if ((hashes[i].sets & sets) != 0 && strcmp(hashes[i].name, name) == 0) {
            *static_name = hashes[i].name;
            return libhashkit_has_algorithm(hashes[i].needs) ? hashes[i].hash : NULL;
        }
    }
    return NULL;
}

#else /* no dialect has a choice */

wr_hash_t wr_hash_find(const char *name, unsigned sets, const char **static_name) {
    (void)name;
    (void)sets;
    (void)static_name;
    return NULL;
}

#endif
