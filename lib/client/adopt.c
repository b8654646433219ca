/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting the topology of a file in force. A process may have slept through
 * any number of steps, so there is no step that is refused; what cannot be in
 * use together is kept apart in time.
 */
#include <time.h>

#include "base/fail.h"
#include "client/client.h"

static const char *scope_of(const warmring_t *client) {
    return client->options.scope[0] != '\0' ? client->options.scope : NULL;
}

static uint32_t rollout_of(const warmring_t *client, const warmring_file_t *file) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return warmring_file_get_rollout(file, scope_of(client),
                                     now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000);
}

void wr_client_ramp(warmring_t *client, const warmring_file_t *file) {
    unsigned slot;
    uint32_t rollout = rollout_of(client, file);
    wr_view_t *view = wr_gate_look(&client->gate, &slot);
    if (warmring_topology_epoch(view->topology) == warmring_topology_epoch(file->topology)) {
        atomic_store_explicit(&view->rollout, rollout, memory_order_relaxed);
    }
    wr_gate_leave(&client->gate, slot);
}

/* Failed deletions that are older than the longest time a client may be
 * behind had happened when the operator looked for such reports. */
static wr_time_t reported_by(const warmring_file_t *file) {
    static const wr_time_t ms = 1000000;
    wr_time_t hold = (wr_time_t)file->lag_s * 1000 + (wr_time_t)file->max_deadline_ms + 1000;
    return wr_now() - hold * ms;
}

static void take_watermarks(const wr_view_t *view, const warmring_file_t *file) {
    for (size_t i = 0; view->marks != NULL && i < file->watermark_count; i++) {
        const wr_watermark_t *watermark = &file->watermarks[i];
        uint32_t seat = wr_view_find(view, watermark->address);
        if (seat < view->seats) {
            wr_mark_take(&view->marks->mark[seat],
                         &(wr_probe_t){.cas = watermark->cas, .started = watermark->started},
                         reported_by(file));
        }
    }
}

static uint32_t least(uint64_t a, uint32_t b) {
    return a < b ? (uint32_t)a : b;
}

static void take_limits(warmring_t *client, const warmring_file_t *file) {
    const warmring_options_t *options = &client->options;
    uint64_t ttl = file->max_ttl_s != 0 ? file->max_ttl_s : options->max_ttl_s;
    atomic_store_explicit(&client->limits.deadline_ms,
                          least(options->deadline_ms, file->max_deadline_ms), memory_order_relaxed);
    atomic_store_explicit(&client->limits.max_deadline_ms,
                          least(options->max_deadline_ms, file->max_deadline_ms),
                          memory_order_relaxed);
    atomic_store_explicit(&client->limits.max_ttl_s, ttl, memory_order_relaxed);
}

static warmring_status_t put_in_force(warmring_t *client, const warmring_file_t *file,
                                      wr_deadline_t deadline) {
    const wr_view_t *present = wr_gate_present(&client->gate);
    bool after_all = wr_topology_follows(present->topology, file->topology) != WR_FOLLOWS_AT_ONCE;
    wr_view_t *view = wr_view_create(file->topology, client->options.scope, present, &client->net);
    if (view == NULL) {
        return wr_fail_memory();
    }
    atomic_store(&view->rollout, rollout_of(client, file));
    take_watermarks(view, file);
    if (!wr_gate_publish(&client->gate, view, after_all, deadline)) {
        wr_view_free(view);
        return wr_fail(WARMRING_TIMEOUT, "operations of an earlier topology have not ended");
    }
    wr_count(&client->counters, warmring_topology_phase(file->topology), WR_COUNT_applies);
    wr_count(&client->counters, warmring_topology_phase(file->topology), WR_COUNT_reloads);
    return WARMRING_OK;
}

warmring_status_t wr_client_adopt(warmring_t *client, const warmring_file_t *file,
                                  wr_deadline_t deadline) {
    if (!wr_gate_lock(&client->gate, deadline)) {
        return wr_fail(WARMRING_TIMEOUT, "the topology was being changed all the time");
    }
    const wr_view_t *present = wr_gate_present(&client->gate);
    warmring_status_t status = WARMRING_OK;
    if (warmring_topology_epoch(present->topology) == warmring_topology_epoch(file->topology)) {
        take_watermarks(present, file);
    } else {
        status = put_in_force(client, file, deadline);
    }
    if (status == WARMRING_OK) {
        take_limits(client, file);
    }
    wr_gate_unlock(&client->gate);
    return status;
}
