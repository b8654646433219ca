/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching servers by host and port.
 */
#include "plan/match.h"

#include "base/memory.h"
#include "ring/index.h"

uint32_t *wr_match_endpoints(const warmring_ring_t *from, const warmring_ring_t *to) {
    wr_index_t index;
    uint32_t *same = wr_calloc(from->members.count, sizeof *same);
    if (same == NULL || !wr_index_create(&index, &to->members, wr_member_endpoint)) {
        wr_free(same);
        return NULL;
    }
    for (uint32_t j = 0; j < to->members.count; j++) {
        wr_index_add(&index, j);
    }
    for (uint32_t i = 0; i < from->members.count; i++) {
        char bytes[WR_IDENTITY_SIZE];
        same[i] = wr_index_find(&index, bytes, wr_member_endpoint(wr_ring_member(from, i), bytes));
    }
    wr_index_free(&index);
    return same;
}
