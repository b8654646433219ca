/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running requests: grouped by server, sent to all servers, then collected.
 *
 * A round is one connection's worth of work for a group. What comes back as
 * CONNECTION_LOST may go into another round:
 *
 * - requests the connection never sent, if it answered others before it
 *   broke: each such round answers at least one, so they end;
 * - those that may be repeated, if it was cut at a value above the limit,
 *   which counts as an answer;
 * - once, those that may be repeated, if the connection had been used before
 *   and gave no answer at all: it was stale, closed by the server while idle,
 *   or out of step, with bytes on it that nobody had asked for. The idle
 *   siblings of a stale one are as old and are closed too. Whether the server
 *   acted on what was sent is unknown, so idempotent verbs are repeated and
 *   the others keep their fault.
 *
 * Several servers share the deadline. Connections that can be driven in steps
 * are opened and run side by side in one poll loop, round by round. What
 * cannot, all that libmemcached does, resolving a name and waiting for a free
 * connection, is waited for one after another, and each wait may take half of
 * what is left: a server that hangs leaves time for the others, and one that
 * is only slow has time enough.
 */
#include "net/internal.h"

#include <string.h>

#include "base/memory.h"
#include "net/batch_poll.h"
#include "net/groups.h"

typedef wr_group_t group_t;

/* ---- accounting -------------------------------------------------------- */

/* What a status says, as bits; the counter of a fault, + 1; and whether a read
 * counts as a hit or as a miss. CUT is the read of a value above the limit, at
 * which the transport hung up. */
enum { LIFE = 1, AGAINST = 2, LOST = 4, OUT_OF_STEP = 8, CUT = 16 };

typedef struct {
    uint8_t signs;
    int8_t counter;
    bool hit;
    bool miss;
} sign_t;

static const sign_t sign_table[WARMRING_OUT_OF_MEMORY + 1] = {
    [WARMRING_OK] = {.signs = LIFE, .hit = true},
    [WARMRING_NOT_FOUND] = {.signs = LIFE, .miss = true},
    [WARMRING_NOT_STORED] = {.signs = LIFE},
    [WARMRING_EXISTS] = {.signs = LIFE},
    [WARMRING_NOT_NUMERIC] = {.signs = LIFE},
    [WARMRING_BUFFER_TOO_SMALL] = {.signs = LIFE, .hit = true},
    [WARMRING_TOO_LARGE] = {.signs = LIFE, .counter = WR_COUNT_server_errors + 1},
    [WARMRING_SERVER_ERROR] = {.signs = LIFE, .counter = WR_COUNT_server_errors + 1},
    [WARMRING_TIMEOUT] = {.signs = AGAINST, .counter = WR_COUNT_timeouts + 1},
    [WARMRING_PROTOCOL_ERROR] = {.signs = AGAINST | OUT_OF_STEP,
                                 .counter = WR_COUNT_protocol_errors + 1},
    [WARMRING_CONNECTION_LOST] = {.signs = AGAINST | LOST},
};

static const sign_t *sign_of(const wr_request_t *request) {
    return &sign_table[request->status];
}

static void count_fault(wr_server_t *server, const sign_t *sign) {
    if (sign->counter > 0) {
        wr_count(server, sign->counter - 1, 1);
    }
}

static bool is_lost(const wr_request_t *request) {
    return request->status == WARMRING_CONNECTION_LOST;
}

static bool is_lost_unsent(const wr_request_t *request) {
    return is_lost(request) && !request->sent;
}

static bool is_cut(const wr_request_t *request) {
    return request->status == WARMRING_TOO_LARGE && wr_verb_info(request->verb)->reads;
}

static bool may_repeat(const wr_request_t *request) {
    return (is_lost(request) || request->status == WARMRING_PROTOCOL_ERROR) &&
           (!request->sent || wr_verb_info(request->verb)->idempotent);
}

/* What became of a group on its connection. */
typedef struct {
    unsigned signs; /* of all; LIFE and AGAINST only of what was sent */
    bool faulty;    /* some request has a fault */
    wr_tally_t tally;
} outcome_t;

/* What becomes of the texts that a round has written, as bits: some are of tries
 * that are made again, some of faults that stay. */
enum { TEXT_GOES = 1, TEXT_STAYS = 2 };

/* What was not sent tells nothing about the server, and what waits for no
 * answer nothing for its life. */
static unsigned signs_to_note(const wr_request_t *request, const sign_t *sign) {
    unsigned ignored = request->sent ? 0 : LIFE | AGAINST;
    ignored |= request->noreply ? LIFE : 0;
    ignored |= request->unbiased ? AGAINST : 0;
    return sign->signs & ~ignored;
}

static unsigned note_fault(wr_server_t *server, const wr_request_t *request, const sign_t *sign) {
    if (is_cut(request)) {
        return CUT;
    }
    count_fault(server, sign);
    return 0;
}

static inline void note(outcome_t *outcome, wr_server_t *server, const wr_request_t *request) {
    const sign_t *sign = sign_of(request);
    if ((sign->signs & ~outcome->signs) != 0) { /* most tell nothing new */
        outcome->signs |= signs_to_note(request, sign);
    }
    outcome->tally.requests += request->sent;
    outcome->faulty |= request->status > WARMRING_EXISTS;
    if (wr_verb_info(request->verb)->reads) {
        outcome->tally.hits += sign->hit;
        outcome->tally.misses += sign->miss;
    }
    if (sign->counter > 0) {
        outcome->signs |= note_fault(server, request, sign);
    }
}

/* What is lost behind a cut is no fault of the server's. */
static void forgive(outcome_t *outcome) {
    if ((outcome->signs & CUT) != 0) {
        outcome->signs &= ~(unsigned)(AGAINST | LOST);
    }
}

static wr_verdict_t verdict_of(const outcome_t *outcome) {
    if ((outcome->signs & AGAINST) != 0) {
        return WR_VERDICT_FAILED;
    }
    return (outcome->signs & LIFE) != 0 ? WR_VERDICT_ALIVE : WR_VERDICT_NEUTRAL;
}

static inline void leave(group_t *group, wr_verdict_t verdict) {
    const wr_net_config_t *config = group->server->config;
    wr_health_leave(&group->server->health, group->admission, verdict, config->failure_limit,
                    config->retry_ms);
    group->admission = WR_PASS;
}

/* ---- one round --------------------------------------------------------- */

/* Whatever became of the last try, the server may have done what an earlier one
 * sent: that nothing was sent must not be the answer. */
static void own_up(wr_request_t *request) {
    if (request->was_sent && !request->sent && !wr_verb_info(request->verb)->reads) {
        bool denies = request->status == WARMRING_CONNECT_FAILED ||
                      request->status == WARMRING_RESOLVE_FAILED;
        request->sent = true;
        request->status = denies ? WARMRING_CONNECTION_LOST : request->status;
    }
}

static void fail_all(group_t *group, warmring_status_t status) {
    for (size_t i = 0; i < group->count; i++) {
        wr_answer_start(group->requests[i], status);
        count_fault(group->server, sign_of(group->requests[i]));
        if (group->repeated) {
            own_up(group->requests[i]);
        }
    }
}

/* What connection the requests of a group need. */
typedef struct {
    wr_time_t opened_before; /* 0: any */
    bool patient;
} need_t;

static inline need_t need_of(const group_t *group) {
    need_t need = {0, false};
    for (size_t i = 0; i < group->count; i++) {
        wr_time_t time = group->requests[i]->opened_before;
        if (time != 0) {
            bool first = need.opened_before == 0;
            need.opened_before = first || time < need.opened_before ? time : need.opened_before;
            need.patient |= group->requests[i]->patient;
        }
    }
    return need;
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

static bool is_free(const wr_request_t *request) {
    return request->opened_before == 0;
}

/* A connection, or in a batch one that is about to be: `whole` is its deadline
 * then, NULL elsewhere. */
static inline warmring_status_t obtain(group_t *group, wr_time_t opened_before, bool patient,
                                       wr_deadline_t *deadline, const wr_deadline_t *whole,
                                       wr_verdict_t *verdict) {
    return whole == NULL ? wr_pool_take(group->server, opened_before, patient, deadline,
                                        &group->connection, verdict)
                         : wr_pool_take_opening(group->server, opened_before, patient, deadline,
                                                *whole, &group->connection, &group->opening);
}

/* When no connection is old enough, only the requests that need one fail. */
static inline warmring_status_t take(group_t *group, wr_deadline_t *deadline,
                                     const wr_deadline_t *whole, wr_verdict_t *verdict) {
    need_t need = need_of(group);
    warmring_status_t status =
        obtain(group, need.opened_before, need.patient, deadline, whole, verdict);
    if (status == WARMRING_OK || need.opened_before == 0) {
        return status;
    }
    size_t number = partition(group, is_free);
    group_t bound = *group;
    bound.requests += number;
    bound.count -= number;
    fail_all(&bound, status);
    group->count = number;
    return number == 0 ? status : obtain(group, 0, false, deadline, whole, verdict);
}

static bool has_steps(const group_t *group) {
    return group->connection != NULL && group->connection->transport->step != NULL;
}

static void send_all(group_t *group, wr_deadline_t deadline) {
    group->connection->transport->send(group->connection, group->requests, group->count, deadline);
}

static inline void refuse(group_t *group, warmring_status_t status, wr_verdict_t verdict) {
    group->connection = NULL;
    fail_all(group, status);
    leave(group, group->requests[0]->unbiased ? WR_VERDICT_NEUTRAL : verdict);
}

/* What became of an opening. */
static void note_opened(group_t *group) {
    wr_verdict_t verdict;
    warmring_status_t status = wr_pool_opened(group->opening, &group->connection, &verdict);
    group->opening = NULL;
    if (status == WARMRING_OK) {
        group->was_used = group->connection->used;
    } else {
        refuse(group, status, verdict);
    }
}

/* Takes a connection. */
static inline void begin(group_t *group, wr_deadline_t *deadline, const wr_deadline_t *whole) {
    wr_server_t *server = group->server;
    wr_verdict_t verdict = WR_VERDICT_NEUTRAL;
    group->connection = NULL;
    warmring_status_t status =
        deadline->made >= deadline->at
            ? wr_fail(WARMRING_TIMEOUT, "%s: deadline passed before anything was sent",
                      server->address)
            : take(group, deadline, whole, &verdict);
    if (status != WARMRING_OK) {
        refuse(group, status, verdict);
    } else if (group->connection != NULL) {
        group->was_used = group->connection->used;
    }
}

static inline void enter(group_t *group, wr_deadline_t *deadline, const wr_deadline_t *whole) {
    group->admission = wr_health_enter(&group->server->health);
    if (group->admission != WR_DOWN) {
        begin(group, deadline, whole);
        return;
    }
    group->connection = NULL;
    fail_all(group, wr_server_fail_down(group->server));
    wr_count(group->server, WR_COUNT_fast_failures, group->count - 1);
}

static void receive_all(group_t *group, wr_deadline_t deadline) {
    group->connection->transport->receive(group->connection, group->requests, group->count,
                                          deadline);
}

/* What all of it came to. */
static void judge(group_t *group, outcome_t *outcome) {
    wr_server_t *server = group->server;
    wr_time_t opened_at = group->connection->opened_at;
    outcome_t noted = {0};
    for (size_t i = 0; i < group->count; i++) {
        group->requests[i]->opened_at = opened_at;
        note(&noted, server, group->requests[i]);
    }
    forgive(&noted);
    *outcome = noted;
    if ((outcome->signs & LOST) != 0) {
        wr_count(server, WR_COUNT_lost_connections, 1);
    }
    if ((outcome->signs & (LOST | OUT_OF_STEP)) != 0) { /* another version may come back */
        atomic_store(&server->speech, WR_SPEECH_UNKNOWN);
    }
    group->connection->used |= (outcome->signs & LIFE) != 0;
}

/* ---- rounds ------------------------------------------------------------ */

/* Whether the connection was of no use before the first request. */
static bool was_stale(const group_t *group, const outcome_t *outcome) {
    return group->was_used && (outcome->signs & LIFE) == 0 &&
           (outcome->signs & (LOST | OUT_OF_STEP)) != 0;
}

/* What of a collected group goes into another round; it moves to the front. */
static size_t choose_again(group_t *group, const outcome_t *outcome) {
    if ((outcome->signs & CUT) != 0) {
        return partition(group, may_repeat);
    }
    if ((outcome->signs & LIFE) != 0) {
        return (outcome->signs & LOST) != 0 ? partition(group, is_lost_unsent) : 0;
    }
    if (group->stale_before || !was_stale(group, outcome)) {
        return 0;
    }
    group->stale_before = true;
    if ((outcome->signs & LOST) != 0) {
        wr_pool_flush(group->server, wr_now());
    }
    return partition(group, may_repeat);
}

/* Whether one that is not run again has a fault. */
static bool leaves_fault(const group_t *group, size_t number) {
    for (size_t i = number; i < group->count; i++) {
        if (group->requests[i]->status > WARMRING_EXISTS) {
            return true;
        }
    }
    return false;
}

static void prepare_again(group_t *group, size_t number) {
    uint64_t repeated = 0;
    group->count = number;
    for (size_t i = 0; i < number; i++) {
        wr_request_t *request = group->requests[i];
        repeated += request->sent;
        request->was_sent = request->sent || (group->repeated && request->was_sent);
    }
    group->repeated = true;
    wr_count(group->server, WR_COUNT_retries, repeated);
}

/* A connection that had been used and was lost for good may have been stale,
 * which says nothing against the server but something against its siblings. */
static wr_verdict_t last_verdict(const group_t *group, const outcome_t *outcome, bool first) {
    if (group->was_used && first && (outcome->signs & LOST) != 0) {
        wr_pool_flush(group->server, wr_now());
        return WR_VERDICT_NEUTRAL;
    }
    return verdict_of(outcome);
}

/* Ends a round whose answers are there; whether there is to be another. */
static bool conclude(group_t *group, unsigned *texts) {
    outcome_t outcome;
    bool first = !group->stale_before;
    judge(group, &outcome);
    size_t number = choose_again(group, &outcome);
    wr_pool_give(group->server, group->connection, &outcome.tally);
    group->connection = NULL;
    for (size_t i = number; group->repeated && i < group->count; i++) {
        own_up(group->requests[i]);
    }
    if (outcome.faulty) {
        *texts |= leaves_fault(group, number) ? TEXT_STAYS : TEXT_GOES;
    }
    if (number == 0) {
        leave(group, last_verdict(group, &outcome, first));
        return false;
    }
    prepare_again(group, number);
    return true;
}

/* Collects a round; whether there is to be another. */
static bool settle(group_t *group, wr_deadline_t deadline, unsigned *texts) {
    receive_all(group, deadline);
    return conclude(group, texts);
}

/* Ends what nearly every call comes to: a request that a server answered, at
 * the first try, with no error. False: there is more to it. */
static inline bool end_plainly(group_t *group) {
    wr_request_t *request = group->requests[0];
    const sign_t *sign = sign_of(request);
    if (sign->signs != LIFE || sign->counter != 0 || group->connection->broken || group->repeated ||
        request->noreply) {
        return false;
    }
    bool reads = wr_verb_info(request->verb)->reads;
    wr_tally_t tally = {1, reads && sign->hit, reads && sign->miss};
    request->opened_at = group->connection->opened_at;
    group->connection->used = true;
    wr_pool_give(group->server, group->connection, &tally);
    leave(group, WR_VERDICT_ALIVE);
    return true;
}

/* A round of one request; whether there is to be another. */
static inline bool call(group_t *group, wr_deadline_t deadline) {
    unsigned texts = 0;
    group->connection->transport->call(group->connection, group->requests, deadline);
    bool again = !end_plainly(group) && conclude(group, &texts);
    if (texts == TEXT_GOES) {
        wr_fail_undo();
    }
    return again;
}

static inline bool exchange(group_t *group, wr_deadline_t deadline) {
    if (group->count == 1 && group->connection->transport->call != NULL) {
        return call(group, deadline);
    }
    wr_detail_t before;
    unsigned texts = 0;
    wr_detail_save(&before);
    send_all(group, deadline);
    bool again = settle(group, deadline, &texts);
    if (texts == TEXT_GOES) {
        wr_detail_restore(&before);
    }
    return again;
}

static inline void run_alone(group_t *group, wr_deadline_t deadline) {
    enter(group, &deadline, NULL);
    while (group->connection != NULL) {
        if (!exchange(group, deadline)) {
            return;
        }
        deadline = wr_deadline_seen(deadline);
        begin(group, &deadline, NULL);
    }
}

void wr_run_now(wr_request_t *request, wr_deadline_t deadline) {
    group_t group = {.requests = &request, .count = 1, .server = request->server};
    run_alone(&group, deadline);
}

void wr_run_one(wr_request_t *request, wr_deadline_t deadline) {
    wr_run_now(request, wr_deadline_seen(deadline));
}

/* ---- several servers --------------------------------------------------- */

/* What can only be opened by waiting is, before the others run. */
static void open_blocking(group_t *group) {
    if (group->opening != NULL && group->opening->state == WR_DIAL_BLOCKS) {
        wr_dial_finish(group->opening, wr_deadline_share(group->opening->deadline, 2));
        note_opened(group);
    }
}

/* Runs the groups that have steps together; the others are sent to before. */
static void run_steps(const wr_groups_t *groups, wr_deadline_t deadline) {
    size_t stepping = 0;
    size_t waiting = 0;
    for (size_t i = 0; i < groups->count; i++) {
        group_t *group = &groups->groups[i];
        if (has_steps(group) || group->opening != NULL) {
            groups->parts[stepping++] =
                (wr_batch_part_t){group->connection, group->opening, group->requests, group->count};
        } else if (group->connection != NULL) {
            send_all(group, wr_deadline_share(deadline, 2));
            waiting++;
        }
    }
    if (stepping > 0) {
        wr_batch_poll(groups->parts, stepping,
                      waiting > 0 ? wr_deadline_share(deadline, 2) : deadline);
    }
}

/* The end of a group's round; whether there is to be another. Where opening it
 * came upon what has no steps, all is still to be done. */
static bool settle_part(group_t *group, wr_deadline_t deadline, unsigned *texts) {
    if (group->opening != NULL) {
        bool blocks = group->opening->state == WR_DIAL_BLOCKS;
        wr_dial_finish(group->opening, deadline);
        note_opened(group);
        if (blocks && group->connection != NULL) {
            send_all(group, wr_deadline_seen(deadline));
        }
    }
    if (group->connection == NULL) {
        *texts |= TEXT_STAYS;
        return false;
    }
    return settle(group, deadline, texts);
}

/* The rounds' ends, in which every wait leaves time for the others; groups with
 * another to come move to the front, in order. */
static size_t settle_all(wr_groups_t *groups, wr_deadline_t deadline, const wr_detail_t *before) {
    size_t number = 0;
    unsigned texts = 0;
    for (size_t i = 0; i < groups->count; i++) {
        bool last = i + 1 == groups->count;
        if (settle_part(&groups->groups[i], wr_deadline_share(deadline, last ? 1 : 2), &texts)) {
            groups->groups[number++] = groups->groups[i];
        }
    }
    if (texts == TEXT_GOES) {
        wr_detail_restore(before);
    }
    return number;
}

static void run_groups(wr_groups_t *groups, wr_deadline_t deadline) {
    if (groups->count == 1) {
        run_alone(&groups->groups[0], wr_deadline_seen(deadline));
        return;
    }
    for (bool first = true; groups->count != 0; first = false) {
        wr_detail_t before;
        wr_detail_save(&before);
        for (size_t i = 0; i < groups->count; i++) {
            wr_deadline_t half = wr_deadline_share(deadline, 2);
            (first ? enter : begin)(&groups->groups[i], &half, &deadline);
            open_blocking(&groups->groups[i]);
        }
        run_steps(groups, deadline);
        groups->count = settle_all(groups, deadline, &before);
    }
}

void wr_run(wr_request_t **requests, size_t count, wr_deadline_t deadline) {
    wr_groups_t groups;
    if (count == 1) {
        wr_run_one(requests[0], deadline);
        return;
    }
    if (wr_groups_make(&groups, requests, count)) {
        run_groups(&groups, deadline);
        wr_groups_free(&groups);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        wr_answer_start(requests[i], wr_fail_memory());
    }
}
