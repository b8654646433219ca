/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client taken through a migration in single calls; each bails when the
 * library refuses. For tests that are about what happens in a phase.
 */
#ifndef TESTS_STEPS_H
#define TESTS_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warmring/client.h>

/* Opens a client with the transport in force (transports.h); `options` is a
 * NULL-terminated list of names and values, or NULL. */
warmring_t *steps_open(const char *servers, const char *const *options);

/* The topology in force, to be released. */
warmring_topology_t *steps_present(warmring_t *client);
warmring_phase_t steps_phase(warmring_t *client);

/* From STABLE to PREPARED, towards the ring of `target` or of `servers`. */
void steps_migrate(warmring_t *client, const warmring_topology_t *target);
void steps_begin(warmring_t *client, const char *servers);
/* One step of the migration. */
void steps_take(warmring_t *client, warmring_step_t step);
/* The rollout of a migration in WARMING. */
void steps_rollout(warmring_t *client, uint32_t basis_points);
/* Step after step as far as `phase`, with the rollout at 100 % in WARMING;
 * STABLE is that of the new ring. Not backwards. */
void steps_forward(warmring_t *client, warmring_phase_t phase);
/* Step after step back to the STABLE of the old ring. */
void steps_back(warmring_t *client);
/* From STABLE to STABLE on `servers`, at once. */
void steps_flip(warmring_t *client, const char *servers);

/* Applies and releases `next`; bails when it is refused. */
void steps_apply(warmring_t *client, warmring_topology_t *next);

/* The seat of the key's owner in `topology` (SIZE_MAX: no such ring): its
 * place in that ring's list of servers. */
size_t steps_owner(const warmring_topology_t *topology, warmring_side_t side, const char *key);

#endif
