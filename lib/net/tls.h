/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS on a stream, by OpenSSL. Without it (configure --without-openssl) there
 * are contexts of nothing: making one is refused.
 */
#ifndef WR_NET_TLS_H
#define WR_NET_TLS_H

#include <warmring/status.h>

#include "net/request.h"
#include "net/stream.h"
#include "net/transport.h"

/* How a client speaks TLS: certificates and keys, read once. */
typedef struct wr_tls wr_tls_t;

/* Paths of PEM files and a name; "": none. */
typedef struct {
    const char *ca_file;     /* none: the system's */
    const char *certificate; /* the client's, with its chain */
    const char *key;         /* none: in the file of the certificate */
    const char *server_name; /* none: the host of the server */
} wr_tls_options_t;

/* OK and *tls; BAD_OPTION with a text that quotes the path; OUT_OF_MEMORY. */
warmring_status_t wr_tls_create(const wr_tls_options_t *options, wr_tls_t **tls);
void wr_tls_free(wr_tls_t *tls); /* NULL is fine */

/* Puts TLS on a connected stream to `server`, which must outlive it.
 * OK or OUT_OF_MEMORY. */
warmring_status_t wr_tls_attach(const wr_tls_t *tls, wr_server_t *server, wr_stream_t *stream);

/*
 * Goes on with the handshake, without waiting. OK, and *wait says for what, or
 * nothing: done, the server is who it should be. CONNECT_FAILED, or
 * AUTH_FAILED when the server wants another certificate of ours; the texts
 * start with `label`.
 */
warmring_status_t wr_tls_step(wr_stream_t *stream, const char *label, wr_wait_t *wait);

/* Whether the handshake resumed a session of an earlier connection. */
bool wr_tls_is_resumed(const wr_stream_t *stream);

/* What a server object keeps of a session, for wr_transport_t. */
void wr_tls_free_session(void *session);

#endif
