/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring as it stands in a topology file.
 */
#ifndef WR_TOPOLOGY_FILE_RING_H
#define WR_TOPOLOGY_FILE_RING_H

#include "topology/cluster.h"
#include "topology/file_node.h"
#include "topology/topology.h"

/*
 * Reads it, and builds it unless `like` (NULL: none) has the same. Returns OK
 * with a reference in *cluster; BAD_FILE; OUT_OF_MEMORY.
 */
warmring_status_t wr_file_ring(const wr_node_t *node, const warmring_topology_t *like,
                               wr_cluster_t **cluster);

#endif
