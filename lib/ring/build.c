/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a ring: check options and servers, count the points, and let the
 * dialect fill it.
 */
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "ring/check.h"
#include "ring/ring.h"

static warmring_status_t fill_ring(warmring_ring_t *ring, const warmring_server_t *servers,
                                   size_t count, const wr_build_t *build) {
    ring->dialect = build->dialect;
    ring->hash_key = build->hash_key;
    ring->hash = build->hash;
    memcpy(ring->tag, build->tag, sizeof ring->tag);
    if (!wr_members_copy(&ring->members, servers, count)) {
        return wr_fail_memory();
    }
    uint64_t points = 0;
    warmring_status_t status = wr_check_distinct(&ring->members, build);
    if (status == WARMRING_OK) {
        status = wr_check_points(&ring->members, build, &points);
    }
    return status == WARMRING_OK ? ring->dialect->fill(ring, points) : status;
}

static warmring_status_t build_ring(const warmring_server_t *servers, size_t count,
                                    const wr_build_t *build, warmring_ring_t **ring) {
    warmring_ring_t *built = wr_calloc(1, sizeof *built);
    if (built == NULL) {
        return wr_fail_memory();
    }
    warmring_status_t status = fill_ring(built, servers, count, build);
    if (status != WARMRING_OK) {
        warmring_ring_free(built);
        return status;
    }
    *ring = built;
    return WARMRING_OK;
}

warmring_status_t wr_ring_build(const warmring_server_t *servers, size_t count,
                                const warmring_ring_options_t *options, const wr_dialect_t *dialect,
                                warmring_ring_t **ring) {
    if (WR_HAS_NULL(ring)) {
        return WARMRING_BAD_ARGUMENT;
    }
    *ring = NULL;
    if (count > 0 && WR_HAS_NULL(servers)) {
        return WARMRING_BAD_ARGUMENT;
    }
    wr_build_t build;
    warmring_status_t status = wr_check_options_for(options, dialect, &build);
    if (status == WARMRING_OK) {
        status = wr_check_servers(servers, count, &build);
    }
    return status == WARMRING_OK ? build_ring(servers, count, &build, ring) : status;
}

warmring_status_t warmring_ring_create(const warmring_server_t *servers, size_t count,
                                       const warmring_ring_options_t *options,
                                       warmring_ring_t **ring) {
    return wr_ring_build(servers, count, options, NULL, ring);
}
