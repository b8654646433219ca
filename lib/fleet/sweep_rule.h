/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which items of a server nobody will read again: the rule of a sweep, pure.
 *
 * Whoever clients with this file may still ask for a key, or will after any
 * step that is possible from here, must keep it:
 *
 *   STABLE              the owner
 *   PREPARED to CLOSING both owners; but of a moved key the new one's items up
 *                       to its watermark are ghosts in all of these phases
 *   SETTLING            the new owner, ghosts apart
 */
#ifndef WR_FLEET_SWEEP_RULE_H
#define WR_FLEET_SWEEP_RULE_H

#include "net/request.h"
#include "topology/file.h"

typedef struct {
    const warmring_topology_t *topology;
    uint32_t seat;      /* the server, by endpoint */
    uint64_t watermark; /* items above it stay, whatever they are */
    const char *prefix; /* only keys that begin with it are swept */
    size_t prefix_length;
    const char *unhashed; /* the clients' prefix */
    size_t unhashed_length;
} wr_sweep_rule_t;

typedef enum {
    WR_SWEEP_OWN, /* a key of the fleet itself: not counted */
    WR_SWEEP_KEEP,
    WR_SWEEP_STRANGE, /* no client stores such a key */
    WR_SWEEP_REMOVE
} wr_sweep_verdict_t;

wr_sweep_verdict_t wr_sweep_judge(const wr_sweep_rule_t *rule, warmring_bytes_t key, uint64_t cas);

#endif
