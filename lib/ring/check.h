/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of servers and options before memory is taken for points.
 */
#ifndef WR_RING_CHECK_H
#define WR_RING_CHECK_H

#include "ring/dialect.h"

/* Options with their defaults filled in. */
typedef struct {
    const wr_dialect_t *dialect;
    wr_hash_t hash_key;
    const char *hash; /* its name where it was chosen; it is static */
    char tag[3];
    double points_per_weight;
    uint64_t max_points;
} wr_build_t;

/* Element `index` of the caller's list, whose elements may be larger than
 * ours. */
const warmring_server_t *wr_server_at(const warmring_server_t *servers, size_t index);

warmring_status_t wr_check_options(const warmring_ring_options_t *options, wr_build_t *build);

/* The same, with this dialect instead of the one that the options name. */
warmring_status_t wr_check_options_for(const warmring_ring_options_t *options,
                                       const wr_dialect_t *dialect, wr_build_t *build);

/* Each server by itself. Takes no memory. */
warmring_status_t wr_check_servers(const warmring_server_t *servers, size_t count,
                                   const wr_build_t *build);

/* No name, endpoint or identity twice. */
warmring_status_t wr_check_distinct(const wr_members_t *members, const wr_build_t *build);

/* Sets how many points each member asks for, and their sum; refuses more
 * than there may be. */
warmring_status_t wr_check_points(wr_members_t *members, const wr_build_t *build, uint64_t *total);

#endif
