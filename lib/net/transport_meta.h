/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native transport: memcached's meta commands on sockets of our own.
 */
#ifndef WR_NET_TRANSPORT_META_H
#define WR_NET_TRANSPORT_META_H

#include "net/meta_connection.h"

extern const wr_transport_t wr_transport_meta;

/* What the transport may be configured with; its context. NULL: defaults. */
typedef struct {
    wr_meta_limits_t limits;
} wr_meta_context_t;

/* A context with the default limits but a value limit of its own (0: the
 * default, too). Free it with wr_transport_meta.free_context. NULL when memory
 * is out. */
void *wr_meta_context(size_t value_limit);

/*
 * Whether the server at the other end knows the meta commands as this
 * transport needs them: memcached from 1.6.13 on. Asks `version` and `mn` on
 * an idle connection of this transport. OK; NOT_SUPPORTED for an older
 * server and for a proxy that closes; AUTH_FAILED; TIMEOUT for one that says
 * nothing, as with `-B binary`; PROTOCOL_ERROR, CONNECTION_LOST. The texts
 * name the server and the remedy. Unless OK the connection is broken.
 */
warmring_status_t wr_meta_probe(wr_meta_connection_t *connection, wr_deadline_t deadline);

#endif
