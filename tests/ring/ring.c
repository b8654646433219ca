/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for every ring, checked against a reference that shares nothing
 * with the library: it makes points with a bitwise CRC-32 and finds an owner
 * by looking at the distance from the hash to each of them.
 */
#include "ring/ring.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "../lib/tap.h"
#include "sample.h"

enum { REFERENCE_MAX = 4096 };

static const char *const dialects[] = {"v2",
                                       "pingora-v2",
                                       "pingora-v1",
                                       "nginx",
                                       "modula",
                                       "libmemcached",
                                       "libmemcached-weighted",
                                       "libmemcached-spy",
                                       "twemproxy"};
enum { ALL_DIALECTS = sizeof dialects / sizeof dialects[0] };
enum { DIALECTS = WR_WITH_LIBMEMCACHED ? ALL_DIALECTS : 4 };

/* ---- the reference ---- */

typedef struct {
    uint32_t hash[REFERENCE_MAX];
    uint32_t server[REFERENCE_MAX];
    size_t count;
} reference_t;

static uint32_t crc(uint32_t sum, const void *bytes, size_t length) {
    const unsigned char *byte = bytes;
    sum = ~sum;
    for (size_t i = 0; i < length; i++) {
        sum ^= byte[i];
        for (int bit = 0; bit < 8; bit++) {
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
        }
    }
    return ~sum;
}

static size_t identity(const warmring_server_t *server, char *bytes) {
    int length = server->name != NULL
                     ? sprintf(bytes, "%s%c", server->name, 0)
                     : sprintf(bytes, "%s%c%d", server->host, 0, (int)server->port);
    return (size_t)length;
}

static void reference_make(reference_t *reference, const sample_t *sample, double density) {
    reference->count = 0;
    for (uint32_t i = 0; i < sample->count; i++) {
        const warmring_server_t *server = &sample->servers[i];
        char bytes[300];
        uint32_t base = crc(0, bytes, identity(server, bytes)), hash = 0;
        double asked = server->weight > 0 ? fmax(1, floor(server->weight * density + 0.5)) : 0;
        for (uint32_t k = 0; k < asked && reference->count < REFERENCE_MAX; k++) {
            unsigned char link[4];
            for (int b = 0; b < 4; b++) {
                link[b] = (unsigned char)(hash >> 8 * b);
            }
            hash = crc(base, link, 4);
            reference->hash[reference->count] = hash;
            reference->server[reference->count++] = i;
        }
    }
}

static uint64_t draw(const warmring_server_t *server, uint32_t hash) {
    char bytes[304];
    size_t length = identity(server, bytes);
    for (int b = 0; b < 4; b++) {
        bytes[length++] = (char)(unsigned char)(hash >> 8 * b);
    }
    return XXH64(bytes, length, 0);
}

/* The point at the least distance at or after the hash, around the circle. */
static uint32_t reference_owner(const reference_t *reference, const sample_t *sample,
                                uint32_t hash) {
    size_t best = 0;
    for (size_t i = 1; i < reference->count; i++) {
        uint32_t distance = reference->hash[i] - hash, least = reference->hash[best] - hash;
        bool tie = distance == least &&
                   draw(&sample->servers[reference->server[i]], reference->hash[i]) >
                       draw(&sample->servers[reference->server[best]], reference->hash[i]);
        best = distance < least || tie ? i : best;
    }
    return reference->server[best];
}

/* The hashes a server owns: from each of its points back to the next one. */
static uint64_t reference_arc(const reference_t *reference, uint32_t server) {
    uint64_t sum = 0;
    for (size_t i = 0; i < reference->count; i++) {
        uint64_t back = (uint64_t)1 << 32;
        for (size_t j = 0; j < reference->count; j++) {
            uint32_t distance = reference->hash[i] - reference->hash[j];
            back = j != i && distance < back ? distance : back;
        }
        sum += reference->server[i] == server ? back : 0;
    }
    return sum;
}

/* Between 1 and 9 servers, some drained, some named, weights of all kinds. */
static void random_sample(sample_t *sample, uint64_t *state) {
    static const double weights[] = {0, 0.25, 1, 1, 1.5, 3, 7};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    sample_fill(sample, 1 + sample_random(state, 9), 1);
    for (size_t i = 0; i < sample->count; i++) {
        sample->servers[i].weight = weights[sample_random(state, 7)];
        sample->servers[i].name = sample_random(state, 3) == 0 ? names[i] : NULL;
    }
    sample->servers[sample_random(state, (uint32_t)sample->count)].weight = 0.5;
}

static unsigned compare_hash(const warmring_ring_t *ring, const reference_t *reference,
                             const sample_t *sample, uint32_t hash) {
    return wr_ring_owner(ring, hash) != reference_owner(reference, sample, hash);
}

static void compare_with_reference(uint64_t *state, unsigned *wrong, unsigned *wrong_shares) {
    static reference_t reference;
    sample_t sample;
    random_sample(&sample, state);
    double density = 0.5 + sample_random(state, 30);
    reference_make(&reference, &sample, density);
    warmring_ring_t *ring = sample_ring(sample.servers, sample.count, "v2", density);
    *wrong += warmring_ring_points(ring) != reference.count;
    *wrong += compare_hash(ring, &reference, &sample, 0);
    *wrong += compare_hash(ring, &reference, &sample, UINT32_MAX);
    for (size_t i = 0; i < reference.count; i++) {
        for (uint32_t step = 0; step < 3; step++) {
            *wrong += compare_hash(ring, &reference, &sample, reference.hash[i] + step - 1);
        }
    }
    for (uint32_t i = 0; i < 100; i++) {
        char key[SAMPLE_TEXT];
        size_t length = sample_key(key, sample_random(state, 1000000));
        *wrong += warmring_ring_locate(ring, key, length) !=
                  reference_owner(&reference, &sample, crc(0, key, length));
    }
    for (uint32_t i = 0; i < sample.count; i++) {
        *wrong_shares +=
            warmring_ring_share(ring, i) * 4294967296.0 != (double)reference_arc(&reference, i);
    }
    warmring_ring_free(ring);
}

static void test_reference(void) {
    uint64_t state = 11;
    unsigned wrong = 0, wrong_shares = 0;
    for (int i = 0; i < 150; i++) {
        compare_with_reference(&state, &wrong, &wrong_shares);
    }
    tap_int(wrong, 0, "150 random rings: owners at, before and behind each point, and of keys");
    tap_int(wrong_shares, 0, "150 random rings: each share is the sum of its arcs");
}

/* ---- properties ---- */

static double sum_of_shares(const warmring_ring_t *ring) {
    double sum = 0;
    for (uint32_t i = 0; i < warmring_ring_servers(ring); i++) {
        sum += warmring_ring_share(ring, i);
    }
    return sum;
}

static void test_shares(void) {
    sample_t sample;
    sample_fill(&sample, 40, 3);
    for (size_t i = 0; i < DIALECTS; i++) {
        warmring_ring_t *ring = sample_ring(sample.servers, sample.count, dialects[i], 7000);
        tap_ok(sum_of_shares(ring) >= 1 && sum_of_shares(ring) <= 1,
               "%s: shares add up to exactly 1", dialects[i]);
        tap_ok(warmring_ring_share(ring, 40) <= 0 && warmring_ring_server_points(ring, 40) == 0,
               "%s: an index that is none owns nothing", dialects[i]);
        warmring_ring_free(ring);
    }
}

static uint64_t points_asked(const warmring_ring_t *ring) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < warmring_ring_servers(ring); i++) {
        sum += warmring_ring_server_points(ring, i);
    }
    return sum;
}

/* Every point of both rings has the same host. */
static unsigned different_points(const warmring_ring_t *a, const warmring_ring_t *b) {
    wr_point_t left = wr_points_first(&a->points), right = wr_points_first(&b->points);
    unsigned different = 0;
    for (uint64_t i = 0; i < warmring_ring_points(a); i++) {
        different += left.hash != right.hash || strcmp(wr_ring_member(a, left.member)->host,
                                                       wr_ring_member(b, right.member)->host) != 0;
        left = wr_points_next(&a->points, left);
        right = wr_points_next(&b->points, right);
    }
    return different;
}

/* Enough points for ties: without them the test would prove little. */
static void test_order(void) {
    sample_t sample, shuffled;
    uint64_t state = 5;
    sample_fill(&sample, 40, 60);
    sample.servers[7].weight = 90;
    for (size_t i = 0; i < 4; i++) {
        warmring_ring_t *ring = sample_ring(sample.servers, sample.count, dialects[i], 160);
        uint64_t ties = points_asked(ring) - warmring_ring_points(ring);
        tap_ok(ties >= 5, "%s: %llu ties in this ring", dialects[i], (unsigned long long)ties);
        for (int round = 0; round < 3; round++) {
            sample_shuffle(&shuffled, &sample, &state);
            warmring_ring_t *other = sample_ring(shuffled.servers, sample.count, dialects[i], 160);
            tap_int((int64_t)warmring_ring_points(other), (int64_t)warmring_ring_points(ring),
                    "%s: as many points in another order", dialects[i]);
            tap_int(different_points(ring, other), 0, "%s: the order of the list is all the same",
                    dialects[i]);
            warmring_ring_free(other);
        }
        warmring_ring_free(ring);
    }
}

static unsigned different_owners(const warmring_ring_t *ring, size_t count) {
    static char text[1000][SAMPLE_TEXT];
    static warmring_bytes_t keys[1000];
    static uint32_t owners[1001];
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = (warmring_bytes_t){text[i], sample_key(text[i], i * 977)};
    }
    owners[count] = 4711;
    warmring_ring_locate_many(ring, keys, count, owners);
    unsigned different = owners[count] != 4711;
    for (size_t i = 0; i < count; i++) {
        different += owners[i] != warmring_ring_locate(ring, keys[i].data, keys[i].length);
    }
    return different;
}

static void test_many(void) {
    static const size_t counts[] = {0, 1, 2, 15, 16, 17, 31, 32, 63, 64, 65, 128, 1000};
    sample_t sample;
    sample_fill(&sample, 12, 1);
    for (size_t i = 0; i < DIALECTS; i++) {
        for (size_t servers = 1; servers <= sample.count; servers += 11) {
            warmring_ring_t *ring = sample_ring(sample.servers, servers, dialects[i], 333);
            unsigned different = 0;
            for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
                different += different_owners(ring, counts[k]);
            }
            tap_int(different, 0, "%s, %zu servers: many keys as one by one", dialects[i], servers);
            warmring_ring_free(ring);
        }
    }
}

static bool all_distinct(const uint32_t *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (list[i] == list[j]) {
                return false;
            }
        }
    }
    return true;
}

/* The ring without one server; `kept` says which number each of its servers
 * has on the whole ring. */
static warmring_ring_t *ring_without(const sample_t *sample, size_t without, uint32_t *kept) {
    sample_t rest = *sample;
    rest.count = 0;
    for (uint32_t i = 0; i < sample->count; i++) {
        if (i != without) {
            kept[rest.count] = i;
            rest.servers[rest.count++] = sample->servers[i];
        }
    }
    return sample_ring(rest.servers, rest.count, "v2", 100);
}

static void test_walk(void) {
    enum { SERVERS = 8, KEYS = 300 };
    sample_t sample;
    sample_fill(&sample, SERVERS + 1, 1);
    sample.servers[SERVERS].weight = 0;
    warmring_ring_t *ring = sample_ring(sample.servers, sample.count, "v2", 100);
    warmring_ring_t *rest[SERVERS];
    uint32_t kept[SERVERS][SAMPLE_MAX];
    for (size_t i = 0; i < SERVERS; i++) {
        rest[i] = ring_without(&sample, i, kept[i]);
    }
    unsigned incomplete = 0, owner = 0, second = 0, prefix = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        char key[SAMPLE_TEXT];
        uint32_t walk[SAMPLE_MAX], two[2];
        size_t length = sample_key(key, i);
        size_t met = warmring_ring_walk(ring, key, length, walk, SAMPLE_MAX);
        incomplete += met != SERVERS || !all_distinct(walk, met);
        owner += walk[0] != warmring_ring_locate(ring, key, length);
        second += walk[1] != kept[walk[0]][warmring_ring_locate(rest[walk[0]], key, length)];
        prefix += warmring_ring_walk(ring, key, length, two, 2) != 2 || two[0] != walk[0] ||
                  two[1] != walk[1];
        prefix += warmring_ring_walk(ring, key, length, NULL, 0) != 0;
    }
    tap_int((int64_t)warmring_ring_points(ring), 100 * SERVERS, "no ties in this ring");
    tap_int(incomplete, 0, "a walk meets every server once, the drained one never");
    tap_int(owner, 0, "a walk begins with the owner");
    tap_int(second, 0, "second is who would own the key without the first");
    tap_int(prefix, 0, "a short walk is the beginning of a long one");
    for (size_t i = 0; i < SERVERS; i++) {
        warmring_ring_free(rest[i]);
    }
    warmring_ring_free(ring);
}

/* Keys that moved although neither owner is the changed server. */
static unsigned strange_moves(const warmring_ring_t *from, const warmring_ring_t *to,
                              uint32_t changed, unsigned *moves) {
    unsigned strange = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        char key[SAMPLE_TEXT];
        size_t length = sample_key(key, i);
        uint32_t a = warmring_ring_locate(from, key, length);
        uint32_t b = warmring_ring_locate(to, key, length);
        *moves += a != b;
        strange += a != b && a != changed && b != changed;
    }
    return strange;
}

static void test_weights(void) {
    static const double weights[] = {0, 0.37, 1, 2, 2.5, 10};
    enum { WEIGHTS = sizeof weights / sizeof weights[0], CHANGED = 4 };
    sample_t sample;
    sample_fill(&sample, 10, 1);
    for (size_t i = 0; i + 1 < WEIGHTS; i++) {
        sample.servers[CHANGED].weight = weights[i];
        warmring_ring_t *from = sample_ring(sample.servers, sample.count, "v2", 0);
        sample.servers[CHANGED].weight = weights[i + 1];
        warmring_ring_t *to = sample_ring(sample.servers, sample.count, "v2", 0);
        unsigned moves = 0;
        tap_int(strange_moves(from, to, CHANGED, &moves), 0,
                "weight %g to %g: only that server's keys move", weights[i], weights[i + 1]);
        tap_ok(moves > 100, "weight %g to %g: %u keys move", weights[i], weights[i + 1], moves);
        tap_int((int64_t)warmring_ring_server_points(to, CHANGED),
                (int64_t)round(1000 * weights[i + 1]), "weight %g: points", weights[i + 1]);
        warmring_ring_free(from);
        warmring_ring_free(to);
    }
}

static void test_range(void) {
    sample_t sample;
    sample_fill(&sample, 2, 1);
    sample.servers[1].weight = 1e6;
    warmring_ring_t *ring = sample_ring(sample.servers, 2, "v2", 2);
    tap_int((int64_t)warmring_ring_server_points(ring, 0), 2, "weight 1 beside 1e6");
    tap_int((int64_t)warmring_ring_server_points(ring, 1), 2000000, "weight 1e6 beside 1");
    tap_near(warmring_ring_share(ring, 1), 1, 1e-5, "who has all the weight has all the keys");
    tap_ok(warmring_ring_share(ring, 0) > 0, "and the other a few");
    warmring_ring_free(ring);

    sample.servers[0].weight = 1e-9;
    sample.servers[1].weight = 0;
    ring = sample_ring(sample.servers, 2, NULL, 0);
    tap_int((int64_t)warmring_ring_points(ring), 1, "any weight above 0 is a point");
    tap_ok(warmring_ring_share(ring, 0) >= 1, "one point owns everything");
    tap_ok(warmring_ring_share(ring, 1) <= 0, "a drained server owns nothing");
    tap_int(wr_ring_owner(ring, 0), 0, "lowest hash");
    tap_int(wr_ring_owner(ring, UINT32_MAX), 0, "highest hash");
    tap_int(warmring_ring_locate(ring, "", 0), 0, "the empty key has an owner");
    tap_string(warmring_ring_dialect(ring), "v2", "v2 is the default");
    warmring_ring_free(ring);
}

/* ---- identities and dialects ---- */

static double share_of_first(warmring_server_t first, const char *dialect) {
    warmring_server_t servers[] = {first, {.size = sizeof first, .host = "other", .weight = 1}};
    warmring_ring_t *ring = sample_ring(servers, 2, dialect, 0);
    double share = warmring_ring_share(ring, 0);
    warmring_ring_free(ring);
    return share;
}

static bool same_ring(warmring_server_t a, warmring_server_t b, const char *dialect) {
    double difference = share_of_first(a, dialect) - share_of_first(b, dialect);
    return difference >= 0 && difference <= 0;
}

static void test_identity(void) {
    const warmring_server_t host = {.size = sizeof host, .host = "h", .weight = 1};
    warmring_server_t port = host, other_port = host, named = host, moved = host, path = host;
    port.port = 11211;
    other_port.port = 11212;
    named.name = moved.name = "n";
    moved.host = "elsewhere";
    moved.port = 5;
    path.host = "/h";
    tap_ok(same_ring(host, port, "v2"), "v2: no port is port 11211");
    tap_ok(!same_ring(port, other_port, "v2"), "v2: another port is another server");
    tap_ok(same_ring(named, moved, "v2"), "v2: a named server keeps its keys at a new address");
    tap_ok(!same_ring(named, host, "v2"), "v2: a name is an identity of its own");
    tap_ok(!same_ring(path, host, "v2"), "v2: a path is none of a host");
    tap_ok(!same_ring(host, port, "nginx"), "nginx: no port is no port");
    tap_ok(same_ring(host, named, "nginx"), "nginx knows no names");
    if (WR_WITH_LIBMEMCACHED) {
        tap_ok(same_ring(port, named, "libmemcached-weighted"), "libmemcached knows no names");
    }
}

static void test_dialects(void) {
    for (size_t i = 0; i < DIALECTS; i++) {
        tap_string(warmring_dialect_name(i), dialects[i], "dialect %zu", i);
    }
    tap_ok(warmring_dialect_name(DIALECTS) == NULL, "no more dialects");
}

/* Measured on the real library: one server may end up with everything. */
static void test_lopsided(void) {
    sample_t sample;
    sample_fill(&sample, 3, 1);
    sample.servers[2].weight = 400;
    warmring_ring_t *ring = sample_ring(sample.servers, 3, "libmemcached-weighted", 0);
    tap_ok(warmring_ring_share(ring, 2) >= 1, "libmemcached: 1:1:400 gives the last everything");
    tap_ok(warmring_ring_share(ring, 0) <= 0, "libmemcached: 1:1:400 gives the first nothing");
    warmring_ring_free(ring);
}

static void test_prefix(void) {
    static const bool hashed[ALL_DIALECTS] = {
        [0] = true, [1] = true, [2] = true, [3] = true, [8] = true};
    sample_t sample;
    sample_fill(&sample, 2, 1);
    for (size_t i = 0; i < DIALECTS; i++) {
        warmring_ring_t *ring = sample_ring(sample.servers, 2, dialects[i], 0);
        uint32_t whole = wr_ring_hash_key(ring, "app:key", 7, 0);
        uint32_t bare = wr_ring_hash_key(ring, "key", 3, 0);
        tap_ok(whole != bare, "%s: prefix changes the bytes", dialects[i]);
        tap_int(wr_ring_hash_key(ring, "app:key", 7, 4), hashed[i] ? whole : bare,
                "%s: prefix is %shashed", dialects[i], hashed[i] ? "" : "not ");
        tap_int(wr_ring_owner(ring, whole), warmring_ring_locate(ring, "app:key", 7),
                "%s: owner of a hash", dialects[i]);
        warmring_ring_free(ring);
    }
    sample_fill(&sample, 1, 1);
    warmring_ring_t *ring = sample_ring(sample.servers, 1, "v2", 0);
    tap_int(wr_ring_hash_key(ring, "123456789", 9, 0), 0xcbf43926, "v2: CRC-32 of the key");
    warmring_ring_free(ring);
}

int main(void) {
    test_reference();
    test_shares();
    test_order();
    test_many();
    test_walk();
    test_weights();
    test_range();
    test_identity();
    test_dialects();
    if (WR_WITH_LIBMEMCACHED) {
        test_lopsided();
    }
    test_prefix();
    return tap_done();
}
