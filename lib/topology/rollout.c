/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rollouts: one for all clients, and one for each scope that has its own.
 */
#include <string.h>

#include "base/fail.h"
#include "topology/server_text.h"
#include "topology/topology.h"

/* The scope's place in the list, or the end of it. */
static size_t find(const warmring_topology_t *topology, const char *scope) {
    size_t index = 0;
    while (index < topology->scope_count && strcmp(topology->scopes[index].scope, scope) != 0) {
        index++;
    }
    return index;
}

static warmring_status_t check(const warmring_topology_t *topology, const char *scope,
                               uint32_t basis_points) {
    enum { QUOTED = 100 };
    if (topology->phase != WARMRING_WARMING) {
        return wr_fail(WARMRING_ILLEGAL_STEP, "a rollout is set in phase WARMING, not in %s",
                       warmring_phase_name(topology->phase));
    }
    if (basis_points > WARMRING_ROLLOUT_ALL) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "rollout %u is above %u basis points",
                       (unsigned)basis_points, WARMRING_ROLLOUT_ALL);
    }
    if (scope == NULL) {
        return WARMRING_OK;
    }
    if (!wr_is_name(scope, strlen(scope), WR_MAX_SCOPE)) {
        return wr_fail(WARMRING_BAD_ARGUMENT,
                       "scope \"%.*s%s\": a scope is 1 to %d letters, digits, '.', '_' and '-'",
                       QUOTED, scope, strlen(scope) > QUOTED ? "..." : "", WR_MAX_SCOPE);
    }
    if (find(topology, scope) == WR_MAX_SCOPES) {
        return wr_fail(WARMRING_LIMIT_EXCEEDED, "scope \"%s\": %d scopes have a rollout already",
                       scope, WR_MAX_SCOPES);
    }
    return WARMRING_OK;
}

static void set_scope(warmring_topology_t *topology, size_t index, const char *scope,
                      uint32_t rollout) {
    memcpy(topology->scopes[index].scope, scope, strlen(scope) + 1);
    topology->scopes[index].rollout = rollout;
}

warmring_status_t warmring_topology_rollout(const warmring_topology_t *topology, const char *scope,
                                            uint32_t basis_points, warmring_topology_t **result) {
    if (WR_EMPTY_OR_NULL(result, topology)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_status_t status = check(topology, scope, basis_points);
    if (status != WARMRING_OK) {
        return status;
    }
    size_t index = scope != NULL ? find(topology, scope) : 0;
    size_t kept = scope != NULL ? topology->scope_count : 0;
    wr_topology_parts_t parts = {
        .phase = topology->phase,
        .epoch = topology->epoch + 1,
        .seed = topology->seed,
        .cluster = {topology->cluster[WARMRING_OLD_RING], topology->cluster[WARMRING_NEW_RING]},
        .joint = topology->joint,
        .scope_count = scope != NULL && index == kept ? kept + 1 : kept,
    };
    status = wr_topology_make(result, &parts);
    if (status != WARMRING_OK) {
        return status;
    }
    memcpy((*result)->scopes, topology->scopes, kept * sizeof topology->scopes[0]);
    if (scope != NULL) {
        (*result)->rollout = topology->rollout;
        set_scope(*result, index, scope, basis_points);
    } else {
        (*result)->rollout = basis_points;
    }
    return WARMRING_OK;
}

uint32_t warmring_topology_get_rollout(const warmring_topology_t *topology, const char *scope) {
    size_t index = scope != NULL ? find(topology, scope) : topology->scope_count;
    return index < topology->scope_count ? topology->scopes[index].rollout : topology->rollout;
}
