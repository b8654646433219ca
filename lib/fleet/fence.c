/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fence. Whoever changes the file leaves its count of steps on every
 * server. A client whose copy of the file is no longer updated would go on
 * with an old topology for ever and never know; here it learns from the
 * servers, which it talks to anyway, that it was left behind.
 *
 * A client may be one step behind, which is what the phases allow. One that
 * finds two steps more than its file has may not be used.
 *
 * All servers are asked side by side, with a deadline so short that none of
 * them holds up the operation that the look is made for. What they answer
 * counts, what they do not, does not, neither against them nor for them: a
 * server that hangs is left alone for a while. The highest count stands until
 * all servers have answered with less. A server that has no count, since it was
 * flushed or restarted, does not say less: a client that was left behind once
 * must not go on because of that.
 *
 * The same round leaves reports: where the deletion of a copy on a new owner
 * failed, other clients do not know that the copy is old. The operator's
 * COMMIT reads the reports and raises the watermark of that server for all.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "client/sink.h"
#include "fleet/follower.h"
#include "fleet/keys.h"

enum { LONGEST_MS = 100, DIGITS = 24 };

static const wr_time_t ns_per_second = 1000000000;
static const wr_time_t rest_of_hanging = INT64_C(5000000000);

/* One question for each seat; `queue` has those that are asked. */
typedef struct {
    wr_request_t *requests;
    wr_request_t **queue;
    wr_buffer_sink_t *sinks;
    char (*digits)[DIGITS];
    size_t asked;
} round_t;

static void free_round(round_t *round) {
    wr_free(round->requests);
    wr_free(round->queue);
    wr_free(round->sinks);
    wr_free(round->digits);
}

static bool make_round(round_t *round, uint32_t seats) {
    *round = (round_t){.requests = wr_calloc(seats, sizeof *round->requests),
                       .queue = wr_calloc(seats, sizeof *round->queue),
                       .sinks = wr_calloc(seats, sizeof *round->sinks),
                       .digits = wr_calloc(seats, sizeof *round->digits)};
    if (round->requests != NULL && round->queue != NULL && round->sinks != NULL &&
        round->digits != NULL) {
        return true;
    }
    free_round(round);
    return false;
}

/* Room for the rests of the servers of this view. */
static bool fit_rests(wr_fence_t *fence, const wr_view_t *view) {
    uint64_t epoch = warmring_topology_epoch(view->topology);
    if (fence->ask_at != NULL && fence->epoch == epoch && fence->seats == view->seats) {
        return true;
    }
    wr_time_t *rests = wr_calloc(view->seats, sizeof *rests);
    if (rests == NULL) {
        return false;
    }
    wr_free(fence->ask_at);
    fence->ask_at = rests;
    fence->seats = view->seats;
    fence->epoch = epoch;
    return true;
}

/* Servers that hang while others answer are left alone for a while. Where none
 * answers it may be this process that was slow, and nobody would tell it
 * anything in the meantime. */
static void give_rest(const round_t *round, uint32_t seats, wr_fence_t *fence, wr_time_t now) {
    bool any = false;
    for (uint32_t seat = 0; seat < seats; seat++) {
        any = any || wr_is_answer(round->requests[seat].status);
    }
    for (uint32_t seat = 0; any && seat < seats; seat++) {
        if (round->requests[seat].status == WARMRING_TIMEOUT) {
            fence->ask_at[seat] = now + rest_of_hanging;
        }
    }
}

/* Asks every server that is up and answers; `question` but for the server. */
static void ask_all(round_t *round, const wr_view_t *view, wr_fence_t *fence,
                    const wr_request_t *question, wr_deadline_t deadline) {
    wr_time_t now = wr_boot_now();
    round->asked = 0;
    for (uint32_t seat = 0; seat < view->seats; seat++) {
        wr_request_t *request = &round->requests[seat];
        *request = *question;
        request->server = view->server[seat];
        request->unbiased = true;
        round->sinks[seat] = wr_buffer_sink(round->digits[seat], DIGITS - 1);
        request->sink = question->verb == WR_GET ? &round->sinks[seat].sink : NULL;
        if (now >= fence->ask_at[seat] && !wr_server_is_down(view->server[seat])) {
            round->queue[round->asked++] = request;
        } else {
            request->status = WARMRING_SERVER_DOWN;
        }
    }
    if (round->asked > 0) {
        wr_run(round->queue, round->asked,
               wr_deadline_min(wr_deadline_share(deadline, 4), wr_deadline_in_ms(LONGEST_MS)));
    }
    give_rest(round, view->seats, fence, now);
}

/* ---- counts -------------------------------------------------------------------- */

static bool read_count(const wr_request_t *answer, uint64_t *steps) {
    return !wr_is_stub(answer) &&
           wr_parse_uint(answer->value_out, answer->value_length, UINT64_MAX, steps);
}

static void read_counts(const round_t *round, const wr_view_t *view, wr_fence_t *fence,
                        wr_counters_t *counters) {
    uint64_t highest = 0;
    uint32_t holder = 0;
    bool all = true;
    for (uint32_t seat = 0; seat < view->seats; seat++) {
        const wr_request_t *answer = &round->requests[seat];
        uint64_t steps = 0;
        bool is_there =
            answer->status == WARMRING_OK || answer->status == WARMRING_BUFFER_TOO_SMALL;
        bool is_count = answer->status == WARMRING_OK && read_count(answer, &steps);
        all = all && is_count;
        if (is_there && !is_count) {
            wr_count(counters, view->phase, WR_COUNT_fence_errors);
        }
        if (steps > highest) {
            highest = steps;
            holder = seat;
        }
    }
    if (all || highest > fence->steps) {
        fence->steps = highest;
        snprintf(fence->server, sizeof fence->server, "%s",
                 wr_server_address(view->server[holder]));
    }
}

static void ask_counts(round_t *round, const wr_view_t *view, wr_file_follower_t *follower,
                       wr_counters_t *counters, wr_deadline_t deadline) {
    char key[WR_FLEET_KEY_SIZE + 1];
    size_t length = wr_fence_key(follower->file->id, key);
    ask_all(round, view, &follower->fence, &(wr_request_t){.verb = WR_GET, .key = {key, length}},
            deadline);
    read_counts(round, view, &follower->fence, counters);
}

/* ---- reports ------------------------------------------------------------------- */

/* Whether a server has one. */
static bool is_left(const round_t *round, uint32_t seats) {
    for (uint32_t seat = 0; seat < seats; seat++) {
        if (round->requests[seat].status == WARMRING_OK) {
            return true;
        }
    }
    return false;
}

/*
 * On every server, so that one of them will be there to tell. What is left of
 * a report's life tells how long ago the last failure was: so a new one is
 * set, and an old one is left again only where it is gone.
 */
static void leave_report(round_t *round, const wr_view_t *view, wr_file_follower_t *follower,
                         uint32_t seat, wr_deadline_t deadline) {
    char key[WR_FLEET_KEY_SIZE + 1];
    char value[WR_REPORT_SIZE];
    wr_mark_t *mark = &view->marks->mark[seat];
    uint64_t doubts = atomic_load(&mark->doubts);
    wr_time_t age = (wr_now() - atomic_load(&mark->doubted_at)) / ns_per_second;
    if (age >= WR_REPORT_LIFE_S) {
        return;
    }
    size_t length = wr_report_key(follower->file->id, wr_server_address(view->server[seat]), key);
    wr_report_value(follower->file->topology, value);
    ask_all(round, view, &follower->fence,
            &(wr_request_t){.verb = mark->reported != doubts ? WR_SET : WR_ADD,
                            .key = {key, length},
                            .value = {value, WR_REPORT_SIZE - 1},
                            .expiration = WR_REPORT_LIFE_S - (uint32_t)age},
            deadline);
    if (is_left(round, view->seats)) {
        mark->reported = doubts;
    }
}

static void leave_reports(round_t *round, const wr_view_t *view, wr_file_follower_t *follower,
                          wr_deadline_t deadline) {
    for (uint32_t seat = 0; view->marks != NULL && seat < view->seats; seat++) {
        if (wr_mark_wants_raise(&view->marks->mark[seat])) {
            leave_report(round, view, follower, seat, deadline);
        }
    }
}

void wr_fence_ask(wr_file_follower_t *follower, warmring_t *client, wr_deadline_t deadline) {
    wr_time_t now = wr_boot_now();
    unsigned slot;
    round_t round;
    if (follower->fence.asked_at != 0 && now - follower->fence.asked_at < ns_per_second) {
        return;
    }
    wr_view_t *view = wr_gate_look(&client->gate, &slot);
    if (fit_rests(&follower->fence, view) && make_round(&round, view->seats)) {
        follower->fence.asked_at = now;
        ask_counts(&round, view, follower, &client->counters, deadline);
        leave_reports(&round, view, follower, deadline);
        free_round(&round);
    }
    wr_gate_leave(&client->gate, slot);
}

uint64_t wr_fence_distance(const wr_file_follower_t *follower) {
    return follower->fence.steps > follower->file->steps
               ? follower->fence.steps - follower->file->steps
               : 0;
}
