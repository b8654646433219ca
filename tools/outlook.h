/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people are told before a step is taken.
 */
#ifndef TOOLS_OUTLOOK_H
#define TOOLS_OUTLOOK_H

#include <warmring/topology.h>

/*
 * Prints what moves between the rings of `now` and `next`: the share of all
 * keys, and a line for each server with what it has, gets and gives, the
 * largest gains first. `rollout`, in basis points, is the share of the moved
 * keys whose reads start at the new owner; OUTLOOK_COLD: the change is made at
 * once and nothing is copied. Returns how the program ends.
 */
#define OUTLOOK_COLD UINT32_MAX
int outlook_moves(const warmring_topology_t *now, const warmring_topology_t *next,
                  uint32_t rollout);

/* What a change to `phase` means, and what a rollback from there would do. A
 * text of several lines; `back` is for a change that is part of a rollback. */
const char *outlook_phase(warmring_phase_t phase, bool back);

#endif
