/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses: resolving a host name under a deadline.
 *
 * Numeric addresses and unix sockets cost nothing. A name is resolved by a
 * thread of its own, since the resolver of libc knows no deadline; when the
 * deadline passes the thread is left to finish and free its work alone.
 */
#ifndef WR_NET_ADDRESS_H
#define WR_NET_ADDRESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <warmring/status.h>

#include "base/deadline.h"

typedef struct {
    struct sockaddr_storage storage;
    socklen_t length;
    char text[128]; /* numeric host or the path, for transports that want text */
    uint16_t port;  /* 0 for a unix socket */
} wr_address_t;

/*
 * Stores up to `capacity` addresses and their number in *count (at least 1).
 * `host` and `port` as in warmring_server_t with the port known. Returns OK,
 * RESOLVE_FAILED (text: LABEL: cause), TIMEOUT or OUT_OF_MEMORY.
 */
warmring_status_t wr_resolve(const char *label, const char *host, uint16_t port,
                             wr_deadline_t deadline, wr_address_t *addresses, size_t capacity,
                             size_t *count);

#endif
