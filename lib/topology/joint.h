/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two rings of a migration as one, so that a key's two owners are found by
 * one search.
 */
#ifndef WR_TOPOLOGY_JOINT_H
#define WR_TOPOLOGY_JOINT_H

#include <warmring/status.h>

#include "ring/ring.h"

/* It never changes and is counted, as clusters are. */
typedef struct wr_joint wr_joint_t;

/*
 * Returns OK or OUT_OF_MEMORY. *joint stays NULL, with OK, where the rings hash
 * keys differently, one has no points, or it would be too large; then each
 * ring has to be asked. The caller holds the first reference.
 */
warmring_status_t wr_joint_create(wr_joint_t **joint, const warmring_ring_t *before,
                                  const warmring_ring_t *after);

/* NULL is fine, in both. */
wr_joint_t *wr_joint_retain(wr_joint_t *joint);
void wr_joint_release(wr_joint_t *joint);

/* The owner of a position on the first ring, and that on the second. */
const uint32_t *wr_joint_owners(const wr_joint_t *joint, uint32_t hash);

#endif
