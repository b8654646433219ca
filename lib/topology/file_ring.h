/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring as it stands in a topology file.
 */
#ifndef WR_TOPOLOGY_FILE_RING_H
#define WR_TOPOLOGY_FILE_RING_H

#include "topology/cluster.h"
#include "topology/file.h"
#include "topology/file_node.h"

/* Returns OK with a reference in *cluster, or as wr_file_parse(). */
warmring_status_t wr_file_ring(const wr_node_t *node, const wr_file_rings_t *rings,
                               wr_cluster_t **cluster);

#endif
