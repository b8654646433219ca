/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connecting a stream socket without waiting: the caller polls in between. The
 * socket blocks once it is connected.
 *
 * A unix socket whose backlog is full answers EAGAIN and cannot be polled for,
 * so it is tried again every few milliseconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include "base/fail.h"
#include "net/meta_open.h"

enum { RETRY_NS = 5000000 };

static warmring_status_t fail_connect(const char *label, int error) {
    char buffer[128];
    return error == ECONNREFUSED ? wr_fail(WARMRING_CONNECT_FAILED, "%s: connection refused", label)
                                 : wr_fail(WARMRING_CONNECT_FAILED, "%s: cannot connect: %s", label,
                                           wr_system_text(error, buffer, sizeof buffer));
}

static bool set_on(int descriptor, int level, int option) {
    int on = 1;
    return setsockopt(descriptor, level, option, &on, sizeof on) == 0;
}

static bool prepare(int descriptor, const wr_address_t *address, bool keepalive) {
    if (address->storage.ss_family == AF_UNIX) {
        return true;
    }
    return set_on(descriptor, IPPROTO_TCP, TCP_NODELAY) &&
           (!keepalive || set_on(descriptor, SOL_SOCKET, SO_KEEPALIVE));
}

warmring_status_t wr_meta_socket(const char *label, const wr_address_t *address, bool keepalive,
                                 int *descriptor) {
    *descriptor = socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*descriptor < 0) {
        return fail_connect(label, errno);
    }
    if (!prepare(*descriptor, address, keepalive)) {
        int error = errno;
        close(*descriptor);
        return fail_connect(label, error);
    }
    return WARMRING_OK;
}

/* 0 when it is connected; EINPROGRESS when it may be polled for. */
static int go_on(wr_meta_connection_t *connection, short ready) {
    const wr_address_t *address = &connection->opening.address;
    if (!connection->opening.asked) {
        int result = connect(connection->stream.descriptor,
                             (const struct sockaddr *)&address->storage, address->length);
        int error = result == 0 ? 0 : errno == EINTR ? EINPROGRESS : errno;
        connection->opening.asked = error == EINPROGRESS;
        return error;
    }
    int error = EINPROGRESS;
    socklen_t length = sizeof error;
    if (ready != 0 &&
        getsockopt(connection->stream.descriptor, SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
        return errno;
    }
    return error;
}

static bool make_blocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

warmring_status_t wr_meta_connect_step(wr_meta_connection_t *connection, short ready,
                                       wr_wait_t *wait) {
    int error = go_on(connection, ready);
    if (error == EINPROGRESS) {
        wait->events = POLLOUT;
        return WARMRING_OK;
    }
    if (error == EAGAIN && connection->opening.address.storage.ss_family == AF_UNIX) {
        wait->wake = wr_now() + RETRY_NS;
        return WARMRING_OK;
    }
    if (error == 0 && !make_blocking(connection->stream.descriptor)) {
        error = errno;
    }
    return error == 0 ? WARMRING_OK : fail_connect(connection->exchange.label, error);
}

warmring_status_t wr_meta_connect_expire(wr_meta_connection_t *connection) {
    return wr_fail(WARMRING_TIMEOUT, "%s: connect timed out after %lld ms",
                   connection->exchange.label, wr_ms_between(connection->opening.begun, wr_now()));
}
