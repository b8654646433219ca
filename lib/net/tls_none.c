/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS where OpenSSL was left out: no context is ever made, so that nothing of
 * the rest is ever called.
 */
#include "net/tls.h"

warmring_status_t wr_tls_create(const wr_tls_options_t *options, wr_tls_t **tls) {
    (void)options;
    *tls = NULL;
    return wr_fail(WARMRING_BAD_OPTION, "option tls: '1' needs OpenSSL, which is not built in");
}

void wr_tls_free(wr_tls_t *tls) {
    (void)tls;
}

warmring_status_t wr_tls_attach(const wr_tls_t *tls, wr_server_t *server, wr_stream_t *stream) {
    (void)tls;
    (void)server;
    (void)stream;
    return WARMRING_NOT_SUPPORTED;
}

warmring_status_t wr_tls_step(wr_stream_t *stream, const char *label, wr_wait_t *wait) {
    (void)stream;
    (void)label;
    (void)wait;
    return WARMRING_NOT_SUPPORTED;
}

bool wr_tls_is_resumed(const wr_stream_t *stream) {
    (void)stream;
    return false;
}

void wr_tls_free_session(void *session) {
    (void)session;
}
