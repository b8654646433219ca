/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport on libmemcached.
 */
#ifndef WR_NET_TRANSPORT_LIBMEMCACHED_H
#define WR_NET_TRANSPORT_LIBMEMCACHED_H

#include <libmemcached/memcached.h>

#include "net/transport.h"

extern const wr_transport_t wr_transport_libmemcached;

/*
 * A context made after `memc` (NULL: libmemcached's defaults): its protocol,
 * credentials and socket options, without its servers and with its own
 * timeouts, buffering, ejection and callbacks turned off. Free it with
 * wr_transport_libmemcached.free_context. NULL when memory is out.
 */
void *wr_libmemcached_context(const memcached_st *memc);

#endif
