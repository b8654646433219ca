/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing: the steps of the phase table in order, O before N.
 *
 * Nothing is sent when either server is in its back-off. When O surely saw
 * nothing the write ends there. Otherwise N's copy is dealt with whatever O
 * answered, since O may have done it. A store on N becomes a deletion when
 * O's copy may still be there, so that nobody sees a value that could vanish
 * again in favour of an older one.
 *
 * What the caller is told:
 *
 *   O refused, nothing sent    that fault; nothing happened
 *   O failed otherwise         that fault: unknown
 *   O answered, N failed       PARTIAL: unknown
 *   both answered              the answer to the command; a deletion was one
 *                              if either had the key
 */
#include "client/write.h"

#include "base/fail.h"
#include "client/bind.h"
#include "client/observe.h"

typedef struct {
    const wr_operation_t *operation;
    wr_write_t *writes;
    size_t count;
    wr_request_t **queue;
    wr_watch_t *watch;
} batch_t;

static void count_event(const batch_t *batch, wr_counter_t counter) {
    wr_count(&batch->operation->client->counters, batch->operation->view->phase, counter);
}

static wr_step_t step_of(const wr_write_t *write, unsigned step) {
    return write->route.steps->step[step];
}

static uint32_t seat_of(const wr_write_t *write, unsigned step) {
    return write->route.owner[step_of(write, step).side];
}

static wr_server_t *server_of(const batch_t *batch, const wr_write_t *write, unsigned step) {
    return batch->operation->view->server[seat_of(write, step)];
}

/* ---- before the first command ------------------------------------------- */

/* CAS values of other servers, and of other topologies, in which the key may
 * have been changed elsewhere, say nothing here. */
static bool is_foreign(const batch_t *batch, const wr_write_t *write) {
    const warmring_token_t *token = write->token;
    unsigned last = wr_is_bound(&write->route) ? write->steps - 1 : 0;
    return token != NULL &&
           token->word[1] != wr_token_place(batch->operation, server_of(batch, write, last));
}

static warmring_status_t find_refusal(const batch_t *batch, const wr_write_t *write) {
    if (step_of(write, 0).action == WR_STEP_REFUSE) {
        return wr_fail(WARMRING_TRY_AGAIN, "the key is being handed over in phase %s",
                       warmring_phase_name(batch->operation->view->phase));
    }
    if (is_foreign(batch, write)) {
        return WARMRING_EXISTS;
    }
    for (unsigned step = 0; write->steps == WR_STEPS && step < WR_STEPS; step++) {
        wr_server_t *server = server_of(batch, write, step);
        if (wr_server_is_down(server)) {
            return wr_server_fail_down(server);
        }
    }
    return WARMRING_OK;
}

static void choose_way(const batch_t *batch, wr_write_t *write) {
    const wr_operation_t *operation = batch->operation;
    wr_place_t place = wr_key_place(operation, write->command.key);
    write->route =
        wr_route(operation->view->topology, &place, write->kind, operation->view->rollout);
    write->steps = step_of(write, 1).action == WR_STEP_NONE ? 1 : WR_STEPS;
    write->command.noreply = write->steps == 1 && (operation->mode & WARMRING_NOREPLY) != 0;
    write->status = find_refusal(batch, write);
    if (write->status != WARMRING_OK) {
        write->steps = 0;
    } else if (wr_is_bound(&write->route)) {
        write->steps = 0;
        wr_bind(operation, write);
    }
}

/* ---- steps ---------------------------------------------------------------- */

static bool was_fault(const wr_request_t *request) {
    return !wr_is_answer(request->status);
}

static void prepare(const batch_t *batch, wr_write_t *write, unsigned step) {
    bool in_doubt = step > 0 && was_fault(&write->request[0]);
    bool run = step_of(write, step).action == WR_STEP_RUN && !in_doubt;
    wr_request_t *request = &write->request[step];
    if (run) {
        *request = write->command;
        write->result = request;
    } else {
        *request = (wr_request_t){.verb = WR_DELETE, .key = write->command.key};
    }
    request->server = server_of(batch, write, step);
}

/* A token's connection is gone, and with it perhaps the server that gave it. */
static void judge_token(const wr_write_t *write, wr_request_t *request) {
    if (write->token != NULL && request == write->result &&
        request->status == WARMRING_CONNECTION_LOST && !request->sent) {
        request->status = WARMRING_EXISTS;
    }
}

/* The item that an answer comes from is a lease: an empty item to the server,
 * a miss to us. Its CAS value is in *look then. */
static bool met_stub(const batch_t *batch, const wr_request_t *answer, wr_request_t *look) {
    if (answer->verb == WR_GET_AND_TOUCH) {
        *look = *answer;
    } else if (answer->status == WARMRING_NOT_NUMERIC) {
        *look = (wr_request_t){.server = answer->server, .verb = WR_GET, .key = answer->key};
        wr_run_one(look, batch->operation->deadline);
    } else {
        return false;
    }
    return wr_is_lease(look);
}

/* A touch has prolonged a lease, perhaps for ever, and a counter cannot start
 * where one is: it is removed, and whoever has it stores nothing. */
static void see_through_stub(const batch_t *batch, const wr_write_t *write, wr_request_t *request) {
    wr_request_t look;
    if (write->kind != WR_KIND_MODIFY || request != write->result ||
        !met_stub(batch, request, &look)) {
        return;
    }
    wr_request_t remove = {.server = look.server,
                           .verb = WR_UNLEASE,
                           .key = look.key,
                           .cas = look.cas_out,
                           .opened_before = look.opened_at};
    wr_run_one(&remove, batch->operation->deadline);
    if (request->verb == WR_GET_AND_TOUCH) {
        request->status = WARMRING_NOT_FOUND;
        return;
    }
    *request = write->command;
    request->server = look.server;
    wr_run_one(request, batch->operation->deadline);
}

/* Of many keys one server may hang: half of the time is left for the second
 * steps of the others, without which they would be half done. */
static wr_deadline_t deadline_of(const batch_t *batch, unsigned step) {
    wr_deadline_t deadline = batch->operation->deadline;
    for (size_t i = 0; batch->count > 1 && i < batch->count; i++) {
        if (step + 1 < batch->writes[i].steps) {
            return wr_deadline_share(deadline, 2);
        }
    }
    return deadline;
}

static void run_step(const batch_t *batch, unsigned step) {
    size_t asked = 0;
    for (size_t i = 0; i < batch->count; i++) {
        wr_write_t *write = &batch->writes[i];
        if (step < write->steps) {
            prepare(batch, write, step);
            batch->queue[asked++] = &write->request[step];
        }
    }
    if (asked == 0) {
        return;
    }
    wr_run(batch->queue, asked, deadline_of(batch, step));
    for (size_t i = 0; i < batch->count; i++) {
        wr_write_t *write = &batch->writes[i];
        if (step < write->steps) {
            wr_request_t *request = &write->request[step];
            judge_token(write, request);
            see_through_stub(batch, write, request);
            wr_watch_tell(batch->watch, seat_of(write, step), request->status);
            if (was_fault(request) && !request->sent && step == 0) {
                write->steps = 1;
            }
        }
    }
}

/* ---- what became of it ---------------------------------------------------- */

/* Whether O's answer says that it holds what it held before. */
static bool changed_nothing(const wr_write_t *write) {
    warmring_status_t status = write->request[0].status;
    return write->kind == WR_KIND_MODIFY &&
           (status == WARMRING_NOT_FOUND || status == WARMRING_NOT_STORED ||
            status == WARMRING_EXISTS || status == WARMRING_NOT_NUMERIC);
}

/* The old owner has what was written, the new one perhaps an older copy. Where
 * the new one is the authority there is nothing to doubt. */
static void doubt_copy(const batch_t *batch, const wr_write_t *write) {
    const wr_view_t *view = batch->operation->view;
    wr_place_t place = wr_key_place(batch->operation, write->command.key);
    wr_route_t route = wr_route(view->topology, &place, WR_KIND_MODIFY, view->rollout);
    if (route.steps->step[0].action == WR_STEP_RUN) {
        wr_view_doubt(view, route.owner[WARMRING_NEW_RING]);
    }
}

static warmring_status_t combine(const batch_t *batch, const wr_write_t *write) {
    const wr_request_t *first = &write->request[0];
    const wr_request_t *second = &write->request[1];
    if (write->steps < WR_STEPS || was_fault(first) || changed_nothing(write)) {
        return first->status;
    }
    if (was_fault(second)) {
        doubt_copy(batch, write);
        return WARMRING_PARTIAL;
    }
    if (write->kind == WR_KIND_ERASE) {
        return first->status == WARMRING_OK ? WARMRING_OK : second->status;
    }
    return write->result != NULL ? write->result->status : WARMRING_OK;
}

/* That of the server that ran the command, or would have. */
static uint8_t side_of(const wr_write_t *write) {
    const wr_step_t *steps = write->route.steps->step;
    bool second = steps[1].action == WR_STEP_RUN && steps[0].action != WR_STEP_RUN;
    return wr_is_bound(&write->route) || second ? WARMRING_NEW_RING : steps[0].side;
}

static void finish(const batch_t *batch, wr_write_t *write) {
    count_event(batch, WR_COUNT_writes);
    if (write->steps > 0) {
        write->status = combine(batch, write);
    }
    wr_observe(batch->operation, write->command.verb, &write->route, side_of(write), write->status);
    if (write->status == WARMRING_PARTIAL) {
        count_event(batch, WR_COUNT_partial_writes);
    }
    if (write->status == WARMRING_TRY_AGAIN) {
        count_event(batch, WR_COUNT_try_again);
    } else if (!wr_is_answer(write->status)) {
        count_event(batch, WR_COUNT_write_errors);
    }
}

warmring_status_t wr_value_check(warmring_bytes_t bytes, uint32_t flags) {
    const char *value = bytes.data;
    if (bytes.length > 0 && WR_HAS_NULL(value)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (flags == WARMRING_RESERVED_FLAGS) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "flags 0x%x are reserved", WARMRING_RESERVED_FLAGS);
    }
    return WARMRING_OK;
}

static void run_steps(const batch_t *batch) {
    for (unsigned step = 0; step < WR_STEPS; step++) {
        run_step(batch, step);
    }
    for (size_t i = 0; i < batch->count; i++) {
        finish(batch, &batch->writes[i]);
    }
}

void wr_write(const wr_operation_t *operation, wr_write_t *writes, size_t count,
              wr_request_t **queue, wr_watch_t *watch) {
    batch_t batch = {operation, writes, count, queue, watch};
    for (size_t i = 0; i < count; i++) {
        choose_way(&batch, &writes[i]);
    }
    run_steps(&batch);
}

/* ---- one key --------------------------------------------------------------- */

/* The caller's command on one server is all there is to do. */
static inline bool is_plain(const wr_write_t *write) {
    return write->steps == 1 && step_of(write, 0).action == WR_STEP_RUN;
}

static inline void run_plain(const batch_t *batch, wr_write_t *write) {
    wr_request_t *command = &write->command;
    command->server = server_of(batch, write, 0);
    write->result = command;
    wr_run_now(command, batch->operation->deadline);
    judge_token(write, command);
    see_through_stub(batch, write, command);
    write->status = command->status;
    write->steps = 0; /* none is left to be combined with it */
}

void wr_write_one(const wr_operation_t *operation, wr_write_t *write) {
    wr_request_t *queue[1];
    batch_t batch = {operation, write, 1, queue, NULL};
    choose_way(&batch, write);
    if (is_plain(write)) {
        run_plain(&batch, write);
        finish(&batch, write);
    } else {
        run_steps(&batch);
    }
}
