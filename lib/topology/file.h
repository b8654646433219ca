/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of a topology file, for the layers that make and follow it.
 */
#ifndef WR_TOPOLOGY_FILE_H
#define WR_TOPOLOGY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warmring/fleet.h>

#include "topology/topology.h"

/* What the file can say: jansson's numbers are signed, and sums of times must
 * not overflow. */
#define WR_FILE_NUMBER_MAX ((uint64_t)INT64_MAX)
#define WR_FILE_TIME_MAX ((uint64_t)1 << 53)
#define WR_FILE_TTL_MAX UINT64_C(4000000000)
enum { WR_FILE_SIZE_MAX = 64 << 20, WR_FILE_LAG_MAX = 86400, WR_FILE_DEADLINE_MAX = 3600000 };

/* What a server said of itself when the migration began. */
typedef struct {
    const char *address; /* as wr_cluster_server_t has it */
    uint64_t cas;        /* its CAS counter: items up to it are ghosts; at most
                            INT64_MAX */
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
    bool backwards; /* the phase was reached by a rollback */
    size_t ramp_count;
    wr_ramp_t *ramps; /* those that have not ended when it was made */
    size_t watermark_count;
    wr_watermark_t *watermarks; /* during a migration one for each server of the
                                   new ring, in its order */
    char *text;
};

/*
 * Makes a file out of `parts`, a struct that the caller filled: the topology is
 * retained, ramps and watermarks are copied, `text` is written and the rest of
 * the text and of the address pointers need not be set. What does not belong to
 * the phase is left out: `backwards` of phases that no rollback leads to, ramps
 * outside WARMING, watermarks in STABLE.
 *
 * Returns OK; BAD_ARGUMENT for what cannot be written or read again (a name or
 * host that is no server string, a number above its limit, watermarks that are
 * not as many as the servers of the new ring); OUT_OF_MEMORY.
 */
warmring_status_t wr_file_make(warmring_file_t **file, const warmring_file_t *parts);

/* warmring_file_create() with this identity. */
warmring_status_t wr_file_create(warmring_file_t **file, const warmring_topology_t *topology,
                                 const warmring_file_settings_t *settings, uint64_t id,
                                 int64_t now_ms);

/* What may be done about the rings of a file that is read. */
typedef struct {
    const warmring_topology_t *like; /* NULL: none; its rings are taken over where the
                                        file has the same, so that a mere step or
                                        rollout builds none */
    uint64_t most_points;            /* do not build larger ones now; 0: any */
} wr_file_rings_t;

/*
 * warmring_file_parse() with a say about rings (NULL: none). Besides its
 * errors TRY_AGAIN: nothing is wrong so far, but a ring has more points than
 * may be built now.
 */
warmring_status_t wr_file_parse(warmring_file_t **file, const char *text, size_t length,
                                const char *name, const wr_file_rings_t *rings);

/* How long a stub lives where calls last at most so long: memcached counts
 * whole seconds and may end an item one early, and a stub must outlive every
 * call that could hold it. */
static inline uint32_t wr_stub_lifetime_s(uint32_t max_deadline_ms) {
    return (max_deadline_ms + 999) / 1000 + 2;
}

/* Room for the keys that a fleet has on its servers, see fleet/keys.h. */
enum { WR_FLEET_KEY_SIZE = 250 };

#endif
