/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mathematics of rings: how even one is, how many points that takes, and
 * what a change would move. Pure, as ring.h.
 *
 * NULL for an argument that has to be something is BAD_ARGUMENT, and the text
 * names it, where a function returns a status. Other functions must not be
 * given NULL unless they say so.
 *
 * Evenness is a coefficient of variation (CV): the root of the mean square of
 * share / wanted - 1 over all servers with a weight above 0, where a server's
 * wanted share is its weight over the sum of all weights. Each server counts
 * alike, however large it is. With equal weights it is the standard deviation
 * of the shares over their mean.
 *
 * Where the theory comes from: K points thrown independently and uniformly on
 * a circle cut it into K arcs whose lengths follow the flat Dirichlet
 * distribution, so the k arcs of one server together follow the beta
 * distribution Beta(k, K - k). It has the mean k / K and the variance
 * k (K - k) / (K^2 (K + 1)); see Johnson, Kotz and Balakrishnan, Continuous
 * Univariate Distributions, volume 2, chapter 25, and David and Nagaraja,
 * Order Statistics, section 6.4, on spacings. All else here follows from that.
 *
 * The theory knows no collisions. A ring has 2^32 places, so some points fall
 * on places that are taken and one of them has to go:
 * warmring_plan_collisions() says how many to expect. Where they go fairly, as
 * on v2, that hardly costs evenness, even at hundreds of millions of points;
 * where a fixed server wins, as on pingora-v2, the bias can be several times
 * the CV. warmring_plan_balance() measures a ring as it is.
 */
#ifndef WARMRING_PLAN_H
#define WARMRING_PLAN_H

#include <warmring/common.h>
#include <warmring/ring.h>
#include <warmring/status.h>

WARMRING_BEGIN_DECLS

/* ---- theory ----------------------------------------------------------- */

/*
 * The CV of one server's share when it has `points` of the `total` points of
 * a ring, k and K:
 *
 *     sqrt((K - k) / (k (K + 1)))
 *
 * which is the standard deviation of Beta(k, K - k) over its mean. 0 when the
 * server has all the points; no number (NaN) unless 0 < points <= total.
 * Threads: any. Since 0.1.
 */
WARMRING_API double warmring_plan_cv_server(double points, double total);

/*
 * The CV of a ring of `servers` equal servers, N, with `points` points each, k:
 *
 *     sqrt((N - 1) / (N k + 1))
 *
 * 100 servers with 160 points each: 7.9 %. No number (NaN) unless
 * servers >= 1 and points > 0. Threads: any. Since 0.1.
 */
WARMRING_API double warmring_plan_cv_equal(double servers, double points);

/*
 * The CV of a v2 ring of servers with these weights, as the header's top
 * defines it, in expectation: the root of the mean over the servers of
 *
 *     (b - 1)^2 + (b CV)^2      b = (k / K) / (weight / sum of weights)
 *
 * with k = round(weight x points_per_weight), at least 1, and CV that of
 * warmring_plan_cv_server(). The first term is what rounding to whole points
 * costs; where nothing is rounded b is 1, and for equal weights the root is
 * warmring_plan_cv_equal(). Weights of 0 are left out.
 *
 * Returns WARMRING_OK and the CV in *cv; BAD_ARGUMENT (*cv is 0) when no
 * weight is above 0, a weight is negative or no finite number, their sum
 * overflows or is 1e150 times the least, or points_per_weight is not above 0
 * and finite.
 * Threads: any. Cost: a pass over the weights. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_plan_cv(const double *weights, size_t count, double points_per_weight, double *cv);

/*
 * The least points_per_weight whose warmring_plan_cv() is `target` or less: a
 * whole number from 1 on. 100 equal servers of weight 1 and a target of 0.05
 * take 396.
 *
 * Two exceptions. Where the average weight is 1,000 or more and less than
 * 0.01 would do, it is a decimal fraction of two digits: weights of
 * megabytes should not cost thousands of times the points. And where weights
 * differ so much that rounding makes the CV wander for thousands of steps, it
 * is where halving an interval ends: it meets the target, but a smaller one
 * may do so too.
 *
 * Returns WARMRING_OK; LIMIT_EXCEEDED when it takes 2^32 points or more, or a
 * points_per_weight above 2^32-1, so that no ring of 32-bit hashes meets the
 * target; BAD_ARGUMENT for weights as above, or a target that is not above 0
 * and finite. Unless OK, *points_per_weight is 0.
 * Threads: any. Cost: some passes over the weights. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_plan_points_per_weight(const double *weights, size_t count, double target,
                                double *points_per_weight);

/*
 * How many of `points` points to expect on places that others have already,
 * and so lost: K - M (1 - (1 - 1/M)^K) with M = 2^32, about K^2 / 2^33.
 * 16 million points lose 29,765. Threads: any. Since 0.1.
 */
WARMRING_API double warmring_plan_collisions(double points);

/* ---- a ring as it is -------------------------------------------------- */

/* How even a ring is. Set `size` to sizeof(warmring_plan_balance_t). */
typedef struct {
    size_t size;
    double cv;            /* measured, from the exact shares */
    double cv_theory;     /* in expectation for the points each server asked
                             for; 0 where the dialect has no points */
    double max_over_mean; /* the largest share / wanted share */
    double min_over_mean; /* the least */
    uint32_t fullest;     /* the servers of these two */
    uint32_t emptiest;
    uint64_t collisions; /* points asked for that ties took away */
} warmring_plan_balance_t;

/*
 * Measures a ring against the weights it was made from. Servers of weight 0
 * are left out, also where a dialect ignores weights and gives them keys.
 *
 * Returns WARMRING_OK, or BAD_ARGUMENT when `size` is too small.
 * Threads: any. Cost: a pass over the servers. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_plan_balance(const warmring_ring_t *ring, warmring_plan_balance_t *balance);

/* ---- between two rings ------------------------------------------------ */

/*
 * The exact fraction of all keys, 0 to 1, that have another owner on `to`
 * than on `from`. Owners are compared by endpoint (host and port), as a
 * migration does, so a renamed server has not moved.
 *
 * Where both rings hash keys alike it is the sum of the arcs between
 * neighbouring points of either ring whose owners differ, over 2^32 (of two
 * rings without points, the hashes whose rests name different owners). Where
 * they do not, a key's two positions are independent and it is
 * 1 - sum over endpoints of share(from) x share(to). So it is for a ring with
 * points beside one without, where that is within points / 2^32 of the truth.
 *
 * Returns WARMRING_OK or OUT_OF_MEMORY (*moved is then 0).
 * Threads: any. Cost: one pass over both rings' points, or over their servers
 * where they hash keys differently. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_plan_moved(const warmring_ring_t *from, const warmring_ring_t *to, double *moved);

/*
 * The flow matrix: flows[i * warmring_ring_servers(to) + j] is the exact
 * fraction of all keys owned by server i on `from` and by server j on `to`,
 * unmoved keys included, so that all cells add up to 1. `capacity` is the
 * number of cells at `flows`; it must hold
 * warmring_ring_servers(from) x warmring_ring_servers(to).
 *
 * Returns WARMRING_OK, or BAD_ARGUMENT when `capacity` cells are too few.
 * Threads: any. Cost: one pass over both rings' points, or over all cells
 * where they hash keys differently. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_plan_flows(const warmring_ring_t *from, const warmring_ring_t *to, double *flows,
                    size_t capacity);

/* The keys that go from one server to another one. */
typedef struct {
    uint32_t from; /* the server on the first ring, on the second */
    uint32_t to;
    double part; /* of all keys, 0 to 1 */
} warmring_plan_flow_t;

/*
 * The `capacity` largest flows between different endpoints, largest first;
 * equal ones in the order of the servers. They are the cells of
 * warmring_plan_flows() whose keys move, without its matrix. *count is how
 * many there are, `capacity` at most.
 *
 * Returns WARMRING_OK or OUT_OF_MEMORY (*count is then 0).
 * Threads: any. Cost: one pass over both rings' points, and up to 96 bytes of
 * memory for each pair of servers that keys go between; where the rings hash
 * keys differently, a pass over all pairs, which are not stored. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_plan_largest_flows(const warmring_ring_t *from, const warmring_ring_t *to,
                            warmring_plan_flow_t *flows, size_t capacity, size_t *count);

WARMRING_END_DECLS

#endif
