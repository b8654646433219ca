/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view: a topology with the server objects behind its endpoints (its
 * seats). It is immutable but for the rollout, on which reads alone depend;
 * what a migration learns is in its marks.
 */
#ifndef WR_CLIENT_VIEW_H
#define WR_CLIENT_VIEW_H

#include <stdint.h>

#include "client/marks.h"
#include "net/server.h"
#include "topology/route.h"

typedef struct wr_view {
    const warmring_topology_t *topology;
    warmring_phase_t phase;   /* for counters only */
    uint32_t epoch;           /* its lower half, for tokens */
    _Atomic uint32_t rollout; /* for this client's scope; a ramp changes it */
    wr_marks_t *marks;        /* of the migration; NULL in STABLE */
    uint32_t seats;
    wr_server_t *server[]; /* by endpoint */
} wr_view_t;

/*
 * A view of `topology` for clients of `scope` ("" none); server objects are
 * taken from `before` (may be NULL) where the endpoint is the same, and the
 * marks too within one migration. NULL when memory is out.
 */
wr_view_t *wr_view_create(const warmring_topology_t *topology, const char *scope,
                          const wr_view_t *before, const wr_net_config_t *net);
void wr_view_free(wr_view_t *view);

/* Asks every server of the new ring for its watermark. OK or the fault. */
warmring_status_t wr_view_probe(wr_view_t *view, wr_deadline_t deadline);

/* The seat at that address, as wr_server_address(); `seats` when there is none. */
uint32_t wr_view_find(const wr_view_t *view, const char *address);

/* wr_mark_judge() and wr_mark_in_doubt() of a seat; in STABLE all is good. */
wr_item_t wr_view_judge(const wr_view_t *view, uint32_t seat, uint64_t cas, wr_deadline_t deadline);
bool wr_view_in_doubt(const wr_view_t *view, uint32_t seat, wr_deadline_t deadline);

/* wr_mark_doubt() of a seat. */
void wr_view_doubt(const wr_view_t *view, uint32_t seat);

#endif
