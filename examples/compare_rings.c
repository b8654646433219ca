/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changing one weight of ten servers moves, on the v2 ring and on
 * libmemcached's weighted ketama. "Needless" keys move between two servers
 * that were not changed. Nothing is sent, so no server is needed.
 *
 * Servers: 0
 * Output:
 *
 *   dialect                weight     ideal    moved   needless
 *   v2                      1 ->  2    8.18%    8.58%       0.0%
 *   v2                     10 -> 11    0.89%    0.83%       0.0%
 *   libmemcached-weighted   1 ->  2    8.18%   14.09%      41.3%
 *   libmemcached-weighted  10 -> 11    0.89%    3.17%      48.1%
 */
#include <stdio.h>
#include <stdlib.h>
#include <warmring/warmring.h>

#define SERVERS 10

static void must(warmring_status_t status) {
    if (status != WARMRING_OK) {
        fprintf(stderr, "%s: %s\n", warmring_strerror(status), warmring_error_detail());
        exit(1);
    }
}

static warmring_ring_t *make_ring(const char *dialect, double others, double first) {
    warmring_ring_options_t options = {.size = sizeof(options), .dialect = dialect};
    warmring_server_t servers[SERVERS];
    char hosts[SERVERS][16];
    warmring_ring_t *ring;

    for (int i = 0; i < SERVERS; i++) {
        snprintf(hosts[i], sizeof(hosts[i]), "10.0.0.%d", i + 1);
        servers[i] = (warmring_server_t){
            .size = sizeof(servers[i]),
            .host = hosts[i],
            .weight = i == 0 ? first : others,
        };
    }
    must(warmring_ring_create(servers, SERVERS, &options, &ring));
    return ring;
}

static void compare(const char *dialect, double weight, double raised) {
    warmring_ring_t *before = make_ring(dialect, weight, weight);
    warmring_ring_t *after = make_ring(dialect, weight, raised);
    double flows[SERVERS][SERVERS], moved = 0, needless = 0;

    must(warmring_plan_flows(before, after, flows[0], SERVERS * SERVERS));
    for (int from = 0; from < SERVERS; from++)
        for (int to = 0; to < SERVERS; to++) {
            moved += from != to ? flows[from][to] : 0;
            needless += from != to && from != 0 && to != 0 ? flows[from][to] : 0;
        }
    printf("%-21s  %2.0f -> %2.0f  %6.2f%%  %6.2f%%  %8.1f%%\n", dialect, weight, raised,
           100 * (raised / (9 * weight + raised) - 0.1), 100 * moved, 100 * needless / moved);
    warmring_ring_free(before);
    warmring_ring_free(after);
}

int main(void) {
    const char *const dialects[] = {"v2", "libmemcached-weighted"};

    printf("%-21s  weight     ideal    moved   needless\n", "dialect");
    for (int i = 0; i < 2; i++) {
        compare(dialects[i], 1, 2);
        compare(dialects[i], 10, 11);
    }
}
