/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over two rings at once.
 */
#ifndef WR_PLAN_ARCS_H
#define WR_PLAN_ARCS_H

#include "ring/ring.h"

/* Called with a fraction of all keys, their server on the first ring and
 * their server on the second. */
typedef void (*wr_flow_t)(void *context, uint32_t from_server, uint32_t to_server, double part);

/*
 * Tells `flow` of every part of the keys; the parts add up to 1. A pair of
 * servers may be told of many times.
 *
 * Where both rings hash keys alike the parts are the arcs between neighbouring
 * points of either, and sums of them are exact; so they are for two rings
 * without points, where a part is what leaves the same two rests. Where they
 * hash keys differently, a key's two positions are independent, and the parts
 * are products of shares. A ring with points beside one without is taken as
 * independent, too: neighbouring hashes leave all rests, so no part is wrong
 * by more than points / 2^32.
 */
void wr_plan_flow(const warmring_ring_t *from, const warmring_ring_t *to, wr_flow_t flow,
                  void *context);

/* Whether the parts are products of shares; each pair of servers is then
 * told of once. */
bool wr_plan_independent(const warmring_ring_t *from, const warmring_ring_t *to);

#endif
