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
    wr_tls_t *tls; /* NULL: plain */
    char *login;   /* NULL: none */
    size_t login_length;
} wr_meta_context_t;

/* A context with the default limits but a value limit of its own (0: the
 * default, too). Free it with wr_transport_meta.free_context. NULL when memory
 * is out. */
void *wr_meta_context(size_t value_limit);

/* From now on by TLS. As wr_tls_create(). */
warmring_status_t wr_meta_context_tls(wr_meta_context_t *context, const wr_tls_options_t *options);

/* From now on with a login. OK or OUT_OF_MEMORY. */
warmring_status_t wr_meta_context_login(wr_meta_context_t *context, const char *user,
                                        const char *password);

#endif
