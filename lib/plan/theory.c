/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closed forms of plan.h.
 */
#include "plan/theory.h"

#include <math.h>

#include <warmring/plan.h>

#include "base/fail.h"
#include "ring/decimal.h"
#include "ring/dialect.h"

static const double hash_space = 4294967296.0;

/* The sum of weights over the least of them: its square, a server's worst, is
 * a number still, and so is a sum of such squares. */
static const double largest_spread = 1e150;

double warmring_plan_cv_server(double points, double total) {
    return points > 0 && points <= total ? sqrt((total - points) / (points * (total + 1))) : NAN;
}

double warmring_plan_cv_equal(double servers, double points) {
    return servers >= 1 && points > 0 ? sqrt((servers - 1) / (servers * points + 1)) : NAN;
}

/* The places that stay empty are M (1 - 1/M)^K: the logarithm keeps the
 * digits that 1 - 1/M would lose. */
double warmring_plan_collisions(double points) {
    double taken = -hash_space * expm1(points * log1p(-1 / hash_space));
    return points > taken ? points - taken : 0;
}

double wr_expected_square(double points, double total, double wanted) {
    double bias = points / total / wanted;
    double cv = warmring_plan_cv_server(points, total);
    return (bias - 1) * (bias - 1) + bias * bias * cv * cv;
}

warmring_status_t wr_weights_read(const double *weights, size_t count, wr_weights_t *read) {
    wr_decimal_t text, sum;
    if (count > 0 && WR_HAS_NULL(weights)) {
        return WARMRING_BAD_ARGUMENT;
    }
    *read = (wr_weights_t){.least = INFINITY};
    size_t least = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(weights[i]) || weights[i] < 0) {
            return wr_fail(WARMRING_BAD_ARGUMENT, "weight %s of server %zu: not a number from 0",
                           wr_decimal(&text, weights[i]), i);
        }
        if (weights[i] > 0) {
            read->sum += weights[i];
            least = weights[i] < read->least ? i : least;
            read->least = weights[least];
            read->count++;
            read->inverses += 1 / weights[i];
        }
    }
    if (read->count < 1) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "none of %zu weights is above 0", count);
    }
    if (!isfinite(read->sum) || !isfinite(read->inverses)) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "the weights are too large or too small to add up");
    }
    if (read->sum / read->least > largest_spread) {
        return wr_fail(WARMRING_BAD_ARGUMENT,
                       "weight %s of server %zu: too small beside a sum of %s",
                       wr_decimal(&text, read->least), least, wr_decimal(&sum, read->sum));
    }
    return WARMRING_OK;
}

static double points_of(double weight, double points_per_weight) {
    wr_member_t member = {.weight = weight};
    return weight > 0 ? wr_chain_count(NULL, &member, points_per_weight) : 0;
}

double wr_theory_cv(const double *weights, size_t count, const wr_weights_t *read,
                    double points_per_weight, double *points) {
    double total = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        total += points_of(weights[i], points_per_weight);
    }
    for (size_t i = 0; i < count; i++) {
        if (weights[i] > 0) {
            squares += wr_expected_square(points_of(weights[i], points_per_weight), total,
                                          weights[i] / read->sum);
        }
    }
    *points = total;
    return sqrt(squares / read->count);
}

warmring_status_t warmring_plan_cv(const double *weights, size_t count, double points_per_weight,
                                   double *cv) {
    wr_weights_t read;
    wr_decimal_t text;
    double points;
    if (WR_HAS_NULL(cv)) {
        return WARMRING_BAD_ARGUMENT;
    }
    *cv = 0;
    if (!isfinite(points_per_weight) || points_per_weight <= 0) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "points_per_weight %s: not a finite number above 0",
                       wr_decimal(&text, points_per_weight));
    }
    warmring_status_t status = wr_weights_read(weights, count, &read);
    if (status == WARMRING_OK) {
        *cv = wr_theory_cv(weights, count, &read, points_per_weight, &points);
    }
    return status;
}
