/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a connection to a server: its name is resolved, its addresses are
 * tried one after another, each with an equal share of the time, and where
 * the server does not know the first transport the other is taken. One that
 * hangs up when it is asked may have ended just then, so it is asked once more.
 *
 * In steps, so that many can be driven side by side; what cannot be done in
 * steps is left to wr_dial_finish().
 */
#ifndef WR_NET_DIAL_H
#define WR_NET_DIAL_H

#include "net/health.h"
#include "net/pool.h"
#include "net/server.h"

typedef enum {
    WR_DIAL_WAITS,  /* for `wait` on the connection, or `until` */
    WR_DIAL_BLOCKS, /* what is next has no steps */
    WR_DIAL_OVER    /* `status`, and if OK `connection` */
} wr_dial_state_t;

struct wr_dial {
    wr_server_t *server;
    wr_deadline_t deadline;
    uint32_t berth; /* the pool's */
    wr_dial_state_t state;
    warmring_status_t status;
    wr_connection_t *connection; /* being opened, or open; NULL */
    wr_wait_t wait;
    wr_time_t until; /* the end of the present try */
    size_t tries;    /* before it */
    bool asks_again; /* the same address, since it hung up */
    wr_resolved_t resolved;
};

/* Resolves the server's name, which may take until `resolved_by`, and starts;
 * it is to be open by the deadline. */
void wr_dial_start(wr_dial_t *dial, wr_server_t *server, wr_deadline_t resolved_by,
                   wr_deadline_t deadline);

/* One that WAITS goes on after a poll that found `ready`, nothing included. */
void wr_dial_step(wr_dial_t *dial, short ready);

/* When one that WAITS wants a step whatever poll() finds. */
wr_time_t wr_dial_alarm(const wr_dial_t *dial);

/* Waits until it is OVER, within what is left of its deadline and of this one;
 * its status. */
warmring_status_t wr_dial_finish(wr_dial_t *dial, wr_deadline_t deadline);

/* Ends one that is not OVER, with a status. */
void wr_dial_cancel(wr_dial_t *dial, warmring_status_t status);

/* What the failure of one tells about the server. */
wr_verdict_t wr_dial_verdict(warmring_status_t status);

#endif
