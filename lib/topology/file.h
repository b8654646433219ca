/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of a topology file, for the layers that make and follow it.
 */
#ifndef WR_TOPOLOGY_FILE_H
#define WR_TOPOLOGY_FILE_H

#include <stdint.h>

#include <warmring/fleet.h>

#include "topology/topology.h"

/* What a server said of itself when the migration began. */
typedef struct {
    const char *address; /* as wr_cluster_server_t has it */
    uint64_t cas;        /* its CAS counter: items up to it are ghosts */
    int64_t started;     /* when it started, in Unix seconds by its own clock; a later
                            start voids the watermark. -1: it could not tell */
} wr_watermark_t;

/* A rollout that grows: `from` at `begins_ms`, `to` at `ends_ms`. */
typedef struct {
    char scope[WR_MAX_SCOPE + 1]; /* "": of all that have none of their own */
    uint32_t from, to;
    int64_t begins_ms, ends_ms;
} wr_ramp_t;

struct warmring_file {
    warmring_topology_t *topology; /* its rollouts are those at the end of all ramps */
    uint64_t id;                   /* of the fleet: names its keys on the servers */
    uint64_t steps;                /* changes that clients must not miss two of */
    int64_t since_ms;              /* when the phase began */
    uint32_t lag_s;
    uint32_t max_deadline_ms;
    uint64_t max_ttl_s;
    bool backwards;                /* the phase was reached by a rollback */
    size_t ramp_count;
    wr_ramp_t *ramps;              /* those that have not ended when it was made */
    size_t watermark_count;
    wr_watermark_t *watermarks;    /* during a migration: of the new ring's servers */
    char *text;
};

/*
 * The keys that a fleet has on its servers, by its id:
 *
 *   warmring:<16 hex digits>:steps            the fence: `steps`, decimal
 *   warmring:<16 hex digits>:partial:ADDRESS  a new owner that missed deletions:
 *                                             the migration's epoch at PREPARED
 */
enum { WR_FLEET_KEY_SIZE = 250 };

#endif
