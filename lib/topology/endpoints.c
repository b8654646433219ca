/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching the servers of two clusters by host and port, and by name where
 * labels would be ambiguous.
 */
#include "topology/endpoints.h"

#include "base/memory.h"
#include "ring/index.h"
#include "ring/ring.h"

/* The servers of the first cluster by endpoint and by name. */
typedef struct {
    wr_index_t endpoints;
    wr_index_t names;
} lookup_t;

static void close_lookup(lookup_t *lookup) {
    wr_index_free(&lookup->endpoints);
    wr_index_free(&lookup->names);
}

static bool open_lookup(lookup_t *lookup, const wr_cluster_t *cluster) {
    const wr_members_t *members = &wr_cluster_ring(cluster)->members;
    *lookup = (lookup_t){0};
    if (!wr_index_create(&lookup->endpoints, members, wr_member_endpoint) ||
        !wr_index_create(&lookup->names, members, wr_member_name)) {
        close_lookup(lookup);
        return false;
    }
    for (uint32_t i = 0; i < members->count; i++) {
        wr_index_add(&lookup->endpoints, i);
        wr_index_add(&lookup->names, i);
    }
    return true;
}

static uint32_t find_endpoint(const lookup_t *lookup, const wr_member_t *member) {
    char bytes[WR_IDENTITY_SIZE];
    return wr_index_find(&lookup->endpoints, bytes, wr_member_endpoint(member, bytes));
}

static bool has_name(const lookup_t *lookup, const wr_member_t *member) {
    char bytes[WR_IDENTITY_SIZE];
    size_t length = wr_member_name(member, bytes);
    return length > 0 && wr_index_find(&lookup->names, bytes, length) != WR_NO_MEMBER;
}

static uint32_t add(wr_endpoints_t *endpoints, const wr_cluster_t *cluster, uint32_t server,
                    warmring_side_t side) {
    const wr_cluster_server_t *entry = wr_cluster_server(cluster, server);
    wr_endpoint_t *endpoint = &endpoints->list[endpoints->count];
    *endpoint = (wr_endpoint_t){
        .host = entry->server.host,
        .port = wr_member_port(wr_ring_member(wr_cluster_ring(cluster), server)),
        .label = entry->label,
    };
    endpoint->on_side[side] = true;
    return endpoints->count++;
}

static bool add_new(wr_endpoints_t *endpoints, const wr_cluster_t *before,
                    const wr_cluster_t *after) {
    lookup_t lookup;
    if (!open_lookup(&lookup, before)) {
        return false;
    }
    for (uint32_t i = 0; i < wr_cluster_count(after); i++) {
        const wr_member_t *member = wr_ring_member(wr_cluster_ring(after), i);
        uint32_t endpoint = find_endpoint(&lookup, member);
        if (endpoint == WR_NO_MEMBER) {
            endpoint = add(endpoints, after, i, WARMRING_NEW_RING);
            if (has_name(&lookup, member)) {
                endpoints->list[endpoint].label = wr_cluster_server(after, i)->address;
            }
        }
        endpoints->list[endpoint].on_side[WARMRING_NEW_RING] = true;
        endpoints->of_new[i] = endpoint;
    }
    close_lookup(&lookup);
    return true;
}

static bool fill(wr_endpoints_t *endpoints, const wr_cluster_t *before, const wr_cluster_t *after) {
    if (endpoints->list == NULL || (after != NULL && endpoints->of_new == NULL)) {
        return false;
    }
    for (uint32_t i = 0; i < wr_cluster_count(before); i++) {
        add(endpoints, before, i, WARMRING_OLD_RING);
    }
    return after == NULL || add_new(endpoints, before, after);
}

bool wr_endpoints_unite(wr_endpoints_t *endpoints, const wr_cluster_t *before,
                        const wr_cluster_t *after) {
    size_t added = after != NULL ? wr_cluster_count(after) : 0;
    *endpoints = (wr_endpoints_t){0};
    endpoints->list = wr_calloc(wr_cluster_count(before) + added, sizeof *endpoints->list);
    if (after != NULL) {
        endpoints->of_new = wr_calloc(added, sizeof *endpoints->of_new);
    }
    if (!fill(endpoints, before, after)) {
        wr_endpoints_free(endpoints);
        return false;
    }
    return true;
}

void wr_endpoints_free(wr_endpoints_t *endpoints) {
    wr_free(endpoints->list);
    wr_free(endpoints->of_new);
    *endpoints = (wr_endpoints_t){0};
}
