/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of dialects.
 */
#include <string.h>

#include "ring/dialect.h"

static const wr_dialect_t dialects[] = {
    {
        .name = "v2",
        .prefix_hashed = true,
        .identity = wr_chain_identity,
        .count = wr_chain_count,
        .make = wr_chain_make,
        .wins = wr_tie_fair,
        .hash_key = wr_chain_hash_key,
        .owner = wr_ring_owner_by_points,
        .owners = wr_ring_owners_by_points,
    },
    {
        /* `hash KEY consistent` of its upstream module */
        .name = "nginx",
        .fixed_points = 160,
        .whole_weights = true,
        .prefix_hashed = true,
        .identity = wr_chain_nginx_identity,
        .count = wr_chain_count,
        .make = wr_chain_make,
        .wins = wr_tie_identity,
        .hash_key = wr_chain_hash_key,
        .owner = wr_ring_owner_by_points,
        .owners = wr_ring_owners_by_points,
    },
    {
        /* MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED */
        .name = "libmemcached-weighted",
        .fixed_points = 160,
        .whole_weights = true,
        .prefix_hashed = false,
        .identity = wr_ketama_identity,
        .count = wr_ketama_count,
        .make = wr_ketama_make,
        .wins = wr_tie_index,
        .hash_key = wr_ketama_hash_key,
        .owner = wr_ring_owner_by_points,
        .owners = wr_ring_owners_by_points,
    },
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
