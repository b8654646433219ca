/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a migration that must succeed.
 */
#include "steps.h"

#include <string.h>

#include "tap.h"
#include "transports.h"

enum { APPLY_MS = 60000 };

static void demand(warmring_status_t status, const char *what) {
    if (status != WARMRING_OK) {
        tap_bail("%s: %s: %s", what, warmring_status_name(status), warmring_error_detail());
    }
}

warmring_t *steps_open(const char *servers, const char *const *options) {
    warmring_options_t *set = test_options();
    for (size_t i = 0; options != NULL && options[i] != NULL; i += 2) {
        demand(warmring_options_set(set, options[i], options[i + 1]), options[i]);
    }
    warmring_t *client = NULL;
    demand(warmring_open(&client, servers, set), servers);
    warmring_options_free(set);
    return client;
}

warmring_topology_t *steps_present(warmring_t *client) {
    warmring_topology_t *topology = NULL;
    demand(warmring_acquire(client, &topology), "acquire");
    return topology;
}

warmring_phase_t steps_phase(warmring_t *client) {
    warmring_topology_t *topology = steps_present(client);
    warmring_phase_t phase = warmring_topology_phase(topology);
    warmring_topology_release(topology);
    return phase;
}

void steps_apply(warmring_t *client, warmring_topology_t *next) {
    demand(warmring_apply(client, next, APPLY_MS), "apply");
    warmring_topology_release(next);
}

/* A STABLE topology of `servers`, all else by default. */
static warmring_topology_t *parse(const char *servers) {
    warmring_topology_t *topology = NULL;
    demand(warmring_topology_parse(&topology, servers, NULL, 0), servers);
    return topology;
}

void steps_migrate(warmring_t *client, const warmring_topology_t *target) {
    warmring_topology_t *next = NULL;
    warmring_topology_t *present = steps_present(client);
    demand(warmring_topology_migrate(present, target, &next), "migrate");
    warmring_topology_release(present);
    steps_apply(client, next);
}

void steps_begin(warmring_t *client, const char *servers) {
    warmring_topology_t *target = parse(servers);
    steps_migrate(client, target);
    warmring_topology_release(target);
}

void steps_flip(warmring_t *client, const char *servers) {
    warmring_topology_t *next = NULL;
    warmring_topology_t *present = steps_present(client);
    warmring_topology_t *target = parse(servers);
    demand(warmring_topology_replace(present, target, &next), "replace");
    warmring_topology_release(target);
    warmring_topology_release(present);
    steps_apply(client, next);
}

void steps_take(warmring_t *client, warmring_step_t step) {
    warmring_topology_t *next = NULL;
    warmring_topology_t *present = steps_present(client);
    demand(warmring_topology_step(present, step, &next), "step");
    warmring_topology_release(present);
    steps_apply(client, next);
}

void steps_rollout(warmring_t *client, uint32_t basis_points) {
    warmring_topology_t *next = NULL;
    warmring_topology_t *present = steps_present(client);
    demand(warmring_topology_rollout(present, NULL, basis_points, &next), "rollout");
    warmring_topology_release(present);
    steps_apply(client, next);
}

void steps_forward(warmring_t *client, warmring_phase_t phase) {
    static const warmring_step_t onward[] = {
        [WARMRING_PREPARED] = WARMRING_WARM,   [WARMRING_WARMING] = WARMRING_COMMIT,
        [WARMRING_HANDOVER] = WARMRING_COMMIT, [WARMRING_DRAINING] = WARMRING_FINISH,
        [WARMRING_CLOSING] = WARMRING_FINISH,  [WARMRING_SETTLING] = WARMRING_SETTLE,
    };
    while (steps_phase(client) != phase) {
        steps_take(client, onward[steps_phase(client)]);
        if (steps_phase(client) == WARMRING_WARMING) {
            steps_rollout(client, WARMRING_ROLLOUT_ALL);
        }
    }
}

void steps_back(warmring_t *client) {
    while (steps_phase(client) != WARMRING_STABLE) {
        steps_take(client, WARMRING_ROLLBACK);
    }
}

size_t steps_owner(const warmring_topology_t *topology, warmring_side_t side, const char *key) {
    const warmring_ring_t *ring = warmring_topology_ring(topology, side);
    return ring != NULL ? warmring_ring_locate(ring, key, strlen(key)) : SIZE_MAX;
}
