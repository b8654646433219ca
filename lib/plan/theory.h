/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What plan/ needs of its own theory beyond warmring/plan.h.
 */
#ifndef WR_PLAN_THEORY_H
#define WR_PLAN_THEORY_H

#include <stddef.h>

#include <warmring/status.h>

/* What holds of a list of weights without those that are 0. */
typedef struct {
    double sum;
    double least;
    double count;
    double inverses; /* sum of 1 / weight */
} wr_weights_t;

/* Adds the weights up; BAD_ARGUMENT for those that plan.h refuses. */
warmring_status_t wr_weights_read(const double *weights, size_t count, wr_weights_t *read);

/* The expected square of share / wanted - 1 for a server with `points` of
 * the `total` points. */
double wr_expected_square(double points, double total, double wanted);

/* The CV of weights that wr_weights_read() has passed, and the points that
 * all of them have. */
double wr_theory_cv(const double *weights, size_t count, const wr_weights_t *read,
                    double points_per_weight, double *points);

#endif
