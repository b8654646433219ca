/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of dialects.
 */
#include <string.h>

#include "ring/dialect.h"
#include "ring/hashes.h"

/* An owner is the first point at or after a hash. */
#define BY_POINTS                                                                          \
    .fill = wr_continuum_fill, .owner = wr_continuum_owner, .owners = wr_continuum_owners, \
    .walk = wr_continuum_walk

/* What the CRC-32 chains have in common. */
#define CHAINED                                                                 \
    .prefix_hashed = true, .hash_key = wr_hash_crc32a, .count = wr_chain_count, \
    .make = wr_chain_make, BY_POINTS

/* And the rings of libmemcached. */
#define LIBMEMCACHED \
    .whole_weights = true, .hashes = WR_HASHES_LIBMEMCACHED, .wins = wr_tie_index, BY_POINTS

static const wr_dialect_t dialects[] = {
    {
        .name = "v2",
        .tags = true,
        .identity = wr_chain_identity,
        .wins = wr_tie_fair,
        CHAINED,
    },
    {
        /* pingora-ketama with its feature v2 */
        .name = "pingora-v2",
        .whole_weights = true,
        .identity = wr_member_endpoint,
        .wins = wr_tie_address,
        CHAINED,
    },
    {
        /* pingora-ketama without: as nginx, but IPv6 wears no brackets and a
         * port is always written */
        .name = "pingora-v1",
        .fixed_points = 160,
        .whole_weights = true,
        .identity = wr_member_endpoint,
        .wins = wr_tie_identity,
        CHAINED,
    },
    {
        /* `hash KEY consistent` of its upstream module */
        .name = "nginx",
        .fixed_points = 160,
        .whole_weights = true,
        .identity = wr_chain_nginx_identity,
        .wins = wr_tie_identity,
        CHAINED,
    },
#if WR_WITH_LIBMEMCACHED /* and its libhashkit */
    {
        /* what libmemcached does unless told otherwise */
        .name = "modula",
        .fixed_points = 1,
        .hash_key = wr_hash_one_at_a_time,
        .hashes = WR_HASHES_LIBMEMCACHED,
        .identity = wr_member_endpoint,
        .count = wr_modula_count,
        .fill = wr_modula_fill,
        .owner = wr_modula_owner,
        .owners = wr_modula_owners,
        .walk = wr_modula_walk,
    },
    {
        /* MEMCACHED_BEHAVIOR_KETAMA, or MEMCACHED_DISTRIBUTION_CONSISTENT */
        .name = "libmemcached",
        .fixed_points = 100,
        .hash_key = wr_hash_one_at_a_time,
        .identity = wr_ketama_identity,
        .count = wr_libmemcached_count,
        .make = wr_libmemcached_make,
        LIBMEMCACHED,
    },
    {
        /* MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED */
        .name = "libmemcached-weighted",
        .fixed_points = 160,
        .hash_key = wr_hash_md5,
        .identity = wr_ketama_identity,
        .count = wr_ketama_count,
        .make = wr_ketama_make,
        LIBMEMCACHED,
    },
    {
        /* MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY */
        .name = "libmemcached-spy",
        .fixed_points = 100,
        .hash_key = wr_hash_one_at_a_time,
        .identity = wr_spy_identity,
        .count = wr_libmemcached_count,
        .make = wr_libmemcached_make,
        LIBMEMCACHED,
    },
    {
        /* `distribution: ketama` */
        .name = "twemproxy",
        .fixed_points = 160,
        .whole_weights = true,
        .prefix_hashed = true,
        .tags = true,
        .hash_key = wr_hash_fnv1a_64,
        .hashes = WR_HASHES_TWEMPROXY,
        .identity = wr_twemproxy_identity,
        .count = wr_twemproxy_count,
        .make = wr_ketama_make,
        .wins = wr_tie_index,
        BY_POINTS,
    },
#endif
};

enum { DIALECTS = sizeof dialects / sizeof dialects[0] };

const char *warmring_dialect_name(size_t index) {
    return index < DIALECTS ? dialects[index].name : NULL;
}

const wr_dialect_t *wr_dialect_find(const char *name) {
    for (size_t i = 0; i < DIALECTS; i++) {
        if (strcmp(dialects[i].name, name) == 0) {
            return &dialects[i];
        }
    }
    return NULL;
}
