/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The poll loop of a batch. What a part waits for stands in its pollfd; a part
 * that is done, or waits for time alone, has -1 there, which poll() skips. The
 * last one to be done is waited for in a recv, as a single call is.
 *
 * Servers mostly answer soon and at about the same time. So once all is sent,
 * each is first waited for in a recv, one after the other, which saves a poll()
 * for each. A server that lets the others' answers wait for longer than TURN_MS
 * ends that, as does half of the time there is.
 */
#include "net/batch_poll.h"

#include <poll.h>

#include "base/fail.h"
#include "base/memory.h"

enum { ON_STACK = 32, TURN_MS = 20, NS_PER_MS = 1000000 };

typedef struct {
    wr_batch_part_t *parts;
    struct pollfd *waits;
    size_t count;
    size_t open;    /* parts that are not done */
    size_t opening; /* those whose connection is being opened */
    wr_deadline_t deadline;
} loop_t;

static bool is_opening(const wr_batch_part_t *part) {
    return part->connection == NULL && part->opening->state == WR_DIAL_WAITS;
}

static void expect(loop_t *loop, size_t i, short events) {
    loop->waits[i].events = events;
    if (events == 0) {
        loop->waits[i].fd = -1;
        loop->open--;
    }
}

static void refuse(const wr_batch_part_t *part, warmring_status_t status) {
    for (size_t i = 0; i < part->count; i++) {
        wr_answer_start(part->requests[i], status);
    }
}

static void start(loop_t *loop, size_t i) {
    wr_batch_part_t *part = &loop->parts[i];
    wr_connection_t *connection = part->connection;
    loop->waits[i].fd = connection->transport->descriptor(connection);
    expect(loop, i,
           connection->transport->start(connection, part->requests, part->count, loop->deadline));
}

/* A connection is open, which may have taken all the time. */
static void start_opened(loop_t *loop, size_t i) {
    wr_batch_part_t *part = &loop->parts[i];
    part->connection = part->opening->connection;
    loop->deadline = wr_deadline_seen(loop->deadline);
    if (!wr_deadline_passed(loop->deadline)) {
        start(loop, i);
        return;
    }
    refuse(part, wr_fail(WARMRING_TIMEOUT, "%s: deadline passed before anything was sent",
                         wr_server_address(part->connection->server)));
    expect(loop, i, 0);
}

/* After a step of an opening. */
static void follow(loop_t *loop, size_t i) {
    wr_dial_t *opening = loop->parts[i].opening;
    if (opening->state == WR_DIAL_WAITS) {
        bool polls = opening->wait.events != 0;
        loop->waits[i].fd =
            polls ? opening->connection->transport->descriptor(opening->connection) : -1;
        loop->waits[i].events = opening->wait.events;
        loop->waits[i].revents = 0;
        return;
    }
    loop->opening--;
    if (opening->state == WR_DIAL_OVER && opening->status == WARMRING_OK) {
        start_opened(loop, i);
    } else {
        expect(loop, i, 0);
    }
}

static void start_all(loop_t *loop) {
    loop->open = loop->count;
    loop->opening = 0;
    for (size_t i = 0; i < loop->count; i++) {
        if (loop->parts[i].connection != NULL) {
            start(loop, i);
        } else {
            loop->opening++;
            follow(loop, i);
        }
    }
}

static void step_ready(loop_t *loop) {
    for (size_t i = 0; i < loop->count; i++) {
        wr_connection_t *connection = loop->parts[i].connection;
        if (loop->waits[i].fd >= 0 && loop->waits[i].revents != 0 && connection != NULL) {
            expect(loop, i, connection->transport->step(connection, loop->waits[i].revents));
        }
    }
}

static void step_openings(loop_t *loop) {
    wr_time_t now = wr_now();
    for (size_t i = 0; i < loop->count && loop->opening > 0; i++) {
        wr_batch_part_t *part = &loop->parts[i];
        if (!is_opening(part)) {
            continue;
        }
        short ready = loop->waits[i].fd >= 0 ? loop->waits[i].revents : 0;
        if (ready != 0 || now >= wr_dial_alarm(part->opening)) {
            wr_dial_step(part->opening, ready);
            follow(loop, i);
        }
    }
}

static wr_deadline_t next_alarm(const loop_t *loop) {
    wr_deadline_t next = loop->deadline;
    for (size_t i = 0; i < loop->count && loop->opening > 0; i++) {
        if (is_opening(&loop->parts[i])) {
            next =
                wr_deadline_min(next, (wr_deadline_t){.at = wr_dial_alarm(loop->parts[i].opening)});
        }
    }
    return next;
}

static void expire_all(loop_t *loop) {
    for (size_t i = 0; i < loop->count && loop->open > 0; i++) {
        wr_batch_part_t *part = &loop->parts[i];
        if (part->connection != NULL && loop->waits[i].fd >= 0) {
            part->connection->transport->expire(part->connection);
        }
        while (part->connection == NULL && is_opening(part)) {
            wr_dial_step(part->opening, 0);
        }
    }
}

/* The only open part needs no poll(): it waits as a single call does. */
static void finish_last(loop_t *loop) {
    for (size_t i = 0; i < loop->count && loop->open > 0; i++) {
        wr_batch_part_t *part = &loop->parts[i];
        if (part->connection != NULL && loop->waits[i].fd >= 0) {
            part->connection->transport->receive(part->connection, part->requests, part->count,
                                                 wr_deadline_seen(loop->deadline));
            expect(loop, i, 0);
        }
    }
}

static bool is_all_sent(const loop_t *loop) {
    for (size_t i = 0; i < loop->count; i++) {
        if (loop->waits[i].fd >= 0 && loop->waits[i].events != POLLIN) {
            return false;
        }
    }
    return loop->opening == 0;
}

static void receive_in_turn(loop_t *loop) {
    wr_deadline_t turn = wr_deadline_share(loop->deadline, 2);
    turn = wr_deadline_min(
        turn, (wr_deadline_t){.at = turn.made + TURN_MS * NS_PER_MS, .made = turn.made});
    for (size_t i = 0; i < loop->count; i++) {
        wr_connection_t *connection = loop->parts[i].connection;
        if (loop->waits[i].fd >= 0) {
            turn = wr_deadline_seen(turn);
            expect(loop, i, connection->transport->await(connection, turn));
            if (loop->waits[i].fd >= 0) {
                return;
            }
        }
    }
}

static void run_together(loop_t *loop) {
    start_all(loop);
    if (is_all_sent(loop)) {
        receive_in_turn(loop);
    }
    bool last = false;
    while (!last && (loop->open > 1 || loop->opening > 0)) {
        int left = wr_deadline_left_ms(next_alarm(loop));
        last = left == 0 && wr_deadline_passed(loop->deadline); /* one more look at what has come */
        int ready = poll(loop->waits, loop->count, left);
        if (ready > 0) {
            step_ready(loop);
        }
        if (ready >= 0 && loop->opening > 0) {
            step_openings(loop);
        }
    }
    if (loop->open == 1 && loop->opening == 0) {
        finish_last(loop);
    }
    expire_all(loop);
}

static void refuse_all(const wr_batch_part_t *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        refuse(&parts[i], wr_fail_memory());
        if (parts[i].opening != NULL && parts[i].connection == NULL) {
            wr_dial_cancel(parts[i].opening, WARMRING_OUT_OF_MEMORY);
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
    loop_t loop = {.parts = parts, .waits = waits, .count = count, .deadline = deadline};
    run_together(&loop);
    if (waits != few) {
        wr_free(waits);
    }
}
