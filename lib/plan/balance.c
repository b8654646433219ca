/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring how even a ring is.
 */
#include <math.h>

#include <warmring/plan.h>

#include "base/fail.h"
#include "plan/theory.h"
#include "ring/ring.h"

/* Weights are divided by the largest first: their sum may be too large for a
 * double. */
typedef struct {
    double largest;
    double weights;
    double points;
    uint32_t live;
} sums_t;

static sums_t add_up(const warmring_ring_t *ring) {
    sums_t sums = {0};
    for (uint32_t i = 0; i < ring->members.count; i++) {
        sums.largest = fmax(sums.largest, wr_ring_member(ring, i)->weight);
    }
    for (uint32_t i = 0; i < ring->members.count; i++) {
        const wr_member_t *member = wr_ring_member(ring, i);
        sums.weights += member->weight / sums.largest;
        sums.points += (double)member->points;
        sums.live += member->weight > 0;
    }
    return sums;
}

static void note_ratio(warmring_plan_balance_t *balance, uint32_t server, double ratio) {
    if (ratio > balance->max_over_mean) {
        balance->max_over_mean = ratio;
        balance->fullest = server;
    }
    if (ratio < balance->min_over_mean) {
        balance->min_over_mean = ratio;
        balance->emptiest = server;
    }
}

static void measure(const warmring_ring_t *ring, warmring_plan_balance_t *balance) {
    sums_t sums = add_up(ring);
    double squares = 0, expected = 0;
    for (uint32_t i = 0; i < ring->members.count; i++) {
        const wr_member_t *member = wr_ring_member(ring, i);
        if (member->weight > 0) {
            double wanted = member->weight / sums.largest / sums.weights;
            double ratio = warmring_ring_share(ring, i) / wanted;
            note_ratio(balance, i, ratio);
            squares += (ratio - 1) * (ratio - 1);
            expected += member->points > 0
                            ? wr_expected_square((double)member->points, sums.points, wanted)
                            : 0;
        }
    }
    balance->cv = sqrt(squares / sums.live);
    balance->cv_theory = sqrt(expected / sums.live);
    balance->collisions = (uint64_t)sums.points - warmring_ring_points(ring);
}

warmring_status_t warmring_plan_balance(const warmring_ring_t *ring,
                                        warmring_plan_balance_t *balance) {
    if (WR_HAS_NULL(ring, balance)) {
        return WARMRING_BAD_ARGUMENT;
    }
    size_t size = balance->size;
    if (size < sizeof *balance) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "size %zu of the balance: set it to sizeof(%s)", size,
                       "warmring_plan_balance_t");
    }
    *balance = (warmring_plan_balance_t){.size = size, .min_over_mean = INFINITY};
    measure(ring, balance);
    return WARMRING_OK;
}
