/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many points each server asks for, and what to do when it is too many.
 *
 * Counts are doubles until they are known to fit, so that no product of a
 * weight and a points_per_weight can overflow unseen.
 */
#include <math.h>

#include "base/fail.h"
#include "ring/check.h"
#include "ring/decimal.h"

static double count_of(const wr_members_t *members, const wr_member_t *member,
                       const wr_dialect_t *dialect, double points_per_weight) {
    return member->weight > 0 ? dialect->count(members, member, points_per_weight) : 0;
}

static double count_all(const wr_members_t *members, const wr_dialect_t *dialect,
                        double points_per_weight) {
    double total = 0;
    for (uint32_t i = 0; i < members->count; i++) {
        total += count_of(members, &members->list[i], dialect, points_per_weight);
    }
    return total;
}

/* The largest number of three digits that is not above `value`. */
static double three_digits(double value) {
    double unit = 1;
    for (; value / unit >= 1000; unit *= 10) {
    }
    for (; value / unit < 100; unit /= 10) {
    }
    return floor(value / unit) * unit;
}

/* Halves the interval between a number that fits and one that does not. It
 * works on magnitudes first: weights may be of any size. */
static double largest_fit(const wr_members_t *members, const wr_build_t *build) {
    double above = build->points_per_weight;
    double fits = above;
    while (count_all(members, build->dialect, fits) > (double)build->max_points) {
        above = fits;
        fits /= 16;
    }
    for (int i = 0; i < 40; i++) {
        double middle = fits + (above - fits) / 2;
        bool good = count_all(members, build->dialect, middle) <= (double)build->max_points;
        fits = good ? middle : fits;
        above = good ? above : middle;
    }
    return three_digits(fits);
}

static warmring_status_t fail_too_many(const wr_members_t *members, const wr_build_t *build,
                                       double total) {
    wr_decimal_t points, fit;
    unsigned long long most = build->max_points;
    wr_decimal(&points, total);
    if (build->dialect->fixed_points > 0) {
        return wr_fail(WARMRING_LIMIT_EXCEEDED,
                       "%s points, at most %llu: dialect %s has fixed points, so use smaller "
                       "weights or raise max_points",
                       points.text, most, build->dialect->name);
    }
    if (members->live > build->max_points) {
        return wr_fail(WARMRING_LIMIT_EXCEEDED,
                       "%u servers have a point each, at most %llu: raise max_points",
                       members->live, most);
    }
    return wr_fail(WARMRING_LIMIT_EXCEEDED,
                   "%s points, at most %llu: use points_per_weight %s, or raise max_points",
                   points.text, most, wr_decimal(&fit, largest_fit(members, build)));
}

warmring_status_t wr_check_points(wr_members_t *members, const wr_build_t *build, uint64_t *total) {
    const wr_dialect_t *dialect = build->dialect;
    double density = dialect->fixed_points > 0 ? dialect->fixed_points : build->points_per_weight;
    double sum = count_all(members, dialect, density);
    if (!(sum <= (double)build->max_points)) {
        return fail_too_many(members, build, sum);
    }
    for (uint32_t i = 0; i < members->count; i++) {
        wr_member_t *member = &members->list[i];
        member->points = (uint64_t)count_of(members, member, dialect, density);
    }
    *total = (uint64_t)sum;
    return WARMRING_OK;
}
