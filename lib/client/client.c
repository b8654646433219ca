/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's life, and the calls that concern all of its servers.
 */
#include "client/client.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/fork.h"
#include "base/memory.h"
#include "client/bind.h"
#include "client/read.h"
#include "client/transports.h"
#include "topology/file.h"
#include "topology/topology.h"

static warmring_status_t configure(warmring_t *client, const void *memc) {
    const warmring_options_t *options = &client->options;
    client->net = (wr_net_config_t){
        .connect_timeout_ms = (uint32_t)options->connect_timeout_ms,
        .pool_max = (uint32_t)options->pool_max,
        .idle_close_ms = (uint32_t)options->idle_close_ms,
        .failure_limit = (uint32_t)options->failure_limit,
        .retry_ms = (uint32_t)options->retry_ms,
        .stub_lifetime_s = wr_stub_lifetime_s((uint32_t)options->max_deadline_ms),
        .tcp_keepalive = options->tcp_keepalive != 0,
    };
    return wr_transports_make(options, memc, &client->net);
}

static warmring_status_t open_gate(warmring_t *client, const warmring_topology_t *topology) {
    wr_view_t *view = wr_view_create(topology, client->options.scope, NULL, &client->net);
    if (view == NULL) {
        return wr_fail_memory();
    }
    if (!wr_gate_open(&client->gate, view)) {
        wr_view_free(view);
        return wr_fail(WARMRING_OUT_OF_MEMORY, "the system has no room for a mutex");
    }
    return WARMRING_OK;
}

warmring_status_t wr_client_create(warmring_t **client, const warmring_topology_t *topology,
                                   const warmring_options_t *options, const void *memc) {
    *client = NULL;
    warmring_t *made = wr_calloc(1, sizeof *made);
    if (made == NULL || wr_fork_watch() != 0) {
        wr_free(made);
        return wr_fail_memory();
    }
    made->options = *options;
    atomic_init(&made->limits.deadline_ms, (uint32_t)options->deadline_ms);
    atomic_init(&made->limits.max_deadline_ms, (uint32_t)options->max_deadline_ms);
    atomic_init(&made->limits.max_ttl_s, options->max_ttl_s);
    warmring_status_t status = configure(made, memc);
    wr_options_wipe(&made->options); /* the transport has it */
    if (status == WARMRING_OK) {
        status = open_gate(made, topology);
    }
    if (status != WARMRING_OK) {
        wr_transports_free(&made->net);
        wr_free(made);
        return status;
    }
    *client = made;
    return WARMRING_OK;
}

warmring_status_t wr_options_take(const warmring_options_t *options, warmring_options_t *taken) {
    if (options != NULL) {
        *taken = *options;
    } else {
        wr_options_init(taken);
    }
    return wr_options_check(taken);
}

warmring_status_t wr_client_open(warmring_t **client, const char *servers,
                                 const warmring_options_t *options, const void *memc) {
    warmring_ring_options_t ring = {.size = sizeof ring,
                                    .dialect = options->dialect,
                                    .points_per_weight = options->points_per_weight,
                                    .hash = options->hash[0] != '\0' ? options->hash : NULL,
                                    .hash_tag =
                                        options->hash_tag[0] != '\0' ? options->hash_tag : NULL,
                                    .max_points = options->max_points};
    warmring_topology_t *topology = NULL;
    warmring_status_t status = wr_topology_parse(&topology, servers, &ring);
    if (status == WARMRING_OK) {
        status = wr_client_create(client, topology, options, memc);
    }
    warmring_topology_release(topology);
    return status;
}

warmring_status_t warmring_open_topology(warmring_t **client, const warmring_topology_t *topology,
                                         const warmring_options_t *options) {
    if (WR_EMPTY_OR_NULL(client, topology)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_options_t taken;
    warmring_status_t status = wr_options_take(options, &taken);
    if (status == WARMRING_OK) {
        status = wr_client_create(client, topology, &taken, NULL);
    }
    wr_options_wipe(&taken);
    return status;
}

warmring_status_t warmring_open(warmring_t **client, const char *servers,
                                const warmring_options_t *options) {
    if (WR_EMPTY_OR_NULL(client, servers)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_options_t taken;
    warmring_status_t status = wr_options_take(options, &taken);
    if (status == WARMRING_OK) {
        status = wr_client_open(client, servers, &taken, NULL);
    }
    wr_options_wipe(&taken);
    return status;
}

void warmring_close(warmring_t *client) {
    if (client == NULL) {
        return;
    }
    if (client->follower != NULL) {
        client->follower->kind->close(client->follower, client);
    }
    wr_gate_free(&client->gate);
    wr_transports_free(&client->net);
    wr_free(client);
}

warmring_status_t warmring_acquire(warmring_t *client, warmring_topology_t **topology) {
    unsigned slot;
    if (WR_EMPTY_OR_NULL(topology, client)) {
        return WARMRING_BAD_ARGUMENT;
    }
    wr_view_t *view = wr_gate_look(&client->gate, &slot);
    *topology = warmring_topology_retain(view->topology);
    wr_gate_leave(&client->gate, slot);
    return WARMRING_OK;
}

static uint32_t authority_of(const wr_operation_t *operation, const wr_place_t *place) {
    const wr_view_t *view = operation->view;
    wr_route_t route = wr_route(view->topology, place, WR_KIND_MODIFY, view->rollout);
    if (wr_is_bound(&route)) {
        return route.owner[WARMRING_NEW_RING];
    }
    if (route.steps->step[0].action == WR_STEP_REFUSE) {
        route = wr_route(view->topology, place, WR_KIND_READ, view->rollout);
    }
    return route.owner[route.steps->step[0].side];
}

warmring_status_t warmring_locate(warmring_t *client, const char *key, size_t key_length,
                                  char *address, size_t capacity, const warmring_call_t *call) {
    wr_operation_t operation;
    if (WR_HAS_NULL(address)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_status_t status = wr_operation_begin(&operation, client, call);
    if (status != WARMRING_OK) {
        return status;
    }
    status = wr_key_check(client, (warmring_bytes_t){key, key_length});
    if (status == WARMRING_OK) {
        char buffer[WARMRING_MAX_KEY];
        warmring_bytes_t wire =
            wr_key_prefixed(client, (warmring_bytes_t){key, key_length}, buffer);
        wr_place_t place = wr_key_place(&operation, wire);
        uint32_t seat = authority_of(&operation, &place);
        snprintf(address, capacity, "%s", wr_server_address(operation.view->server[seat]));
    }
    wr_operation_end(&operation);
    return status;
}

static warmring_status_t flush_once(const wr_operation_t *operation, wr_deadline_t deadline) {
    warmring_status_t status = WARMRING_OK;
    uint32_t count = operation->view->seats;
    wr_request_t *requests = wr_calloc(count, sizeof *requests);
    wr_request_t **queue = wr_calloc(count, sizeof *queue);
    if (requests == NULL || queue == NULL) {
        status = wr_fail_memory();
        goto done;
    }
    for (uint32_t i = 0; i < count; i++) {
        requests[i] = (wr_request_t){.server = operation->view->server[i], .verb = WR_FLUSH};
        queue[i] = &requests[i];
    }
    wr_run(queue, count, deadline);
    for (uint32_t i = 0; i < count && status == WARMRING_OK; i++) {
        status = requests[i].status;
    }
done:
    wr_free(queue);
    wr_free(requests);
    return status;
}

warmring_status_t warmring_flush(warmring_t *client, const warmring_call_t *call) {
    wr_operation_t operation;
    warmring_status_t status = wr_operation_begin(&operation, client, call);
    if (status != WARMRING_OK) {
        return status;
    }
    bool migrating = warmring_topology_ring(operation.view->topology, WARMRING_NEW_RING) != NULL;
    /* A server that hangs leaves time for the others' second turn. */
    status = flush_once(&operation, wr_deadline_share(operation.deadline, migrating ? 2 : 1));
    if (migrating) {
        warmring_status_t again = flush_once(&operation, operation.deadline);
        status = status != WARMRING_OK ? status : again;
    }
    wr_operation_end(&operation);
    return status;
}

warmring_status_t warmring_tick(warmring_t *client, uint32_t budget_ms) {
    unsigned slot;
    if (WR_HAS_NULL(client)) {
        return WARMRING_BAD_ARGUMENT;
    }
    wr_deadline_t deadline = wr_deadline_in_ms(budget_ms);
    warmring_status_t status = WARMRING_OK;
    if (client->follower != NULL) {
        status = client->follower->kind->tick(client->follower, client, deadline);
    }
    wr_view_t *view = wr_gate_look(&client->gate, &slot);
    for (uint32_t i = 0; i < view->seats && !wr_deadline_passed(deadline); i++) {
        wr_server_tick(view->server[i], deadline);
    }
    wr_gate_leave(&client->gate, slot);
    return status;
}
