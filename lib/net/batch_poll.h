/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All parts of a batch at once: one connection a server, opened and driven
 * side by side in one poll loop, so that no server's slowness delays another
 * and requests are sent while answers come in.
 */
#ifndef WR_NET_BATCH_POLL_H
#define WR_NET_BATCH_POLL_H

#include "net/dial.h"
#include "net/transport.h"

typedef struct {
    wr_connection_t *connection; /* not broken, at no other work; NULL: */
    wr_dial_t *opening;          /* is about to make it, in steps */
    wr_request_t **requests;     /* in their order */
    size_t count;
} wr_batch_part_t;

/*
 * Completes every request of every part by the deadline: status, `sent` and
 * answer. Every connection's transport has steps. Connections that are of no
 * more use are `broken` afterwards; they stay the caller's. Takes memory
 * above 32 parts; without it the requests get OUT_OF_MEMORY, nothing sent.
 *
 * Afterwards an opening is over and `connection` of its part is set, unless it
 * failed, or blocks: then none of that part's requests has a status.
 */
void wr_batch_poll(wr_batch_part_t *parts, size_t count, wr_deadline_t deadline);

#endif
