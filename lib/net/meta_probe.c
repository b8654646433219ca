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
#include <sys/socket.h>

#include "base/fail.h"
#include "base/number.h"
#include "net/transport_meta.h"

#if WR_WITH_LIBMEMCACHED
#define REMEDY "set transport=libmemcached"
#else
#define REMEDY "build warmring with libmemcached for transport=libmemcached"
#endif

static const uint64_t oldest[3] = {1, 6, 13};

typedef struct {
    wr_meta_connection_t *connection;
    const char *label;
    char version[64];
    bool too_old;
    bool done;
} probe_t;

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

static void keep_version(probe_t *probe, const wr_meta_reply_t *reply) {
    size_t most = sizeof probe->version - 1;
    size_t length = reply->text.length < most ? reply->text.length : most;
    memcpy(probe->version, reply->text.data, length);
    probe->version[length] = '\0';
    probe->too_old = is_too_old(probe->version);
}

static warmring_status_t fail_old(const probe_t *probe) {
    return wr_fail(WARMRING_NOT_SUPPORTED,
                   "%s: version %s does not know the meta commands as needed: "
                   "upgrade it to memcached 1.6.13 or later, or " REMEDY,
                   probe->label, probe->version[0] != '\0' ? probe->version : "unknown");
}

static warmring_status_t judge(probe_t *probe, const wr_meta_reply_t *reply) {
    switch (reply->kind) {
    case WR_META_VERSION:
        keep_version(probe, reply);
        return WARMRING_OK;
    case WR_META_MN:
        probe->done = true;
        return probe->too_old ? fail_old(probe) : WARMRING_OK;
    case WR_META_CLIENT_ERROR:
        return wr_fail(WARMRING_AUTH_FAILED,
                       "%s: CLIENT_ERROR %.*s: the server wants a login: " REMEDY
                       " and credentials",
                       probe->label, (int)reply->text.length, reply->text.data);
    case WR_META_ERROR:
        if (reply->text.length == 0) {
            return fail_old(probe);
        }
        /* fall through */
    case WR_META_SERVER_ERROR:
        return wr_fail(WARMRING_SERVER_ERROR, "%s: the server answered: %.*s", probe->label,
                       (int)reply->text.length, reply->text.data);
    default:
        return wr_fail(WARMRING_PROTOCOL_ERROR, "%s: unexpected answer to version", probe->label);
    }
}

static warmring_status_t fail_silent(const probe_t *probe) {
    return wr_fail(WARMRING_TIMEOUT,
                   "%s: timed out waiting for the answer to version: if the server runs with "
                   "-B binary, remove that or " REMEDY,
                   probe->label);
}

static warmring_status_t fail_closed(const probe_t *probe, bool reset) {
    if (reset && probe->version[0] == '\0') {
        return wr_fail(WARMRING_CONNECTION_LOST, "%s: connection lost: %m", probe->label);
    }
    return wr_fail(WARMRING_NOT_SUPPORTED,
                   "%s: closed the connection on a meta command, as a proxy does that does "
                   "not know them (version %s): " REMEDY,
                   probe->label, probe->version[0] != '\0' ? probe->version : "unknown");
}

static warmring_status_t judge_all(probe_t *probe) {
    wr_meta_reply_t reply;
    const char *wrong;
    wr_meta_event_t event;
    while ((event = wr_meta_next(&probe->connection->exchange.reader, &reply, &wrong)) ==
           WR_META_LINE) {
        if (reply.kind == WR_META_VA || reply.kind == WR_META_VALUE) {
            break;
        }
        warmring_status_t status = judge(probe, &reply);
        if (status != WARMRING_OK || probe->done) {
            return status;
        }
    }
    return event == WR_META_MORE
               ? WARMRING_OK
               : wr_fail(WARMRING_PROTOCOL_ERROR, "%s: the answer to version is not memcached's",
                         probe->label);
}

static warmring_status_t receive_answers(probe_t *probe, wr_deadline_t deadline) {
    struct pollfd wait = {.fd = probe->connection->descriptor, .events = POLLIN};
    while (!probe->done) {
        int left = wr_deadline_left_ms(deadline);
        int ready = poll(&wait, 1, left);
        if (ready <= 0) {
            if (ready == 0 && left == 0) {
                return fail_silent(probe);
            }
            continue;
        }
        struct iovec pieces[2];
        wr_meta_room(&probe->connection->exchange.reader, pieces);
        ssize_t length = recv(wait.fd, pieces[0].iov_base, pieces[0].iov_len, MSG_DONTWAIT);
        if (length > 0) {
            wr_meta_filled(&probe->connection->exchange.reader, (size_t)length);
            warmring_status_t status = judge_all(probe);
            if (status != WARMRING_OK) {
                return status;
            }
        } else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
            return fail_closed(probe, length < 0);
        } else if (left == 0) {
            return fail_silent(probe);
        }
    }
    return WARMRING_OK;
}

warmring_status_t wr_meta_probe(wr_meta_connection_t *connection, wr_deadline_t deadline) {
    static const char question[] = "version\r\nmn\r\n";
    probe_t probe = {.connection = connection, .label = connection->exchange.label};
    ssize_t length =
        send(connection->descriptor, question, sizeof question - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    warmring_status_t status =
        length == (ssize_t)(sizeof question - 1)
            ? receive_answers(&probe, deadline)
            : wr_fail(WARMRING_CONNECTION_LOST, "%s: connection lost: %m", probe.label);
    connection->base.broken |= status != WARMRING_OK;
    return status;
}
