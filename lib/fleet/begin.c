/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of a fleet's migration.
 *
 * Watermarks are asked for before the file is written, so before any client
 * copies anything: whatever a new owner holds up to its counter of that moment
 * was left by an earlier ring.
 */
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "fleet/crew.h"
#include "topology/file.h"

/* The watermark of each server of the new ring, in its order. */
static warmring_status_t probe_all(const wr_crew_t *crew, warmring_file_t *parts) {
    const wr_cluster_t *after = parts->topology->cluster[WARMRING_NEW_RING];
    parts->watermark_count = wr_cluster_count(after);
    parts->watermarks = wr_calloc(parts->watermark_count, sizeof *parts->watermarks);
    if (parts->watermarks == NULL) {
        return wr_fail_memory();
    }
    warmring_status_t status = WARMRING_OK;
    for (size_t i = 0; i < parts->watermark_count && status == WARMRING_OK; i++) {
        wr_probe_t probe = {0, -1};
        wr_server_t *server = crew->server[parts->topology->endpoints.of_new[i]];
        status = wr_server_probe_cas(server, crew->deadline, &probe);
        parts->watermarks[i] =
            (wr_watermark_t){wr_cluster_server(after, i)->address, probe.cas, probe.started};
    }
    return status;
}

static warmring_status_t make_prepared(const warmring_file_t *file,
                                       const warmring_topology_t *prepared,
                                       const warmring_options_t *options, uint32_t deadline_ms,
                                       warmring_file_t **result) {
    wr_crew_t crew;
    warmring_file_t parts = *file;
    parts.topology = warmring_topology_retain(prepared);
    parts.watermarks = NULL;
    parts.backwards = false;
    parts.steps++;
    warmring_status_t status = wr_crew_open(&crew, prepared, options, deadline_ms);
    if (status == WARMRING_OK) {
        status = probe_all(&crew, &parts);
    }
    if (status == WARMRING_OK) {
        parts.since_ms = wr_wall_clock_ms();
        status = wr_file_make(result, &parts);
    }
    wr_crew_close(&crew);
    wr_free(parts.watermarks);
    warmring_topology_release(parts.topology);
    return status;
}

warmring_status_t warmring_fleet_begin(const warmring_file_t *file,
                                       const warmring_topology_t *target,
                                       const warmring_options_t *options, uint32_t deadline_ms,
                                       warmring_file_t **result) {
    if (WR_EMPTY_OR_NULL(result, file, target)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_topology_t *prepared;
    warmring_status_t status = warmring_topology_migrate(file->topology, target, &prepared);
    if (status != WARMRING_OK) {
        return status;
    }
    status = wr_hold_check(file, WARMRING_WARM, wr_wall_clock_ms());
    if (status == WARMRING_OK) {
        status = make_prepared(file, prepared, options, deadline_ms, result);
    }
    warmring_topology_release(prepared);
    return status;
}
