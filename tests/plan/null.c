/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NULL in the calls of plan.h.
 */
#include <warmring/plan.h>

#include "tests/lib/null.h"

#define NULL_LIST(X)                                                             \
    X("weights", warmring_plan_cv(NULL, 1, 1, &number))                          \
    X("cv", warmring_plan_cv(weights, 1, 1, NULL))                               \
    X("weights", warmring_plan_points_per_weight(NULL, 1, 1, &number))           \
    X("points_per_weight", warmring_plan_points_per_weight(weights, 1, 1, NULL)) \
    X("ring", warmring_plan_balance(NULL, &balance))                             \
    X("balance", warmring_plan_balance(ring, NULL))                              \
    X("from", warmring_plan_moved(NULL, ring, &number))                          \
    X("to", warmring_plan_moved(ring, NULL, &number))                            \
    X("moved", warmring_plan_moved(ring, ring, NULL))                            \
    X("from", warmring_plan_flows(NULL, ring, cells, 1))                         \
    X("to", warmring_plan_flows(ring, NULL, cells, 1))                           \
    X("flows", warmring_plan_flows(ring, ring, NULL, 1))                         \
    X("from", warmring_plan_largest_flows(NULL, ring, flows, 1, &count))         \
    X("to", warmring_plan_largest_flows(ring, NULL, flows, 1, &count))           \
    X("flows", warmring_plan_largest_flows(ring, ring, NULL, 1, &count))         \
    X("count", warmring_plan_largest_flows(ring, ring, flows, 1, NULL))

int main(void) {
    const warmring_server_t server = {.size = sizeof server, .host = "a", .weight = 1};
    const double weights[] = {1};
    warmring_plan_balance_t balance = {.size = sizeof balance};
    warmring_plan_flow_t flows[1];
    warmring_ring_t *ring = NULL;
    double number = 7, cells[1];
    size_t count = 7;
    if (warmring_ring_create(&server, 1, NULL, &ring) != WARMRING_OK) {
        tap_bail("no ring: %s", warmring_error_detail());
    }
    NULL_LIST(NULL_CHECK)
    tap_near(number, 0, 0, "no number");
    tap_int((int64_t)count, 0, "no flows");
    tap_status(warmring_plan_largest_flows(ring, ring, NULL, 0, &count), WARMRING_OK,
               "room for none needs no place");
    warmring_ring_free(ring);
    return tap_done();
}
