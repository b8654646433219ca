/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside libmemcached itself: random server sets, each distribution and each
 * hash, the owners of keys that have any bytes.
 */
#include <libmemcached/memcached.h>
#include <string.h>

#include <warmring/ring.h>

#include "../lib/tap.h"
#include "sample.h"

enum { SETS = 12, KEYS = 120, KEY_SIZE = 24 };

static const struct {
    const char *name;
    memcached_hash_t number;
} hashes[] = {
    {NULL, MEMCACHED_HASH_DEFAULT},      {"one_at_a_time", MEMCACHED_HASH_DEFAULT},
    {"md5", MEMCACHED_HASH_MD5},         {"crc32", MEMCACHED_HASH_CRC},
    {"fnv1_64", MEMCACHED_HASH_FNV1_64}, {"fnv1a_64", MEMCACHED_HASH_FNV1A_64},
    {"fnv1_32", MEMCACHED_HASH_FNV1_32}, {"fnv1a_32", MEMCACHED_HASH_FNV1A_32},
    {"hsieh", MEMCACHED_HASH_HSIEH},     {"murmur", MEMCACHED_HASH_MURMUR},
    {"murmur3", MEMCACHED_HASH_MURMUR3}, {"jenkins", MEMCACHED_HASH_JENKINS},
};

enum { HASHES = sizeof hashes / sizeof hashes[0] };

/* How libmemcached is told of each dialect. */
static const struct {
    const char *name;
    memcached_behavior_t behavior;
    uint64_t value;
} dialects[] = {
    {"modula", MEMCACHED_BEHAVIOR_DISTRIBUTION, MEMCACHED_DISTRIBUTION_MODULA},
    {"libmemcached", MEMCACHED_BEHAVIOR_DISTRIBUTION, MEMCACHED_DISTRIBUTION_CONSISTENT},
    {"libmemcached-weighted", MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1},
    {"libmemcached-spy", MEMCACHED_BEHAVIOR_DISTRIBUTION,
     MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY},
};

/* Up to 12 servers on mixed ports, weighted in every second set. */
static void random_sample(sample_t *sample, int set, uint64_t *state) {
    sample_fill(sample, 1 + sample_random(state, 12), 1);
    for (size_t i = 0; i < sample->count && set % 2 == 1; i++) {
        sample->servers[i].weight = 1 + sample_random(state, 9);
    }
}

/* NULL: libmemcached does not have that hash. */
static memcached_st *theirs_of(const sample_t *sample, size_t dialect, size_t hash) {
    memcached_st *theirs = memcached_create(NULL);
    if (memcached_failed(
            memcached_behavior_set(theirs, dialects[dialect].behavior, dialects[dialect].value))) {
        tap_bail("libmemcached refuses %s", dialects[dialect].name);
    }
    if (hashes[hash].name != NULL && memcached_failed(memcached_behavior_set(
                                         theirs, MEMCACHED_BEHAVIOR_HASH, hashes[hash].number))) {
        memcached_free(theirs);
        return NULL;
    }
    for (size_t i = 0; i < sample->count; i++) {
        const warmring_server_t *server = &sample->servers[i];
        memcached_server_add_with_weight(theirs, server->host, server->port,
                                         (uint32_t)server->weight);
    }
    return theirs;
}

static warmring_status_t ours_of(const sample_t *sample, size_t dialect, size_t hash,
                                 warmring_ring_t **ring) {
    warmring_ring_options_t options = {
        .size = sizeof options, .dialect = dialects[dialect].name, .hash = hashes[hash].name};
    return warmring_ring_create(sample->servers, sample->count, &options, ring);
}

static unsigned different(const warmring_ring_t *ours, const memcached_st *theirs,
                          uint64_t *state) {
    unsigned count = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[KEY_SIZE];
        size_t length = 1 + sample_random(state, KEY_SIZE);
        for (size_t k = 0; k < length; k++) {
            key[k] = (char)(unsigned char)sample_random(state, 256);
        }
        count +=
            warmring_ring_locate(ours, key, length) != memcached_generate_hash(theirs, key, length);
    }
    return count;
}

static void compare(size_t dialect, size_t hash) {
    const char *name = hashes[hash].name != NULL ? hashes[hash].name : "its own hash";
    uint64_t state = 17 * dialect + hash;
    unsigned wrong = 0;
    for (int set = 0; set < SETS; set++) {
        sample_t sample;
        warmring_ring_t *ours;
        random_sample(&sample, set, &state);
        memcached_st *theirs = theirs_of(&sample, dialect, hash);
        warmring_status_t status = ours_of(&sample, dialect, hash, &ours);
        if (theirs == NULL) {
            tap_status(status, WARMRING_BAD_OPTION, "%s, %s: neither has it",
                       dialects[dialect].name, name);
            tap_contains(warmring_error_detail(), name, "and the text quotes it");
            return;
        }
        if (status != WARMRING_OK) {
            tap_bail("%s, %s: %s", dialects[dialect].name, name, warmring_error_detail());
        }
        wrong += different(ours, theirs, &state);
        memcached_free(theirs);
        warmring_ring_free(ours);
    }
    tap_int(wrong, 0, "%s, %s: %d keys on %d sets of servers as libmemcached has them",
            dialects[dialect].name, name, KEYS, SETS);
}

int main(void) {
    for (size_t dialect = 0; dialect < sizeof dialects / sizeof dialects[0]; dialect++) {
        for (size_t hash = 0; hash < HASHES; hash++) {
            compare(dialect, hash);
        }
    }
    return tap_done();
}
