/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS by OpenSSL.
 *
 * Contexts. One for a client: the server's certificate is always checked,
 * against `ca_file` or the system's, and against the server's name. A key
 * with a passphrase is refused rather than asked for on a terminal.
 *
 * Sockets. OpenSSL's own BIO for sockets raises SIGPIPE and waits as the
 * socket does, record by record, however long that takes. Ours sends with
 * MSG_NOSIGNAL and never waits; a receive that is to wait polls once, and
 * whoever asked for it looks at the deadline before the next.
 *
 * Records. Small pieces go in one record, but none goes on behind the end of a
 * large value. memcached (1.6.18) reads such a value past its buffer, then
 * waits for its socket, on which the rest of a record it has read already is
 * never seen. For the same reason a record ends where a command does.
 *
 * Sessions. A server object keeps the newest session it was given, and the next
 * connection takes it away: tickets of TLS 1.3 are for one use. Without one a
 * connection makes a full handshake.
 *
 * The queue of errors is the thread's and may be the program's too: it is
 * cleared before each call and after a fault.
 */
#include "net/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "net/server.h"

enum { RECORD = 16384, FAULT_SIZE = 200 };

struct wr_tls {
    SSL_CTX *context;
    BIO_METHOD *method;
    char *server_name; /* "": the host */
};

typedef struct {
    SSL *ssl;
    wr_server_t *server;
    char fault[FAULT_SIZE];
} session_t;

static session_t *session_of(const wr_stream_t *stream) {
    return stream->session;
}

/* ---- sockets --------------------------------------------------------------- */

static int descriptor_of(BIO *bio) {
    return ((const wr_stream_t *)BIO_get_data(bio))->descriptor;
}

static int pass_result(BIO *bio, ssize_t length, int retry) {
    BIO_clear_retry_flags(bio);
    if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        BIO_set_flags(bio, BIO_FLAGS_SHOULD_RETRY | retry);
    }
    return (int)length;
}

static int write_socket(BIO *bio, const char *bytes, int length) {
    return pass_result(bio,
                       send(descriptor_of(bio), bytes, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL),
                       BIO_FLAGS_WRITE);
}

static int read_socket(BIO *bio, char *bytes, int length) {
    return pass_result(bio, recv(descriptor_of(bio), bytes, (size_t)length, MSG_DONTWAIT),
                       BIO_FLAGS_READ);
}

static long control(BIO *bio, int command, long number, void *argument) {
    (void)bio;
    (void)number;
    (void)argument;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *make_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "warmring");
    if (method != NULL &&
        (BIO_meth_set_write(method, write_socket) != 1 ||
         BIO_meth_set_read(method, read_socket) != 1 || BIO_meth_set_ctrl(method, control) != 1)) {
        BIO_meth_free(method);
        return NULL;
    }
    return method;
}

/* ---- contexts -------------------------------------------------------------- */

static int no_passphrase(char *buffer, int size, int writing, void *data) {
    (void)buffer;
    (void)size;
    (void)writing;
    (void)data;
    return -1;
}

/* Of the first error in the queue, which is the cause. */
static const char *first_reason(void) {
    unsigned long error = ERR_peek_error();
    const char *reason = ERR_SYSTEM_ERROR(error) ? NULL : ERR_reason_error_string(error);
    return reason != NULL ? reason : "it cannot be read";
}

static warmring_status_t fail_file(const char *option, const char *path) {
    warmring_status_t status =
        wr_fail(WARMRING_BAD_OPTION, "option %s: '%.200s': %s", option, path, first_reason());
    ERR_clear_error();
    return status;
}

static warmring_status_t load_files(SSL_CTX *context, const wr_tls_options_t *options) {
    bool own_ca = options->ca_file[0] != '\0';
    ERR_clear_error();
    if (own_ca ? SSL_CTX_load_verify_locations(context, options->ca_file, NULL) != 1
               : SSL_CTX_set_default_verify_paths(context) != 1) {
        return fail_file("tls_ca_file", options->ca_file);
    }
    if (options->certificate[0] == '\0') {
        return WARMRING_OK;
    }
    const char *key = options->key[0] != '\0' ? options->key : options->certificate;
    if (SSL_CTX_use_certificate_chain_file(context, options->certificate) != 1) {
        return fail_file("tls_certificate", options->certificate);
    }
    return SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 &&
                   SSL_CTX_check_private_key(context) == 1
               ? WARMRING_OK
               : fail_file("tls_key", key);
}

/* A session that may be resumed has come: the server's object keeps it. */
static int keep_session(SSL *ssl, SSL_SESSION *session) {
    session_t *own = SSL_get_app_data(ssl);
    if (SSL_SESSION_is_resumable(session) != 1) {
        return 0;
    }
    wr_server_keep_session(own->server, session);
    return 1;
}

static void set_up(SSL_CTX *context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, keep_session);
}

warmring_status_t wr_tls_create(const wr_tls_options_t *options, wr_tls_t **tls) {
    warmring_status_t status = WARMRING_OUT_OF_MEMORY;
    wr_tls_t *made = wr_calloc(1, sizeof *made);
    *tls = NULL;
    if (made == NULL) {
        return wr_fail_memory();
    }
    made->context = SSL_CTX_new(TLS_client_method());
    made->method = make_method();
    made->server_name = wr_copy(options->server_name, strlen(options->server_name));
    if (made->context == NULL || made->method == NULL || made->server_name == NULL) {
        status = wr_fail_memory();
    } else {
        set_up(made->context);
        status = load_files(made->context, options);
    }
    if (status != WARMRING_OK) {
        wr_tls_free(made);
        return status;
    }
    *tls = made;
    return WARMRING_OK;
}

void wr_tls_free(wr_tls_t *tls) {
    if (tls != NULL) {
        SSL_CTX_free(tls->context);
        BIO_meth_free(tls->method);
        wr_free(tls->server_name);
        wr_free(tls);
    }
}

/* ---- bytes ----------------------------------------------------------------- */

/* What to do about a fault, by OpenSSL's reason. */
static const struct {
    int reason;
    bool is_ours; /* it is what we present that is refused */
    const char *text;
} remedies[] = {
    {SSL_R_WRONG_VERSION_NUMBER, false, ": if the server does not speak TLS, set tls=0"},
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, true, ": set tls_certificate and tls_key"},
    {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, true,
     ": if the server wants a certificate, set tls_certificate and tls_key"},
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA, true, ": the server does not trust tls_certificate"},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, true, ": the server does not accept tls_certificate"},
    {0, false, ""},
};

/* Keeps the text for it; whether we are refused. */
static bool note_fault(session_t *session) {
    int reason = ERR_GET_REASON(ERR_peek_error());
    size_t i = 0;
    while (remedies[i].reason != 0 && remedies[i].reason != reason) {
        i++;
    }
    snprintf(session->fault, sizeof session->fault, "%s%s", first_reason(), remedies[i].text);
    ERR_clear_error();
    return remedies[i].is_ours;
}

/* The result of a call as send() and recv() give it. */
static ssize_t result_of(session_t *session, int result, size_t length) {
    int error = errno;
    if (result > 0) {
        return (ssize_t)length;
    }
    switch (SSL_get_error(session->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        errno = error;
        return error == 0 ? 0 : -1;
    default:
        note_fault(session);
        errno = EPROTO;
        return -1;
    }
}

static ssize_t send_piece(session_t *session, const void *bytes, size_t length) {
    size_t sent = 0;
    ERR_clear_error();
    errno = 0;
    int result = SSL_write_ex(session->ssl, bytes, length, &sent);
    return result_of(session, result, sent);
}

static bool ends_command(const struct iovec *piece) {
    return piece->iov_len == WR_LINE_END_SIZE &&
           memcmp(piece->iov_base, WR_LINE_END, WR_LINE_END_SIZE) == 0;
}

/* What could not be sent comes again as it is. */
static ssize_t send_pieces(wr_stream_t *stream, const struct iovec *pieces, size_t count) {
    session_t *session = session_of(stream);
    if (count == 1 || pieces[0].iov_len >= RECORD) {
        return send_piece(session, pieces[0].iov_base, pieces[0].iov_len);
    }
    char record[RECORD];
    size_t filled = 0;
    bool ends = false;
    for (size_t i = 0; i < count && filled < RECORD && !ends; i++) {
        ends = ends_command(&pieces[i]);
        size_t room = RECORD - filled;
        size_t length = pieces[i].iov_len < room ? pieces[i].iov_len : room;
        memcpy(record + filled, pieces[i].iov_base, length);
        filled += length;
    }
    return send_piece(session, record, filled);
}

/* All that has come and fits. */
static ssize_t read_pieces(session_t *session, const struct iovec *pieces, size_t count) {
    ssize_t total = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t filled = 0; filled < pieces[i].iov_len;) {
            size_t got = 0;
            ERR_clear_error();
            errno = 0;
            int result = SSL_read_ex(session->ssl, (char *)pieces[i].iov_base + filled,
                                     pieces[i].iov_len - filled, &got);
            ssize_t length = result_of(session, result, got);
            if (length <= 0) {
                return total > 0 ? total : length;
            }
            filled += (size_t)length;
            total += length;
        }
    }
    return total;
}

static bool has_more(const wr_stream_t *stream) {
    return SSL_has_pending(session_of(stream)->ssl) == 1;
}

static ssize_t receive(wr_stream_t *stream, const struct iovec *pieces, size_t count, bool waits) {
    session_t *session = session_of(stream);
    if (!waits || has_more(stream)) {
        ssize_t length = read_pieces(session, pieces, count);
        if (!waits || length >= 0 || errno != EAGAIN) {
            return length;
        }
    }
    struct pollfd wait = {.fd = stream->descriptor, .events = POLLIN};
    wr_deadline_t until = {.at = wr_now() + stream->timeout};
    return poll(&wait, 1, wr_deadline_left_ms(until)) < 0 ? -1
                                                          : read_pieces(session, pieces, count);
}

static const char *fault(const wr_stream_t *stream) {
    return session_of(stream)->fault;
}

static void close_session(wr_stream_t *stream, bool quiet) {
    session_t *session = session_of(stream);
    ERR_clear_error();
    if (quiet) {
        SSL_set_shutdown(session->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    } else if (SSL_is_init_finished(session->ssl)) {
        SSL_shutdown(session->ssl);
    }
    SSL_free(session->ssl);
    ERR_clear_error();
    wr_free(session);
}

static const wr_cipher_t cipher = {send_pieces, receive, has_more, fault, close_session};

/* ---- handshake ------------------------------------------------------------- */

static bool is_address(const char *name) {
    unsigned char bytes[16];
    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

/* Whom the certificate must be for. */
static bool set_name(SSL *ssl, const char *name) {
    X509_VERIFY_PARAM *verify = SSL_get0_param(ssl);
    if (is_address(name)) {
        return X509_VERIFY_PARAM_set1_ip_asc(verify, name) == 1;
    }
    X509_VERIFY_PARAM_set_hostflags(verify, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

static const char *name_for(const wr_tls_t *tls, const wr_server_t *server) {
    const char *host = wr_server_host(server);
    return tls->server_name[0] != '\0' ? tls->server_name : host[0] == '/' ? "localhost" : host;
}

static bool set_session(session_t *session) {
    SSL_SESSION *before = wr_server_take_session(session->server);
    bool done = before == NULL || SSL_set_session(session->ssl, before) == 1;
    SSL_SESSION_free(before);
    return done;
}

static bool set_socket(const wr_tls_t *tls, SSL *ssl, wr_stream_t *stream) {
    BIO *bio = BIO_new(tls->method);
    if (bio == NULL) {
        return false;
    }
    BIO_set_data(bio, stream);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    return true;
}

warmring_status_t wr_tls_attach(const wr_tls_t *tls, wr_server_t *server, wr_stream_t *stream) {
    session_t *session = wr_calloc(1, sizeof *session);
    SSL *ssl = session != NULL ? SSL_new(tls->context) : NULL;
    if (ssl != NULL) {
        session->ssl = ssl;
        session->server = server;
        SSL_set_connect_state(ssl);
        if (SSL_set_app_data(ssl, session) == 1 && set_name(ssl, name_for(tls, server)) &&
            set_session(session) && set_socket(tls, ssl, stream)) {
            stream->session = session;
            stream->cipher = &cipher;
            return WARMRING_OK;
        }
    }
    SSL_free(ssl);
    wr_free(session);
    ERR_clear_error();
    return wr_fail_memory();
}

static warmring_status_t fail_verification(const char *label, long result) {
    bool is_name =
        result == X509_V_ERR_HOSTNAME_MISMATCH || result == X509_V_ERR_IP_ADDRESS_MISMATCH;
    bool is_time = result == X509_V_ERR_CERT_HAS_EXPIRED || result == X509_V_ERR_CERT_NOT_YET_VALID;
    return wr_fail(WARMRING_CONNECT_FAILED, "%s: the server's certificate is refused: %s%s", label,
                   X509_verify_cert_error_string(result),
                   is_name   ? ": set tls_server_name to a name it has"
                   : is_time ? ""
                             : ": set tls_ca_file to what signed it");
}

static warmring_status_t fail_handshake(session_t *session, const char *label) {
    int reason = ERR_GET_REASON(ERR_peek_error());
    long result = SSL_get_verify_result(session->ssl);
    bool is_refused = note_fault(session);
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED && result != X509_V_OK) {
        return fail_verification(label, result);
    }
    return wr_fail(is_refused ? WARMRING_AUTH_FAILED : WARMRING_CONNECT_FAILED,
                   "%s: TLS handshake failed: %s", label, session->fault);
}

/* Up to TLS 1.2 a session is good for any number of connections. */
static void give_back(session_t *session) {
    if (SSL_session_reused(session->ssl) == 1 && SSL_version(session->ssl) < TLS1_3_VERSION) {
        wr_server_keep_session(session->server, SSL_get1_session(session->ssl));
    }
}

warmring_status_t wr_tls_step(wr_stream_t *stream, const char *label, wr_wait_t *wait) {
    session_t *session = session_of(stream);
    ERR_clear_error();
    errno = 0;
    int result = SSL_do_handshake(session->ssl);
    int error = errno;
    if (result == 1) {
        give_back(session);
        return WARMRING_OK;
    }
    switch (SSL_get_error(session->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        wait->events = POLLIN;
        return WARMRING_OK;
    case SSL_ERROR_WANT_WRITE:
        wait->events = POLLOUT;
        return WARMRING_OK;
    case SSL_ERROR_SSL:
        return fail_handshake(session, label);
    default: {
        char buffer[128];
        return wr_fail(WARMRING_CONNECT_FAILED,
                       "%s: connection lost in the TLS handshake (%s): if the server does not "
                       "speak TLS, set tls=0",
                       label,
                       error == 0 ? "closed by the server"
                                  : wr_system_text(error, buffer, sizeof buffer));
    }
    }
}

/* ---- sessions -------------------------------------------------------------- */

bool wr_tls_is_resumed(const wr_stream_t *stream) {
    return SSL_session_reused(session_of(stream)->ssl) == 1;
}

void wr_tls_free_session(void *session) {
    SSL_SESSION_free(session);
}
