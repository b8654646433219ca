/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mathematics of plan.h: formulas against known values, against rings of
 * many random servers, and the planner against trying every number.
 *
 * A mean over many rings may be five standard errors away from what the
 * formula says, the error taken from the rings themselves.
 */
#include <warmring/plan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/tap.h"

enum { MOST = 128, NAME = 32 };

typedef struct {
    warmring_server_t servers[MOST];
    char names[MOST][NAME];
    double weights[MOST];
    size_t count;
} fleet_t;

/* A number that looks random (the finalizer of splitmix64). */
static uint64_t scramble(uint64_t number) {
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

/* Servers with the names of one of many fleets, so that each has points of
 * its own. CRC-32 is linear: the first points of names that count up are
 * spread more evenly than chance would, so these names do not. */
static void name_fleet(fleet_t *fleet, unsigned number) {
    for (size_t i = 0; i < fleet->count; i++) {
        snprintf(fleet->names[i], NAME, "%016llx",
                 (unsigned long long)scramble(((uint64_t)number + 1) << 16 | i));
        fleet->servers[i] = (warmring_server_t){.size = sizeof(warmring_server_t),
                                                .host = fleet->names[i],
                                                .weight = fleet->weights[i]};
    }
}

static warmring_ring_t *ring_of(const fleet_t *fleet, const char *dialect, double density) {
    warmring_ring_options_t options = {
        .size = sizeof options, .dialect = dialect, .points_per_weight = density};
    warmring_ring_t *ring;
    if (warmring_ring_create(fleet->servers, fleet->count, &options, &ring) != WARMRING_OK) {
        tap_bail("no ring: %s", warmring_error_detail());
    }
    return ring;
}

static warmring_plan_balance_t balance_of(const warmring_ring_t *ring) {
    warmring_plan_balance_t balance = {.size = sizeof balance};
    if (warmring_plan_balance(ring, &balance) != WARMRING_OK) {
        tap_bail("no balance: %s", warmring_error_detail());
    }
    return balance;
}

static void set_weights(fleet_t *fleet, size_t count, const double *cycle, size_t length) {
    fleet->count = count;
    for (size_t i = 0; i < count; i++) {
        fleet->weights[i] = cycle[i % length];
    }
}

/* ---- known values ---- */

static void test_values(void) {
    tap_near(warmring_plan_cv_equal(100, 160), 0.079, 0.0005, "100 servers x 160 points: 7.9 %%");
    tap_near(warmring_plan_cv_equal(100, 16), 0.249, 0.0005, "100 servers x 16 points: 24.9 %%");
    tap_near(warmring_plan_cv_equal(2048, 100000), 0.00316, 0.00001, "2,048 x 100,000: 0.316 %%");
    tap_near(warmring_plan_cv_equal(100, 160), sqrt(99.0 / 16001), 1e-15, "as the formula");
    tap_near(warmring_plan_cv_equal(1, 7), 0, 0, "one server has it all");
    tap_near(warmring_plan_cv_server(5, 20), sqrt(15.0 / (5 * 21)), 1e-15, "one of several");
    tap_near(warmring_plan_cv_server(20, 20), 0, 0, "all points of a ring");
    tap_near(warmring_plan_cv_server(160, 16000), warmring_plan_cv_equal(100, 160), 1e-15,
             "both formulas agree on equal servers");
    tap_ok(isnan(warmring_plan_cv_server(0, 5)) && isnan(warmring_plan_cv_server(6, 5)) &&
               isnan(warmring_plan_cv_equal(0, 5)) && isnan(warmring_plan_cv_equal(5, 0)),
           "no number where there is no ring");
    tap_near(warmring_plan_collisions(16e6), 29765, 1, "collisions of 16 million points");
    tap_near(warmring_plan_collisions(2), 1 / 4294967296.0, 1e-12, "collisions of two");
    tap_near(warmring_plan_collisions(1), 0, 1e-9, "one point meets none");
    tap_near(warmring_plan_collisions(4294967296.0) / 4294967296.0, exp(-1), 1e-9,
             "as many as there are places: 1/e of them");
}

/* ---- simulation ---- */

typedef struct {
    double sum, squares;
    unsigned count;
} mean_t;

static void add(mean_t *mean, double value) {
    mean->sum += value;
    mean->squares += value * value;
    mean->count++;
}

static void check_mean(const mean_t *mean, double expected, double sharpness, const char *what) {
    double average = mean->sum / mean->count;
    double variance =
        (mean->squares / mean->count - average * average) * mean->count / (mean->count - 1.0);
    double error = sqrt(variance / mean->count);
    tap_near(average, expected, 5 * error, "%s: %.6g expected, standard error %.2g", what, expected,
             error);
    tap_ok(error < sharpness * expected, "%s: %u rings tell %.0f %%", what, mean->count,
           100 * sharpness);
}

static double squared(double value) {
    return value * value;
}

static void check_equal(size_t servers, double points, unsigned rings) {
    static fleet_t fleet;
    static const double one = 1;
    mean_t mean = {0};
    char what[64];
    set_weights(&fleet, servers, &one, 1);
    for (unsigned i = 0; i < rings; i++) {
        name_fleet(&fleet, i);
        warmring_ring_t *ring = ring_of(&fleet, "v2", points);
        add(&mean, squared(balance_of(ring).cv));
        warmring_ring_free(ring);
    }
    snprintf(what, sizeof what, "CV^2 of %zu servers x %g points", servers, points);
    check_mean(&mean, squared(warmring_plan_cv_equal((double)servers, points)), 0.05, what);
}

/* Each server's share by itself, with the points it has. */
static void test_unequal(void) {
    static const double weights[] = {1, 2, 4, 0, 8, 3.3, 0.4};
    static fleet_t fleet;
    mean_t means[7] = {{0}}, all = {0};
    double total = 0, sum = 18.7, cv = -1;
    set_weights(&fleet, 7, weights, 7);
    for (unsigned n = 0; n < 1500; n++) {
        name_fleet(&fleet, n);
        warmring_ring_t *ring = ring_of(&fleet, "v2", 10);
        total = 0;
        for (uint32_t i = 0; i < 7; i++) {
            total += (double)warmring_ring_server_points(ring, i);
        }
        for (uint32_t i = 0; i < 7; i++) {
            double mean = (double)warmring_ring_server_points(ring, i) / total;
            add(&means[i], mean > 0 ? squared(warmring_ring_share(ring, i) / mean - 1) : 0);
        }
        add(&all, squared(balance_of(ring).cv));
        warmring_ring_free(ring);
    }
    for (uint32_t i = 0; i < 7; i++) {
        char what[64];
        snprintf(what, sizeof what, "CV^2 of a server of weight %g", weights[i]);
        if (weights[i] > 0) {
            check_mean(&means[i], squared(warmring_plan_cv_server(round(10 * weights[i]), total)),
                       0.06, what);
        }
    }
    tap_status(warmring_plan_cv(weights, 7, 10, &cv), WARMRING_OK, "CV of weights");
    check_mean(&all, squared(cv), 0.05, "CV^2 of them all");
    tap_near(total, 187, 0, "points of weights that add up to %g", sum);
}

/* Rounding: 1.5 points become 2 for one half of the servers, and 0.2 become 1. */
static void test_rounding(void) {
    static const double weights[] = {1.5, 3, 0.2};
    static fleet_t fleet;
    mean_t mean = {0};
    double cv = 0;
    set_weights(&fleet, 60, weights, 3);
    for (unsigned n = 0; n < 400; n++) {
        name_fleet(&fleet, n);
        warmring_ring_t *ring = ring_of(&fleet, "v2", 1);
        add(&mean, squared(balance_of(ring).cv));
        warmring_ring_free(ring);
    }
    tap_status(warmring_plan_cv(fleet.weights, 60, 1, &cv), WARMRING_OK, "CV of rounded weights");
    check_mean(&mean, squared(cv), 0.05, "CV^2 with rounding");
}

/* As many are lost as two draws of a place collide; counts of rare events
 * vary by their root. */
static void test_collisions(void) {
    static const double one = 1;
    static fleet_t fleet;
    double lost = 0, expected = 0;
    set_weights(&fleet, MOST, &one, 1);
    for (unsigned n = 0; n < 3; n++) {
        name_fleet(&fleet, n);
        warmring_ring_t *ring = ring_of(&fleet, "v2", 12000);
        warmring_plan_balance_t balance = balance_of(ring);
        tap_int((int64_t)balance.collisions, (int64_t)(MOST * 12000 - warmring_ring_points(ring)),
                "what ties took away");
        lost += (double)balance.collisions;
        expected += warmring_plan_collisions(MOST * 12000);
        warmring_ring_free(ring);
    }
    tap_near(lost, expected, 5 * sqrt(expected), "collisions in 3 x 1,536,000 points");
}

/* ---- measuring ---- */

static void check_measures(const char *dialect) {
    static const double weights[] = {3, 1, 0, 7};
    static fleet_t fleet;
    warmring_plan_balance_t balance = {.size = sizeof balance};
    set_weights(&fleet, 41, weights, 4);
    name_fleet(&fleet, 77);
    warmring_ring_t *ring = ring_of(&fleet, dialect, 50);
    double sum = 0, wanted = 0, squares = 0, most = 0, least = 9, shares = 0;
    for (uint32_t i = 0; i < 41; i++) {
        sum += fleet.weights[i];
    }
    for (uint32_t i = 0; i < 41; i++) {
        shares += warmring_ring_share(ring, i);
        if (fleet.weights[i] > 0) {
            double ratio = warmring_ring_share(ring, i) * sum / fleet.weights[i];
            squares += squared(ratio - 1);
            most = fmax(most, ratio);
            least = fmin(least, ratio);
            wanted++;
        }
    }
    tap_near(shares, 1, 0, "%s: shares add up to 1", dialect);
    tap_status(warmring_plan_balance(ring, &balance), WARMRING_OK, "%s: balance", dialect);
    tap_near(balance.cv, sqrt(squares / wanted), 1e-12, "%s: measured CV", dialect);
    tap_near(balance.max_over_mean, most, 1e-12, "%s: max/mean", dialect);
    tap_near(balance.min_over_mean, least, 1e-12, "%s: min/mean", dialect);
    tap_near(warmring_ring_share(ring, balance.fullest) * sum / fleet.weights[balance.fullest],
             most, 1e-12, "%s: the fullest", dialect);
    tap_near(warmring_ring_share(ring, balance.emptiest) * sum / fleet.weights[balance.emptiest],
             least, 1e-12, "%s: the emptiest", dialect);
    warmring_ring_free(ring);
}

static void test_balance(void) {
    static const double huge[] = {1e308};
    static fleet_t fleet;
    double cv = 0;
    check_measures("v2");
    check_measures("nginx");
    if (WR_WITH_LIBMEMCACHED) {
        check_measures("libmemcached-weighted");
    }

    warmring_plan_balance_t balance = {.size = sizeof balance};
    set_weights(&fleet, 9, huge, 1);
    name_fleet(&fleet, 1);
    warmring_ring_t *ring = ring_of(&fleet, "v2", 2e-306);
    tap_status(warmring_plan_balance(ring, &balance), WARMRING_OK, "weights without a sum");
    tap_near(balance.cv_theory, warmring_plan_cv_equal(9, 200), 1e-12, "theory of a ring");
    balance.size--;
    tap_status(warmring_plan_balance(ring, &balance), WARMRING_BAD_ARGUMENT, "a smaller struct");
    warmring_ring_free(ring);
    tap_status(warmring_plan_cv(huge, 1, 1, &cv), WARMRING_OK, "one huge weight");
    tap_near(cv, 0, 0, "has it all");
}

/* ---- the planner ---- */

/* The formula of plan.h once more. */
static double cv_of(const double *weights, size_t count, double density) {
    double sum = 0, points = 0, live = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += weights[i];
        points += weights[i] > 0 ? fmax(1, round(weights[i] * density)) : 0;
        live += weights[i] > 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (weights[i] > 0) {
            double k = fmax(1, round(weights[i] * density));
            double bias = k / points * sum / weights[i];
            squares += squared(bias - 1) + squared(bias) * (points - k) / (k * (points + 1));
        }
    }
    return sqrt(squares / live);
}

static void check_target(const double *weights, size_t count, double target, const char *what) {
    double answer = -1, tried = 1;
    tap_status(warmring_plan_points_per_weight(weights, count, target, &answer), WARMRING_OK, "%s",
               what);
    while (cv_of(weights, count, tried) > target) {
        tried++;
    }
    tap_near(answer, tried, 0, "%s, target %g: the first of all that meet it", what, target);
}

static void test_targets(void) {
    double ones[100], answer;
    for (size_t i = 0; i < 100; i++) {
        ones[i] = 1;
    }
    tap_status(warmring_plan_points_per_weight(ones, 100, 0.05, &answer), WARMRING_OK, "5 %%");
    tap_near(answer, 396, 0, "100 equal servers, 5 %%: 396 points per weight");
    for (size_t i = 0; i < 4; i++) {
        static const double targets[] = {0.5, 0.1, 0.031, 0.01};
        static const double halves[] = {0.5, 1, 1.5, 0.25};
        static const double odd[] = {0.37, 1.13, 9.71, 0, 2.222, 0.051};
        static const double steep[] = {1, 1000, 30};
        check_target(ones, 2, targets[i], "2 equal servers");
        check_target(ones, 97, targets[i], "97 equal servers");
        check_target(halves, 4, targets[i], "halves and quarters");
        check_target(odd, 6, targets[i], "odd weights");
        check_target(steep, 3, targets[i], "1 beside 1,000");
    }
    check_target(ones, 1, 0.05, "one server");
}

static void test_large_weights(void) {
    static const double megabytes[] = {65536, 131072, 262144};
    double answer = 0, cv = 1;
    tap_status(warmring_plan_points_per_weight(megabytes, 3, 0.05, &answer), WARMRING_OK,
               "weights of megabytes");
    tap_ok(answer < 0.01 && cv_of(megabytes, 3, answer) <= 0.05, "a fraction meets it: %g", answer);
    tap_ok(cv_of(megabytes, 3, answer * 0.9) > 0.05, "a tenth less does not");
    double digits = round(answer * 1e6);
    tap_near(answer, digits / 1e6, 0, "it is written with a few digits: %g", answer);
    static const double largest[] = {1e308}, pair[] = {8e307, 8e307};
    tap_status(warmring_plan_points_per_weight(largest, 1, 0.05, &answer), WARMRING_OK,
               "the largest weight");
    tap_ok(answer >= 1e-308 && answer <= 1e-306, "few points do: %g", answer);
    tap_status(warmring_plan_points_per_weight(pair, 2, 0.05, &answer), WARMRING_OK, "two of them");
    tap_ok(cv_of(pair, 2, answer) <= 0.05 && cv_of(pair, 2, answer * 0.8) > 0.05, "meet it: %g",
           answer);
    static const double wild[] = {1e-6, 1, 1, 1, 1};
    tap_status(warmring_plan_points_per_weight(wild, 5, 0.5, &answer), WARMRING_OK,
               "a tiny weight among others");
    tap_status(warmring_plan_cv(wild, 5, answer, &cv), WARMRING_OK, "CV of that");
    tap_ok(cv <= 0.5, "%.0f points per weight meet it", answer);
}

static void test_refusals(void) {
    static const double ones[] = {1, 1}, none[] = {0, 0}, negative[] = {1, -2},
                        endless[] = {1, INFINITY}, nan[] = {NAN, 1}, over[] = {1e308, 1e308},
                        apart[] = {1e100, 1e-100}, denormal[] = {4e-320, 1e-300};
    static const struct {
        const double *weights;
        const char *quoted;
    } bad[] = {{none, "none of 2"},
               {negative, "weight -2 of server 1"},
               {endless, "weight inf of server 1"},
               {nan, "nan of server 0"},
               {over, "too large"},
               {apart, "server 1: too small beside a sum of 1e+100"},
               {denormal, "too small to add up"}};
    static const double nano[] = {1e-9, 2e-9};
    double value;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        value = 5;
        tap_status(warmring_plan_cv(bad[i].weights, 2, 10, &value), WARMRING_BAD_ARGUMENT, "CV: %s",
                   bad[i].quoted);
        tap_near(value, 0, 0, "nothing is left there");
        tap_contains(warmring_error_detail(), bad[i].quoted, "the text says so");
        tap_status(warmring_plan_points_per_weight(bad[i].weights, 2, 0.1, &value),
                   WARMRING_BAD_ARGUMENT, "points: %s", bad[i].quoted);
    }
    tap_status(warmring_plan_cv(ones, 0, 10, &value), WARMRING_BAD_ARGUMENT, "no weights");
    tap_status(warmring_plan_cv(ones, 2, 0, &value), WARMRING_BAD_ARGUMENT, "no points");
    tap_status(warmring_plan_cv(ones, 2, NAN, &value), WARMRING_BAD_ARGUMENT, "NaN points");
    tap_status(warmring_plan_points_per_weight(ones, 2, 0, &value), WARMRING_BAD_ARGUMENT,
               "target 0");
    tap_status(warmring_plan_points_per_weight(ones, 2, NAN, &value), WARMRING_BAD_ARGUMENT,
               "target NaN");
    value = 5;
    tap_status(warmring_plan_points_per_weight(ones, 2, 0.00001, &value), WARMRING_LIMIT_EXCEEDED,
               "a target beyond 32 bits");
    tap_contains(warmring_error_detail(), "9999999999 points", "the text says how many it takes");
    tap_near(value, 0, 0, "and nothing is recommended");
    tap_status(warmring_plan_points_per_weight(nano, 2, 0.05, &value), WARMRING_LIMIT_EXCEEDED,
               "few points, but of weights too small");
    tap_contains(warmring_error_detail(), "points_per_weight of about 1663333333",
                 "the text says so");
    tap_status(warmring_plan_points_per_weight(ones, 2, 1e-200, &value), WARMRING_LIMIT_EXCEEDED,
               "a target that takes more points than a number can tell");
    tap_ok(strstr(warmring_error_detail(), "inf") == NULL, "is told one all the same");
    /* The last that fits: 2 servers of 2^31 - 1 points. */
    double least = warmring_plan_cv_equal(2, 2147483647);
    tap_status(warmring_plan_points_per_weight(ones, 2, least, &value), WARMRING_OK,
               "the last target within");
    tap_near(value, 2147483647, 0, "is the fullest ring");
    tap_status(warmring_plan_points_per_weight(ones, 2, least * (1 - 1e-9), &value),
               WARMRING_LIMIT_EXCEEDED, "the first beyond");
}

int main(void) {
    test_values();
    check_equal(100, 160, 120);
    check_equal(100, 16, 200);
    check_equal(3, 40, 1500);
    test_unequal();
    test_rounding();
    test_collisions();
    test_balance();
    test_targets();
    test_large_weights();
    test_refusals();
    return tap_done();
}
