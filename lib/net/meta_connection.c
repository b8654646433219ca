/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls of a connection.
 *
 * Deadlines. Sends use MSG_DONTWAIT, since a send that blocks on a unix socket
 * starts its timeout anew with every chunk; what does not fit the socket waits
 * in poll(), where answers are read meanwhile. Receives block under
 * SO_RCVTIMEO, which is reset only when it would outlast the deadline or wake
 * up needlessly often: calls with the same deadline set it once. Whatever a
 * recv brought, the time left is computed again before the next, so a server
 * that drips gains nothing. Once the deadline has passed, what has come
 * already is still read: another server may have used up the time.
 */
#include "net/meta_connection.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/time.h>

#include "base/fail.h"
#include "base/memory.h"

enum {
    LATE_READS = 64,   /* after the deadline */
    READS_A_STEP = 16, /* before another connection gets its turn */
    QUIET_READ = 64    /* commands without answer before what came is taken in */
};

static const wr_time_t millisecond = 1000000;
static const wr_time_t longest_wait = 50000000; /* of one recv */

const wr_meta_limits_t wr_meta_default_limits = {
    .line = 2048, .key = WR_META_KEY_MAX, .value = (size_t)128 << 20};

static wr_meta_connection_t *mine(wr_connection_t *connection) {
    return (wr_meta_connection_t *)connection;
}

void wr_meta_close(wr_connection_t *connection) {
    wr_stream_close(&mine(connection)->stream, false);
    wr_free(connection);
}

void wr_meta_abandon(wr_connection_t *connection) {
    wr_stream_close(&mine(connection)->stream, true);
    wr_free(connection);
}

int wr_meta_descriptor(const wr_connection_t *connection) {
    return ((const wr_meta_connection_t *)connection)->stream.descriptor;
}

static bool has_unsent(const wr_meta_exchange_t *exchange) {
    return exchange->piece != exchange->pieces_end || exchange->encoded != exchange->count;
}

static void lose(wr_meta_connection_t *connection, ssize_t result) {
    char buffer[128];
    const char *cause = result == 0 ? "closed by the server"
                                    : wr_stream_error(&connection->stream, buffer, sizeof buffer);
    wr_meta_forget_refusal(&connection->exchange);
    wr_meta_abort(&connection->exchange,
                  wr_fail(WARMRING_CONNECTION_LOST, "%s: connection lost (%s)",
                          connection->exchange.label, cause));
}

/* `until` is when the wait ended, or was to end. */
static void expire(wr_meta_connection_t *connection, wr_time_t until) {
    wr_meta_exchange_t *exchange = &connection->exchange;
    long long ms = wr_ms_between(connection->begun, until);
    warmring_status_t status =
        has_unsent(exchange)
            ? wr_fail(WARMRING_TIMEOUT, "%s: not all was sent within %lld ms", exchange->label, ms)
            : wr_fail(WARMRING_TIMEOUT, "%s: no answer within %lld ms", exchange->label, ms);
    wr_meta_abort(exchange, status);
}

void wr_meta_expire(wr_connection_t *connection) {
    expire(mine(connection), wr_now());
    connection->broken = true;
}

/* One recv into whatever is expected; its result. */
static ssize_t receive_once(wr_meta_connection_t *connection, bool waits, size_t *room) {
    struct iovec pieces[2];
    int count = wr_meta_room(&connection->exchange.reader, pieces);
    ssize_t length = wr_stream_receive(&connection->stream, pieces, (size_t)count, waits);
    *room = pieces[0].iov_len;
    if (count > 1) {
        *room += pieces[1].iov_len;
    }
    if (length > 0) {
        wr_meta_filled(&connection->exchange.reader, (size_t)length);
        wr_meta_absorb(&connection->exchange);
    }
    return length;
}

static bool is_later(ssize_t length) {
    return length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

/* Takes in what has come already. */
static void receive_ready(wr_meta_connection_t *connection) {
    for (int i = 0; i < READS_A_STEP || wr_stream_has_more(&connection->stream); i++) {
        size_t room;
        ssize_t length = receive_once(connection, false, &room);
        if (length <= 0) {
            if (!is_later(length)) {
                lose(connection, length);
            }
            return;
        }
        if ((size_t)length < room || wr_meta_done(&connection->exchange)) {
            return;
        }
    }
}

/* A send failed for good: the server may have said why. */
static void lose_sending(wr_meta_connection_t *connection) {
    int error = errno;
    size_t room;
    receive_once(connection, false, &room);
    if (!connection->exchange.broken) {
        errno = error;
        lose(connection, -1);
    }
}

/* After a send; whether there is to be another now. */
static bool note_sent(wr_meta_connection_t *connection, ssize_t length) {
    if (length > 0) {
        wr_meta_written(&connection->exchange, (size_t)length);
    } else if (errno != EINTR) {
        if (!is_later(length)) {
            lose_sending(connection);
        }
        return false;
    }
    return true;
}

static void send_ready(wr_meta_connection_t *connection) {
    size_t count;
    struct iovec *pieces;
    do {
        pieces = wr_meta_output(&connection->exchange, &count);
    } while (count > 0 &&
             note_sent(connection, wr_stream_send(&connection->stream, pieces, count)));
}

/* Marks the connection after the last answer. */
static void finish(wr_meta_connection_t *connection) {
    connection->base.broken |= connection->exchange.broken;
}

/* Commands without answer draw lines all the same; left unread they would fill
 * the socket until the server stops reading. */
static void take_quiet_lines(wr_meta_connection_t *connection) {
    uint32_t quiet = connection->exchange.quiet_in;
    if (quiet >= QUIET_READ && quiet % QUIET_READ == 0 && !connection->exchange.broken) {
        receive_ready(connection);
    }
}

static void begin(wr_meta_connection_t *connection, wr_request_t **requests, size_t count) {
    wr_meta_begin(&connection->exchange, requests, count);
    send_ready(connection);
    take_quiet_lines(connection);
}

static short wants(wr_meta_connection_t *connection) {
    if (wr_meta_done(&connection->exchange)) {
        finish(connection);
        return 0;
    }
    return has_unsent(&connection->exchange) ? POLLIN | POLLOUT : POLLIN;
}

short wr_meta_start(wr_connection_t *connection, wr_request_t **requests, size_t count,
                    wr_deadline_t deadline) {
    mine(connection)->begun = wr_about_now(deadline);
    begin(mine(connection), requests, count);
    return wants(mine(connection));
}

short wr_meta_step(wr_connection_t *connection, short ready) {
    if ((ready & ~POLLOUT) != 0) {
        receive_ready(mine(connection));
    }
    send_ready(mine(connection));
    return wants(mine(connection));
}

void wr_meta_send(wr_connection_t *connection, wr_request_t **requests, size_t count,
                  wr_deadline_t deadline) {
    (void)deadline;
    begin(mine(connection), requests, count);
}

/* Makes a recv end by itself about when the deadline does, or now and then. */
static void set_timeout(wr_meta_connection_t *connection, wr_time_t left) {
    enum { TOLERATED = 8 }; /* such a part: a call may come to several waits */
    wr_stream_t *stream = &connection->stream;
    left = left < longest_wait ? left : longest_wait;
    if (stream->timeout >= left / 2 && stream->timeout != 0 &&
        stream->timeout <= left + left / TOLERATED) {
        return;
    }
    wr_time_t rounded = left > millisecond ? left : millisecond;
    struct timeval timeout = {.tv_sec = (time_t)(rounded / (1000 * millisecond)),
                              .tv_usec = (suseconds_t)(rounded / 1000 % 1000000)};
    if (setsockopt(stream->descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0) {
        stream->timeout = rounded;
    }
}

/* Waits until some of the rest can be sent or some answer read. */
static void wait_and_step(wr_meta_connection_t *connection, wr_deadline_t deadline) {
    struct pollfd wait = {.fd = connection->stream.descriptor, .events = POLLIN | POLLOUT};
    int left = wr_deadline_left_ms(deadline);
    int ready = poll(&wait, 1, left);
    if (ready > 0) {
        wr_meta_step(&connection->base, wait.revents);
    } else if (ready == 0 && left == 0) {
        expire(connection, deadline.at);
    }
}

static void wait_and_receive(wr_meta_connection_t *connection, wr_deadline_t deadline,
                             wr_time_t left) {
    if (left > 0) {
        set_timeout(connection, left);
    }
    size_t room;
    ssize_t length = receive_once(connection, left > 0, &room);
    if (length > 0) {
        return;
    }
    if (!is_later(length)) {
        lose(connection, length);
    } else if (left == 0) {
        expire(connection, deadline.at);
    }
}

static wr_time_t left_from(wr_time_t begun, wr_deadline_t deadline) {
    return deadline.at > begun ? deadline.at - begun : 0;
}

/* Until every request has its status. `fresh`: no time has passed since the
 * wait began. */
static void finish_all(wr_meta_connection_t *connection, wr_deadline_t deadline, bool fresh) {
    int late = 0;
    for (; !wr_meta_done(&connection->exchange); fresh = false) {
        wr_time_t left =
            fresh ? left_from(connection->begun, deadline) : wr_deadline_left(deadline);
        if (left == 0 && ++late > LATE_READS) {
            expire(connection, deadline.at);
        } else if (has_unsent(&connection->exchange)) {
            wait_and_step(connection, deadline);
        } else {
            wait_and_receive(connection, deadline, left);
        }
    }
    finish(connection);
}

void wr_meta_receive(wr_connection_t *connection, wr_request_t **requests, size_t count,
                     wr_deadline_t deadline) {
    (void)requests;
    (void)count;
    mine(connection)->begun = deadline.made;
    finish_all(mine(connection), deadline, true);
}

short wr_meta_await(wr_connection_t *base, wr_deadline_t until) {
    wr_meta_connection_t *connection = mine(base);
    wr_time_t left = left_from(until.made, until);
    while (left > 0 && wants(connection) == POLLIN) {
        size_t room;
        set_timeout(connection, left);
        ssize_t length = receive_once(connection, true, &room);
        if (length <= 0 && !is_later(length)) {
            lose(connection, length);
        }
        left = wr_meta_done(&connection->exchange) ? 0 : wr_deadline_left(until);
    }
    if (!wr_meta_done(&connection->exchange) && wr_stream_has_more(&connection->stream)) {
        receive_ready(connection); /* of which no poll() will tell */
    }
    return wants(connection);
}

/* Sends the only piece; whether all of it is on its way. */
static bool send_piece(wr_meta_connection_t *connection) {
    wr_meta_exchange_t *exchange = &connection->exchange;
    size_t length = exchange->pieces[0].iov_len;
    ssize_t sent = wr_stream_send(&connection->stream, exchange->pieces, 1);
    if (sent == (ssize_t)length) {
        exchange->window_sent = true;
        exchange->piece = exchange->pieces_end;
        return true;
    }
    if (note_sent(connection, sent)) {
        send_ready(connection);
    }
    return false;
}

/* Waits once for an answer, which nearly always comes whole. */
static bool receive_piece(wr_meta_connection_t *connection, wr_time_t left) {
    struct iovec room = {connection->input, sizeof connection->input - 1};
    set_timeout(connection, left);
    ssize_t length = wr_stream_receive(&connection->stream, &room, 1, true);
    if (length > 0) {
        wr_meta_filled(&connection->exchange.reader, (size_t)length);
        if (wr_meta_absorb_one(&connection->exchange)) {
            return true;
        }
        wr_meta_absorb(&connection->exchange);
    } else if (!is_later(length)) {
        lose(connection, length);
    }
    return false;
}

void wr_meta_call(wr_connection_t *base, wr_request_t **request, wr_deadline_t deadline) {
    wr_meta_connection_t *connection = mine(base);
    wr_time_t left = left_from(deadline.made, deadline);
    connection->begun = deadline.made;
    if (left == 0 || wr_meta_begin_one(&connection->exchange, request) == 0) {
        begin(connection, request, 1);
        finish_all(connection, deadline, true);
    } else if (!send_piece(connection) || !receive_piece(connection, left)) {
        finish_all(connection, deadline, false);
    }
}
