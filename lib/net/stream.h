/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a connection: as they are on a socket, or through a cipher
 * that was put between (net/tls.h). Whoever sends and receives need not know.
 *
 * Both calls answer as send() and recv() do: a number of bytes, 0 for the
 * peer's end, or -1 and errno, EAGAIN among them.
 */
#ifndef WR_NET_STREAM_H
#define WR_NET_STREAM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/fail.h"

typedef struct wr_stream wr_stream_t;

/* A piece of these bytes alone is where a command ends, which counts for a
 * cipher that puts bytes together (net/tls.c). */
#define WR_LINE_END "\r\n"
enum { WR_LINE_END_SIZE = sizeof WR_LINE_END - 1 };

typedef struct {
    ssize_t (*send)(wr_stream_t *stream, const struct iovec *pieces, size_t count);
    ssize_t (*receive)(wr_stream_t *stream, const struct iovec *pieces, size_t count, bool waits);
    bool (*has_more)(const wr_stream_t *stream);
    const char *(*fault)(const wr_stream_t *stream); /* after EPROTO */
    /* `quiet`: the socket is another process's too. */
    void (*close)(wr_stream_t *stream, bool quiet);
} wr_cipher_t;

struct wr_stream {
    int descriptor;
    wr_time_t timeout;         /* of a receive that waits; the SO_RCVTIMEO in force */
    const wr_cipher_t *cipher; /* NULL: none */
    void *session;             /* the cipher's */
};

static inline bool wr_stream_is_ciphered(const wr_stream_t *stream) {
    return __builtin_expect(stream->cipher != NULL, 0);
}

/* Sends without waiting; never a SIGPIPE. */
static inline ssize_t wr_stream_send(wr_stream_t *stream, struct iovec *pieces, size_t count) {
    if (wr_stream_is_ciphered(stream)) {
        return stream->cipher->send(stream, pieces, count);
    }
    /* By the system msg_iovlen is an int or a size_t. */
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = (unsigned short)count};
    return count == 1 ? send(stream->descriptor, pieces->iov_base, pieces->iov_len,
                             MSG_DONTWAIT | MSG_NOSIGNAL)
                      : sendmsg(stream->descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Receives into one piece or two; `waits`: for the first byte, up to `timeout`.
 * Less than there is room for means that nothing more is there. */
static inline ssize_t wr_stream_receive(wr_stream_t *stream, struct iovec *pieces, size_t count,
                                        bool waits) {
    if (wr_stream_is_ciphered(stream)) {
        return stream->cipher->receive(stream, pieces, count, waits);
    }
    int flags = waits ? 0 : MSG_DONTWAIT;
    if (count == 1) {
        return recv(stream->descriptor, pieces->iov_base, pieces->iov_len, flags);
    }
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = (unsigned short)count};
    return recvmsg(stream->descriptor, &message, flags);
}

/* Whether bytes may have come that poll() does not see. */
static inline bool wr_stream_has_more(const wr_stream_t *stream) {
    return wr_stream_is_ciphered(stream) && stream->cipher->has_more(stream);
}

/* The text for the errno of a call that failed. */
static inline const char *wr_stream_error(const wr_stream_t *stream, char *buffer, size_t size) {
    return stream->cipher != NULL && errno == EPROTO ? stream->cipher->fault(stream)
                                                     : wr_system_text(errno, buffer, size);
}

static inline void wr_stream_close(wr_stream_t *stream, bool quiet) {
    if (stream->cipher != NULL) {
        stream->cipher->close(stream, quiet);
    }
    close(stream->descriptor);
}

#endif
