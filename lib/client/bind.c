/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command on the new owner (N), bound to the very item it found there.
 *
 * From DRAINING on N is the authority, but not every item on N counts: a
 * ghost was left by an earlier ring, a stub is a lease. And in DRAINING the
 * value may still be on the old owner (O) alone. So the command is run in
 * rounds, until nobody came between:
 *
 *   look      at N's item. A ghost is removed. Another's stub is given a few
 *             milliseconds to become a value, then it is removed too.
 *   promote   when N has nothing: take a lease there, read O (if it may have
 *             the value), and store what it has bound to the lease, with what
 *             is left of its TTL; then look again. When O has nothing the
 *             lease is kept, for commands that create the key.
 *   erase     O's copy, which is older than what comes now
 *   run       the command, bound to the CAS value of the item or the lease.
 *             EXISTS or NOT_FOUND: somebody was faster; from the start.
 *
 * Every other writer touches O first and N second, and whatever it does to N
 * changes or removes the item that the command is bound to. Nothing is lost:
 * an increment counts on the value it was bound to or starts over.
 */
#include "client/bind.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/fail.h"
#include "base/memory.h"
#include "client/fill.h"
#include "client/sink.h"

enum { ROUNDS = 100, PATIENCE = 4 };

/* Where a round stands. */
typedef enum {
    PRESENT, /* `cas` is that of N's item */
    LEASED,  /* nobody has the key; `cas` is our stub's */
    ABSENT,  /* N has nothing */
    AGAIN,   /* somebody came between */
    OVER     /* write->status says how it ended */
} state_t;

typedef struct {
    const wr_operation_t *operation;
    wr_write_t *write;
    uint64_t cas;
    wr_time_t over; /* when the connection that told `cas` was opened */
    unsigned stubs; /* how often another's stub was met */
} bind_t;

/* What each verb does where there is no value. */
typedef struct {
    warmring_status_t missing;
    bool creates;
    bool creates_with_initial;
} absence_t;

static const absence_t absences[WR_VERBS] = {
    [WR_GET] = {WARMRING_NOT_FOUND, false, false},
    [WR_ADD] = {WARMRING_NOT_STORED, true, false},
    [WR_REPLACE] = {WARMRING_NOT_STORED, false, false},
    [WR_APPEND] = {WARMRING_NOT_STORED, false, false},
    [WR_PREPEND] = {WARMRING_NOT_STORED, false, false},
    [WR_CAS] = {WARMRING_NOT_FOUND, false, false},
    [WR_TOUCH] = {WARMRING_NOT_FOUND, false, false},
    [WR_GET_AND_TOUCH] = {WARMRING_NOT_FOUND, false, false},
    [WR_INCREMENT] = {WARMRING_NOT_FOUND, false, true},
    [WR_DECREMENT] = {WARMRING_NOT_FOUND, false, true},
};

static wr_action_t first_action(const bind_t *bind) {
    return (wr_action_t)bind->write->route.steps->step[0].action;
}

static uint32_t seat_of(const bind_t *bind, warmring_side_t side) {
    return bind->write->route.owner[side];
}

static wr_server_t *server_of(const bind_t *bind, warmring_side_t side) {
    return bind->operation->view->server[seat_of(bind, side)];
}

static void ask(const bind_t *bind, wr_request_t *request, warmring_side_t side) {
    request->server = server_of(bind, side);
    request->key = bind->write->command.key;
    wr_run_one(request, bind->operation->deadline);
}

static state_t end_with(bind_t *bind, warmring_status_t status) {
    bind->write->status = status;
    return OVER;
}

/* Removes N's item if it is still the one with `cas`. */
static warmring_status_t remove_item(const bind_t *bind, uint64_t cas, wr_time_t over) {
    wr_request_t request = {.verb = WR_UNLEASE, .cas = cas, .opened_before = over};
    ask(bind, &request, WARMRING_NEW_RING);
    return request.status;
}

static bool creates(const bind_t *bind) {
    const wr_request_t *command = &bind->write->command;
    const absence_t *absence = &absences[command->verb];
    return absence->creates || (absence->creates_with_initial && command->initial != NULL);
}

/* ---- look -------------------------------------------------------------- */

static void rest(unsigned times) {
    struct timespec pause = {0, 1000000L << times};
    nanosleep(&pause, NULL);
}

static state_t meet_stub(bind_t *bind, const wr_request_t *look) {
    if (bind->write->command.verb == WR_CAS && look->cas_out == bind->write->command.cas) {
        return PRESENT; /* the caller's own lease */
    }
    if (bind->stubs < PATIENCE) {
        rest(bind->stubs++);
        return AGAIN;
    }
    remove_item(bind, look->cas_out, look->opened_at);
    return AGAIN;
}

static state_t look(bind_t *bind) {
    wr_write_t *write = bind->write;
    wr_request_t *look = &write->request[0];
    *look = (wr_request_t){.verb = WR_GET};
    look->sink = write->command.verb == WR_GET ? write->command.sink : NULL;
    ask(bind, look, WARMRING_NEW_RING);
    bind->cas = look->cas_out;
    bind->over = look->opened_at;
    if (look->status == WARMRING_NOT_FOUND) {
        return ABSENT;
    }
    if (look->status != WARMRING_OK && look->status != WARMRING_BUFFER_TOO_SMALL) {
        return end_with(bind, look->status);
    }
    if (look->cas_out == 0) {
        return end_with(bind, wr_fail_no_cas(look->server));
    }
    if (wr_is_lease(look)) {
        return meet_stub(bind, look);
    }
    wr_item_t item = wr_view_judge(bind->operation->view, seat_of(bind, WARMRING_NEW_RING),
                                   look->cas_out, bind->operation->deadline);
    if (item == WR_ITEM_GHOST) {
        wr_count(&bind->operation->client->counters, bind->operation->view->phase, WR_COUNT_ghosts);
        remove_item(bind, look->cas_out, look->opened_at);
        return AGAIN;
    }
    if (item == WR_ITEM_UNCLEAR) {
        return end_with(bind, wr_fail(WARMRING_TRY_AGAIN,
                                      "%s: this client joined the migration in phase HANDOVER or "
                                      "later and cannot tell whether the value is an old copy",
                                      wr_server_address(look->server)));
    }
    return PRESENT;
}

/* ---- promote ------------------------------------------------------------- */

/* Whether N will not take the value in another round either: it is too large
 * for N, or N has no room. A lease that was lost is another thing. */
static bool was_refused(const wr_request_t *copy) {
    bool lost = copy->status == WARMRING_CONNECTION_LOST && !copy->sent;
    return copy->status == WARMRING_TOO_LARGE || !(wr_is_answer(copy->status) || lost);
}

static state_t store_copy(bind_t *bind, const wr_request_t *original, wr_time_t asked_at) {
    wr_request_t copy = {.verb = WR_CAS,
                         .value = {original->value_out, original->value_length},
                         .flags = original->flags_out,
                         .cas = bind->cas,
                         .opened_before = bind->over,
                         .patient = true};
    if (original->ttl == WR_TTL_UNKNOWN) {
        remove_item(bind, bind->cas, bind->over);
        return end_with(bind, wr_fail(WARMRING_NOT_SUPPORTED,
                                      "%s: libmemcached cannot tell how long the value lives, "
                                      "which has to move with it",
                                      wr_server_address(original->server)));
    }
    if (!wr_fill_expiration(bind->operation, original, asked_at, &copy.expiration)) {
        return LEASED; /* about to expire */
    }
    ask(bind, &copy, WARMRING_NEW_RING);
    if (copy.status == WARMRING_OK) {
        wr_count(&bind->operation->client->counters, bind->operation->view->phase, WR_COUNT_fills);
    }
    return was_refused(&copy) ? end_with(bind, copy.status) : AGAIN;
}

/* What O has, under our lease on N. */
static state_t ask_old(bind_t *bind) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    wr_item_sink_t sink = wr_item_sink(&item);
    wr_time_t asked_at = wr_now();
    wr_request_t original = {.verb = WR_GET, .wants_ttl = true, .sink = &sink.sink};
    ask(bind, &original, WARMRING_OLD_RING);
    state_t state = LEASED;
    if (original.status == WARMRING_OK && !wr_is_lease(&original)) {
        state = store_copy(bind, &original, asked_at);
    } else if (!wr_is_answer(original.status)) {
        remove_item(bind, bind->cas, bind->over);
        state = end_with(bind, original.status);
    }
    warmring_item_clear(&item);
    return state;
}

/* Nobody has the key, unless our lease was taken away: then somebody else may
 * have moved O's value to N before we looked at O. */
static state_t give_up(bind_t *bind) {
    warmring_status_t status = remove_item(bind, bind->cas, bind->over);
    return status == WARMRING_NOT_FOUND || status == WARMRING_EXISTS
               ? AGAIN
               : end_with(bind, absences[bind->write->command.verb].missing);
}

static state_t promote(bind_t *bind) {
    if (first_action(bind) != WR_STEP_PROMOTE && !creates(bind)) {
        return end_with(bind, absences[bind->write->command.verb].missing);
    }
    wr_request_t lease = {.verb = WR_LEASE};
    ask(bind, &lease, WARMRING_NEW_RING);
    if (lease.status != WARMRING_OK) {
        return lease.status == WARMRING_NOT_STORED ? AGAIN : end_with(bind, lease.status);
    }
    if (lease.cas_out == 0) {
        wr_request_t erase = {.verb = WR_DELETE};
        ask(bind, &erase, WARMRING_NEW_RING);
        return end_with(bind, wr_fail_no_cas(lease.server));
    }
    bind->cas = lease.cas_out;
    bind->over = lease.opened_at;
    state_t state = first_action(bind) == WR_STEP_PROMOTE ? ask_old(bind) : LEASED;
    return state == LEASED && !creates(bind) ? give_up(bind) : state;
}

/* ---- run ----------------------------------------------------------------- */

/* The command as it is sent, in request[0]. */
static void bind_command(const bind_t *bind, state_t state, char digits[24]) {
    wr_write_t *write = bind->write;
    wr_request_t *request = &write->request[0];
    *request = write->command;
    request->opened_before = bind->over;
    request->patient = true;
    request->noreply = false;
    if (request->verb == WR_CAS) {
        return; /* bound already */
    }
    request->cas = bind->cas;
    if (request->verb == WR_TOUCH || request->verb == WR_GET_AND_TOUCH) {
        request->verb = WR_GET_AND_TOUCH; /* its answer shows what was touched */
        request->cas = 0;
    } else if (request->verb == WR_REPLACE || request->verb == WR_ADD) {
        request->verb = WR_CAS;
    } else if (state == LEASED) {
        int length = snprintf(digits, 24, "%" PRIu64, *write->command.initial);
        request->verb = WR_CAS;
        request->value = (warmring_bytes_t){digits, (size_t)length};
        request->number = *write->command.initial;
    }
}

/* The deletion of O's copy; false when it ended the command. */
static bool erase_old(bind_t *bind) {
    if (first_action(bind) == WR_STEP_BIND) {
        return true;
    }
    wr_request_t erase = {.verb = WR_DELETE};
    ask(bind, &erase, WARMRING_OLD_RING);
    if (!wr_is_answer(erase.status)) {
        end_with(bind, erase.status);
        return false;
    }
    return true;
}

static state_t judge(bind_t *bind) {
    wr_request_t *request = &bind->write->request[0];
    bool mine = bind->write->command.verb == WR_CAS;
    if (request->status == WARMRING_CONNECTION_LOST && !request->sent) {
        return mine ? end_with(bind, WARMRING_EXISTS) : AGAIN;
    }
    if (!mine && (request->status == WARMRING_EXISTS || request->status == WARMRING_NOT_FOUND)) {
        return AGAIN;
    }
    if (request->verb == WR_GET_AND_TOUCH && wr_is_lease(request)) {
        remove_item(bind, request->cas_out, request->opened_at);
        return AGAIN;
    }
    return end_with(bind, request->status);
}

static state_t run(bind_t *bind, state_t state) {
    wr_write_t *write = bind->write;
    wr_verb_t verb = write->command.verb;
    char digits[24];
    if (verb == WR_GET) {
        return end_with(bind, write->request[0].status);
    }
    if (state == PRESENT && verb == WR_ADD) {
        return end_with(bind, WARMRING_NOT_STORED);
    }
    if (verb == WR_CAS && bind->cas != write->command.cas) {
        return end_with(bind, WARMRING_EXISTS);
    }
    bind_command(bind, state, digits);
    wr_request_t *request = &write->request[0];
    if (request->cas != 0 && request->verb != WR_CAS &&
        !wr_server_binds(server_of(bind, WARMRING_NEW_RING))) {
        return end_with(bind, wr_fail(WARMRING_NOT_SUPPORTED,
                                      "%s: libmemcached cannot bind %s to a value, which this "
                                      "phase of a migration needs",
                                      wr_server_address(server_of(bind, WARMRING_NEW_RING)),
                                      wr_verb_info(verb)->name));
    }
    if (!erase_old(bind)) {
        return OVER;
    }
    uint64_t initial = request->number;
    ask(bind, request, WARMRING_NEW_RING);
    if (state == LEASED && (verb == WR_INCREMENT || verb == WR_DECREMENT)) {
        request->number = initial;
    }
    return judge(bind);
}

void wr_bind(const wr_operation_t *operation, wr_write_t *write) {
    bind_t bind = {.operation = operation, .write = write};
    write->result = &write->request[0];
    for (int round = 0; round < ROUNDS; round++) {
        state_t state = look(&bind);
        if (state == ABSENT) {
            state = promote(&bind);
        }
        if (state == PRESENT || state == LEASED) {
            state = run(&bind, state);
        }
        if (state == OVER) {
            return;
        }
    }
    write->status =
        wr_fail(WARMRING_TRY_AGAIN, "others changed the key %d times meanwhile", ROUNDS);
}
