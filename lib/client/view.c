/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making views and keeping watermarks.
 */
#include "client/view.h"

#include <string.h>

#include "base/fail.h"
#include "base/memory.h"

static bool has_address(const wr_server_t *server, const wr_endpoint_t *endpoint) {
    return wr_server_port(server) == endpoint->port &&
           strcmp(wr_server_host(server), endpoint->host) == 0;
}

/* The server object of `before` at that endpoint; lists mostly keep their
 * order, so the search starts at the same place. */
static wr_server_t *find_server(const wr_view_t *before, uint32_t index,
                                const wr_endpoint_t *endpoint) {
    for (uint32_t i = 0; before != NULL && i < before->seats; i++) {
        wr_server_t *server = before->server[(index + i) % before->seats];
        if (has_address(server, endpoint)) {
            return wr_server_retain(server);
        }
    }
    return NULL;
}

static bool take_seats(wr_view_t *view, const wr_view_t *before, const wr_net_config_t *net) {
    uint32_t count = wr_topology_endpoints(view->topology);
    for (; view->seats < count; view->seats++) {
        const wr_endpoint_t *endpoint = wr_topology_endpoint(view->topology, view->seats);
        wr_server_t *server = find_server(before, view->seats, endpoint);
        if (server == NULL) {
            server = wr_server_create(endpoint->host, endpoint->port, net);
        }
        if (server == NULL) {
            return false;
        }
        view->server[view->seats] = server;
    }
    return true;
}

/* Whether marks of `before` are marks of the same servers. */
static bool same_seats(const wr_view_t *view, const wr_view_t *before) {
    return before->seats == view->seats &&
           memcmp(before->server, view->server, view->seats * sizeof view->server[0]) == 0;
}

static bool take_marks(wr_view_t *view, const wr_view_t *before) {
    if (view->phase == WARMRING_STABLE) {
        return true;
    }
    if (before != NULL && wr_topology_same_migration(before->topology, view->topology) &&
        same_seats(view, before)) {
        view->marks = wr_marks_retain(before->marks);
    } else {
        view->marks = wr_marks_create(view->seats, view->phase >= WARMRING_HANDOVER);
    }
    return view->marks != NULL;
}

wr_view_t *wr_view_create(const warmring_topology_t *topology, const char *scope,
                          const wr_view_t *before, const wr_net_config_t *net) {
    size_t seats = wr_topology_endpoints(topology) * sizeof(wr_server_t *);
    wr_view_t *view = wr_calloc(1, sizeof *view + seats);
    if (view == NULL) {
        return NULL;
    }
    view->topology = warmring_topology_retain(topology);
    view->phase = warmring_topology_phase(topology);
    view->epoch = (uint32_t)warmring_topology_epoch(topology);
    atomic_init(&view->rollout,
                warmring_topology_get_rollout(topology, scope[0] != '\0' ? scope : NULL));
    if (!take_seats(view, before, net) || !take_marks(view, before)) {
        wr_view_free(view);
        return NULL;
    }
    if (view->phase == WARMRING_SETTLING) {
        int64_t never = 0;
        atomic_compare_exchange_strong(&view->marks->settling_since, &never, wr_now());
    }
    return view;
}

void wr_view_free(wr_view_t *view) {
    if (view == NULL) {
        return;
    }
    for (uint32_t i = 0; i < view->seats; i++) {
        wr_server_release(view->server[i]);
    }
    wr_marks_release(view->marks);
    warmring_topology_release(view->topology);
    wr_free(view);
}

warmring_status_t wr_view_probe(wr_view_t *view, wr_deadline_t deadline) {
    warmring_status_t status = WARMRING_OK;
    for (uint32_t i = 0; i < view->seats && status == WARMRING_OK; i++) {
        if (wr_topology_endpoint(view->topology, i)->on_side[WARMRING_NEW_RING]) {
            status = wr_mark_probe(&view->marks->mark[i], view->server[i], deadline);
        }
    }
    return status;
}

uint32_t wr_view_find(const wr_view_t *view, const char *address) {
    uint32_t seat = 0;
    while (seat < view->seats && strcmp(wr_server_address(view->server[seat]), address) != 0) {
        seat++;
    }
    return seat;
}

wr_item_t wr_view_judge(const wr_view_t *view, uint32_t seat, uint64_t cas,
                        wr_deadline_t deadline) {
    return view->marks == NULL
               ? WR_ITEM_GOOD
               : wr_mark_judge(view->marks, seat, view->server[seat], cas, deadline);
}

bool wr_view_in_doubt(const wr_view_t *view, uint32_t seat, wr_deadline_t deadline) {
    return view->marks != NULL &&
           wr_mark_in_doubt(&view->marks->mark[seat], view->server[seat], deadline);
}

void wr_view_doubt(const wr_view_t *view, uint32_t seat) {
    if (view->marks != NULL) {
        wr_mark_doubt(&view->marks->mark[seat], view->server[seat]);
    }
}
