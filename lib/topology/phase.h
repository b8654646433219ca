/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phase table: all that a phase means, in one const row each.
 */
#ifndef WR_TOPOLOGY_PHASE_H
#define WR_TOPOLOGY_PHASE_H

#include <stdint.h>

#include "topology/route.h"

enum { WR_PHASES = WARMRING_SETTLING + 1 };

typedef struct {
    /* The cells of moved keys by kind; reads twice, of keys that are not
     * rolled in and of those that are. */
    wr_steps_t cells[WR_KINDS];
    wr_steps_t read_rolled_in;

    /* The rollout when the phase begins. Only WARMING reads it; elsewhere it
     * says the same as the cells: none or all. */
    uint32_t rollout;

    /* The side that reads and changes of a moved key rely on; in HANDOVER,
     * where no side is the authority, the old one, which can still be gone
     * back to. */
    warmring_side_t serves_from;
} wr_phase_row_t;

extern const wr_phase_row_t wr_phase_table[WR_PHASES];

#endif
