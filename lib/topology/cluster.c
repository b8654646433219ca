/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making, counting and asking clusters.
 */
#include "topology/cluster.h"

#include <stdatomic.h>
#include <string.h>

#include "base/fail.h"
#include "base/hash.h"
#include "base/memory.h"
#include "ring/check.h"
#include "ring/member.h"
#include "ring/ring.h"
#include "topology/canonical.h"

struct wr_cluster {
    _Atomic size_t references;
    warmring_ring_t *ring;
    warmring_ring_options_t options;
    wr_cluster_server_t *servers;
    size_t count;
    char *addresses;
    uint64_t fingerprint;
};

static size_t addresses_size(const warmring_ring_t *ring, size_t count) {
    char text[WR_LABEL_SIZE];
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        size += strlen(wr_member_label(wr_ring_member(ring, i), text)) + 1;
    }
    return size;
}

/* The ring has checked and copied the servers: what is here points there. */
static void describe_servers(wr_cluster_t *cluster) {
    char *end = cluster->addresses;
    for (uint32_t i = 0; i < cluster->count; i++) {
        const wr_member_t *member = wr_ring_member(cluster->ring, i);
        char text[WR_LABEL_SIZE];
        size_t size = strlen(wr_member_label(member, text)) + 1;
        memcpy(end, text, size);
        cluster->servers[i] = (wr_cluster_server_t){
            .server = {.size = sizeof(warmring_server_t),
                       .name = member->name,
                       .host = member->host,
                       .port = member->port,
                       .weight = member->weight},
            .address = end,
            .label = member->name != NULL ? member->name : end,
        };
        end += size;
    }
}

static uint64_t hash_string(uint64_t hash, const char *string) {
    return string != NULL ? wr_xxh64(string, strlen(string) + 1, hash) : wr_xxh64("", 0, hash);
}

static uint64_t make_fingerprint(const wr_cluster_t *cluster) {
    uint64_t hash = hash_string(0, cluster->options.dialect);
    hash = wr_canonical_double(hash, cluster->options.points_per_weight);
    if (cluster->options.hash != NULL) {
        hash = hash_string(hash, cluster->options.hash);
    }
    if (cluster->options.hash_tag != NULL) {
        hash = hash_string(hash, cluster->options.hash_tag);
    }
    hash = wr_canonical_u64(hash, cluster->count);
    for (size_t i = 0; i < cluster->count; i++) {
        const warmring_server_t *server = &cluster->servers[i].server;
        hash = hash_string(hash, server->name);
        hash = hash_string(hash, server->host);
        hash = wr_canonical_u64(hash, server->port);
        hash = wr_canonical_double(hash, server->weight);
    }
    return hash;
}

/* Cannot fail: the ring was made with these options. */
static warmring_ring_options_t fill_in(const warmring_ring_t *ring,
                                       const warmring_ring_options_t *options) {
    wr_build_t build;
    (void)wr_check_options(options, &build);
    return (warmring_ring_options_t){.size = sizeof(warmring_ring_options_t),
                                     .dialect = warmring_ring_dialect(ring),
                                     .points_per_weight = build.points_per_weight,
                                     .max_points = build.max_points,
                                     .hash = ring->hash,
                                     .hash_tag = ring->tag[0] != '\0' ? ring->tag : NULL};
}

warmring_status_t wr_cluster_create(wr_cluster_t **cluster, const warmring_server_t *servers,
                                    size_t count, const warmring_ring_options_t *options) {
    *cluster = NULL;
    wr_cluster_t *made = wr_calloc(1, sizeof *made);
    if (made == NULL) {
        return wr_fail_memory();
    }
    atomic_init(&made->references, 1);
    warmring_status_t status = warmring_ring_create(servers, count, options, &made->ring);
    if (status != WARMRING_OK) {
        wr_cluster_release(made);
        return status;
    }
    made->count = count;
    made->options = fill_in(made->ring, options);
    made->servers = wr_calloc(count, sizeof *made->servers);
    made->addresses = wr_malloc(addresses_size(made->ring, count));
    if (made->servers == NULL || made->addresses == NULL) {
        wr_cluster_release(made);
        return wr_fail_memory();
    }
    describe_servers(made);
    made->fingerprint = make_fingerprint(made);
    *cluster = made;
    return WARMRING_OK;
}

wr_cluster_t *wr_cluster_retain(wr_cluster_t *cluster) {
    if (cluster != NULL) {
        atomic_fetch_add_explicit(&cluster->references, 1, memory_order_relaxed);
    }
    return cluster;
}

void wr_cluster_release(wr_cluster_t *cluster) {
    if (cluster == NULL ||
        atomic_fetch_sub_explicit(&cluster->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    warmring_ring_free(cluster->ring);
    wr_free(cluster->servers);
    wr_free(cluster->addresses);
    wr_free(cluster);
}

const warmring_ring_t *wr_cluster_ring(const wr_cluster_t *cluster) {
    return cluster->ring;
}

const warmring_ring_options_t *wr_cluster_options(const wr_cluster_t *cluster) {
    return &cluster->options;
}

size_t wr_cluster_count(const wr_cluster_t *cluster) {
    return cluster->count;
}

const wr_cluster_server_t *wr_cluster_server(const wr_cluster_t *cluster, size_t index) {
    return index < cluster->count ? &cluster->servers[index] : NULL;
}

size_t wr_cluster_find(const wr_cluster_t *cluster, const char *label) {
    size_t index = 0;
    while (index < cluster->count && strcmp(cluster->servers[index].label, label) != 0) {
        index++;
    }
    return index;
}

uint64_t wr_cluster_fingerprint(const wr_cluster_t *cluster) {
    return cluster->fingerprint;
}
