/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operator's functions share.
 */
#include "fleet/crew.h"

#include <inttypes.h>
#include <time.h>

#include <warmring/admin.h>

#include "base/fail.h"

warmring_status_t wr_crew_open(wr_crew_t *crew, const warmring_topology_t *topology,
                               const warmring_options_t *options, uint32_t deadline_ms) {
    warmring_options_t taken;
    *crew = (wr_crew_t){0};
    warmring_status_t status = wr_options_take(options, &taken);
    if (status == WARMRING_OK) {
        status = wr_client_create(&crew->client, topology, &taken, NULL);
    }
    if (status != WARMRING_OK) {
        return status;
    }
    const wr_view_t *view = wr_gate_present(&crew->client->gate);
    crew->server = view->server;
    crew->count = view->seats;
    crew->deadline_ms = deadline_ms != 0 ? deadline_ms : (uint32_t)taken.deadline_ms;
    crew->deadline = wr_deadline_in_ms(crew->deadline_ms);
    return WARMRING_OK;
}

warmring_status_t wr_crew_choose(wr_crew_t *crew, const warmring_file_t *file, size_t index,
                                 const warmring_options_t *options, uint32_t deadline_ms) {
    size_t count = warmring_file_servers(file);
    if (index >= count) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "server %zu: the file has %zu", index, count);
    }
    return wr_crew_open(crew, warmring_file_topology(file), options, deadline_ms);
}

void wr_crew_close(wr_crew_t *crew) {
    warmring_close(crew->client);
    crew->client = NULL;
}

int64_t wr_wall_clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

warmring_status_t wr_hold_check(const warmring_file_t *file, warmring_step_t step, int64_t now_ms) {
    const char *phase = warmring_phase_name(warmring_topology_phase(warmring_file_topology(file)));
    int64_t left = warmring_file_hold(file, step, now_ms);
    if (left == INT64_MAX) {
        return wr_fail(WARMRING_ILLEGAL_STEP,
                       "the longest TTL is not declared in the file (max_ttl_s): stay in %s, or "
                       "take the step SETTLE when no copy of an earlier ring can be left",
                       phase);
    }
    if (left > 0) {
        return wr_fail(WARMRING_TRY_AGAIN, "phase %s has to last for another %" PRId64 " s", phase,
                       (left + 999) / 1000);
    }
    return WARMRING_OK;
}
