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
        wr_server_t *server = before->seat[(index + i) % before->seats].server;
        if (has_address(server, endpoint)) {
            return wr_server_retain(server);
        }
    }
    return NULL;
}

static bool take_seats(wr_view_t *view, const wr_view_t *before, const wr_net_config_t *net) {
    uint32_t count = wr_topology_endpoints(view->topology);
    bool same = before != NULL && wr_topology_same_migration(before->topology, view->topology);
    for (; view->seats < count; view->seats++) {
        uint32_t i = view->seats;
        const wr_endpoint_t *endpoint = wr_topology_endpoint(view->topology, i);
        wr_server_t *server = find_server(before, i, endpoint);
        if (server == NULL) {
            server = wr_server_create(endpoint->host, endpoint->port, net);
        }
        if (server == NULL) {
            return false;
        }
        view->seat[i].server = server;
        if (same) {
            atomic_init(&view->seat[i].watermark, atomic_load(&before->seat[i].watermark));
        }
    }
    return true;
}

wr_view_t *wr_view_create(const warmring_topology_t *topology, const char *scope,
                          const wr_view_t *before, const wr_net_config_t *net) {
    size_t seats = wr_topology_endpoints(topology) * sizeof(wr_seat_t);
    wr_view_t *view = wr_calloc(1, sizeof *view + seats);
    if (view == NULL) {
        return NULL;
    }
    view->topology = warmring_topology_retain(topology);
    view->phase = warmring_topology_phase(topology);
    view->rollout = warmring_topology_get_rollout(topology, scope[0] != '\0' ? scope : NULL);
    if (!take_seats(view, before, net)) {
        wr_view_free(view);
        return NULL;
    }
    return view;
}

void wr_view_free(wr_view_t *view) {
    if (view == NULL) {
        return;
    }
    for (uint32_t i = 0; i < view->seats; i++) {
        wr_server_release(view->seat[i].server);
    }
    warmring_topology_release(view->topology);
    wr_free(view);
}

warmring_status_t wr_view_probe(wr_view_t *view, wr_deadline_t deadline) {
    for (uint32_t i = 0; i < view->seats; i++) {
        if (!wr_topology_endpoint(view->topology, i)->on_side[WARMRING_NEW_RING]) {
            continue;
        }
        uint64_t cas = 0;
        warmring_status_t status = wr_server_probe_cas(view->seat[i].server, deadline, &cas);
        if (status != WARMRING_OK) {
            return status;
        }
        atomic_store(&view->seat[i].watermark, cas);
    }
    return WARMRING_OK;
}

bool wr_seat_is_ghost(wr_seat_t *seat, uint64_t cas, wr_deadline_t deadline) {
    static const wr_time_t trust = 1000000000; /* one second */
    uint64_t watermark = atomic_load(&seat->watermark);
    if (cas > watermark) {
        return false;
    }
    wr_time_t checked = atomic_load(&seat->checked_at);
    wr_time_t now = wr_now();
    if (now - checked < trust ||
        !atomic_compare_exchange_strong(&seat->checked_at, &checked, now)) {
        return true;
    }
    uint64_t counter = 0;
    if (wr_server_probe_cas(seat->server, deadline, &counter) == WARMRING_OK &&
        counter < watermark) {
        atomic_store(&seat->watermark, 0);
        return false;
    }
    return true;
}
