/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a key and a kind of operation to an ordered list of steps.
 *
 * The rules of a migration are one const table in phase.c, a row for each
 * phase. wr_route() finds the owners of a key and picks the cells of the row;
 * client/ executes what it finds there and never asks for the phase. A key
 * that does not move has the cells of STABLE in every phase.
 */
#ifndef WR_TOPOLOGY_ROUTE_H
#define WR_TOPOLOGY_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include <warmring/topology.h>

#include "ring/ring.h"

/* The kinds of operation that phases treat differently. */
typedef enum {
    WR_KIND_READ,
    WR_KIND_STORE,  /* set */
    WR_KIND_ERASE,  /* delete */
    WR_KIND_MODIFY, /* whatever depends on the present value: add, replace,
                       append, prepend, increment, decrement, cas, touch,
                       get-and-touch */
    WR_KINDS
} wr_kind_t;

/* What a step does. WR_STEP_NONE ends a list that is shorter than two. */
typedef enum {
    WR_STEP_NONE,
    WR_STEP_RUN,     /* the caller's command */
    WR_STEP_ERASE,   /* delete this server's copy instead */
    WR_STEP_FILTER,  /* read; an item at or below the server's watermark is a
                        ghost: remove it, a miss */
    WR_STEP_FILL,    /* read after a miss of the step before, under a lease
                        there, and copy what is found */
    WR_STEP_PROMOTE, /* move this server's copy to the other one, if that has
                        none, and delete it here */
    WR_STEP_BIND,    /* the caller's command, bound to the very item that is
                        there; what is a ghost or a stub is not there */
    WR_STEP_REFUSE   /* answer TRY_AGAIN */
} wr_action_t;

typedef struct {
    uint8_t action; /* wr_action_t */
    uint8_t side;   /* warmring_side_t */
} wr_step_t;

enum { WR_STEPS = 2 };

/* The steps of one kind of operation, in order. */
typedef struct {
    wr_step_t step[WR_STEPS];
} wr_steps_t;

typedef struct {
    const wr_steps_t *steps;
    uint32_t owner[2]; /* endpoint of each side, see wr_topology_endpoints() */
    bool moved;
} wr_route_t;

/* `rollout` is warmring_topology_get_rollout() of the client's scope, looked up
 * once when the topology is put in force. */
wr_route_t wr_route(const warmring_topology_t *topology, const wr_place_t *place, wr_kind_t kind,
                    uint32_t rollout);

/* The same for up to WR_ROUTES_MOST places at once. */
enum { WR_ROUTES_MOST = 64 };
void wr_route_many(const warmring_topology_t *topology, const wr_place_t *places, size_t count,
                   wr_kind_t kind, uint32_t rollout, wr_route_t *routes);

/*
 * Endpoints: the distinct addresses of both rings, numbered from 0, those of
 * the old ring first in its order. The strings belong to the topology. The
 * label is that of the server (of the old ring's, where it is on both), but
 * the address where the old ring has that name at another endpoint: labels
 * differ.
 */
typedef struct {
    const char *host; /* as warmring_server_t; port 0 is already 11211 */
    uint16_t port;    /* 0 for a unix socket */
    const char *label;
    bool on_side[2]; /* which rings it is on */
} wr_endpoint_t;

uint32_t wr_topology_endpoints(const warmring_topology_t *topology);
const wr_endpoint_t *wr_topology_endpoint(const warmring_topology_t *topology, uint32_t index);

/* How a topology may follow another in one process. */
typedef enum {
    WR_FOLLOWS_AT_ONCE,   /* both may be in use together */
    WR_FOLLOWS_AFTER_ALL, /* operations of the first must have ended */
    WR_FOLLOWS_NOT        /* refused; the detail text says why */
} wr_follows_t;

wr_follows_t wr_topology_follows(const warmring_topology_t *now, const warmring_topology_t *next);

/* Whether two clients of one migration may be in these phases at the same
 * time. */
bool wr_phases_coexist(warmring_phase_t a, warmring_phase_t b);

/* Whether a STABLE topology that ends a migration may be put in force whatever
 * the time: by ROLLBACK or SETTLE, not by FINISH. */
bool wr_topology_is_settled(const warmring_topology_t *topology);

/* Whether both belong to the same migration (the seed tells); false when
 * either is STABLE. */
bool wr_topology_same_migration(const warmring_topology_t *a, const warmring_topology_t *b);

#endif
