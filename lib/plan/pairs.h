/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums by pair of servers, for the pairs that occur.
 */
#ifndef WR_PLAN_PAIRS_H
#define WR_PLAN_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include <warmring/plan.h>

/* A slot is empty when its part is 0. */
typedef struct {
    warmring_plan_flow_t *slots;
    size_t mask;
    size_t used;
    bool failed; /* memory was out: the sums are worth nothing */
} wr_pairs_t;

/* False: no memory. Free them in either case. */
bool wr_pairs_create(wr_pairs_t *pairs);
void wr_pairs_free(wr_pairs_t *pairs);

/* Adds `part`, above 0, to what the pair has. */
void wr_pairs_add(wr_pairs_t *pairs, uint32_t from, uint32_t to, double part);

#endif
