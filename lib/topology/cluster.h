/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster: a list of servers and the ring made of it.
 *
 * It never changes and is counted, so that all topologies of one migration,
 * and every step between them, share two of them.
 */
#ifndef WR_TOPOLOGY_CLUSTER_H
#define WR_TOPOLOGY_CLUSTER_H

#include <stddef.h>
#include <stdint.h>

#include <warmring/ring.h>
#include <warmring/status.h>

typedef struct {
    warmring_server_t server; /* its strings belong to the ring */
    const char *address;      /* HOST:PORT, [V6]:PORT or unix:/PATH */
    const char *label;        /* the name, else the address */
} wr_cluster_server_t;

typedef struct wr_cluster wr_cluster_t;

/* As warmring_ring_create(), and the same errors. The caller holds the first
 * reference. */
warmring_status_t wr_cluster_create(wr_cluster_t **cluster, const warmring_server_t *servers,
                                    size_t count, const warmring_ring_options_t *options);

wr_cluster_t *wr_cluster_retain(wr_cluster_t *cluster);
/* NULL is fine. */
void wr_cluster_release(wr_cluster_t *cluster);

const warmring_ring_t *wr_cluster_ring(const wr_cluster_t *cluster);
/* What the ring was made with, defaults filled in. */
const warmring_ring_options_t *wr_cluster_options(const wr_cluster_t *cluster);
size_t wr_cluster_count(const wr_cluster_t *cluster);
/* NULL past the last. */
const wr_cluster_server_t *wr_cluster_server(const wr_cluster_t *cluster, size_t index);

/* The server with that label; wr_cluster_count() when there is none. */
size_t wr_cluster_find(const wr_cluster_t *cluster, const char *label);

/*
 * Equal for two clusters exactly when (but for a chance of 2^-64) names,
 * hosts, ports as written, weights, their order, dialect and
 * points_per_weight are: the same on every machine. max_points is left out,
 * since it permits a ring and does not shape it.
 */
uint64_t wr_cluster_fingerprint(const wr_cluster_t *cluster);

#endif
