/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statuses: what every call answers, and the text that goes with them.
 */
#ifndef WARMRING_STATUS_H
#define WARMRING_STATUS_H

#include <warmring/common.h>

WARMRING_BEGIN_DECLS

/*
 * The one list that the enum, warmring_strerror() and
 * warmring_status_name() are made from. New statuses are appended, so
 * numbers never change.
 *
 * Three groups: answers of a healthy cluster (OK to EXISTS, LEASED and
 * LEASE_BUSY), faults between the caller and a server (PARTIAL to
 * RESOLVE_FAILED), and refusals that mostly cost no traffic (TRY_AGAIN to
 * OUT_OF_MEMORY, BAD_FILE and TOPOLOGY_STALE).
 */
#define WARMRING_STATUS_LIST(X)                                                     \
    X(OK, "success")                                                                \
    X(NOT_FOUND, "no such key")                                                     \
    X(NOT_STORED, "not stored: the key's presence forbids it")                      \
    X(EXISTS, "changed since the token was taken")                                  \
    X(PARTIAL, "done on one of two servers: the result is unknown, repeat it")      \
    X(TIMEOUT, "deadline passed: the result of a write is unknown")                 \
    X(SERVER_DOWN, "server is down and its back-off has not ended: nothing was sent") \
    X(CONNECT_FAILED, "cannot connect: nothing was sent")                           \
    X(CONNECTION_LOST, "connection lost: the result of a write is unknown")         \
    X(SERVER_ERROR, "server answered with an error")                                \
    X(PROTOCOL_ERROR, "server answered with something else than memcached does")    \
    X(AUTH_FAILED, "server refused the credentials")                                \
    X(RESOLVE_FAILED, "host name cannot be resolved: nothing was sent")             \
    X(TRY_AGAIN, "not possible in this phase of a migration: try again")            \
    X(NOT_SUPPORTED, "not supported")                                               \
    X(TOO_LARGE, "value too large: for the server, or to be read")                   \
    X(BUFFER_TOO_SMALL, "value does not fit the buffer")                            \
    X(NOT_NUMERIC, "value is not a number")                                         \
    X(BAD_KEY, "bad key")                                                           \
    X(BAD_ARGUMENT, "bad argument")                                                 \
    X(BAD_SERVER, "bad server description")                                         \
    X(BAD_OPTION, "bad option")                                                     \
    X(LIMIT_EXCEEDED, "limit exceeded")                                             \
    X(ILLEGAL_STEP, "step not allowed from here")                                   \
    X(OUT_OF_MEMORY, "out of memory")                                               \
    X(LEASED, "no such key: load it and store it with the token")                   \
    X(LEASE_BUSY, "no such key: somebody else is loading it")                       \
    X(BAD_FILE, "bad topology file")                                                \
    X(TOPOLOGY_STALE, "the topology may be out of date: nothing was sent")

typedef enum {
#define WARMRING_STATUS_ENUM(name, text) WARMRING_##name,
    WARMRING_STATUS_LIST(WARMRING_STATUS_ENUM)
#undef WARMRING_STATUS_ENUM
} warmring_status_t;

/*
 * The text of a status, never NULL ("unknown status" for a number that is
 * none). The string is static. Threads: any. Since 0.1.
 */
WARMRING_API const char *warmring_strerror(warmring_status_t status);

/*
 * The name of a status as it stands in C without the prefix, such as
 * "NOT_FOUND"; "?" for a number that is none. For logs and bindings.
 * The string is static. Threads: any. Since 0.1.
 */
WARMRING_API const char *warmring_status_name(warmring_status_t status);

/*
 * What went wrong in this thread's last failed call, naming the server and
 * the cause or quoting the bad piece, such as
 * "10.0.0.7:11211: connect timed out after 200 ms"; "" when no call failed.
 *
 * A success or a plain answer (NOT_FOUND, NOT_STORED, EXISTS) leaves the
 * text of the last failure in place. The string belongs to the thread and
 * changes with its next failing call. Threads: each sees its own.
 * Since 0.1.
 */
WARMRING_API const char *warmring_error_detail(void);

WARMRING_END_DECLS

#endif
