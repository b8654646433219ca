/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NULL in the calls of admin.h.
 */
#include <warmring/admin.h>

#include "../lib/null.h"

#define NULL_LIST(X)                                                         \
    X("file", warmring_file_server(NULL, 0, &server))                        \
    X("server", warmring_file_server(file, 0, NULL))                         \
    X("file", warmring_fleet_stats(NULL, 0, NULL, read_stat, NULL, NULL, 1)) \
    X("reader", warmring_fleet_stats(file, 0, NULL, NULL, NULL, NULL, 1))    \
    X("file", warmring_fleet_fence(NULL, 0, NULL, 1, &steps))                \
    X("steps", warmring_fleet_fence(file, 0, NULL, 1, NULL))                 \
    X("file", warmring_fleet_sweep(NULL, 0, &sweep, NULL, 1, &counts))       \
    X("sweep", warmring_fleet_sweep(file, 0, NULL, NULL, 1, &counts))        \
    X("counts", warmring_fleet_sweep(file, 0, &sweep, NULL, 1, NULL))

static void read_stat(void *context, const char *name, const char *value) {
    (void)context;
    tap_bail("%s: %s", name, value);
}

int main(void) {
    warmring_topology_t *topology;
    warmring_file_t *file;
    warmring_file_server_t server = {.size = sizeof server};
    warmring_sweep_t sweep = WARMRING_SWEEP_INIT;
    warmring_sweep_counts_t counts;
    uint64_t steps = 1;
    if (warmring_topology_parse(&topology, "a", NULL, 1) != WARMRING_OK ||
        warmring_file_create(&file, topology, NULL, 0) != WARMRING_OK) {
        tap_bail("no file: %s", warmring_error_detail());
    }
    NULL_LIST(NULL_CHECK)
    server.size = 0;
    tap_status(warmring_file_server(file, 0, &server), WARMRING_BAD_ARGUMENT, "no size");
    warmring_file_free(file);
    warmring_topology_release(topology);
    return tap_done();
}
