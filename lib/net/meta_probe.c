/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding out whether a server can be spoken to in meta commands.
 *
 * `version` and `mn` go out together. A memcached answers both; an old one
 * answers ERROR to the second; a proxy closes at what it does not know; a
 * server for the binary protocol says nothing. A version that is no memcached
 * number ("VERSION unknown", a proxy's own) counts as good when MN follows.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/fail.h"
#include "base/number.h"
#include "net/meta_open.h"

#if WR_WITH_LIBMEMCACHED
#define REMEDY "set transport=libmemcached"
#else
#define REMEDY "build warmring with libmemcached for transport=libmemcached"
#endif

static const uint64_t oldest[3] = {1, 6, 13};

/* Whether `text` starts with three numbers below `oldest`. */
static bool is_too_old(const char *text) {
    for (size_t i = 0; i < 3; i++) {
        size_t digits = strspn(text, "0123456789");
        uint64_t number;
        if (!wr_parse_uint(text, digits, UINT32_MAX, &number) || (i < 2 && text[digits] != '.')) {
            return false;
        }
        if (number != oldest[i]) {
            return number < oldest[i];
        }
        text += digits + 1;
    }
    return false;
}

static void keep_version(wr_meta_opening_t *probe, const wr_meta_reply_t *reply) {
    size_t most = sizeof probe->version - 1;
    size_t length = reply->text.length < most ? reply->text.length : most;
    memcpy(probe->version, reply->text.data, length);
    probe->version[length] = '\0';
    probe->too_old = is_too_old(probe->version);
}

/* libmemcached is no way out where it lacks what was asked for. */
static const char *remedy_of(const wr_meta_connection_t *connection) {
    bool is_plain = connection->opening.tls == NULL && connection->opening.login.line == NULL;
    return is_plain ? REMEDY : "neither TLS nor a login goes through libmemcached";
}

static const char *version_of(const wr_meta_connection_t *connection) {
    return connection->opening.version[0] != '\0' ? connection->opening.version : "unknown";
}

static warmring_status_t fail_old(const wr_meta_connection_t *connection) {
    return wr_fail(WARMRING_NOT_SUPPORTED,
                   "%s: version %s does not know the meta commands as needed: "
                   "upgrade it to memcached 1.6.13 or later, or %s",
                   connection->exchange.label, version_of(connection), remedy_of(connection));
}

static warmring_status_t judge(wr_meta_connection_t *connection, const wr_meta_reply_t *reply) {
    switch (reply->kind) {
    case WR_META_VERSION:
        keep_version(&connection->opening, reply);
        return WARMRING_OK;
    case WR_META_MN:
        connection->opening.answered = true;
        return connection->opening.too_old ? fail_old(connection) : WARMRING_OK;
    case WR_META_CLIENT_ERROR:
        return wr_fail(WARMRING_AUTH_FAILED,
                       "%s: CLIENT_ERROR %.*s: the server wants a login: set user and password",
                       connection->exchange.label, (int)reply->text.length, reply->text.data);
    case WR_META_ERROR:
        if (reply->text.length == 0) {
            return fail_old(connection);
        }
        /* fall through */
    case WR_META_SERVER_ERROR:
        return wr_fail(WARMRING_SERVER_ERROR, "%s: the server answered: %.*s",
                       connection->exchange.label, (int)reply->text.length, reply->text.data);
    default:
        return wr_fail(WARMRING_PROTOCOL_ERROR, "%s: unexpected answer to version",
                       connection->exchange.label);
    }
}

static warmring_status_t fail_closed(wr_meta_connection_t *connection, ssize_t result) {
    bool is_silent = connection->opening.version[0] == '\0';
    if (result < 0 && is_silent) {
        return wr_meta_open_lost(connection, result);
    }
    connection->base.hung_up = true;
    return wr_fail(WARMRING_NOT_SUPPORTED,
                   "%s: closed the connection on a meta command, as a proxy does that does "
                   "not know them (version %s): %s%s",
                   connection->exchange.label, version_of(connection), remedy_of(connection),
                   is_silent ? wr_meta_open_hint(connection) : "");
}

/* A server that wants TLS may say so in its own way. */
static bool is_alert(const wr_meta_connection_t *connection) {
    const wr_meta_reader_t *reader = &connection->exchange.reader;
    static const char alert[] = {0x15, 0x03};
    return reader->end - reader->start >= sizeof alert &&
           memcmp(reader->buffer + reader->start, alert, sizeof alert) == 0;
}

static warmring_status_t judge_all(wr_meta_connection_t *connection) {
    wr_meta_reply_t reply = {0};
    const char *wrong;
    wr_meta_event_t event;
    while ((event = wr_meta_next(&connection->exchange.reader, &reply, &wrong)) == WR_META_LINE) {
        if (reply.kind == WR_META_VA || reply.kind == WR_META_VALUE) {
            break;
        }
        warmring_status_t status = judge(connection, &reply);
        if (status != WARMRING_OK || connection->opening.answered) {
            return status;
        }
    }
    return event == WR_META_MORE
               ? WARMRING_OK
               : wr_fail(WARMRING_PROTOCOL_ERROR, "%s: the answer to version is not memcached's",
                         connection->exchange.label);
}

static warmring_status_t take_answers(wr_meta_connection_t *connection, wr_wait_t *wait) {
    while (!connection->opening.answered) {
        struct iovec pieces[2];
        wr_meta_room(&connection->exchange.reader, pieces);
        ssize_t length = wr_stream_receive(&connection->stream, pieces, 1, false);
        if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR)) {
            return fail_closed(connection, length);
        }
        if (length < 0) {
            wait->events = POLLIN;
            return WARMRING_OK;
        }
        wr_meta_filled(&connection->exchange.reader, (size_t)length);
        if (is_alert(connection)) {
            return wr_fail(WARMRING_PROTOCOL_ERROR, "%s: the server speaks TLS: set tls=1",
                           connection->exchange.label);
        }
        warmring_status_t status = judge_all(connection);
        if (status != WARMRING_OK) {
            return status;
        }
    }
    return WARMRING_OK;
}

warmring_status_t wr_meta_probe_step(wr_meta_connection_t *connection, short ready,
                                     wr_wait_t *wait) {
    (void)ready;
    if (connection->opening.asked) {
        return take_answers(connection, wait);
    }
    static const char question[] = "version\r\nmn\r\n";
    wait->events = POLLIN;
    connection->opening.asked = true;
    return wr_meta_open_send(connection, question, sizeof question - 1);
}

warmring_status_t wr_meta_probe_expire(wr_meta_connection_t *connection) {
    return wr_fail(WARMRING_TIMEOUT,
                   "%s: timed out waiting for the answer to version: if the server runs with "
                   "-B binary, remove that or %s%s",
                   connection->exchange.label, remedy_of(connection),
                   wr_meta_open_hint(connection));
}
