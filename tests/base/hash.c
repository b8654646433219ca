/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Known answers of the hash functions: the check value of CRC-32, the test
 * suite of RFC 1321, and published values of XXH32 and XXH64.
 */
#include "base/hash.h"

#include <string.h>

#include "tests/lib/tap.h"

#define SPAMMISH "Nobody inspects the spammish repetition"
#define PRIME 2654435761u

static void test_crc32(void) {
    static const char digits[] = "123456789";
    tap_int(wr_crc32(0, digits, 9), 0xcbf43926, "CRC-32 of 123456789");
    tap_int(wr_crc32(0, "", 0), 0, "CRC-32 of nothing");
    tap_int(wr_crc32(0, "\0", 1), 0xd202ef8d, "CRC-32 of a zero byte");
    for (size_t i = 0; i <= 9; i++) {
        tap_int(wr_crc32(wr_crc32(0, digits, i), digits + i, 9 - i), 0xcbf43926,
                "continued after %zu bytes", i);
    }
}

/* Bit by bit from the polynomial, over lengths that take other paths in a
 * fast implementation. */
static uint32_t slow_crc32(const unsigned char *bytes, size_t length) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

static void test_crc32_lengths(void) {
    static const size_t lengths[] = {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 250};
    unsigned char bytes[250];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i * i * 7 + 13);
    }
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        tap_int(wr_crc32(0, bytes, lengths[i]), slow_crc32(bytes, lengths[i]),
                "CRC-32 of %zu bytes", lengths[i]);
    }
}

static void test_xxh(void) {
    static const struct {
        const char *text;
        uint32_t seed;
        uint32_t xxh32;
        uint64_t xxh64;
    } known[] = {
        {"", 0, 0x02cc5d05u, UINT64_C(0xef46db3751d8e999)},
        {"", PRIME, 0x36b78ae7u, UINT64_C(0xac75fda2929b17ef)},
        {"abc", 0, 0x32d153ffu, UINT64_C(0x44bc2cf5ad770999)},
        {SPAMMISH, 0, 0xe2293b2fu, UINT64_C(0xfbcea83c8a378bf1)},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t length = strlen(known[i].text);
        tap_int(wr_xxh32(known[i].text, length, known[i].seed), known[i].xxh32,
                "XXH32 of \"%s\", seed %u", known[i].text, (unsigned)known[i].seed);
        tap_int((int64_t)wr_xxh64(known[i].text, length, known[i].seed), (int64_t)known[i].xxh64,
                "XXH64 of \"%s\", seed %u", known[i].text, (unsigned)known[i].seed);
    }
}

#if WR_WITH_LIBMEMCACHED
static void test_md5(void) {
    static const struct {
        const char *text;
        uint32_t words[4]; /* the digest read as little-endian words */
    } known[] = {
        {"", {0xd98c1dd4, 0x04b2008f, 0x980980e9, 0x7e42f8ec}},
        {"a", {0xb975c10c, 0xa8b6f1c0, 0xe299c331, 0x61267769}},
        {"abc", {0x98500190, 0xb04fd23c, 0x7d3f96d6, 0x727fe128}},
        {"message digest", {0x7d696bf9, 0x8d93b77c, 0x312f5a52, 0xd061f1aa}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t words[4];
        wr_md5_words(known[i].text, strlen(known[i].text), words);
        for (int word = 0; word < 4; word++) {
            tap_int(words[word], known[i].words[word], "MD5 of \"%s\", word %d", known[i].text,
                    word);
        }
    }
}
#endif

int main(void) {
    test_crc32();
    test_crc32_lengths();
    test_xxh();
#if WR_WITH_LIBMEMCACHED
    test_md5();
#endif
    return tap_done();
}
