/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running requests: grouped by server, sent to all servers, then collected.
 *
 * A round is one connection's worth of work for a group. What comes back as
 * CONNECTION_LOST may go into another round:
 *
 * - requests the connection never sent, if it answered others before it
 *   broke: each such round answers at least one, so they end;
 * - once, those that may be repeated, if the connection had been used before
 *   and gave no answer at all: it was stale, closed by the server while idle,
 *   or out of step, with bytes on it that nobody had asked for. The idle
 *   siblings of a stale one are as old and are closed too. Whether the server
 *   acted on what was sent is unknown, so idempotent verbs are repeated and
 *   the others keep their fault.
 *
 * Several servers share the deadline. Connections that can be driven in steps
 * run side by side in one poll loop. Those that cannot (libmemcached's) are
 * waited for one after another, each with a fair slice of what is left, and
 * one slice more is kept for what is still to be collected: a server that
 * hangs cannot eat the time of the others.
 */
#include "net/internal.h"

#include <string.h>

#include "base/memory.h"
#include "net/batch_poll.h"

typedef struct {
    wr_request_t **requests;
    size_t count;
    wr_server_t *server;
    wr_connection_t *connection; /* NULL: nothing to collect */
    wr_admission_t admission;
    bool was_used;
} group_t;

static void clear_answer(wr_request_t *request) {
    request->status = WARMRING_OK;
    request->sent = false;
    request->opened_at = 0;
    request->value_out = NULL;
    request->value_length = 0;
    request->flags_out = 0;
    request->cas_out = 0;
    request->number = 0;
    request->ttl = WR_TTL_UNKNOWN;
}

/* ---- accounting -------------------------------------------------------- */

/* The counter of a fault, or -1. */
static int counter_of(warmring_status_t status) {
    static const signed char counters[WARMRING_OUT_OF_MEMORY + 1] = {
        [WARMRING_TIMEOUT] = WR_COUNT_timeouts + 1,
        [WARMRING_SERVER_ERROR] = WR_COUNT_server_errors + 1,
        [WARMRING_TOO_LARGE] = WR_COUNT_server_errors + 1,
        [WARMRING_PROTOCOL_ERROR] = WR_COUNT_protocol_errors + 1,
    };
    return counters[status] - 1;
}

static void count_answer(wr_server_t *server, const wr_request_t *request) {
    int counter = counter_of(request->status);
    if (counter >= 0) {
        wr_count(server, counter, 1);
    } else if (wr_verb_info(request->verb)->reads) {
        if (request->status == WARMRING_NOT_FOUND) {
            wr_count(server, WR_COUNT_misses, 1);
        } else if (wr_is_answer(request->status)) {
            wr_count(server, WR_COUNT_hits, 1);
        }
    }
}

static bool speaks_for_life(const wr_request_t *request) {
    return request->sent && !request->noreply &&
           (wr_is_answer(request->status) || request->status == WARMRING_SERVER_ERROR);
}

static bool speaks_against(const wr_request_t *request) {
    return request->sent &&
           (request->status == WARMRING_TIMEOUT || request->status == WARMRING_CONNECTION_LOST ||
            request->status == WARMRING_PROTOCOL_ERROR);
}

static bool any(const group_t *group, bool (*holds)(const wr_request_t *)) {
    for (size_t i = 0; i < group->count; i++) {
        if (holds(group->requests[i])) {
            return true;
        }
    }
    return false;
}

static wr_verdict_t verdict_of(const group_t *group) {
    if (any(group, speaks_against)) {
        return WR_VERDICT_FAILED;
    }
    return any(group, speaks_for_life) ? WR_VERDICT_ALIVE : WR_VERDICT_NEUTRAL;
}

static void leave(group_t *group, wr_verdict_t verdict) {
    const wr_net_config_t *config = group->server->config;
    wr_health_leave(&group->server->health, group->admission, verdict, config->failure_limit,
                    config->retry_ms);
    group->admission = WR_PASS;
}

/* ---- one round --------------------------------------------------------- */

static void fail_all(group_t *group, warmring_status_t status) {
    for (size_t i = 0; i < group->count; i++) {
        group->requests[i]->status = status;
        int counter = counter_of(status);
        if (counter >= 0) {
            wr_count(group->server, counter, 1);
        }
    }
}

static wr_time_t oldest_needed(const group_t *group) {
    wr_time_t oldest = 0;
    for (size_t i = 0; i < group->count; i++) {
        wr_time_t time = group->requests[i]->opened_before;
        if (time != 0 && (oldest == 0 || time < oldest)) {
            oldest = time;
        }
    }
    return oldest;
}

/* Moves those that `holds` to the front, in order; returns their number. */
static size_t partition(group_t *group, bool (*holds)(const wr_request_t *)) {
    size_t number = 0;
    for (size_t i = 0; i < group->count; i++) {
        wr_request_t *request = group->requests[i];
        if (holds(request)) {
            memmove(&group->requests[number + 1], &group->requests[number],
                    (i - number) * sizeof(wr_request_t *));
            group->requests[number++] = request;
        }
    }
    return number;
}

static bool is_patient(const wr_request_t *request) {
    return request->patient;
}

static bool is_free(const wr_request_t *request) {
    return request->opened_before == 0;
}

/* When no connection is old enough, only the requests that need one fail. */
static warmring_status_t take(group_t *group, wr_deadline_t deadline, wr_verdict_t *verdict) {
    wr_time_t oldest = oldest_needed(group);
    warmring_status_t status = wr_pool_take(group->server, oldest, any(group, is_patient), deadline,
                                            &group->connection, verdict);
    if (status == WARMRING_OK || oldest == 0) {
        return status;
    }
    size_t number = partition(group, is_free);
    group_t bound = *group;
    bound.requests += number;
    bound.count -= number;
    fail_all(&bound, status);
    group->count = number;
    return number == 0
               ? status
               : wr_pool_take(group->server, 0, false, deadline, &group->connection, verdict);
}

static bool has_steps(const group_t *group) {
    return group->connection != NULL && group->connection->transport->step != NULL;
}

static void send_all(group_t *group, wr_deadline_t deadline) {
    group->connection->transport->send(group->connection, group->requests, group->count, deadline);
}

/* Takes a connection. */
static void begin(group_t *group, wr_deadline_t deadline) {
    wr_server_t *server = group->server;
    wr_verdict_t verdict = WR_VERDICT_NEUTRAL;
    group->connection = NULL;
    warmring_status_t status =
        wr_deadline_passed(deadline)
            ? wr_fail(WARMRING_TIMEOUT, "%s: deadline passed before anything was sent",
                      server->address)
            : take(group, deadline, &verdict);
    if (status != WARMRING_OK) {
        group->connection = NULL;
        fail_all(group, status);
        leave(group, verdict);
        return;
    }
    for (size_t i = 0; i < group->count; i++) {
        group->requests[i]->opened_at = group->connection->opened_at;
    }
    group->was_used = group->connection->used;
    for (size_t i = 0; i < group->count; i++) {
        group->requests[i]->opened_at = group->connection->opened_at;
    }
}

static void enter(group_t *group, wr_deadline_t deadline) {
    group->admission = wr_health_enter(&group->server->health);
    if (group->admission != WR_DOWN) {
        begin(group, deadline);
        return;
    }
    group->connection = NULL;
    fail_all(group, wr_server_fail_down(group->server));
    wr_count(group->server, WR_COUNT_fast_failures, group->count - 1);
}

static bool is_lost(const wr_request_t *request) {
    return request->status == WARMRING_CONNECTION_LOST;
}

static bool is_out_of_step(const wr_request_t *request) {
    return request->status == WARMRING_PROTOCOL_ERROR;
}

static bool is_lost_unsent(const wr_request_t *request) {
    return is_lost(request) && !request->sent;
}

static bool may_repeat(const wr_request_t *request) {
    return (is_lost(request) || is_out_of_step(request)) &&
           (!request->sent || wr_verb_info(request->verb)->idempotent);
}

static void collect(group_t *group, wr_deadline_t deadline) {
    wr_server_t *server = group->server;
    group->connection->transport->receive(group->connection, group->requests, group->count,
                                          deadline);
    uint64_t sent = 0;
    for (size_t i = 0; i < group->count; i++) {
        sent += group->requests[i]->sent;
        count_answer(server, group->requests[i]);
    }
    wr_count(server, WR_COUNT_requests, sent);
    if (any(group, is_lost)) {
        wr_count(server, WR_COUNT_lost_connections, 1);
    }
    if (any(group, is_out_of_step)) {
        atomic_store(&server->speech, WR_SPEECH_UNKNOWN);
    }
    if (any(group, speaks_for_life)) {
        group->connection->used = true;
    }
}

/* ---- rounds ------------------------------------------------------------ */

/* Whether the connection was of no use before the first request. */
static bool was_stale(const group_t *group) {
    return group->was_used && !any(group, speaks_for_life) &&
           (any(group, is_lost) || any(group, is_out_of_step));
}

/* What of a collected group goes into another round; it moves to the front. */
static size_t choose_again(group_t *group, bool *stale_before) {
    if (any(group, speaks_for_life)) {
        return partition(group, is_lost_unsent);
    }
    if (*stale_before || !was_stale(group)) {
        return 0;
    }
    *stale_before = true;
    if (any(group, is_lost)) {
        wr_pool_flush(group->server, wr_now());
    }
    return partition(group, may_repeat);
}

/* Whether one that is not run again has a fault, whose text must stay. */
static bool leaves_fault(const group_t *group, size_t number) {
    for (size_t i = number; i < group->count; i++) {
        if (group->requests[i]->status > WARMRING_EXISTS) {
            return true;
        }
    }
    return false;
}

static void again(group_t *group, size_t number, wr_deadline_t deadline) {
    uint64_t repeated = 0;
    group->count = number;
    for (size_t i = 0; i < number; i++) {
        repeated += group->requests[i]->sent;
        clear_answer(group->requests[i]);
    }
    wr_count(group->server, WR_COUNT_retries, repeated);
    begin(group, deadline);
    if (group->connection != NULL) {
        send_all(group, deadline);
    }
}

/* Collects a group and sees it to its end. */
static void finish(group_t *group, wr_deadline_t deadline) {
    bool stale_before = false;
    while (group->connection != NULL) {
        wr_detail_t detail;
        wr_detail_save(&detail);
        collect(group, deadline);
        wr_verdict_t verdict = verdict_of(group);
        bool first = !stale_before;
        size_t number = choose_again(group, &stale_before);
        wr_pool_give(group->server, group->connection);
        group->connection = NULL;
        if (number == 0) {
            if (group->was_used && first && any(group, is_lost)) {
                wr_pool_flush(group->server, wr_now());
                verdict = WR_VERDICT_NEUTRAL;
            }
            leave(group, verdict);
            return;
        }
        if (!leaves_fault(group, number)) {
            wr_detail_restore(&detail);
        }
        again(group, number, deadline);
    }
}

static void run_alone(group_t *group, wr_deadline_t deadline) {
    enter(group, deadline);
    if (group->connection != NULL) {
        send_all(group, deadline);
    }
    finish(group, deadline);
}

void wr_run_one(wr_request_t *request, wr_deadline_t deadline) {
    group_t group = {.requests = &request, .count = 1, .server = request->server};
    clear_answer(request);
    run_alone(&group, deadline);
}

/* ---- several servers --------------------------------------------------- */

static bool in_order(const wr_request_t *first, const wr_request_t *second) {
    return first->server->id <= second->server->id;
}

/* Merge sort: stable, and nothing to do for requests grouped already. */
static void sort(wr_request_t **requests, size_t count, wr_request_t **space) {
    if (count < 2) {
        return;
    }
    size_t half = count / 2;
    sort(requests, half, space);
    sort(requests + half, count - half, space);
    if (in_order(requests[half - 1], requests[half])) {
        return;
    }
    memcpy(space, requests, half * sizeof *space);
    size_t left = 0;
    size_t right = half;
    for (size_t i = 0; left < half; i++) {
        bool take_left = right == count || in_order(space[left], requests[right]);
        requests[i] = take_left ? space[left++] : requests[right++];
    }
}

static size_t make_groups(wr_request_t **requests, size_t count, group_t *groups) {
    size_t number = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || requests[i]->server != requests[i - 1]->server) {
            groups[number++] = (group_t){.requests = &requests[i], .server = requests[i]->server};
        }
        groups[number - 1].count++;
    }
    return number;
}

static wr_deadline_t slice(wr_deadline_t deadline, size_t shares) {
    return (wr_deadline_t){wr_now() + wr_deadline_left(deadline) / (wr_time_t)shares};
}

/* Runs the groups that have steps together; the others are sent to before. */
static void run_steps(group_t *groups, size_t number, wr_batch_part_t *parts,
                      wr_deadline_t deadline) {
    size_t stepping = 0;
    size_t waiting = 0;
    for (size_t i = 0; i < number; i++) {
        group_t *group = &groups[i];
        if (has_steps(group)) {
            parts[stepping++] = (wr_batch_part_t){group->connection, group->requests, group->count};
        } else if (group->connection != NULL) {
            send_all(group, slice(deadline, number - i + 1));
            waiting++;
        }
    }
    if (stepping > 0) {
        wr_batch_poll(parts, stepping, waiting > 0 ? slice(deadline, waiting + 1) : deadline);
    }
}

static void run_groups(group_t *groups, size_t number, wr_batch_part_t *parts,
                       wr_deadline_t deadline) {
    if (number == 1) {
        run_alone(&groups[0], deadline);
        return;
    }
    for (size_t i = 0; i < number; i++) {
        enter(&groups[i], slice(deadline, number - i + 1));
    }
    run_steps(groups, number, parts, deadline);
    for (size_t i = 0; i < number; i++) {
        finish(&groups[i], slice(deadline, number - i));
    }
}

/* What a batch of several requests takes, in one block. */
typedef struct {
    group_t *groups;
    wr_batch_part_t *parts;
    wr_request_t **space;
} room_t;

static bool take_room(room_t *room, size_t count) {
    size_t each = sizeof *room->groups + sizeof *room->parts + sizeof *room->space;
    room->groups = wr_calloc(count, each);
    if (room->groups == NULL) {
        return false;
    }
    room->parts = (wr_batch_part_t *)(room->groups + count);
    room->space = (wr_request_t **)(room->parts + count);
    return true;
}

void wr_run(wr_request_t **requests, size_t count, wr_deadline_t deadline) {
    room_t room;
    if (count == 1) {
        wr_run_one(requests[0], deadline);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        clear_answer(requests[i]);
    }
    if (take_room(&room, count)) {
        sort(requests, count, room.space);
        run_groups(room.groups, make_groups(requests, count, room.groups), room.parts, deadline);
        wr_free(room.groups);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        requests[i]->status = wr_fail_memory();
    }
}
