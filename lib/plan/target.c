/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a balance target to points per weight.
 *
 * Where points need no rounding, k = w P of K = W P, the mean square over N
 * servers is
 *
 *     1/N sum (W - w) / (w (W P + 1)) = (W/N sum 1/w - 1) / (W P + 1)
 *
 * which is solved for P at once. Rounding moves the true answer from there,
 * by about one point of the smallest server at most: it may even help, since
 * half a point less than its due is the best that a small server can have. So
 * the search starts a little below, goes up in steps, and takes the first
 * number that meets the target. Should it still go after STEPS steps (a tiny
 * weight beside large ones), it doubles the number until one meets it and
 * halves the interval.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include <warmring/plan.h>

#include "base/fail.h"
#include "plan/theory.h"
#include "ring/decimal.h"

/* How many steps, and how many looks at a weight, are taken one by one. */
enum { STEPS = 4096, LOOKS = 1 << 24 };

/* Averages and fractions from which on fractions are an answer. */
static const double large_weight = 1000, small_answer = 0.01;
static const double most = 4294967295.0;

/* Weights may be so large that the last digit of an answer is no number. */
static const double largest_scale = 1e307;

typedef struct {
    const double *weights;
    size_t count;
    wr_weights_t read;
    double target;
    double scale; /* answers are whole numbers over this */
} search_t;

typedef enum { MISSES, MEETS, TOO_MANY } verdict_t;

static verdict_t try(const search_t *search, double steps) {
    double points, points_per_weight = steps / search->scale;
    double cv =
        wr_theory_cv(search->weights, search->count, &search->read, points_per_weight, &points);
    if (!(points <= most) || !(points_per_weight <= most)) {
        return TOO_MANY;
    }
    return cv <= search->target ? MEETS : MISSES;
}

/* The P of the closed form. */
static double without_rounding(const search_t *search) {
    const wr_weights_t *read = &search->read;
    double spread = read->sum / read->count * read->inverses - 1;
    return (spread / search->target / search->target - 1) / read->sum;
}

/* Two digits for fractions; whole numbers for all else. */
static double scale_of(const search_t *search, double answer) {
    double mean = search->read.sum / search->read.count;
    answer = fmax(answer, 1 / mean);
    double scale = 1;
    if (mean >= large_weight && answer < small_answer) {
        for (; answer * scale < 10 && scale < largest_scale; scale *= 10) {
        }
    }
    return scale;
}

static warmring_status_t fail_too_many(const search_t *search) {
    wr_decimal_t target, points;
    double density = without_rounding(search), needed = fmin(density * search->read.sum, DBL_MAX);
    wr_decimal(&target, search->target);
    if (density > most && needed <= most) {
        return wr_fail(WARMRING_LIMIT_EXCEEDED,
                       "target %s: it takes a points_per_weight of about %s, which is over "
                       "4294967295: use larger weights",
                       target.text, wr_decimal(&points, ceil(density)));
    }
    return wr_fail(WARMRING_LIMIT_EXCEEDED,
                   "target %s: it takes about %s points, and hashes of 32 bits have room for less "
                   "than 4294967296",
                   target.text, wr_decimal(&points, fmax(ceil(needed), most + 1)));
}

static double halve(const search_t *search, double misses, double meets) {
    while (meets - misses > 1) {
        double middle = floor(misses + (meets - misses) / 2);
        bool good = try(search, middle) == MEETS;
        meets = good ? middle : meets;
        misses = good ? misses : middle;
    }
    return meets;
}

/* `misses` does not meet the target: the first power of two times it that
 * does, then what lies between; 0: none. */
static double leap(const search_t *search, double misses) {
    double next = 2 * misses;
    verdict_t verdict = try(search, next);
    for (; verdict == MISSES; verdict = try(search, next)) {
        misses = next;
        next *= 2;
    }
    if (verdict == MEETS) {
        return halve(search, misses, next);
    }
    double meets = halve(search, misses, next); /* the last step may still do */
    return try(search, meets) == MEETS ? meets : 0;
}

/* The first number from `steps` on that meets the target; 0: none. */
static double climb(const search_t *search, double steps) {
    size_t tries = LOOKS / search->count + 1;
    tries = tries < STEPS ? tries : STEPS;
    verdict_t verdict = try(search, steps);
    for (; verdict == MISSES && tries > 0; tries--) {
        steps++;
        verdict = try(search, steps);
    }
    if (verdict == MISSES) {
        return leap(search, steps);
    }
    return verdict == MEETS ? steps : 0;
}

warmring_status_t warmring_plan_points_per_weight(const double *weights, size_t count,
                                                  double target, double *points_per_weight) {
    search_t search = {.weights = weights, .count = count, .target = target};
    wr_decimal_t text;
    if (WR_HAS_NULL(points_per_weight)) {
        return WARMRING_BAD_ARGUMENT;
    }
    *points_per_weight = 0;
    if (!isfinite(target) || target <= 0) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "target %s: not a finite number above 0",
                       wr_decimal(&text, target));
    }
    warmring_status_t status = wr_weights_read(weights, count, &search.read);
    if (status != WARMRING_OK) {
        return status;
    }
    double answer = without_rounding(&search);
    search.scale = scale_of(&search, answer);
    double start = floor((answer - 1 / search.read.least) * search.scale) - 1;
    double steps = climb(&search, fmax(start, 1));
    if (steps < 1) {
        return fail_too_many(&search);
    }
    *points_per_weight = steps / search.scale;
    return WARMRING_OK;
}
