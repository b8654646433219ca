/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many keys a change of ring moves.
 */
#include <warmring/plan.h>

#include "base/fail.h"
#include "base/memory.h"
#include "plan/arcs.h"
#include "plan/match.h"

typedef struct {
    const uint32_t *same; /* from wr_match_endpoints() */
    double stayed;
} stay_t;

static void add_stayed(void *context, uint32_t from_server, uint32_t to_server, double part) {
    stay_t *stay = context;
    if (stay->same[from_server] == to_server) {
        stay->stayed += part;
    }
}

/* Only pairs of one endpoint count, so no others are looked at. */
static void add_independent(const warmring_ring_t *from, const warmring_ring_t *to, stay_t *stay) {
    for (uint32_t i = 0; i < from->members.count; i++) {
        if (stay->same[i] != WR_NO_MEMBER) {
            stay->stayed += warmring_ring_share(from, i) * warmring_ring_share(to, stay->same[i]);
        }
    }
}

warmring_status_t warmring_plan_moved(const warmring_ring_t *from, const warmring_ring_t *to,
                                      double *moved) {
    if (WR_EMPTY_OR_NULL(moved, from, to)) {
        return WARMRING_BAD_ARGUMENT;
    }
    uint32_t *same = wr_match_endpoints(from, to);
    if (same == NULL) {
        return wr_fail_memory();
    }
    stay_t stay = {.same = same};
    if (wr_plan_independent(from, to)) {
        add_independent(from, to, &stay);
    } else {
        wr_plan_flow(from, to, add_stayed, &stay);
    }
    wr_free(same);
    *moved = stay.stayed < 1 ? 1 - stay.stayed : 0;
    return WARMRING_OK;
}
