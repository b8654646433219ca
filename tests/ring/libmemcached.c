/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside libmemcached itself: random server sets, each distribution and each
 * hash, the owners of keys that have any bytes.
 */
#include <libmemcached/memcached.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ---- a point that two servers have ------------------------------------------ */

enum { HOSTS = 3000, POINTS = 100, TRIES = 20000, HOST_SIZE = 24 };

typedef struct {
    uint32_t hash;
    unsigned host;
} point_t;

static void name_host(char host[HOST_SIZE], unsigned number) {
    snprintf(host, HOST_SIZE, "10.%u.%u.1", number / 250, number % 250);
}

static int by_hash(const void *a, const void *b) {
    const point_t *left = a, *right = b;
    return (left->hash > right->hash) - (left->hash < right->hash);
}

/* Of so many hosts some have a point in common. */
static point_t *make_points(void) {
    point_t *points = calloc((size_t)HOSTS * POINTS, sizeof *points);
    if (points == NULL) {
        tap_bail("no memory");
    }
    for (unsigned i = 0; i < HOSTS * POINTS; i++) {
        char host[HOST_SIZE], text[HOST_SIZE + 8];
        name_host(host, i / POINTS);
        int length = snprintf(text, sizeof text, "%s-%u", host, i % POINTS);
        uint32_t hash = memcached_generate_hash_value(text, (size_t)length, MEMCACHED_HASH_DEFAULT);
        points[i] = (point_t){hash, i / POINTS};
    }
    qsort(points, (size_t)HOSTS * POINTS, sizeof *points, by_hash);
    return points;
}

typedef struct {
    warmring_ring_t *ours;
    memcached_st *theirs;
} both_t;

static both_t ring_both(const char *first, const char *second) {
    both_t both = {NULL, memcached_create(NULL)};
    const warmring_server_t servers[] = {
        {.size = sizeof servers[0], .host = first, .weight = 1},
        {.size = sizeof servers[0], .host = second, .weight = 1},
    };
    warmring_ring_options_t options = {.size = sizeof options, .dialect = "libmemcached"};
    memcached_behavior_set(both.theirs, MEMCACHED_BEHAVIOR_DISTRIBUTION,
                           MEMCACHED_DISTRIBUTION_CONSISTENT);
    memcached_server_add(both.theirs, first, WARMRING_DEFAULT_PORT);
    memcached_server_add(both.theirs, second, WARMRING_DEFAULT_PORT);
    if (warmring_ring_create(servers, 2, &options, &both.ours) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    return both;
}

/* Keys that have another owner when the servers change places: those of the
 * shared point. Each owner that is not libmemcached's counts as wrong. */
static unsigned compare_shared(unsigned first, unsigned second, unsigned *wrong) {
    char host[2][HOST_SIZE];
    name_host(host[0], first);
    name_host(host[1], second);
    both_t both[2] = {ring_both(host[0], host[1]), ring_both(host[1], host[0])};
    unsigned shared = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        char key[KEY_SIZE];
        size_t length = (size_t)snprintf(key, sizeof key, "key-%u", i);
        uint32_t owner[2];
        for (size_t order = 0; order < 2; order++) {
            owner[order] = memcached_generate_hash(both[order].theirs, key, length);
            *wrong += warmring_ring_locate(both[order].ours, key, length) != owner[order];
        }
        shared += owner[0] == owner[1]; /* by place in the list: another server */
    }
    for (size_t order = 0; order < 2; order++) {
        memcached_free(both[order].theirs);
        warmring_ring_free(both[order].ours);
    }
    return shared;
}

static void compare_ties(void) {
    point_t *points = make_points();
    unsigned pairs = 0, shared = 0, wrong = 0;
    for (size_t i = 1; i < (size_t)HOSTS * POINTS; i++) {
        if (points[i].hash == points[i - 1].hash && points[i].host != points[i - 1].host) {
            shared += compare_shared(points[i - 1].host, points[i].host, &wrong);
            pairs++;
        }
    }
    free(points);
    tap_ok(shared > 0, "%u pairs of servers share a point, %u keys depend on it", pairs, shared);
    tap_int(wrong, 0, "it is the server's that libmemcached gives it to");
}

int main(void) {
    for (size_t dialect = 0; dialect < sizeof dialects / sizeof dialects[0]; dialect++) {
        for (size_t hash = 0; hash < HASHES; hash++) {
            compare(dialect, hash);
        }
    }
    compare_ties();
    return tap_done();
}
