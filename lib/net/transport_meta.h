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

#endif
