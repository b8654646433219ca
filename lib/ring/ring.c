/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking a ring.
 */
#include "ring/ring.h"

#include "base/memory.h"

enum { BATCH = 64 };

static const double hash_space = 4294967296.0;

void warmring_ring_free(warmring_ring_t *ring) {
    if (ring != NULL) {
        wr_points_free(&ring->points);
        wr_members_free(&ring->members);
        wr_free(ring);
    }
}

uint32_t wr_ring_hash_key(const warmring_ring_t *ring, const char *bytes, size_t length,
                          size_t prefix_length) {
    size_t skipped = ring->dialect->prefix_hashed ? 0 : prefix_length;
    skipped = skipped < length ? skipped : length;
    return ring->dialect->hash_key(bytes + skipped, length - skipped);
}

uint32_t wr_ring_owner(const warmring_ring_t *ring, uint32_t hash) {
    return ring->dialect->owner(ring, hash);
}

uint32_t wr_ring_owner_by_points(const warmring_ring_t *ring, uint32_t hash) {
    return wr_points_owner(&ring->points, hash);
}

void wr_ring_owners_by_points(const warmring_ring_t *ring, const uint32_t *hashes, size_t count,
                              uint32_t *owners) {
    wr_points_owners(&ring->points, hashes, count, owners);
}

const wr_member_t *wr_ring_member(const warmring_ring_t *ring, uint32_t index) {
    return &ring->members.list[index];
}

bool wr_ring_hashes_alike(const warmring_ring_t *a, const warmring_ring_t *b) {
    return a->dialect->hash_key == b->dialect->hash_key;
}

uint32_t warmring_ring_locate(const warmring_ring_t *ring, const char *key, size_t key_length) {
    return wr_ring_owner(ring, ring->dialect->hash_key(key, key_length));
}

void warmring_ring_locate_many(const warmring_ring_t *ring, const warmring_bytes_t *keys,
                               size_t count, uint32_t *owners) {
    uint32_t hashes[BATCH];
    for (size_t done = 0; done < count;) {
        size_t batch = count - done < BATCH ? count - done : BATCH;
        for (size_t i = 0; i < batch; i++) {
            hashes[i] = ring->dialect->hash_key(keys[done + i].data, keys[done + i].length);
        }
        ring->dialect->owners(ring, hashes, batch, owners + done);
        done += batch;
    }
}

static bool contains(const uint32_t *list, size_t count, uint32_t value) {
    for (size_t i = 0; i < count; i++) {
        if (list[i] == value) {
            return true;
        }
    }
    return false;
}

size_t warmring_ring_walk(const warmring_ring_t *ring, const char *key, size_t key_length,
                          uint32_t *owners, size_t capacity) {
    size_t wanted = capacity < ring->owners ? capacity : ring->owners;
    wr_point_t point = wr_points_seek(&ring->points, ring->dialect->hash_key(key, key_length));
    size_t stored = 0;
    while (stored < wanted) {
        if (!contains(owners, stored, point.member)) {
            owners[stored++] = point.member;
        }
        point = wr_points_next(&ring->points, point);
    }
    return stored;
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
    return sizeof *ring + ring->members.count * sizeof *ring->members.list +
           ring->members.text_size + warmring_ring_points_bytes(ring);
}

size_t warmring_ring_points_bytes(const warmring_ring_t *ring) {
    return (size_t)ring->points.size;
}

const char *warmring_ring_dialect(const warmring_ring_t *ring) {
    return ring->dialect->name;
}
