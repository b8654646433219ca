/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topology files in time: holds, rollouts that grow, and the changes that
 * need no server.
 */
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "topology/file.h"

/* ---- holds --------------------------------------------------------------- */

/* Until every client has read the file and the calls begun before have ended;
 * where stubs of those calls matter, until these are gone too. */
static int64_t hold_of_phase(const warmring_file_t *file) {
    int64_t hold = (int64_t)file->lag_s * 1000 + file->max_deadline_ms + 1000;
    warmring_phase_t phase = file->topology->phase;
    if (phase == WARMRING_CLOSING || (phase == WARMRING_PREPARED && file->backwards)) {
        hold += ((int64_t)wr_stub_lifetime_s(file->max_deadline_ms) + 1) * 1000;
    }
    return hold;
}

int64_t warmring_file_hold(const warmring_file_t *file, warmring_step_t step, int64_t now_ms) {
    int64_t hold = hold_of_phase(file);
    if (file->topology->phase == WARMRING_STABLE && file->steps == 0) {
        return 0; /* no client can be in an earlier phase */
    }
    if (file->topology->phase == WARMRING_SETTLING && step == WARMRING_FINISH) {
        if (file->max_ttl_s == 0) {
            return INT64_MAX;
        }
        int64_t settling = (int64_t)file->max_ttl_s * 1000;
        hold = settling > hold ? settling : hold;
    }
    int64_t left = file->since_ms + hold - now_ms;
    return left > 0 ? left : 0;
}

/* ---- rollouts ------------------------------------------------------------ */

static bool has_scope(const warmring_topology_t *topology, const char *scope) {
    for (size_t i = 0; i < topology->scope_count; i++) {
        if (strcmp(topology->scopes[i].scope, scope) == 0) {
            return true;
        }
    }
    return false;
}

static uint32_t on_ramp(const wr_ramp_t *ramp, int64_t now_ms) {
    if (now_ms >= ramp->ends_ms) {
        return ramp->to;
    }
    if (now_ms <= ramp->begins_ms) {
        return ramp->from;
    }
    int64_t rise = (int64_t)ramp->to - ramp->from;
    double part = (double)(now_ms - ramp->begins_ms) / (double)(ramp->ends_ms - ramp->begins_ms);
    return (uint32_t)((int64_t)ramp->from + (int64_t)((double)rise * part));
}

uint32_t warmring_file_get_rollout(const warmring_file_t *file, const char *scope, int64_t now_ms) {
    const char *own = scope != NULL && has_scope(file->topology, scope) ? scope : "";
    for (size_t i = 0; i < file->ramp_count; i++) {
        if (strcmp(file->ramps[i].scope, own) == 0) {
            return on_ramp(&file->ramps[i], now_ms);
        }
    }
    return warmring_topology_get_rollout(file->topology, scope);
}

/* The ramps that go on when the rollout of `scope` is set; NULL stops all. */
static size_t keep_ramps(const warmring_file_t *file, const char *scope, int64_t now_ms,
                         wr_ramp_t *kept) {
    size_t count = 0;
    for (size_t i = 0; i < file->ramp_count && scope != NULL; i++) {
        if (file->ramps[i].ends_ms > now_ms && strcmp(file->ramps[i].scope, scope) != 0) {
            kept[count++] = file->ramps[i];
        }
    }
    return count;
}

warmring_status_t warmring_file_rollout(const warmring_file_t *file, const char *scope,
                                        uint32_t basis_points, uint32_t ramp_s, int64_t now_ms,
                                        warmring_file_t **result) {
    if (WR_EMPTY_OR_NULL(result, file)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (now_ms < 0 || (uint64_t)now_ms > WR_FILE_TIME_MAX / 2) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "%lld is no time since 1970", (long long)now_ms);
    }
    warmring_file_t parts = *file;
    warmring_status_t status =
        warmring_topology_rollout(file->topology, scope, basis_points, &parts.topology);
    if (status != WARMRING_OK) {
        return status;
    }
    parts.ramps = wr_calloc(file->ramp_count + 1, sizeof *parts.ramps);
    if (parts.ramps == NULL) {
        warmring_topology_release(parts.topology);
        return wr_fail_memory();
    }
    parts.ramp_count = keep_ramps(file, scope, now_ms, parts.ramps);
    wr_ramp_t ramp = {.from = warmring_file_get_rollout(file, scope, now_ms),
                      .to = basis_points,
                      .begins_ms = now_ms,
                      .ends_ms = now_ms + (int64_t)ramp_s * 1000};
    if (ramp_s > 0 && ramp.from != ramp.to) {
        memcpy(ramp.scope, scope != NULL ? scope : "", scope != NULL ? strlen(scope) + 1 : 1);
        parts.ramps[parts.ramp_count++] = ramp;
    }
    status = wr_file_make(result, &parts);
    wr_free(parts.ramps);
    warmring_topology_release(parts.topology);
    return status;
}

/* ---- cold edits ---------------------------------------------------------- */

warmring_status_t warmring_file_edit(const warmring_file_t *file,
                                     const warmring_topology_t *topology, int64_t now_ms,
                                     warmring_file_t **result) {
    if (WR_EMPTY_OR_NULL(result, file, topology)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_file_t parts = *file;
    warmring_status_t status = warmring_topology_replace(file->topology, topology, &parts.topology);
    if (status == WARMRING_OK) {
        parts.steps++;
        parts.since_ms = now_ms;
        status = wr_file_make(result, &parts);
        warmring_topology_release(parts.topology);
    }
    return status;
}
