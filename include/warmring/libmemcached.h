/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The border with libmemcached: the only header where its types appear.
 */
#ifndef WARMRING_LIBMEMCACHED_H
#define WARMRING_LIBMEMCACHED_H

#include <libmemcached/memcached.h>

#include <warmring/client.h>

WARMRING_BEGIN_DECLS

/*
 * Opens a client whose connections are configured as `memc`: binary
 * protocol, SASL credentials, socket sizes and options. `memc` is read during
 * the call and stays the caller's; later changes to it have no effect. Its
 * timeouts, buffering, replicas, ejection, retry limits and callbacks are not
 * taken over: the client's own rules replace them.
 *
 * `servers` is as in warmring_open(): a memcached_st does not tell the weights
 * of its servers, so its list cannot be taken over. Its namespace becomes the
 * prefix, unless `options` have one.
 *
 * Returns as warmring_open(), and BAD_OPTION for a namespace that cannot be a
 * prefix. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_open_from(warmring_t **client, const memcached_st *memc, const char *servers,
                   const warmring_options_t *options);

/*
 * The status that answers to a return code of libmemcached; for programs
 * that are moving over call by call. Unknown codes give PROTOCOL_ERROR.
 * Threads: any. Since 0.1.
 */
WARMRING_API warmring_status_t warmring_status_from_libmemcached(memcached_return_t code);

WARMRING_END_DECLS

#endif
