/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dialect: one way to make points and to hash keys.
 *
 * All that differs between the rings of different clients stands in one const
 * descriptor, listed in dialects.c. Nothing else asks which dialect it has:
 * it calls what the descriptor says. A new dialect is a new descriptor, and a
 * small file where none of the functions below does what its source did.
 */
#ifndef WR_RING_DIALECT_H
#define WR_RING_DIALECT_H

#include "ring/member.h"

/* A point while the ring is built: the hash above, the member below, so that
 * numbers in order are points in order. */
typedef uint64_t wr_raw_point_t;

static inline wr_raw_point_t wr_raw_point(uint32_t hash, uint32_t member) {
    return (uint64_t)hash << 32 | member;
}

static inline uint32_t wr_raw_hash(wr_raw_point_t point) {
    return (uint32_t)(point >> 32);
}

static inline uint32_t wr_raw_member(wr_raw_point_t point) {
    return (uint32_t)point;
}

/* The position of some bytes. */
typedef uint32_t (*wr_hash_t)(const char *bytes, size_t length);

typedef struct wr_dialect wr_dialect_t;

struct wr_dialect {
    const char *name;

    /* The points of weight 1 (or of a server, as `count` reads it); 0: the
     * caller's points_per_weight. */
    double fixed_points;

    /* The source knows only weights that are integers below 2^32. */
    bool whole_weights;

    /* The client's key prefix is part of what is hashed. */
    bool prefix_hashed;

    /* A part of a key between two given characters may be hashed alone. */
    bool tags;

    /* How keys are hashed, and what a caller may choose instead: the sets of
     * hashes.h, 0 for none. */
    wr_hash_t hash_key;
    unsigned hashes;

    /* The bytes a member is known by on this ring; they must differ between
     * members. Writes at most WR_IDENTITY_SIZE, returns how many. */
    size_t (*identity)(const wr_member_t *member, char *bytes);

    /* How many points a member with a weight above 0 has. A whole number,
     * perhaps far above any limit, or infinite. */
    double (*count)(const wr_members_t *members, const wr_member_t *member,
                    double points_per_weight);

    /* Fills a ring whose members are checked and counted: their arcs, and
     * what `owner` needs. */
    warmring_status_t (*fill)(warmring_ring_t *ring, uint64_t points);

    /* Where there are points: writes those of member number `index`, as many
     * as it asked for. */
    void (*make)(const warmring_ring_t *ring, uint32_t index, wr_raw_point_t *points);

    /* And whether `challenger` takes a point that `holder` has as well: a
     * total order for each hash. */
    bool (*wins)(const warmring_ring_t *ring, uint32_t challenger, uint32_t holder, uint32_t hash);

    /* The owner of a hash; of many; and the owners met from there on. */
    uint32_t (*owner)(const warmring_ring_t *ring, uint32_t hash);
    void (*owners)(const warmring_ring_t *ring, const uint32_t *hashes, size_t count,
                   uint32_t *owners);
    size_t (*walk)(const warmring_ring_t *ring, uint32_t hash, uint32_t *owners, size_t capacity);
};

/* The dialect of that name; NULL: none. */
const wr_dialect_t *wr_dialect_find(const char *name);

/* chain.c: the CRC-32 chain. */
size_t wr_chain_identity(const wr_member_t *member, char *bytes);
size_t wr_chain_nginx_identity(const wr_member_t *member, char *bytes);
double wr_chain_count(const wr_members_t *members, const wr_member_t *member,
                      double points_per_weight);
void wr_chain_make(const warmring_ring_t *ring, uint32_t index, wr_raw_point_t *points);

/* ketama.c: four points from one MD5. */
size_t wr_ketama_identity(const wr_member_t *member, char *bytes);
double wr_ketama_count(const wr_members_t *members, const wr_member_t *member,
                       double points_per_server);
void wr_ketama_make(const warmring_ring_t *ring, uint32_t index, wr_raw_point_t *points);

/* libmemcached.c: its points without weights, and how it leaves them. */
size_t wr_spy_identity(const wr_member_t *member, char *bytes);
double wr_libmemcached_count(const wr_members_t *members, const wr_member_t *member,
                             double points_per_server);
void wr_libmemcached_make(const warmring_ring_t *ring, uint32_t index, wr_raw_point_t *points);

/* twemproxy.c */
size_t wr_twemproxy_identity(const wr_member_t *member, char *bytes);
double wr_twemproxy_count(const wr_members_t *members, const wr_member_t *member,
                          double points_per_server);

/* tie.c: who gets a point that several members have. */
bool wr_tie_fair(const warmring_ring_t *ring, uint32_t challenger, uint32_t holder, uint32_t hash);
bool wr_tie_identity(const warmring_ring_t *ring, uint32_t challenger, uint32_t holder,
                     uint32_t hash);
bool wr_tie_address(const warmring_ring_t *ring, uint32_t challenger, uint32_t holder,
                    uint32_t hash);
bool wr_tie_index(const warmring_ring_t *ring, uint32_t challenger, uint32_t holder, uint32_t hash);

/* continuum.c: rings with points, whose owner is the first at or after. */
warmring_status_t wr_continuum_fill(warmring_ring_t *ring, uint64_t points);
uint32_t wr_continuum_owner(const warmring_ring_t *ring, uint32_t hash);
void wr_continuum_owners(const warmring_ring_t *ring, const uint32_t *hashes, size_t count,
                         uint32_t *owners);
size_t wr_continuum_walk(const warmring_ring_t *ring, uint32_t hash, uint32_t *owners,
                         size_t capacity);

/* modula.c: rings without. */
double wr_modula_count(const wr_members_t *members, const wr_member_t *member,
                       double points_per_weight);
warmring_status_t wr_modula_fill(warmring_ring_t *ring, uint64_t points);
uint32_t wr_modula_owner(const warmring_ring_t *ring, uint32_t hash);
void wr_modula_owners(const warmring_ring_t *ring, const uint32_t *hashes, size_t count,
                      uint32_t *owners);
size_t wr_modula_walk(const warmring_ring_t *ring, uint32_t hash, uint32_t *owners,
                      size_t capacity);

#endif
