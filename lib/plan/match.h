/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which servers of two rings are one endpoint.
 */
#ifndef WR_PLAN_MATCH_H
#define WR_PLAN_MATCH_H

#include "ring/ring.h"

/* For each server of `from` the one of `to` that has its endpoint, or
 * WR_NO_MEMBER; to be freed. NULL: no memory. */
uint32_t *wr_match_endpoints(const warmring_ring_t *from, const warmring_ring_t *to);

#endif
