/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open connections of one server.
 */
#ifndef WR_NET_POOL_H
#define WR_NET_POOL_H

#include <pthread.h>

#include "net/address.h"
#include "net/health.h"
#include "net/transport.h"

enum { WR_MAX_ADDRESSES = 8 };

/* What the server's host name was resolved to. */
typedef struct {
    wr_address_t list[WR_MAX_ADDRESSES];
    size_t count; /* 0: not known */
    size_t first; /* the one that answered last */
    wr_time_t until;
} wr_resolved_t;

typedef struct {
    pthread_mutex_t *mutex; /* of the process, shared with other pools */
    pthread_cond_t freed;
    wr_connection_t *idle; /* the last one used first */
    uint32_t open;         /* idle, in use and being opened */
    uint32_t waiting;      /* callers that wait for `freed` */
    uint32_t generation;
    wr_time_t trim_at;
    wr_resolved_t resolved;
} wr_pool_t;

/* False when the system gives no more condition variables. */
bool wr_pool_init(wr_pool_t *pool, uint64_t id);
/* Closes the idle connections; no other may be out. */
void wr_pool_destroy(wr_pool_t *pool);

/*
 * Hands out a connection: an idle one, else a new one, else waits for one
 * until the deadline. With `opened_before` only one opened by then, idle or,
 * if `patient`, given back before the deadline; else CONNECTION_LOST.
 *
 * After a failure *connection is NULL, and *verdict says what it tells about
 * the server: a full pool, nothing.
 */
warmring_status_t wr_pool_take(wr_server_t *server, wr_time_t opened_before, bool patient, wr_deadline_t deadline,
                               wr_connection_t **connection, wr_verdict_t *verdict);

/* What a connection's work adds to the server's counters. */
typedef struct {
    uint32_t requests, hits, misses;
} wr_tally_t;

/* Takes it back, with what it did; closes it when it is broken. */
void wr_pool_give(wr_server_t *server, wr_connection_t *connection, const wr_tally_t *tally);

/* Closes idle connections that were opened before `time`. */
void wr_pool_flush(wr_server_t *server, wr_time_t time);

/* Closes connections idle for longer than the server's idle_close_ms. */
void wr_pool_trim(wr_server_t *server);

uint32_t wr_pool_open_count(const wr_server_t *server);

#endif
