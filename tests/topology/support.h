/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of topologies share: making them where that is not what is
 * tested.
 */
#ifndef TESTS_TOPOLOGY_SUPPORT_H
#define TESTS_TOPOLOGY_SUPPORT_H

#include <stdio.h>
#include <string.h>

#include <warmring/topology.h>

#include "tests/lib/tap.h"

static inline warmring_topology_t *parse(const char *servers) {
    warmring_topology_t *topology;
    if (warmring_topology_parse(&topology, servers, NULL, 0) != WARMRING_OK) {
        tap_bail("cannot parse \"%s\": %s", servers, warmring_error_detail());
    }
    return topology;
}

static inline warmring_topology_t *parse_as(const char *servers, const char *dialect,
                                            double points_per_weight) {
    warmring_topology_t *topology;
    if (warmring_topology_parse(&topology, servers, dialect, points_per_weight) != WARMRING_OK) {
        tap_bail("cannot parse \"%s\": %s", servers, warmring_error_detail());
    }
    return topology;
}

static inline warmring_topology_t *begin(const warmring_topology_t *from,
                                         const warmring_topology_t *to) {
    warmring_topology_t *topology;
    if (warmring_topology_migrate(from, to, &topology) != WARMRING_OK) {
        tap_bail("cannot migrate: %s", warmring_error_detail());
    }
    return topology;
}

/* The topology after a step; the one before is released. */
static inline warmring_topology_t *stepped(warmring_topology_t *topology, warmring_step_t step) {
    warmring_topology_t *next;
    if (warmring_topology_step(topology, step, &next) != WARMRING_OK) {
        tap_bail("cannot %s: %s", warmring_step_name(step), warmring_error_detail());
    }
    warmring_topology_release(topology);
    return next;
}

/* A new topology of that phase, reached by the shortest way; for STABLE the
 * end on the new ring. */
static inline warmring_topology_t *in_phase(const warmring_topology_t *from,
                                            const warmring_topology_t *to, warmring_phase_t phase) {
    static const warmring_step_t way[] = {WARMRING_WARM,   WARMRING_COMMIT, WARMRING_COMMIT,
                                          WARMRING_FINISH, WARMRING_FINISH, WARMRING_FINISH};
    warmring_topology_t *topology = begin(from, to);
    for (size_t i = 0; warmring_topology_phase(topology) != phase; i++) {
        if (i == sizeof way / sizeof way[0]) {
            tap_bail("no way to phase %d", (int)phase);
        }
        topology = stepped(topology, way[i]);
    }
    return topology;
}

#endif
