/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How one connection to one server is spoken to. A transport is a const table
 * of functions; server.c owns the connections and decides when they are
 * opened, used again and closed.
 */
#ifndef WR_NET_TRANSPORT_H
#define WR_NET_TRANSPORT_H

#include "net/address.h"
#include "net/request.h"

/* What every transport's connection starts with. */
typedef struct wr_connection {
    const struct wr_transport *transport;
    wr_server_t *server;        /* for texts; not counted */
    struct wr_connection *next; /* in a list of those to be closed */
    wr_time_t opened_at;        /* when it was ready for its first command */
    wr_time_t active_at;        /* when it was last opened, taken, or given back */
    uint32_t generation;        /* of wr_fork_generation() */
    uint32_t berth;             /* in the pool */
    bool used;                  /* it has answered before: may be stale */
    bool broken;                /* set by the transport: never use again */
    bool hung_up;               /* so is this: while it was asked what it knows */
} wr_connection_t;

/* What a step that did not come to its end waits for. */
typedef struct {
    short events;   /* of its descriptor */
    wr_time_t wake; /* or until then; 0: for no time */
} wr_wait_t;

typedef struct wr_transport {
    const char *name;
    bool binds; /* append, prepend, increment and decrement take a `cas` */

    /*
     * Connects to `address` (resolved, one of several the caller tries),
     * handshake and authentication included. Returns OK, or CONNECT_FAILED,
     * TIMEOUT, AUTH_FAILED, PROTOCOL_ERROR, OUT_OF_MEMORY with a text that
     * starts with the server's label. `context` is what the transport was
     * configured with. NULL where there are steps.
     */
    warmring_status_t (*open)(const void *context, wr_server_t *server, const wr_address_t *address,
                              wr_deadline_t deadline, wr_connection_t **connection);

    /*
     * The same in steps that never wait, all three or none (NULL). open_start()
     * makes a connection that is being opened; with `ask` it is also to be
     * found out whether the server knows what this transport speaks, else
     * NOT_SUPPORTED, with `hung_up` where it did not say so. open_step() goes
     * on, at first and when poll() found `ready` or the time has come: OK, and
     * *wait says what it waits for, or nothing: then the connection is open.
     * open_expire() gives the status and the text of one whose time is over.
     * After a fault it is to be closed.
     */
    warmring_status_t (*open_start)(const void *context, wr_server_t *server,
                                    const wr_address_t *address, bool ask,
                                    wr_connection_t **connection);
    warmring_status_t (*open_step)(wr_connection_t *connection, short ready, wr_wait_t *wait);
    warmring_status_t (*open_expire)(wr_connection_t *connection);

    /* Closes and frees at once: no wait for the server, whatever its state. */
    void (*close)(wr_connection_t *connection);

    /* Frees what a fork() gave the child, without a byte to the server. */
    void (*abandon)(wr_connection_t *connection);

    /*
     * Starts the answer of each request, and sends what can be sent without
     * waiting for answers; receive() then completes every request: status,
     * sent and the answer. Both set
     * `broken` after a fault that leaves the stream in doubt; receive() must
     * cope with a send() that failed. A request that already has a status
     * from a failed send() keeps it. The `made` of both deadlines is about
     * the present.
     */
    void (*send)(wr_connection_t *connection, wr_request_t **requests, size_t count,
                 wr_deadline_t deadline);
    void (*receive)(wr_connection_t *connection, wr_request_t **requests, size_t count,
                    wr_deadline_t deadline);

    /* Both for one request. Optional (NULL): where that takes less. Of a lost
     * connection it tells in one detail text. */
    void (*call)(wr_connection_t *connection, wr_request_t **request, wr_deadline_t deadline);

    /*
     * Optional, all five and those for opening, or none (NULL): the same in steps that never wait,
     * for a loop that drives many connections (net/batch_poll.h). start()
     * takes the place of send(): it begins with the requests, which stay where
     * they are until it is over, and sends what the socket takes. step() goes
     * on after a poll that found `ready` (its revents). await()
     * waits instead, once all is sent, for the answers, no longer than `until`.
     * They return the events to poll descriptor() for, or 0 once every request
     * has its status. expire() gives each that has none TIMEOUT, sets `broken` and ends it.
     */
    int (*descriptor)(const wr_connection_t *connection);
    short (*start)(wr_connection_t *connection, wr_request_t **requests, size_t count,
                   wr_deadline_t deadline);
    short (*step)(wr_connection_t *connection, short ready);
    short (*await)(wr_connection_t *connection, wr_deadline_t until);
    void (*expire)(wr_connection_t *connection);

    /* Optional: frees what wr_server_keep_session() was given. */
    void (*free_session)(void *session);

    /* Frees a copy of the context made for a client. */
    void (*free_context)(void *context);
} wr_transport_t;

#endif
