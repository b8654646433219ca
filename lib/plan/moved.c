/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many keys a change of ring moves, and between which servers.
 */
#include <warmring/plan.h>

#include "base/fail.h"
#include "base/memory.h"
#include "plan/arcs.h"
#include "ring/index.h"

typedef struct {
    const uint32_t *same; /* of each server on `from`, the one on `to` that
                             has its endpoint, or WR_NO_MEMBER */
    double stayed;
} stay_t;

static void add_stayed(void *context, uint32_t from_server, uint32_t to_server, double part) {
    stay_t *stay = context;
    if (stay->same[from_server] == to_server) {
        stay->stayed += part;
    }
}

/* Fills `same`; false: no memory. */
static bool match_endpoints(const warmring_ring_t *from, const warmring_ring_t *to,
                            uint32_t *same) {
    wr_index_t index;
    if (!wr_index_create(&index, &to->members, wr_member_endpoint)) {
        return false;
    }
    for (uint32_t j = 0; j < to->members.count; j++) {
        wr_index_add(&index, j);
    }
    for (uint32_t i = 0; i < from->members.count; i++) {
        char bytes[WR_IDENTITY_SIZE];
        same[i] = wr_index_find(&index, bytes, wr_member_endpoint(wr_ring_member(from, i), bytes));
    }
    wr_index_free(&index);
    return true;
}

warmring_status_t warmring_plan_moved(const warmring_ring_t *from, const warmring_ring_t *to,
                                      double *moved) {
    *moved = 0;
    uint32_t *same = wr_calloc(from->members.count, sizeof *same);
    if (same == NULL || !match_endpoints(from, to, same)) {
        wr_free(same);
        return wr_fail_memory();
    }
    stay_t stay = {.same = same};
    wr_plan_flow(from, to, add_stayed, &stay);
    wr_free(same);
    *moved = stay.stayed < 1 ? 1 - stay.stayed : 0;
    return WARMRING_OK;
}

typedef struct {
    double *cells;
    size_t columns;
} matrix_t;

static void add_flow(void *context, uint32_t from_server, uint32_t to_server, double part) {
    matrix_t *matrix = context;
    matrix->cells[from_server * matrix->columns + to_server] += part;
}

warmring_status_t warmring_plan_flows(const warmring_ring_t *from, const warmring_ring_t *to,
                                      double *flows, size_t capacity) {
    uint64_t cells = (uint64_t)from->members.count * to->members.count;
    if (capacity < cells) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "capacity of %zu flows: %u x %u servers need %llu",
                       capacity, from->members.count, to->members.count, (unsigned long long)cells);
    }
    for (size_t i = 0; i < cells; i++) {
        flows[i] = 0;
    }
    matrix_t matrix = {flows, to->members.count};
    wr_plan_flow(from, to, add_flow, &matrix);
    return WARMRING_OK;
}
