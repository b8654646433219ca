/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights: what share of the keys each server owns, and what a change of one
 * weight moves. Nothing is sent, so no server is needed.
 *
 * Servers: 0
 * Output:
 *
 *   server           weight  points    share
 *   small               1.0    1000   10.25%
 *   medium              2.0    2000   20.46%
 *   large               4.0    4000   43.24%
 *   [fd00::7]:11211     2.5    2500   26.05%
 *   drained             0.0       0    0.00%
 *
 *   small: weight 1 -> 2
 *   server           before   after   gains   loses
 *   small            10.25%  18.93%   8.68%   0.00%
 *   medium           20.46%  18.26%   0.00%   2.20%
 *   large            43.24%  39.09%   0.00%   4.15%
 *   [fd00::7]:11211  26.05%  23.71%   0.00%   2.33%
 *   drained           0.00%   0.00%   0.00%   0.00%
 *   moved: 8.68% of all keys
 */
#include <stdio.h>
#include <stdlib.h>
#include <warmring/warmring.h>

static void must(warmring_status_t status) {
    if (status != WARMRING_OK) {
        fprintf(stderr, "%s: %s\n", warmring_strerror(status), warmring_error_detail());
        exit(1);
    }
}

static void print_shares(const warmring_topology_t *topology) {
    const warmring_ring_t *ring = warmring_topology_ring(topology, WARMRING_OLD_RING);

    printf("server           weight  points    share\n");
    for (uint32_t i = 0; i < warmring_ring_servers(ring); i++) {
        const warmring_server_t *server = warmring_topology_server(topology, WARMRING_OLD_RING, i);
        printf("%-15s  %6.1f  %6llu  %6.2f%%\n",
               warmring_topology_label(topology, WARMRING_OLD_RING, i), server->weight,
               (unsigned long long)warmring_ring_server_points(ring, i),
               100 * warmring_ring_share(ring, i));
    }
}

static void print_change(const warmring_topology_t *now, const warmring_topology_t *next) {
    warmring_preview_t *preview;

    must(warmring_topology_preview(now, next, &preview));
    printf("server           before   after   gains   loses\n");
    for (size_t i = 0; i < warmring_preview_servers(preview); i++) {
        warmring_preview_server_t server = {.size = sizeof(server)};
        must(warmring_preview_server(preview, i, &server));
        printf("%-15s  %5.2f%%  %5.2f%%  %5.2f%%  %5.2f%%\n", server.label,
               100 * server.share_before, 100 * server.share_after, 100 * server.gained,
               100 * server.lost);
    }
    printf("moved: %.2f%% of all keys\n", 100 * warmring_preview_moved(preview));
    warmring_preview_free(preview);
}

int main(void) {
    warmring_topology_t *now, *next;

    /* Any unit will do: gigabytes, say. */
    must(warmring_topology_parse(&now,
                                 "small=10.0.0.1:11211:1, medium=10.0.0.2:11211:2,"
                                 "large=10.0.0.3:11211:4, [fd00::7]:11211:2.5,"
                                 "drained=10.0.0.5:11211:0",
                                 NULL, 0));
    print_shares(now);

    printf("\nsmall: weight 1 -> 2\n");
    must(warmring_topology_set_weight(now, "small", 2, &next));
    print_change(now, next);

    warmring_topology_release(next);
    warmring_topology_release(now);
}
