/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NULL in the calls of ring.h.
 */
#include <warmring/ring.h>

#include "tests/lib/null.h"

#define NULL_LIST(X)                                        \
    X("ring", warmring_ring_create(&server, 1, NULL, NULL)) \
    X("servers", warmring_ring_create(NULL, 1, NULL, &ring))

int main(void) {
    const warmring_server_t server = {.size = sizeof server, .host = "a", .weight = 1};
    warmring_ring_t *ring = (void *)&ring;
    NULL_LIST(NULL_CHECK)
    tap_ok(ring == NULL, "no ring");
    tap_status(warmring_ring_create(NULL, 0, NULL, &ring), WARMRING_BAD_SERVER, "an empty list");
    warmring_ring_free(NULL);
    return tap_done();
}
