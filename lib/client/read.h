/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading keys, one or many, through every phase.
 */
#ifndef WR_CLIENT_READ_H
#define WR_CLIENT_READ_H

#include "client/client.h"
#include "client/watch.h"

/* One key to read. The caller sets `key`, a call below all else. */
typedef struct {
    warmring_bytes_t key; /* as sent */
    wr_route_t route;
    uint8_t state;
    uint8_t answered_by; /* warmring_side_t of `answer` */
    bool leased;
    warmring_status_t fault; /* of N, when O was asked because of it */
    wr_request_t answer;     /* the last read; in the end, the result */

    /* set when they are first needed */
    wr_request_t side;     /* lease, fill and removal of a ghost, at N */
    wr_time_t leased_over; /* when the connection of the lease was opened */
    wr_time_t asked_at;    /* when O was asked, for what is left of a TTL */
} wr_read_t;

/*
 * Reads all of them, values into `sink`; afterwards answer.status says what
 * became of each: OK, NOT_FOUND, TRY_AGAIN or a fault. `queue` has room for
 * `count` pointers.
 */
void wr_read(const wr_operation_t *operation, wr_read_t *reads, size_t count, wr_sink_t *sink,
             wr_request_t **queue, wr_watch_t *watch);

/* The same for one key, of which nobody else is told. */
void wr_read_one(const wr_operation_t *operation, wr_read_t *read, wr_sink_t *sink);

/* What goes with a read that found an item. */
static inline warmring_token_t wr_read_token(const wr_operation_t *operation,
                                             const wr_read_t *read) {
    return (warmring_token_t){{read->answer.cas_out, wr_token_place(operation, read->answer.server),
                               (uint64_t)read->answer.opened_at}};
}

#endif
