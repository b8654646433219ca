/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edits: the server list copied, one thing changed, the ring made anew.
 */
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "topology/server_text.h"
#include "topology/topology.h"

static const wr_cluster_t *cluster_of(const warmring_topology_t *topology) {
    return topology->cluster[WARMRING_OLD_RING];
}

/* A copy of the list, with room for one server more. */
static warmring_server_t *copy_list(const wr_cluster_t *cluster) {
    size_t count = wr_cluster_count(cluster);
    warmring_server_t *servers = wr_calloc(count + 1, sizeof *servers);
    for (size_t i = 0; servers != NULL && i < count; i++) {
        servers[i] = wr_cluster_server(cluster, i)->server;
    }
    return servers;
}

static warmring_status_t make_next(const warmring_topology_t *topology,
                                   const warmring_server_t *servers, size_t count,
                                   warmring_topology_t **result) {
    wr_cluster_t *cluster;
    const warmring_ring_options_t *options = wr_cluster_options(cluster_of(topology));
    warmring_status_t status = wr_cluster_create(&cluster, servers, count, options);
    return status == WARMRING_OK ? wr_topology_make_stable(result, cluster, topology->epoch + 1)
                                 : status;
}

/* The labels of a short list, separated by commas; "" for a long one. */
static const char *list_labels(const wr_cluster_t *cluster, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < wr_cluster_count(cluster); i++) {
        const char *label = wr_cluster_server(cluster, i)->label;
        size_t length = strlen(label);
        if (used + length + 3 > size) {
            text[0] = '\0';
            break;
        }
        memcpy(text + used, ", ", 2);
        memcpy(text + used + 2, label, length + 1);
        used += length + 2;
    }
    return text[0] != '\0' ? text + 2 : text;
}

static warmring_status_t find(const warmring_topology_t *topology, const char *name,
                              size_t *index) {
    enum { QUOTED = 100, LISTED = 300 };
    const wr_cluster_t *cluster = cluster_of(topology);
    *index = wr_cluster_find(cluster, name);
    if (*index < wr_cluster_count(cluster)) {
        return WARMRING_OK;
    }
    char labels[LISTED];
    const char *list = list_labels(cluster, labels, sizeof labels);
    return wr_fail(WARMRING_BAD_ARGUMENT, "no server \"%.*s%s\"%s%s", QUOTED, name,
                   strlen(name) > QUOTED ? "..." : "", list[0] != '\0' ? "; there are: " : "",
                   list);
}

/* What every edit of one server begins with: a STABLE topology, the server
 * and a copy of the list. */
static warmring_status_t begin(const warmring_topology_t *topology, const char *name, size_t *index,
                               warmring_server_t **servers) {
    warmring_status_t status = wr_topology_demand_stable(topology);
    if (status == WARMRING_OK) {
        status = find(topology, name, index);
    }
    if (status == WARMRING_OK) {
        *servers = copy_list(cluster_of(topology));
        status = *servers != NULL ? WARMRING_OK : wr_fail_memory();
    }
    return status;
}

warmring_status_t warmring_topology_set_weight(const warmring_topology_t *topology,
                                               const char *name, double weight,
                                               warmring_topology_t **result) {
    warmring_server_t *servers;
    size_t index;
    if (WR_EMPTY_OR_NULL(result, topology, name)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_status_t status = begin(topology, name, &index, &servers);
    if (status == WARMRING_OK) {
        servers[index].weight = weight;
        status = make_next(topology, servers, wr_cluster_count(cluster_of(topology)), result);
        wr_free(servers);
    }
    return status;
}

warmring_status_t warmring_topology_remove_server(const warmring_topology_t *topology,
                                                  const char *name, warmring_topology_t **result) {
    warmring_server_t *servers;
    size_t index;
    if (WR_EMPTY_OR_NULL(result, topology, name)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_status_t status = begin(topology, name, &index, &servers);
    if (status == WARMRING_OK) {
        size_t left = wr_cluster_count(cluster_of(topology)) - 1;
        memmove(servers + index, servers + index + 1, (left - index) * sizeof *servers);
        status = make_next(topology, servers, left, result);
        wr_free(servers);
    }
    return status;
}

warmring_status_t warmring_topology_set_address(const warmring_topology_t *topology,
                                                const char *name, const char *address,
                                                warmring_topology_t **result) {
    warmring_server_t *servers;
    wr_server_list_t parsed;
    size_t index;
    if (WR_EMPTY_OR_NULL(result, topology, name, address)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_status_t status = begin(topology, name, &index, &servers);
    if (status != WARMRING_OK) {
        return status;
    }
    status = wr_address_parse(&parsed, address);
    if (status == WARMRING_OK) {
        servers[index].host = parsed.servers[0].host;
        servers[index].port = parsed.servers[0].port;
        status = make_next(topology, servers, wr_cluster_count(cluster_of(topology)), result);
        wr_server_list_free(&parsed);
    }
    wr_free(servers);
    return status;
}

warmring_status_t warmring_topology_add_server(const warmring_topology_t *topology,
                                               const char *server, warmring_topology_t **result) {
    wr_server_list_t parsed;
    if (WR_EMPTY_OR_NULL(result, topology, server)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_status_t status = wr_topology_demand_stable(topology);
    if (status == WARMRING_OK) {
        status = wr_server_parse(&parsed, server);
    }
    if (status != WARMRING_OK) {
        return status;
    }
    size_t count = wr_cluster_count(cluster_of(topology));
    warmring_server_t *servers = copy_list(cluster_of(topology));
    if (servers != NULL) {
        servers[count] = parsed.servers[0];
        status = make_next(topology, servers, count + 1, result);
    } else {
        status = wr_fail_memory();
    }
    wr_free(servers);
    wr_server_list_free(&parsed);
    return status;
}

warmring_status_t warmring_topology_replace(const warmring_topology_t *topology,
                                            const warmring_topology_t *target,
                                            warmring_topology_t **result) {
    if (WR_EMPTY_OR_NULL(result, topology, target)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_status_t status = wr_topology_demand_stable(topology);
    if (status == WARMRING_OK) {
        status = wr_topology_demand_stable(target);
    }
    if (status != WARMRING_OK) {
        return status;
    }
    wr_cluster_t *cluster = wr_cluster_retain(target->cluster[WARMRING_OLD_RING]);
    return wr_topology_make_stable(result, cluster, topology->epoch + 1);
}
