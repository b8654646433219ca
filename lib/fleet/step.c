/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet's steps: those of a topology, each in its time.
 */
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "fleet/crew.h"
#include "fleet/reports.h"
#include "topology/file.h"

/* Whether clients trust the new owners more after the step than before. */
static bool relies_on_new(const warmring_file_t *file, warmring_step_t step) {
    return step == WARMRING_COMMIT && file->watermark_count > 0;
}

/* The next file but for its topology: watermarks of its own, raised where the
 * step needs it. */
static warmring_status_t raise_marks(const warmring_file_t *file, const warmring_options_t *options,
                                     uint32_t deadline_ms, warmring_file_t *parts) {
    wr_crew_t crew;
    size_t size = file->watermark_count * sizeof *file->watermarks;
    parts->watermarks = wr_malloc(size);
    if (parts->watermarks == NULL) {
        return wr_fail_memory();
    }
    memcpy(parts->watermarks, file->watermarks, size);
    warmring_status_t status = wr_crew_open(&crew, file->topology, options, deadline_ms);
    if (status == WARMRING_OK) {
        status = wr_reports_heed(&crew, parts);
    }
    wr_crew_close(&crew);
    return status;
}

static warmring_status_t make_next(const warmring_file_t *file, warmring_step_t step,
                                   warmring_topology_t *next, const warmring_options_t *options,
                                   uint32_t deadline_ms, warmring_file_t **result) {
    warmring_file_t parts = *file;
    warmring_status_t status = WARMRING_OK;
    if (relies_on_new(file, step)) {
        parts.watermarks = NULL;
        status = raise_marks(file, options, deadline_ms, &parts);
    }
    if (status == WARMRING_OK) {
        parts.topology = next;
        parts.steps++;
        parts.since_ms = wr_wall_clock_ms();
        parts.backwards = step == WARMRING_ROLLBACK;
        status = wr_file_make(result, &parts);
    }
    if (parts.watermarks != file->watermarks) {
        wr_free(parts.watermarks);
    }
    return status;
}

warmring_status_t warmring_fleet_step(const warmring_file_t *file, warmring_step_t step,
                                      const warmring_options_t *options, uint32_t deadline_ms,
                                      warmring_file_t **result) {
    if (WR_EMPTY_OR_NULL(result, file)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (step == WARMRING_COMMIT_DIRECTLY) {
        return wr_fail(WARMRING_ILLEGAL_STEP,
                       "COMMIT_DIRECTLY is for a single process: clients of a file would be in "
                       "phases that must not meet");
    }
    warmring_topology_t *next;
    warmring_status_t status = warmring_topology_step(file->topology, step, &next);
    if (status != WARMRING_OK) {
        return status;
    }
    status = wr_hold_check(file, step, wr_wall_clock_ms());
    if (status == WARMRING_OK) {
        status = make_next(file, step, next, options, deadline_ms, result);
    }
    warmring_topology_release(next);
    return status;
}
