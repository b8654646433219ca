/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The union of two clusters by endpoint.
 */
#ifndef WR_TOPOLOGY_ENDPOINTS_H
#define WR_TOPOLOGY_ENDPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "topology/cluster.h"
#include "topology/route.h"

/* Server i of the first cluster is endpoint i; `of_new` has the endpoint of
 * each server of the second. Strings belong to the clusters. */
typedef struct {
    wr_endpoint_t *list;
    uint32_t count;
    uint32_t *of_new; /* NULL without a second cluster */
} wr_endpoints_t;

/*
 * Numbers the endpoints of `before` and, unless NULL, of `after`. An endpoint
 * is labelled as its server is; one that only `after` has, under a name that
 * `before` has elsewhere, by its address, so that labels differ. False: no
 * memory, nothing is held.
 */
bool wr_endpoints_unite(wr_endpoints_t *endpoints, const wr_cluster_t *before,
                        const wr_cluster_t *after);

void wr_endpoints_free(wr_endpoints_t *endpoints);

#endif
