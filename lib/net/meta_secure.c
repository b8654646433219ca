/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two stages of opening a connection: TLS, and the login of `memcached -Y`.
 *
 * The login is the first command: a store whose value is "USER PASSWORD". A
 * server that wants none stores it, so it is sent with an expiration in the
 * past, which one that wants it does not look at. What a server answers is not
 * quoted: it may repeat what it was told.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/fail.h"
#include "net/meta_open.h"

warmring_status_t wr_meta_tls_step(wr_meta_connection_t *connection, short ready, wr_wait_t *wait) {
    (void)ready;
    wr_meta_opening_t *opening = &connection->opening;
    if (!opening->asked) {
        warmring_status_t status =
            wr_tls_attach(opening->tls, connection->base.server, &connection->stream);
        if (status != WARMRING_OK) {
            return status;
        }
        opening->asked = true;
    }
    return wr_tls_step(&connection->stream, connection->exchange.label, wait);
}

warmring_status_t wr_meta_tls_expire(wr_meta_connection_t *connection) {
    return wr_fail(WARMRING_TIMEOUT,
                   "%s: TLS handshake timed out after %lld ms: if the server does not speak TLS, "
                   "set tls=0",
                   connection->exchange.label, wr_ms_between(connection->opening.begun, wr_now()));
}

static warmring_status_t judge(wr_meta_connection_t *connection) {
    static const char stored[] = "STORED\r\n";
    static const char refused[] = "CLIENT_ERROR ";
    const char *answer = connection->opening.version;
    const char *label = connection->exchange.label;
    size_t length = connection->opening.length;
    if (length == sizeof stored - 1 && memcmp(answer, stored, length) == 0) {
        return WARMRING_OK;
    }
    if (length > sizeof refused - 1 && memcmp(answer, refused, sizeof refused - 1) == 0) {
        return wr_fail(WARMRING_AUTH_FAILED,
                       "%s: the server refused the login: check the options user and password",
                       label);
    }
    return wr_fail(WARMRING_PROTOCOL_ERROR, "%s: unexpected answer to the login", label);
}

static warmring_status_t take_answer(wr_meta_connection_t *connection, wr_wait_t *wait) {
    wr_meta_opening_t *opening = &connection->opening;
    for (;;) {
        struct iovec room = {opening->version + opening->length,
                             sizeof opening->version - opening->length};
        ssize_t length = wr_stream_receive(&connection->stream, &room, 1, false);
        if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
            wait->events = POLLIN;
            return WARMRING_OK;
        }
        if (length <= 0) {
            return wr_meta_open_lost(connection, length);
        }
        opening->length += (size_t)length;
        bool is_whole = memchr(opening->version, '\n', opening->length) != NULL;
        if (is_whole || opening->length == sizeof opening->version) {
            warmring_status_t status = judge(connection);
            memset(opening->version, 0, sizeof opening->version);
            return status;
        }
    }
}

warmring_status_t wr_meta_login_step(wr_meta_connection_t *connection, short ready,
                                     wr_wait_t *wait) {
    (void)ready;
    wr_meta_opening_t *opening = &connection->opening;
    if (opening->asked) {
        return take_answer(connection, wait);
    }
    wait->events = POLLIN;
    opening->asked = true;
    return wr_meta_open_send(connection, opening->login.line, opening->login.length);
}

warmring_status_t wr_meta_login_expire(wr_meta_connection_t *connection) {
    return wr_fail(WARMRING_TIMEOUT, "%s: no answer to the login within %lld ms",
                   connection->exchange.label, wr_ms_between(connection->opening.begun, wr_now()));
}
