/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mathematics of rings: what a change would move. Pure, as ring.h.
 */
#ifndef WARMRING_PLAN_H
#define WARMRING_PLAN_H

#include <warmring/common.h>
#include <warmring/ring.h>
#include <warmring/status.h>

WARMRING_BEGIN_DECLS

/*
 * The exact fraction of all keys, 0 to 1, that have another owner on `to`
 * than on `from`. Owners are compared by endpoint (host and port), as a
 * migration does, so a renamed server has not moved.
 *
 * Where both rings hash keys alike it is the sum of the arcs between
 * neighbouring points of either ring whose owners differ, over 2^32. Where
 * they do not, a key's two positions are independent and it is
 * 1 - sum over endpoints of share(from) x share(to).
 *
 * Returns WARMRING_OK or OUT_OF_MEMORY (*moved is then 0).
 * Threads: any. Cost: one pass over both rings' points. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_plan_moved(const warmring_ring_t *from, const warmring_ring_t *to, double *moved);

/*
 * The flow matrix: flows[i * warmring_ring_servers(to) + j] is the exact
 * fraction of all keys owned by server i on `from` and by server j on `to`,
 * unmoved keys included, so that all cells add up to 1. `capacity` is the
 * number of cells at `flows`; it must hold
 * warmring_ring_servers(from) x warmring_ring_servers(to).
 *
 * Returns WARMRING_OK, or BAD_ARGUMENT when `capacity` cells are too few.
 * Threads: any. Cost: one pass over both rings' points. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_plan_flows(const warmring_ring_t *from, const warmring_ring_t *to, double *flows,
                    size_t capacity);

WARMRING_END_DECLS

#endif
