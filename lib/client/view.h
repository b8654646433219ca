/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view: a topology with the server objects behind its endpoints. It is
 * immutable but for the watermarks, which a server's restart sets to 0.
 */
#ifndef WR_CLIENT_VIEW_H
#define WR_CLIENT_VIEW_H

#include <stdatomic.h>
#include <stdint.h>

#include "net/server.h"
#include "topology/route.h"

typedef struct {
    wr_server_t *server;
    /*
     * CAS counter of the server when the migration began: an item of a moved
     * key at or below it was left by an earlier ring (a ghost). 0: no item is.
     */
    _Atomic uint64_t watermark;
    _Atomic int64_t checked_at; /* wr_time_t at which the counter was last
                                   seen to be above the watermark */
} wr_seat_t;

typedef struct wr_view {
    const warmring_topology_t *topology;
    warmring_phase_t phase; /* for counters only */
    uint32_t rollout;       /* for this client's scope */
    uint32_t seats;
    wr_seat_t seat[]; /* by endpoint */
} wr_view_t;

/*
 * A view of `topology` for clients of `scope` ("" none); server objects are
 * taken from `before` (may be NULL) where the endpoint is the same, and the
 * watermarks too within one migration. NULL when memory is out.
 */
wr_view_t *wr_view_create(const warmring_topology_t *topology, const char *scope,
                          const wr_view_t *before, const wr_net_config_t *net);
void wr_view_free(wr_view_t *view);

/* Asks every server of the new ring for its watermark. OK or the fault. */
warmring_status_t wr_view_probe(wr_view_t *view, wr_deadline_t deadline);

/*
 * Whether an item with `cas` at `seat` is a ghost. The first to ask in a
 * second makes sure that the server was not restarted since the watermark
 * was taken, which starts its counter anew.
 */
bool wr_seat_is_ghost(wr_seat_t *seat, uint64_t cas, wr_deadline_t deadline);

#endif
