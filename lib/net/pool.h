/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open connections of one server.
 */
#ifndef WR_NET_POOL_H
#define WR_NET_POOL_H

#include <pthread.h>
#include <stdatomic.h>

#include "net/address.h"
#include "net/health.h"
#include "net/transport.h"

typedef struct wr_dial wr_dial_t;

enum { WR_MAX_ADDRESSES = 8 };

/* What the server's host name was resolved to. */
typedef struct {
    wr_address_t list[WR_MAX_ADDRESSES];
    size_t count; /* 0: not known */
    size_t first; /* the one that answered last */
    wr_time_t until;
} wr_resolved_t;

/* The place of one connection; no two share a line of cache. */
typedef struct {
    _Alignas(64) _Atomic(wr_connection_t *) idle; /* NULL: none lies here */
    _Atomic uint64_t requests, hits, misses;      /* of all that were here; written by
                                                     who has the connection */
    bool taken; /* by a connection, idle, in use or being opened */
} wr_berth_t;

typedef struct {
    wr_berth_t *berths;
    uint32_t size;         /* how many there are */
    _Atomic uint32_t used; /* the others never were */
    _Atomic uint32_t generation;
    _Atomic uint32_t waiting; /* callers that wait for any, on `freed` */
    _Atomic uint32_t patient; /* and for an old one, on `returned` */
    _Atomic bool woken;       /* one of the former is on its way */
    _Atomic wr_time_t trim_at;
    wr_time_t idle_limit; /* how long a connection may be idle */
    void *block;
    pthread_mutex_t *mutex; /* of the process, shared with other pools; guards
                               what is below, and `taken` */
    pthread_cond_t freed, returned;
    uint32_t open; /* berths taken */
    wr_resolved_t resolved;
} wr_pool_t;

/* For `size` connections that may be idle for that long. False when the system gives no more
 * condition variables, or memory. */
bool wr_pool_init(wr_pool_t *pool, uint64_t id, uint32_t size, uint32_t idle_ms);
/* Closes the idle connections; no other may be out. */
void wr_pool_destroy(wr_pool_t *pool);

/*
 * Hands out a connection: an idle one, else a new one, else waits for one
 * until the deadline. With `opened_before` only one opened by then, idle or,
 * if `patient`, given back before the deadline; else CONNECTION_LOST.
 *
 * The deadline's `made` is about the present, and afterwards again.
 *
 * After a failure *connection is NULL, and *verdict says what it tells about
 * the server: a full pool, nothing.
 */
warmring_status_t wr_pool_take(wr_server_t *server, wr_time_t opened_before, bool patient,
                               wr_deadline_t *deadline, wr_connection_t **connection,
                               wr_verdict_t *verdict);

/*
 * The same without waiting for the server to accept a new connection: where
 * one is needed, *opening is the one to be, started with `deadline`, and
 * *connection is NULL. Whatever becomes of it, wr_pool_opened() is due.
 */
warmring_status_t wr_pool_take_opening(wr_server_t *server, wr_time_t opened_before, bool patient,
                                       wr_deadline_t *by, wr_deadline_t deadline,
                                       wr_connection_t **connection, wr_dial_t **opening);
/* Of one that is over: as wr_pool_take(). Frees it. */
warmring_status_t wr_pool_opened(wr_dial_t *opening, wr_connection_t **connection,
                                 wr_verdict_t *verdict);

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

/* The tallies of all that came back. */
typedef struct {
    uint64_t requests, hits, misses;
} wr_totals_t;
void wr_pool_add_up(const wr_pool_t *pool, wr_totals_t *totals);

#endif
