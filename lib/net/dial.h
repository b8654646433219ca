/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a connection to a server.
 */
#ifndef WR_NET_DIAL_H
#define WR_NET_DIAL_H

#include "net/health.h"
#include "net/transport.h"

/* Opens one by the deadline, with a transport that the server knows. OK, or
 * the fault with its text; *connection is of no use then. */
warmring_status_t wr_dial(wr_server_t *server, wr_deadline_t deadline,
                          wr_connection_t **connection);

/* What the failure of wr_dial() tells about the server. */
wr_verdict_t wr_dial_verdict(warmring_status_t status);

#endif
