/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The poll loop of a batch. A part that is done is polled for nothing: its
 * descriptor is replaced by -1, which poll() skips.
 */
#include "net/batch_poll.h"

#include <poll.h>

#include "base/fail.h"
#include "base/memory.h"

enum { ON_STACK = 32 };

static void expect(struct pollfd *wait, short events, size_t *open) {
    wait->events = events;
    if (events == 0) {
        wait->fd = -1;
        --*open;
    }
}

static size_t start_all(wr_batch_part_t *parts, struct pollfd *waits, size_t count,
                        wr_deadline_t deadline) {
    size_t open = count;
    for (size_t i = 0; i < count; i++) {
        wr_connection_t *connection = parts[i].connection;
        waits[i].fd = connection->transport->descriptor(connection);
        short events =
            connection->transport->start(connection, parts[i].requests, parts[i].count, deadline);
        expect(&waits[i], events, &open);
    }
    return open;
}

static void step_ready(wr_batch_part_t *parts, struct pollfd *waits, size_t count, size_t *open) {
    for (size_t i = 0; i < count; i++) {
        if (waits[i].fd >= 0 && waits[i].revents != 0) {
            wr_connection_t *connection = parts[i].connection;
            expect(&waits[i], connection->transport->step(connection, waits[i].revents), open);
        }
    }
}

static void run_together(wr_batch_part_t *parts, struct pollfd *waits, size_t count,
                         wr_deadline_t deadline) {
    size_t open = start_all(parts, waits, count, deadline);
    bool last = false;
    while (open > 0 && !last) {
        int left = wr_deadline_left_ms(deadline);
        last = left == 0; /* one more look at what has come */
        if (poll(waits, count, left) > 0) {
            step_ready(parts, waits, count, &open);
        }
    }
    for (size_t i = 0; i < count && open > 0; i++) {
        if (waits[i].fd >= 0) {
            parts[i].connection->transport->expire(parts[i].connection);
        }
    }
}

static void refuse_all(wr_batch_part_t *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < parts[i].count; j++) {
            parts[i].requests[j]->status = wr_fail_memory();
            parts[i].requests[j]->sent = false;
        }
    }
}

void wr_batch_poll(wr_batch_part_t *parts, size_t count, wr_deadline_t deadline) {
    struct pollfd few[ON_STACK];
    struct pollfd *waits = count <= ON_STACK ? few : wr_calloc(count, sizeof *waits);
    if (waits == NULL) {
        refuse_all(parts, count);
        return;
    }
    run_together(parts, waits, count, deadline);
    if (waits != few) {
        wr_free(waits);
    }
}
