/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing how keys are hashed: hashes by name against their published check
 * values, hash tags, what a dialect refuses, and programs that know fewer
 * options.
 */
#include <stddef.h>
#include <string.h>

#include <warmring/topology.h>

#include "../lib/tap.h"
#include "ring/ring.h"
#include "sample.h"

static warmring_ring_t *ring_of(const char *dialect, const char *hash, const char *tag) {
    sample_t sample;
    warmring_ring_t *ring;
    warmring_ring_options_t options = {
        .size = sizeof options, .dialect = dialect, .hash = hash, .hash_tag = tag};
    sample_fill(&sample, 5, 1);
    if (warmring_ring_create(sample.servers, 5, &options, &ring) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    return ring;
}

static uint32_t position(const warmring_ring_t *ring, const char *key) {
    return wr_ring_hash_key(ring, key, strlen(key), 0);
}

static void check_hash(const char *dialect, const char *hash, const char *key, uint32_t expected) {
    warmring_ring_t *ring = ring_of(dialect, hash, NULL);
    tap_int(position(ring, key), expected, "%s, %s of \"%s\"", dialect, hash, key);
    warmring_ring_free(ring);
}

/* The catalogue's check value of a CRC is that of "123456789". */
static void test_hashes(void) {
    check_hash("twemproxy", "crc16", "123456789", 0xbb3d);
    check_hash("twemproxy", "crc32a", "123456789", 0xcbf43926);
    check_hash("twemproxy", "crc32", "123456789", 0xcbf43926 >> 16 & 0x7fff);
    check_hash("modula", "crc32", "123456789", 0xcbf43926 >> 16 & 0x7fff);
    check_hash("twemproxy", "md5", "abc", 0x98500190);
    check_hash("modula", "fnv1a_32", "foobar", 0xbf9cf968);
    check_hash("modula", "fnv1_32", "foobar", 0x31f0b262);
    check_hash("twemproxy", "fnv1a_64", "foobar", 0xf73967e8);
    check_hash("modula", "one_at_a_time", "a", 0xca2e9442);
}

static void test_tags(void) {
    static const struct {
        const char *key;
        const char *part;
    } cases[] = {
        {"user:{42}:name", "42"},
        {"{42}", "42"},
        {"{42}{43}", "42"},
        {"{{42}}", "{42"},
        {"}{42}", "42"},
        {"user:{}:name", "user:{}:name"},
        {"user:{42", "user:{42"},
        {"user:42}", "user:42}"},
        {"}{", "}{"},
        {"{", "{"},
        {"", ""},
        {"{}{42}", "{}{42}"},
    };
    static const char *const dialects[] = {"twemproxy", "v2"};
    for (size_t d = 0; d < 2; d++) {
        warmring_ring_t *plain = ring_of(dialects[d], NULL, NULL);
        warmring_ring_t *tagged = ring_of(dialects[d], NULL, "{}");
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            const char *key = cases[i].key;
            uint32_t owner,
                expected = warmring_ring_locate(plain, cases[i].part, strlen(cases[i].part));
            warmring_bytes_t one = {key, strlen(key)};
            tap_int(position(tagged, key), position(plain, cases[i].part),
                    "%s: of \"%s\" \"%s\" is hashed", dialects[d], key, cases[i].part);
            tap_int(warmring_ring_locate(tagged, key, strlen(key)), expected, "and located");
            warmring_ring_locate_many(tagged, &one, 1, &owner);
            tap_int(owner, expected, "also among many");
            warmring_ring_walk(tagged, key, strlen(key), &owner, 1);
            tap_int(owner, expected, "and walked to");
        }
        tap_int(wr_ring_hash_key(tagged, "{a}b{c}", 7, 3), position(plain, "a"),
                "%s: the tag is looked for in all that is hashed", dialects[d]);
        warmring_ring_free(plain);
        warmring_ring_free(tagged);
    }
    warmring_ring_t *dollars = ring_of("twemproxy", "md5", "$$");
    warmring_ring_t *plain = ring_of("twemproxy", "md5", NULL);
    tap_int(position(dollars, "a$b$c"), position(plain, "b"), "both characters may be one");
    tap_int(position(dollars, "a$b"), position(plain, "a$b"), "but it must stand there twice");
    warmring_ring_free(plain);
    warmring_ring_free(dollars);
}

static void refuse(const char *dialect, const char *hash, const char *tag, const char *piece) {
    warmring_server_t server = {.size = sizeof server, .host = "a", .weight = 1};
    warmring_ring_options_t options = {
        .size = sizeof options, .dialect = dialect, .hash = hash, .hash_tag = tag};
    warmring_ring_t *ring = (void *)&server;
    tap_status(warmring_ring_create(&server, 1, &options, &ring), WARMRING_BAD_OPTION,
               "refused: %s", piece);
    tap_ok(ring == NULL, "no ring");
    tap_contains(warmring_error_detail(), piece, "text quotes it");
}

static void test_refusals(void) {
    refuse("v2", "md5", NULL, "hash \"md5\": dialect v2");
    refuse(NULL, "md5", NULL, "hash \"md5\": dialect v2");
    refuse("nginx", "crc32a", NULL, "hash \"crc32a\": dialect nginx");
    refuse("pingora-v2", "md5", NULL, "hash \"md5\": dialect pingora-v2");
    refuse("twemproxy", "sha1", NULL, "unknown hash \"sha1\" of dialect twemproxy");
    refuse("twemproxy", "murmur3", NULL, "unknown hash \"murmur3\" of dialect twemproxy");
    refuse("modula", "crc16", NULL, "unknown hash \"crc16\" of dialect modula");
    refuse("libmemcached", "MD5", NULL, "unknown hash \"MD5\"");
    refuse("libmemcached", "", NULL, "unknown hash \"\"");
    refuse("twemproxy", NULL, "", "hash_tag \"\"");
    refuse("twemproxy", NULL, "{", "hash_tag \"{\"");
    refuse("twemproxy", NULL, "{}}", "hash_tag \"{}}\"");
    refuse("nginx", NULL, "{}", "hash_tag \"{}\": dialect nginx");
    refuse("libmemcached", NULL, "{}", "hash_tag \"{}\": dialect libmemcached");
    refuse("modula", NULL, "{}", "hash_tag \"{}\": dialect modula");
}

/* What stands behind the size that a program tells is not looked at; what a
 * newer one adds is left alone. */
static void test_sizes(void) {
    sample_t sample;
    struct {
        warmring_ring_options_t options;
        const char *later;
    } newer = {.options = {.size = sizeof newer, .dialect = "modula", .hash = "md5"}};
    warmring_ring_options_t older = {.size = offsetof(warmring_ring_options_t, hash),
                                     .dialect = "modula",
                                     .hash = "no such hash",
                                     .hash_tag = "no such tag"};
    warmring_ring_t *ring;
    sample_fill(&sample, 3, 1);
    tap_status(warmring_ring_create(sample.servers, 3, &older, &ring), WARMRING_OK,
               "options without hash and tag");
    tap_int(position(ring, "a"), 0xca2e9442, "mean the dialect's own hash");
    warmring_ring_free(ring);
    older.size = offsetof(warmring_ring_options_t, hash_tag);
    older.hash = "md5";
    tap_status(warmring_ring_create(sample.servers, 3, &older, &ring), WARMRING_OK,
               "options without tag");
    tap_int(position(ring, "abc"), 0x98500190, "keep the hash");
    warmring_ring_free(ring);
    older.size = offsetof(warmring_ring_options_t, hash) - 1;
    tap_status(warmring_ring_create(sample.servers, 3, &older, &ring), WARMRING_BAD_OPTION,
               "fewer than there ever were");
    tap_status(warmring_ring_create(sample.servers, 3, &newer.options, &ring), WARMRING_OK,
               "options of a later version");
    tap_int(position(ring, "abc"), 0x98500190, "with their hash");
    warmring_ring_free(ring);
}

static void check_alike(bool expected, warmring_ring_t *a, warmring_ring_t *b, const char *what) {
    tap_ok(wr_ring_hashes_alike(a, b) == expected && wr_ring_hashes_alike(b, a) == expected,
           "%s: %s", expected ? "alike" : "not alike", what);
    warmring_ring_free(a);
    warmring_ring_free(b);
}

static void test_alike(void) {
    check_alike(true, ring_of("v2", NULL, NULL), ring_of("nginx", NULL, NULL), "v2 and nginx");
    check_alike(true, ring_of("v2", NULL, NULL), ring_of("twemproxy", "crc32a", NULL),
                "v2 and twemproxy with crc32a");
    check_alike(false, ring_of("v2", NULL, NULL), ring_of("twemproxy", NULL, NULL),
                "v2 and twemproxy");
    check_alike(true, ring_of("modula", NULL, NULL), ring_of("libmemcached", NULL, NULL),
                "modula and libmemcached");
    check_alike(true, ring_of("modula", "one_at_a_time", NULL), ring_of("modula", NULL, NULL),
                "the hash it has anyway");
    check_alike(false, ring_of("modula", "md5", NULL), ring_of("modula", NULL, NULL), "two hashes");
    check_alike(false, ring_of("modula", "md5", NULL), ring_of("twemproxy", "md5", NULL),
                "prefix hashed and not");
    check_alike(false, ring_of("v2", NULL, "{}"), ring_of("v2", NULL, NULL), "tag and none");
    check_alike(false, ring_of("v2", NULL, "{}"), ring_of("v2", NULL, "[]"), "two tags");
    check_alike(true, ring_of("v2", NULL, "{}"), ring_of("v2", NULL, "{}"), "one tag");
}

/* An edited topology hashes as the one it came from. */
static void test_topology(void) {
    sample_t sample;
    warmring_topology_t *first, *second;
    char tag[] = "{}", hash[] = "md5";
    warmring_ring_options_t options = {
        .size = sizeof options, .dialect = "twemproxy", .hash = hash, .hash_tag = tag};
    sample_fill(&sample, 5, 1);
    for (size_t i = 0; i < 5; i++) {
        static const char *const names[] = {"a", "b", "c", "d", "e"};
        sample.servers[i].name = names[i];
    }
    if (warmring_topology_create(&first, sample.servers, 5, &options) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    memset(tag, 'x', 2); /* they were copied */
    memset(hash, 'x', 3);
    if (warmring_topology_set_weight(first, "c", 0, &second) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    const warmring_ring_t *before = warmring_topology_ring(first, WARMRING_OLD_RING);
    const warmring_ring_t *after = warmring_topology_ring(second, WARMRING_OLD_RING);
    tap_ok(wr_ring_hashes_alike(before, after), "an edit keeps hash and tag");
    tap_int(position(after, "x{abc}"), 0x98500190, "which are the ones asked for");
    warmring_topology_release(first);
    warmring_topology_release(second);
}

int main(void) {
    test_hashes();
    test_tags();
    test_refusals();
    test_sizes();
    test_alike();
    test_topology();
    return tap_done();
}
