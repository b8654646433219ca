/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between which servers a change of ring moves keys: as a matrix, and the
 * largest flows alone.
 *
 * The largest stand in the caller's array as a heap with the least of them on
 * top, which gives way to a larger one; in the end they are sorted.
 */
#include <stdlib.h>

#include <warmring/plan.h>

#include "base/fail.h"
#include "base/memory.h"
#include "plan/arcs.h"
#include "plan/match.h"
#include "plan/pairs.h"

/* ---- all of them ---- */

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
    if (WR_HAS_NULL(from, to) || (capacity > 0 && WR_HAS_NULL(flows))) {
        return WARMRING_BAD_ARGUMENT;
    }
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

/* ---- the largest ---- */

typedef struct {
    const uint32_t *same; /* from wr_match_endpoints() */
    warmring_plan_flow_t *heap;
    size_t count;
    size_t capacity;
} top_t;

/* Below 0 when `a` comes first: the larger, then the one of earlier servers. */
static int order(const void *a, const void *b) {
    const warmring_plan_flow_t *left = a, *right = b;
    if (left->part > right->part || left->part < right->part) {
        return left->part > right->part ? -1 : 1;
    }
    if (left->from != right->from) {
        return left->from < right->from ? -1 : 1;
    }
    return (left->to > right->to) - (left->to < right->to);
}

static void swap(warmring_plan_flow_t *a, warmring_plan_flow_t *b) {
    warmring_plan_flow_t kept = *a;
    *a = *b;
    *b = kept;
}

static void rise(warmring_plan_flow_t *heap, size_t at) {
    for (; at > 0 && order(&heap[at], &heap[(at - 1) / 2]) > 0; at = (at - 1) / 2) {
        swap(&heap[at], &heap[(at - 1) / 2]);
    }
}

static void sink(warmring_plan_flow_t *heap, size_t count) {
    for (size_t at = 0, child = 1; child < count; at = child, child = 2 * at + 1) {
        child += child + 1 < count && order(&heap[child + 1], &heap[child]) > 0;
        if (order(&heap[child], &heap[at]) <= 0) {
            return;
        }
        swap(&heap[at], &heap[child]);
    }
}

static void offer(void *context, uint32_t from_server, uint32_t to_server, double part) {
    top_t *top = context;
    warmring_plan_flow_t flow = {from_server, to_server, part};
    if (top->same[from_server] == to_server || !(part > 0) || top->capacity == 0) {
        return;
    }
    if (top->count < top->capacity) {
        top->heap[top->count] = flow;
        rise(top->heap, top->count++);
    } else if (order(&flow, &top->heap[0]) < 0) {
        top->heap[0] = flow;
        sink(top->heap, top->count);
    }
}

static void add_pair(void *context, uint32_t from_server, uint32_t to_server, double part) {
    wr_pairs_add(context, from_server, to_server, part);
}

/* Where pairs come in many parts: add these up first. */
static bool offer_sums(const warmring_ring_t *from, const warmring_ring_t *to, top_t *top) {
    wr_pairs_t pairs;
    if (!wr_pairs_create(&pairs)) {
        return false;
    }
    wr_plan_flow(from, to, add_pair, &pairs);
    bool failed = pairs.failed;
    for (size_t i = 0; i <= pairs.mask && !failed; i++) {
        offer(top, pairs.slots[i].from, pairs.slots[i].to, pairs.slots[i].part);
    }
    wr_pairs_free(&pairs);
    return !failed;
}

warmring_status_t warmring_plan_largest_flows(const warmring_ring_t *from,
                                              const warmring_ring_t *to,
                                              warmring_plan_flow_t *flows, size_t capacity,
                                              size_t *count) {
    if (WR_EMPTY_OR_NULL(count, from, to)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (capacity > 0 && WR_HAS_NULL(flows)) {
        return WARMRING_BAD_ARGUMENT;
    }
    uint32_t *same = wr_match_endpoints(from, to);
    if (same == NULL) {
        return wr_fail_memory();
    }
    bool done = true;
    top_t top = {.same = same, .heap = flows, .capacity = capacity};
    if (wr_plan_independent(from, to)) {
        wr_plan_flow(from, to, offer, &top);
    } else {
        done = offer_sums(from, to, &top);
    }
    wr_free(same);
    if (!done) {
        return wr_fail_memory();
    }
    if (top.count > 1) {
        qsort(flows, top.count, sizeof *flows, order);
    }
    *count = top.count;
    return WARMRING_OK;
}
