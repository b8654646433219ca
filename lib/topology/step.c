/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps: from one topology of a migration to the next.
 */
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "topology/canonical.h"
#include "topology/phase.h"
#include "topology/topology.h"

/* Where each step leads; a pair that is not here is refused. `side` is the
 * ring that stays when the step leads to STABLE. */
static const struct {
    warmring_phase_t from;
    warmring_step_t step;
    warmring_phase_t to;
    warmring_side_t side;
} transitions[] = {
    {WARMRING_PREPARED, WARMRING_WARM, WARMRING_WARMING, WARMRING_OLD_RING},
    {WARMRING_PREPARED, WARMRING_ROLLBACK, WARMRING_STABLE, WARMRING_OLD_RING},
    {WARMRING_WARMING, WARMRING_COMMIT, WARMRING_HANDOVER, WARMRING_OLD_RING},
    {WARMRING_WARMING, WARMRING_COMMIT_DIRECTLY, WARMRING_DRAINING, WARMRING_OLD_RING},
    {WARMRING_WARMING, WARMRING_ROLLBACK, WARMRING_PREPARED, WARMRING_OLD_RING},
    {WARMRING_HANDOVER, WARMRING_COMMIT, WARMRING_DRAINING, WARMRING_OLD_RING},
    {WARMRING_HANDOVER, WARMRING_ROLLBACK, WARMRING_PREPARED, WARMRING_OLD_RING},
    {WARMRING_DRAINING, WARMRING_FINISH, WARMRING_CLOSING, WARMRING_OLD_RING},
    {WARMRING_DRAINING, WARMRING_ROLLBACK, WARMRING_HANDOVER, WARMRING_OLD_RING},
    {WARMRING_CLOSING, WARMRING_FINISH, WARMRING_SETTLING, WARMRING_OLD_RING},
    {WARMRING_CLOSING, WARMRING_ROLLBACK, WARMRING_HANDOVER, WARMRING_OLD_RING},
    {WARMRING_SETTLING, WARMRING_FINISH, WARMRING_STABLE, WARMRING_NEW_RING},
    {WARMRING_SETTLING, WARMRING_SETTLE, WARMRING_STABLE, WARMRING_NEW_RING},
};

enum { TRANSITIONS = sizeof transitions / sizeof transitions[0] };

static const char *const step_names[] = {
#define STEP_NAME(name) [WARMRING_##name] = #name,
    WARMRING_STEP_LIST(STEP_NAME)};

const char *warmring_step_name(warmring_step_t step) {
    size_t index = (size_t)step;
    return index < sizeof step_names / sizeof step_names[0] ? step_names[index] : "?";
}

/* The same in every process that starts this migration, another one for each
 * attempt, since each has its own epoch. */
static uint64_t make_seed(uint64_t epoch, const wr_cluster_t *before, const wr_cluster_t *after) {
    uint64_t hash = wr_canonical_u64(0, epoch);
    hash = wr_canonical_u64(hash, wr_cluster_fingerprint(before));
    return wr_canonical_u64(hash, wr_cluster_fingerprint(after));
}

warmring_status_t warmring_topology_migrate(const warmring_topology_t *topology,
                                            const warmring_topology_t *target,
                                            warmring_topology_t **result) {
    if (WR_EMPTY_OR_NULL(result, topology, target)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_status_t status = wr_topology_demand_stable(topology);
    if (status == WARMRING_OK) {
        status = wr_topology_demand_stable(target);
    }
    if (status != WARMRING_OK) {
        return status;
    }
    wr_topology_parts_t parts = {
        .phase = WARMRING_PREPARED,
        .epoch = topology->epoch + 1,
        .cluster = {topology->cluster[WARMRING_OLD_RING], target->cluster[WARMRING_OLD_RING]},
    };
    parts.seed = make_seed(parts.epoch, parts.cluster[0], parts.cluster[1]);
    return wr_topology_make(result, &parts);
}

static warmring_status_t refuse(warmring_phase_t phase, warmring_step_t step) {
    if (phase == WARMRING_STABLE) {
        return wr_fail(WARMRING_ILLEGAL_STEP,
                       "%s is not possible in phase STABLE: no migration is under way, begin "
                       "with warmring_topology_migrate()",
                       warmring_step_name(step));
    }
    char possible[128];
    size_t used = 0;
    for (size_t i = 0; i < TRANSITIONS; i++) {
        if (transitions[i].from == phase) {
            used += (size_t)snprintf(possible + used, sizeof possible - used, "%s%s",
                                     used > 0 ? ", " : "", warmring_step_name(transitions[i].step));
        }
    }
    return wr_fail(WARMRING_ILLEGAL_STEP, "%s is not possible in phase %s: possible here: %s",
                   warmring_step_name(step), warmring_phase_name(phase), possible);
}

static warmring_status_t go(const warmring_topology_t *topology, size_t transition,
                            warmring_topology_t **result) {
    uint64_t epoch = topology->epoch + 1;
    warmring_phase_t to = transitions[transition].to;
    if (to == WARMRING_STABLE) {
        wr_cluster_t *stays = topology->cluster[transitions[transition].side];
        warmring_status_t status = wr_topology_make_stable(result, wr_cluster_retain(stays), epoch);
        if (status == WARMRING_OK) {
            (*result)->settled = transitions[transition].step != WARMRING_FINISH;
        }
        return status;
    }
    wr_topology_parts_t parts = {
        .phase = to,
        .epoch = epoch,
        .seed = topology->seed,
        .cluster = {topology->cluster[WARMRING_OLD_RING], topology->cluster[WARMRING_NEW_RING]},
        .joint = topology->joint,
    };
    return wr_topology_make(result, &parts);
}

bool wr_topology_is_settled(const warmring_topology_t *topology) {
    return topology->settled;
}

warmring_status_t warmring_topology_step(const warmring_topology_t *topology, warmring_step_t step,
                                         warmring_topology_t **result) {
    if (WR_EMPTY_OR_NULL(result, topology)) {
        return WARMRING_BAD_ARGUMENT;
    }
    for (size_t i = 0; i < TRANSITIONS; i++) {
        if (transitions[i].from == topology->phase && transitions[i].step == step) {
            return go(topology, i, result);
        }
    }
    return refuse(topology->phase, step);
}
