/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connecting a stream socket under a deadline: without blocking, then poll,
 * then back to blocking.
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
#include "net/meta_connection.h"

enum { RETRY_MS = 5 };

static warmring_status_t fail_connect(const char *label) {
    return errno == ECONNREFUSED
               ? wr_fail(WARMRING_CONNECT_FAILED, "%s: connection refused", label)
               : wr_fail(WARMRING_CONNECT_FAILED, "%s: cannot connect: %m", label);
}

static warmring_status_t time_out(const char *label, wr_time_t begun) {
    return wr_fail(WARMRING_TIMEOUT, "%s: connect timed out after %lld ms", label,
                   (long long)((wr_now() - begun) / 1000000));
}

/* The pending connect's result as an errno; EINPROGRESS when the deadline came
 * first. */
static int await_connect(int descriptor, wr_deadline_t deadline) {
    struct pollfd wait = {.fd = descriptor, .events = POLLOUT};
    int ready;
    do {
        ready = poll(&wait, 1, wr_deadline_left_ms(deadline));
    } while (ready == 0 ? !wr_deadline_passed(deadline) : ready < 0 && errno == EINTR);
    if (ready <= 0) {
        return ready == 0 ? EINPROGRESS : errno;
    }
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

static int try_connect(int descriptor, const wr_address_t *address, wr_deadline_t deadline) {
    for (;;) {
        if (connect(descriptor, (const struct sockaddr *)&address->storage, address->length) == 0) {
            return 0;
        }
        if (errno == EINPROGRESS || errno == EINTR) {
            return await_connect(descriptor, deadline);
        }
        if (errno != EAGAIN || address->storage.ss_family != AF_UNIX) {
            return errno;
        }
        int left = wr_deadline_left_ms(deadline);
        if (left == 0) {
            return EINPROGRESS;
        }
        poll(NULL, 0, left < RETRY_MS ? left : RETRY_MS);
    }
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

static bool make_blocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

warmring_status_t wr_meta_socket(const char *label, const wr_address_t *address, bool keepalive,
                                 wr_deadline_t deadline, int *descriptor) {
    wr_time_t begun = wr_now();
    int opened = socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (opened < 0) {
        return fail_connect(label);
    }
    if (!prepare(opened, address, keepalive)) {
        goto failed;
    }
    int error = try_connect(opened, address, deadline);
    if (error == EINPROGRESS) {
        close(opened);
        return time_out(label, begun);
    }
    if (error != 0) {
        errno = error;
        goto failed;
    }
    if (!make_blocking(opened)) {
        goto failed;
    }
    *descriptor = opened;
    return WARMRING_OK;
failed:;
    warmring_status_t status = fail_connect(label);
    close(opened);
    return status;
}
