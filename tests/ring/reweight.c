/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The promise of v2: reweighting a server moves that server's keys, as many
 * as its share changes, and nobody else's.
 */
#include <math.h>

#include <warmring/plan.h>

#include "../lib/tap.h"
#include "sample.h"

enum { SERVERS = 10, CHANGED = 3 };

typedef struct {
    double moved;     /* of all keys */
    double strangers; /* of those, between servers that were not touched */
    double added;     /* points */
} change_t;

static change_t reweight(const char *dialect, double from_weight, double to_weight) {
    static double flows[SERVERS * SERVERS];
    sample_t sample;
    change_t change = {0};
    sample_fill(&sample, SERVERS, from_weight);
    warmring_ring_t *from = sample_ring(sample.servers, SERVERS, dialect, 0);
    sample.servers[CHANGED].weight = to_weight;
    warmring_ring_t *to = sample_ring(sample.servers, SERVERS, dialect, 0);
    if (warmring_plan_moved(from, to, &change.moved) != WARMRING_OK ||
        warmring_plan_flows(from, to, flows, SERVERS * SERVERS) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    for (uint32_t i = 0; i < SERVERS * SERVERS; i++) {
        uint32_t source = i / SERVERS, target = i % SERVERS;
        bool stranger = source != target && source != CHANGED && target != CHANGED;
        change.strangers += stranger ? flows[i] / change.moved : 0;
    }
    change.added = (double)warmring_ring_server_points(to, CHANGED) -
                   (double)warmring_ring_server_points(from, CHANGED);
    warmring_ring_free(from);
    warmring_ring_free(to);
    return change;
}

static void check(double from, double to) {
    double theory = to / (9 * from + to) - from / (10 * from);
    change_t v2 = reweight("v2", from, to);
    tap_int((int64_t)v2.added, (int64_t)(1000 * (to - from)), "%g to %g: points added", from, to);
    tap_ok(v2.strangers <= 0, "%g to %g: every moved key comes from or goes to that server", from,
           to);
    tap_near(v2.moved / theory, 1, 4 / sqrt(v2.added),
             "%g to %g: %.4f %% of the keys move, theory %.4f %%", from, to, 100 * v2.moved,
             100 * theory);
    change_t other = reweight("libmemcached-weighted", from, to);
    tap_note("%g to %g on libmemcached-weighted: %.1f %% of the keys move, %.0f %% of them "
             "between other servers",
             from, to, 100 * other.moved, 100 * other.strangers);
}

int main(void) {
    check(1, 2);
    check(10, 11);
    return tap_done();
}
