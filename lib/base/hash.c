/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Glue to the libraries that hash.
 */
#include "base/hash.h"

#include <libdeflate.h>
#include <xxhash.h>

#if WR_WITH_LIBMEMCACHED
#include <libhashkit-1.0/hashkit.h>
#endif

uint32_t wr_crc32(uint32_t crc, const void *bytes, size_t length) {
    return libdeflate_crc32(crc, bytes, length);
}

uint64_t wr_xxh64(const void *bytes, size_t length, uint64_t seed) {
    return XXH64(bytes, length, seed);
}

uint32_t wr_xxh32(const void *bytes, size_t length, uint32_t seed) {
    return XXH32(bytes, length, seed);
}

#if WR_WITH_LIBMEMCACHED

void wr_md5_words(const void *bytes, size_t length, uint32_t words[4]) {
    unsigned char digest[16];
    libhashkit_md5_signature(bytes, length, digest);
    for (size_t i = 0; i < 4; i++) {
        const unsigned char *b = digest + 4 * i;
        words[i] =
            (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    }
}

#endif
