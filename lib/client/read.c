/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading, and the fill: how a value gets from a key's old owner (O) to its
 * new one (N) without ever bringing back what was overwritten or deleted.
 *
 * A read of a moved key asks N first. On a miss it takes a lease there: a
 * stub, an empty item with reserved flags and a short life, whose CAS value
 * is the token. Only then it reads O, and stores what it found on N bound to
 * the token. Every write touches O first and then N, and whatever it does to
 * N (store or delete) ends the stub. So if the value read from O was old when
 * it was read or became old since, the write that made it old comes to N
 * after the stub was there, and the bound store fails. The order stub, then
 * O, is what this rests on.
 *
 * A stub is a miss for everybody. Who finds another's reads O and copies
 * nothing. The token goes only over a connection that was open before it was
 * taken, so a restart of N, which forgets stubs and starts the CAS values
 * anew, cannot make a stale token good; without such a connection, and after
 * any fault, the fill is dropped and the stub left to die.
 *
 * Many keys take the same way side by side. Each round gathers what the keys
 * of one state ask next and runs it as one batch:
 *
 *   FIRST     the first step of the route: N, or the only owner
 *   GHOST     remove an item that an earlier ring left on N
 *   LEASE     put the stub on N
 *   FALLBACK  ask O
 *   SETTLE    fill N, or end the lease when there is nothing to fill
 *   DONE
 */
#include "client/read.h"

#include "base/fail.h"
#include "client/bind.h"
#include "client/fill.h"
#include "client/observe.h"

enum { FIRST, GHOST, LEASE, FALLBACK, SETTLE, DONE };

typedef struct {
    const wr_operation_t *operation;
    wr_server_t *const *servers; /* by seat */
    wr_read_t *reads;
    size_t count;
    wr_sink_t *sink;
    wr_request_t **queue;
    wr_watch_t *watch;
    wr_counts_t *counts;
    wr_kind_t kind;
} batch_t;

static void count_event(const batch_t *batch, wr_counter_t counter) {
    wr_counts_note(batch->counts, counter);
}

static wr_server_t *server_of(const batch_t *batch, const wr_read_t *read, warmring_side_t side) {
    return batch->servers[read->route.owner[side]];
}

static bool may_fall_back(const wr_read_t *read) {
    return read->route.steps->step[1].action == WR_STEP_FILL;
}

static bool is_filtered(const wr_read_t *read) {
    return read->route.steps->step[0].action == WR_STEP_FILTER;
}

static void make_miss(wr_read_t *read) {
    read->answer.status = WARMRING_NOT_FOUND;
    read->answer.value_out = NULL;
    read->answer.value_length = 0;
}

/* ---- questions: what a key in this state asks -------------------------- */

static inline wr_request_t *ask_get(const batch_t *batch, wr_read_t *read, warmring_side_t side) {
    read->answered_by = (uint8_t)side;
    wr_ask(&read->answer, server_of(batch, read, side), WR_GET, read->key);
    read->answer.sink = batch->sink;
    read->answer.wants_ttl = read->state == FALLBACK && read->leased;
    return &read->answer;
}

static inline wr_request_t *ask_first(const batch_t *batch, wr_read_t *read) {
    return ask_get(batch, read, (warmring_side_t)read->route.steps->step[0].side);
}

static wr_request_t *ask_fallback(const batch_t *batch, wr_read_t *read) {
    read->asked_at = wr_now();
    return ask_get(batch, read, WARMRING_OLD_RING);
}

static wr_request_t *ask_new(const batch_t *batch, wr_read_t *read, wr_verb_t verb) {
    wr_ask(&read->side, server_of(batch, read, WARMRING_NEW_RING), verb, read->key);
    return &read->side;
}

static wr_request_t *ask_ghost(const batch_t *batch, wr_read_t *read) {
    uint64_t cas = read->answer.cas_out;
    wr_request_t *request = ask_new(batch, read, WR_UNLEASE);
    request->cas = cas;
    return request;
}

static wr_request_t *ask_lease(const batch_t *batch, wr_read_t *read) {
    return ask_new(batch, read, WR_LEASE);
}

static wr_request_t *ask_settle(const batch_t *batch, wr_read_t *read) {
    uint64_t token = read->side.cas_out;
    uint32_t expiration = 0;
    bool fill = token != 0 && read->answer.status == WARMRING_OK &&
                wr_fill_expiration(batch->operation, &read->answer, read->asked_at, &expiration);
    wr_verb_t give_up = token != 0 ? WR_UNLEASE : WR_DELETE; /* 0: a server without CAS */
    wr_request_t *request = ask_new(batch, read, fill ? WR_CAS : give_up);
    request->cas = token;
    request->opened_before = read->leased_over;
    if (fill) {
        request->value = (warmring_bytes_t){read->answer.value_out, read->answer.value_length};
        request->flags = read->answer.flags_out;
        request->expiration = expiration;
    }
    return request;
}

/* ---- answers: where a key goes from here -------------------------------- */

static uint8_t after_miss_of_new(const wr_operation_t *operation, wr_read_t *read) {
    make_miss(read);
    if (!may_fall_back(read)) {
        return DONE;
    }
    bool fill = (operation->mode & WARMRING_NO_FILL) == 0;
    return fill ? LEASE : FALLBACK;
}

static inline uint8_t after_hit_of_new(const wr_operation_t *operation, wr_read_t *read) {
    switch (wr_view_judge(operation->view, read->route.owner[WARMRING_NEW_RING],
                          read->answer.cas_out, operation->deadline)) {
    case WR_ITEM_GHOST:
        return GHOST;
    case WR_ITEM_UNCLEAR:
        make_miss(read);
        return may_fall_back(read) ? FALLBACK : DONE;
    default:
        return DONE;
    }
}

static inline uint8_t after_first(const wr_operation_t *operation, wr_read_t *read) {
    wr_request_t *answer = &read->answer;
    if (wr_is_lease(answer)) {
        make_miss(read);
        return may_fall_back(read) ? FALLBACK : DONE;
    }
    if (!is_filtered(read)) {
        return DONE;
    }
    if (answer->status == WARMRING_OK || answer->status == WARMRING_BUFFER_TOO_SMALL) {
        return after_hit_of_new(operation, read);
    }
    if (answer->status == WARMRING_NOT_FOUND) {
        return after_miss_of_new(operation, read);
    }
    read->fault = answer->status;
    return may_fall_back(read) ? FALLBACK : DONE;
}

static uint8_t after_ghost(const batch_t *batch, wr_read_t *read) {
    count_event(batch, WR_COUNT_ghosts);
    return after_miss_of_new(batch->operation, read);
}

static uint8_t after_lease(const batch_t *batch, wr_read_t *read) {
    read->leased = read->side.status == WARMRING_OK;
    read->leased_over = read->side.opened_at;
    if (!read->leased) {
        count_event(batch, WR_COUNT_fills_refused);
    }
    return FALLBACK;
}

static uint8_t after_fallback(const batch_t *batch, wr_read_t *read) {
    count_event(batch, WR_COUNT_fallbacks);
    if (wr_is_lease(&read->answer)) {
        make_miss(read);
    }
    if (read->answer.status == WARMRING_NOT_FOUND && read->fault != WARMRING_OK) {
        read->answer.status = read->fault; /* N may have it: no miss */
    }
    return read->leased ? SETTLE : DONE;
}

static uint8_t after_settle(const batch_t *batch, wr_read_t *read) {
    if (read->side.verb == WR_CAS) {
        bool filled = read->side.status == WARMRING_OK;
        count_event(batch, filled ? WR_COUNT_fills : WR_COUNT_fills_refused);
    }
    return DONE;
}

/* ---- what became of a key ------------------------------------------------ */

static inline wr_counter_t counter_of(const wr_read_t *read) {
    warmring_status_t status = read->answer.status;
    if (status == WARMRING_OK || status == WARMRING_BUFFER_TOO_SMALL) {
        return read->answered_by == WARMRING_NEW_RING ? WR_COUNT_hits_new : WR_COUNT_hits_old;
    }
    if (status == WARMRING_NOT_FOUND) {
        return WR_COUNT_misses;
    }
    return status == WARMRING_TRY_AGAIN ? WR_COUNT_try_again : WR_COUNT_read_errors;
}

/* Returns how many keys are open because of it: none or one. */
static inline size_t enter(const batch_t *batch, wr_read_t *read, uint8_t state) {
    read->state = state;
    if (state == DONE) {
        wr_counter_t counter = counter_of(read);
        count_event(batch, counter);
        if (counter == WR_COUNT_try_again) {
            count_event(batch, WR_COUNT_reads);
        }
        wr_observe(batch->operation, WR_GET, &read->route, read->answered_by, read->answer.status);
    }
    return state != DONE;
}

/* ---- the first round ------------------------------------------------------ */

/* Reads what a cas will be bound to. */
static void read_bound(const batch_t *batch, wr_read_t *read) {
    wr_write_t look;
    wr_write_start(&look, WR_KIND_MODIFY, WR_GET, read->key);
    look.command.sink = batch->sink;
    look.route = read->route;
    wr_bind(batch->operation, &look);
    read->answer = look.request[0];
    read->answer.status = look.status;
    read->answered_by = WARMRING_NEW_RING;
    read->state = DONE;
}

/* Where a read begins: with what N has, unless that is in doubt. */
static inline uint8_t first_round(const wr_operation_t *operation, const wr_read_t *read) {
    return may_fall_back(read) &&
                   wr_view_in_doubt(operation->view, read->route.owner[WARMRING_NEW_RING],
                                    operation->deadline)
               ? FALLBACK
               : FIRST;
}

/* A key that must not be read now. */
static void refuse(const batch_t *batch, wr_read_t *read) {
    read->answered_by = WARMRING_OLD_RING;
    read->answer = (wr_request_t){.key = read->key};
    read->answer.status = wr_fail(WARMRING_TRY_AGAIN, "the key is being handed over in phase %s",
                                  warmring_phase_name(batch->operation->view->phase));
    read->state = DONE;
}

/* One server is asked, and what it says is the answer. */
static inline bool is_plain(const wr_read_t *read) {
    const wr_step_t *step = read->route.steps->step;
    return step[0].action == WR_STEP_RUN && step[1].action == WR_STEP_NONE;
}

static void find_routes(const batch_t *batch, const wr_read_t *reads, size_t count,
                        wr_route_t *routes) {
    const wr_view_t *view = batch->operation->view;
    wr_place_t places[WR_ROUTES_MOST];
    for (size_t i = 0; i < count; i++) {
        places[i] = wr_key_place(batch->operation, reads[i].key);
    }
    wr_route_many(view->topology, places, count, batch->kind, view->rollout, routes);
}

static inline void choose_way(const batch_t *batch, wr_read_t *read) {
    read->leased = false;
    read->fault = WARMRING_OK;
    if (is_plain(read)) {
        read->state = FIRST;
    } else if (wr_is_bound(&read->route)) {
        read_bound(batch, read);
    } else if (read->route.steps->step[0].action == WR_STEP_REFUSE) {
        refuse(batch, read);
    } else {
        read->state = first_round(batch->operation, read);
    }
}

/* A server that hangs leaves half of the time for what others are asked in a
 * further round: O after N, or N after O has answered for another key. */
static wr_deadline_t deadline_of(const batch_t *batch, bool leave_half) {
    wr_deadline_t deadline = batch->operation->deadline;
    return leave_half ? wr_deadline_share(deadline, 2) : deadline;
}

/* What a round has come to so far. */
typedef struct {
    size_t asked;    /* in the queue */
    size_t open;     /* keys that are not done after it */
    bool leave_half; /* of the time */
} round_t;

/* Chooses a key's way, and asks what nearly all ask: the first owner. */
static inline void ask_owner(const batch_t *batch, wr_read_t *read, const wr_route_t *route,
                             round_t *round) {
    read->route = *route;
    choose_way(batch, read);
    if (read->state == FIRST) {
        batch->queue[round->asked++] = ask_first(batch, read);
        round->leave_half |= may_fall_back(read);
    } else {
        round->open += enter(batch, read, read->state);
    }
}

static void ask_owners(const batch_t *batch, wr_read_t *reads, size_t count, round_t *round) {
    wr_route_t routes[WR_ROUTES_MOST];
    find_routes(batch, reads, count, routes);
    for (size_t i = 0; i < count; i++) {
        ask_owner(batch, &reads[i], &routes[i], round);
    }
}

static void ask_all(const batch_t *batch, round_t *round) {
    for (size_t at = 0; at < batch->count; at += WR_ROUTES_MOST) {
        size_t left = batch->count - at;
        ask_owners(batch, batch->reads + at, left < WR_ROUTES_MOST ? left : WR_ROUTES_MOST, round);
    }
}

/* Returns how many keys are not done after it. */
static size_t run_first(const batch_t *batch, const round_t *round) {
    const wr_read_t *end = batch->reads + batch->count;
    size_t open = round->open;
    if (round->asked == 0) {
        return open;
    }
    wr_run(batch->queue, round->asked, deadline_of(batch, round->leave_half));
    for (wr_read_t *read = batch->reads; read < end; read++) {
        if (read->state == FIRST) {
            wr_watch_tell(batch->watch, read->route.owner[read->answered_by], read->answer.status);
            open += enter(batch, read, after_first(batch->operation, read));
        }
    }
    return open;
}

/* ---- further rounds -------------------------------------------------------- */

static const struct {
    wr_request_t *(*ask)(const batch_t *batch, wr_read_t *read);
    uint8_t (*answered)(const batch_t *batch, wr_read_t *read);
} rounds[] = {
    [GHOST] = {ask_ghost, after_ghost},
    [LEASE] = {ask_lease, after_lease},
    [FALLBACK] = {ask_fallback, after_fallback},
    [SETTLE] = {ask_settle, after_settle},
};

/* The seat and status of what a key just asked. */
static void report(const batch_t *batch, const wr_read_t *read) {
    bool of_side = read->state != FALLBACK;
    uint8_t side = of_side ? WARMRING_NEW_RING : read->answered_by;
    wr_watch_tell(batch->watch, read->route.owner[side],
                  of_side ? read->side.status : read->answer.status);
}

/* Whether a key will be asked for in a round after `state`. */
static bool has_more_after(const batch_t *batch, uint8_t state) {
    for (size_t i = 0; i < batch->count && batch->count > 1 && state < SETTLE; i++) {
        if (batch->reads[i].state <= state && may_fall_back(&batch->reads[i])) {
            return true;
        }
    }
    return false;
}

/* Returns how many keys are not done after it. */
static size_t run_round(const batch_t *batch, uint8_t state) {
    size_t asked = 0;
    size_t open = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->reads[i].state == state) {
            batch->queue[asked++] = rounds[state].ask(batch, &batch->reads[i]);
        }
    }
    if (asked > 0) {
        wr_run(batch->queue, asked, deadline_of(batch, has_more_after(batch, state)));
    }
    for (size_t i = 0; i < batch->count; i++) {
        wr_read_t *read = &batch->reads[i];
        if (read->state == state) {
            report(batch, read);
            open += enter(batch, read, rounds[state].answered(batch, read));
        } else {
            open += read->state != DONE;
        }
    }
    return open;
}

/* The rounds behind the first, which left `open` keys. */
static void run_rounds(const batch_t *batch, size_t open) {
    for (uint8_t state = FIRST + 1; open > 0; state++) {
        open = run_round(batch, state);
    }
    wr_counts_add(batch->counts, &batch->operation->client->counters,
                  batch->operation->view->phase);
}

static inline wr_kind_t kind_of(const wr_operation_t *operation) {
    return (operation->mode & WARMRING_FOR_CAS) != 0 ? WR_KIND_MODIFY : WR_KIND_READ;
}

static inline batch_t batch_of(const wr_operation_t *operation, wr_read_t *reads, size_t count,
                               wr_sink_t *sink, wr_request_t **queue, wr_counts_t *counts) {
    return (batch_t){.operation = operation,
                     .servers = operation->view->server,
                     .reads = reads,
                     .count = count,
                     .sink = sink,
                     .queue = queue,
                     .counts = counts,
                     .kind = kind_of(operation)};
}

void wr_read(const wr_operation_t *operation, wr_read_t *reads, size_t count, wr_sink_t *sink,
             wr_request_t **queue, wr_watch_t *watch) {
    wr_counts_t counts = {0};
    round_t round = {0};
    batch_t batch = batch_of(operation, reads, count, sink, queue, &counts);
    batch.watch = watch;
    ask_all(&batch, &round);
    run_rounds(&batch, run_first(&batch, &round));
}

/* ---- one key --------------------------------------------------------------- */

/* Whether it is asked for where its owner is, and no more is to be known before. */
static inline bool asks_owner(const wr_operation_t *operation, const wr_read_t *read) {
    return is_plain(read) || (is_filtered(read) && first_round(operation, read) == FIRST);
}

/* Asks the owner; what is to be done then. */
static inline uint8_t read_at_owner(const wr_operation_t *operation, wr_read_t *read,
                                    wr_sink_t *sink) {
    wr_deadline_t deadline = operation->deadline;
    read->leased = false;
    read->fault = WARMRING_OK;
    read->answered_by = read->route.steps->step[0].side;
    wr_ask(&read->answer, operation->view->server[read->route.owner[read->answered_by]], WR_GET,
           read->key);
    read->answer.sink = sink;
    wr_run_now(&read->answer, may_fall_back(read) ? wr_deadline_half(deadline) : deadline);
    return after_first(operation, read);
}

static void note_read(const wr_operation_t *operation, const wr_read_t *read) {
    wr_count(&operation->client->counters, operation->view->phase, counter_of(read));
    wr_observe(operation, WR_GET, &read->route, read->answered_by, read->answer.status);
}

/* From its route, or from `state` on. */
static void read_in_rounds(const wr_operation_t *operation, wr_read_t *read, uint8_t state,
                           wr_sink_t *sink) {
    wr_counts_t counts = {0};
    round_t round = {0};
    wr_request_t *queue[1];
    batch_t batch = batch_of(operation, read, 1, sink, queue, &counts);
    if (state == FIRST) {
        wr_route_t route = read->route;
        ask_owner(&batch, read, &route, &round);
        run_rounds(&batch, run_first(&batch, &round));
    } else {
        run_rounds(&batch, enter(&batch, read, state));
    }
}

void wr_read_one(const wr_operation_t *operation, wr_read_t *read, wr_sink_t *sink) {
    wr_place_t place = wr_key_place(operation, read->key);
    uint8_t state = FIRST;
    read->route =
        wr_route(operation->view->topology, &place, kind_of(operation), operation->view->rollout);
    if (asks_owner(operation, read)) {
        state = read_at_owner(operation, read, sink);
    }
    if (state == DONE) {
        note_read(operation, read);
    } else {
        read_in_rounds(operation, read, state, sink);
    }
}
