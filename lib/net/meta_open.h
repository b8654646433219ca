/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a connection of the native transport: stages that are gone through
 * in steps, none of which waits.
 */
#ifndef WR_NET_META_OPEN_H
#define WR_NET_META_OPEN_H

#include "net/meta_connection.h"

/*
 * Begins to connect to `server`, which is asked for what TLS wants to know (NULL:
 * no TLS). `label` starts every text and outlives the connection;
 * `ask`: whether the server knows the meta commands is to be found out, too. OK
 * and *connection, to be stepped; CONNECT_FAILED, OUT_OF_MEMORY.
 */
warmring_status_t wr_meta_open(const wr_meta_options_t *options, wr_server_t *server,
                               const char *label, const wr_address_t *address, bool ask,
                               wr_meta_connection_t **connection);

/*
 * Goes on, at first and whenever what it waits for has come: `ready` is what
 * poll() found. OK, and *wait says for what; for nothing, then the connection
 * is ready. After a fault it is only to be closed.
 */
warmring_status_t wr_meta_open_step(wr_connection_t *connection, short ready, wr_wait_t *wait);

/* The status and the text for one whose time is over. */
warmring_status_t wr_meta_open_expire(wr_connection_t *connection);

/* ---- stages --------------------------------------------------------------- */

/* A connected, blocking, close-on-exec socket; meta_connect.c. */
warmring_status_t wr_meta_socket(const char *label, const wr_address_t *address, bool keepalive,
                                 int *descriptor);
warmring_status_t wr_meta_connect_step(wr_meta_connection_t *connection, short ready,
                                       wr_wait_t *wait);
warmring_status_t wr_meta_connect_expire(wr_meta_connection_t *connection);

/* For a stage in which a send or a receive ended with that: what the cipher has
 * to say about it is a refusal. */
warmring_status_t wr_meta_open_lost(const wr_meta_connection_t *connection, ssize_t result);

/* Sends a command, which is short, whole. OK or as wr_meta_open_lost(), for what
 * the server has said before it hung up. */
warmring_status_t wr_meta_open_send(wr_meta_connection_t *connection, const char *command,
                                    size_t length);

/* What may be wrong where a server does not answer, for the end of a text. */
const char *wr_meta_open_hint(const wr_meta_connection_t *connection);

/* The handshake, and who we are: meta_secure.c. */
warmring_status_t wr_meta_tls_step(wr_meta_connection_t *connection, short ready, wr_wait_t *wait);
warmring_status_t wr_meta_tls_expire(wr_meta_connection_t *connection);
warmring_status_t wr_meta_login_step(wr_meta_connection_t *connection, short ready,
                                     wr_wait_t *wait);
warmring_status_t wr_meta_login_expire(wr_meta_connection_t *connection);

/*
 * Whether the server at the other end knows the meta commands as this
 * transport needs them: memcached from 1.6.13 on. Asks `version` and `mn`. OK;
 * NOT_SUPPORTED for an older server and for a proxy that closes; AUTH_FAILED;
 * TIMEOUT for one that says nothing, as with `-B binary`; PROTOCOL_ERROR,
 * CONNECTION_LOST. The texts name the server and the remedy. meta_probe.c.
 */
warmring_status_t wr_meta_probe_step(wr_meta_connection_t *connection, short ready,
                                     wr_wait_t *wait);
warmring_status_t wr_meta_probe_expire(wr_meta_connection_t *connection);

#endif
