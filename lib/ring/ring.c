/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking a ring.
 */
#include "ring/ring.h"

#include <string.h>

#include "base/memory.h"

enum { BATCH = 64 };

static const double hash_space = 4294967296.0;

void warmring_ring_free(warmring_ring_t *ring) {
    if (ring != NULL) {
        wr_points_free(&ring->points);
        wr_free(ring->live);
        wr_members_free(&ring->members);
        wr_free(ring);
    }
}

/* What is hashed alone: the part of a key between the two characters of the
 * tag, unless it is empty or there is none. Few rings have tags: the others do
 * without its registers. */
static __attribute__((noinline)) warmring_bytes_t tagged(const warmring_ring_t *ring,
                                                         const char *bytes, size_t length) {
    warmring_bytes_t whole = {bytes, length};
    const char *open = length > 0 ? memchr(bytes, ring->tag[0], length) : NULL;
    if (open == NULL) {
        return whole;
    }
    const char *start = open + 1, *end = bytes + length;
    const char *close = start < end ? memchr(start, ring->tag[1], (size_t)(end - start)) : NULL;
    if (close == NULL || close == start) {
        return whole;
    }
    return (warmring_bytes_t){start, (size_t)(close - start)};
}

static inline uint32_t hash_of(const warmring_ring_t *ring, const char *bytes, size_t length) {
    if (ring->tag[0] != '\0') {
        warmring_bytes_t part = tagged(ring, bytes, length);
        return ring->hash_key(part.data, part.length);
    }
    return ring->hash_key(bytes, length);
}

static inline uint32_t hash_behind(const warmring_ring_t *ring, const char *bytes, size_t length,
                                   size_t prefix_length) {
    size_t skipped = ring->dialect->prefix_hashed ? 0 : prefix_length;
    skipped = skipped < length ? skipped : length;
    return hash_of(ring, bytes + skipped, length - skipped);
}

uint32_t wr_ring_hash_key(const warmring_ring_t *ring, const char *bytes, size_t length,
                          size_t prefix_length) {
    return hash_behind(ring, bytes, length, prefix_length);
}

uint32_t wr_ring_owner(const warmring_ring_t *ring, uint32_t hash) {
    return ring->dialect->owner(ring, hash);
}

void wr_ring_owners(const warmring_ring_t *ring, const wr_place_t *places, size_t count,
                    uint32_t *owners) {
    uint32_t hashes[BATCH];
    for (size_t done = 0; done < count;) {
        size_t batch = count - done < BATCH ? count - done : BATCH;
        for (size_t i = 0; i < batch; i++) {
            const wr_place_t *place = &places[done + i];
            hashes[i] = hash_behind(ring, place->bytes, place->length, place->prefix_length);
        }
        ring->dialect->owners(ring, hashes, batch, owners + done);
        done += batch;
    }
}

const wr_member_t *wr_ring_member(const warmring_ring_t *ring, uint32_t index) {
    return &ring->members.list[index];
}

bool wr_ring_hashes_alike(const warmring_ring_t *a, const warmring_ring_t *b) {
    return a->hash_key == b->hash_key && a->dialect->prefix_hashed == b->dialect->prefix_hashed &&
           strcmp(a->tag, b->tag) == 0;
}

uint32_t warmring_ring_locate(const warmring_ring_t *ring, const char *key, size_t key_length) {
    return wr_ring_owner(ring, hash_of(ring, key, key_length));
}

void warmring_ring_locate_many(const warmring_ring_t *ring, const warmring_bytes_t *keys,
                               size_t count, uint32_t *owners) {
    uint32_t hashes[BATCH];
    for (size_t done = 0; done < count;) {
        size_t batch = count - done < BATCH ? count - done : BATCH;
        for (size_t i = 0; i < batch; i++) {
            hashes[i] = hash_of(ring, keys[done + i].data, keys[done + i].length);
        }
        ring->dialect->owners(ring, hashes, batch, owners + done);
        done += batch;
    }
}

size_t warmring_ring_walk(const warmring_ring_t *ring, const char *key, size_t key_length,
                          uint32_t *owners, size_t capacity) {
    return ring->dialect->walk(ring, hash_of(ring, key, key_length), owners, capacity);
}

double warmring_ring_share(const warmring_ring_t *ring, uint32_t server) {
    return server < ring->members.count ? (double)ring->members.list[server].arc / hash_space : 0;
}

size_t warmring_ring_servers(const warmring_ring_t *ring) {
    return ring->members.count;
}

uint64_t warmring_ring_points(const warmring_ring_t *ring) {
    return ring->points.count;
}

uint64_t warmring_ring_server_points(const warmring_ring_t *ring, uint32_t server) {
    return server < ring->members.count ? ring->members.list[server].points : 0;
}

size_t warmring_ring_bytes(const warmring_ring_t *ring) {
    size_t live = ring->live != NULL ? ring->members.live * sizeof *ring->live : 0;
    return sizeof *ring + ring->members.count * sizeof *ring->members.list + live +
           ring->members.text_size + warmring_ring_points_bytes(ring);
}

size_t warmring_ring_points_bytes(const warmring_ring_t *ring) {
    return (size_t)ring->points.size;
}

const char *warmring_ring_dialect(const warmring_ring_t *ring) {
    return ring->dialect->name;
}
