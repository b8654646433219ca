/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One socket to one memcached, spoken to in meta commands: an exchange with
 * the system calls around it. transport_meta.c makes a transport of it.
 *
 * The socket blocks. A single call is one send and one recv: sends never wait
 * (MSG_DONTWAIT), receives wait under SO_RCVTIMEO. The poll loop of a batch
 * uses the same socket with MSG_DONTWAIT throughout.
 */
#ifndef WR_NET_META_CONNECTION_H
#define WR_NET_META_CONNECTION_H

#include "net/meta_exchange.h"
#include "net/stream.h"
#include "net/tls.h"
#include "net/transport.h"

enum { WR_META_IN = 65536 };

/* What is said first to a server that wants to know who asks: a whole command. */
typedef struct {
    const char *line; /* NULL: nothing */
    size_t length;
} wr_meta_login_t;

typedef struct {
    wr_meta_limits_t limits;
    wr_meta_stub_t stub;
    bool keepalive;
    const wr_tls_t *tls;   /* NULL: plain */
    wr_meta_login_t login; /* these two outlive the connection */
} wr_meta_options_t;

/* How far it is opened; meta_open.c. */
typedef struct {
    wr_address_t address;
    wr_time_t begun;
    const wr_tls_t *tls;
    wr_meta_login_t login;
    unsigned stage;
    bool ask;         /* the server is to be probed */
    bool asked;       /* the stage has begun */
    bool answered;    /* the probe is done */
    bool too_old;     /* by its version */
    char version[64]; /* "": not known */
    size_t length;    /* of an answer to a login, in the same place */
} wr_meta_opening_t;

typedef struct {
    wr_connection_t base;
    wr_stream_t stream;
    wr_time_t begun; /* the wait for answers; for texts */
    wr_meta_opening_t opening;
    wr_meta_exchange_t exchange;
    char input[WR_META_IN];
} wr_meta_connection_t;

/* A line of 2,048 bytes, keys of 250, values of 128 MB. */
extern const wr_meta_limits_t wr_meta_default_limits;

void wr_meta_close(wr_connection_t *connection);
void wr_meta_abandon(wr_connection_t *connection);

/* As the members of wr_transport_t. */
void wr_meta_send(wr_connection_t *connection, wr_request_t **requests, size_t count,
                  wr_deadline_t deadline);
void wr_meta_receive(wr_connection_t *connection, wr_request_t **requests, size_t count,
                     wr_deadline_t deadline);
void wr_meta_call(wr_connection_t *connection, wr_request_t **request, wr_deadline_t deadline);
int wr_meta_descriptor(const wr_connection_t *connection);
short wr_meta_start(wr_connection_t *connection, wr_request_t **requests, size_t count,
                    wr_deadline_t deadline);
short wr_meta_step(wr_connection_t *connection, short ready);
short wr_meta_await(wr_connection_t *connection, wr_deadline_t until);
void wr_meta_expire(wr_connection_t *connection);

#endif
