/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the receiving half of the native transport: any bytes, in pieces the
 * input chooses, as answers to a fixed pipeline of every kind of request. The
 * pipeline must end or wait for more, each status must be one of ours, and
 * every value lie whole in its room.
 *
 * The same bytes are taken byte by byte, too, and must come to the same. And
 * they answer one request alone, which the input chooses: the short way must
 * come to what the long one does.
 *
 * meta_replay.c runs its committed corpus under make check.
 */
#include "meta_fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "net/meta_exchange.h"

enum { REQUESTS = 12, ROOM = 64, BUFFER = 512 };

static const wr_meta_limits_t limits = {.line = 256, .key = 250, .value = 4096};

typedef struct {
    wr_sink_t sink;
    char room[ROOM];
} room_t;

static char *reserve(wr_sink_t *sink, size_t length) {
    return length <= ROOM ? ((room_t *)sink)->room : NULL;
}

static const struct {
    wr_verb_t verb;
    const char *key;
    bool noreply, wants_ttl;
} questions[REQUESTS] = {
    {WR_SET, "q", true, false},        {WR_GET, "a", false, false},   {WR_GET, "b", false, false},
    {WR_GET, "c", false, false},       {WR_GET, "d", false, true},    {WR_SET, "e", false, false},
    {WR_LEASE, "f", false, false},     {WR_CAS, "g", false, false},   {WR_DELETE, "h", true, false},
    {WR_INCREMENT, "i", false, false}, {WR_TOUCH, "j", false, false}, {WR_FLUSH, "", false, false},
};

typedef struct {
    wr_meta_exchange_t exchange;
    char buffer[BUFFER];
    wr_request_t requests[REQUESTS];
    wr_request_t *pointers[REQUESTS];
    room_t rooms[REQUESTS];
} run_t;

static const wr_meta_stub_t stub = {77, 30};

static void prepare(run_t *run) {
    for (size_t i = 0; i < REQUESTS; i++) {
        wr_request_t *request = &run->requests[i];
        run->rooms[i].sink = (wr_sink_t){reserve, WARMRING_BUFFER_TOO_SMALL};
        request->verb = questions[i].verb;
        request->key = (warmring_bytes_t){questions[i].key, strlen(questions[i].key)};
        request->noreply = questions[i].noreply;
        request->wants_ttl = questions[i].wants_ttl;
        request->cas = 1;
        request->sink = &run->rooms[i].sink;
        run->pointers[i] = request;
    }
    wr_meta_exchange_init(&run->exchange, "fuzz", &stub, &limits, run->buffer, BUFFER);
}

static void send_all(run_t *run) {
    size_t count;
    struct iovec *pieces;
    while ((pieces = wr_meta_output(&run->exchange, &count)), count > 0) {
        wr_meta_written(&run->exchange, pieces->iov_len);
    }
}

/* Takes at most `most` bytes; returns how many. */
static size_t feed(run_t *run, const uint8_t *bytes, size_t length, size_t most) {
    struct iovec pieces[2];
    int count = wr_meta_room(&run->exchange.reader, pieces);
    size_t filled = 0;
    for (int i = 0; i < count; i++) {
        size_t part = length - filled < pieces[i].iov_len ? length - filled : pieces[i].iov_len;
        part = part < most - filled ? part : most - filled;
        memcpy(pieces[i].iov_base, bytes + filled, part);
        filled += part;
    }
    if (filled == 0) {
        abort(); /* room must never be empty */
    }
    wr_meta_filled(&run->exchange.reader, filled);
    wr_meta_absorb(&run->exchange);
    return filled;
}

static void check(const run_t *run) {
    for (size_t i = 0; i < REQUESTS; i++) {
        const wr_request_t *request = &run->requests[i];
        if (strcmp(warmring_status_name(request->status), "?") == 0) {
            abort();
        }
        bool is_item = request->status == WARMRING_OK && request->verb == WR_GET;
        if (is_item && (request->value_out != run->rooms[i].room || request->value_length > ROOM)) {
            abort();
        }
    }
}

/* ---- one request, both ways -------------------------------------------------- */

static void answer_shortly(run_t *run, size_t chosen, const uint8_t *bytes, size_t length) {
    prepare(run);
    if (wr_meta_begin_one(&run->exchange, &run->pointers[chosen]) == 0) {
        abort(); /* each of these is short, and answered */
    }
    wr_meta_written(&run->exchange, run->exchange.pieces[0].iov_len);
    memcpy(run->buffer, bytes, length);
    wr_meta_filled(&run->exchange.reader, length);
    if (!wr_meta_absorb_one(&run->exchange)) {
        wr_meta_absorb(&run->exchange);
    }
}

static void answer_at_length(run_t *run, size_t chosen, const uint8_t *bytes, size_t length) {
    prepare(run);
    wr_meta_begin(&run->exchange, &run->pointers[chosen], 1);
    send_all(run);
    feed(run, bytes, length, length);
}

static bool are_same(const run_t *a, const run_t *b, size_t i) {
    const wr_request_t *one = &a->requests[i], *other = &b->requests[i];
    return one->status == other->status && one->sent == other->sent &&
           one->flags_out == other->flags_out && one->cas_out == other->cas_out &&
           one->number == other->number && one->ttl == other->ttl &&
           one->value_length == other->value_length &&
           (one->value_out == NULL) == (other->value_out == NULL) &&
           memcmp(a->rooms[i].room, b->rooms[i].room, ROOM) == 0;
}

static bool has_rest(const run_t *run) {
    return wr_meta_has_rest(&run->exchange.reader);
}

static bool are_alike(const run_t *a, const run_t *b, size_t chosen) {
    const wr_meta_exchange_t *one = &a->exchange, *other = &b->exchange;
    return are_same(a, b, chosen) && one->broken == other->broken && has_rest(a) == has_rest(b) &&
           wr_meta_done(one) == wr_meta_done(other) &&
           one->opaque_in.length == other->opaque_in.length &&
           memcmp(one->opaque_in.digits, other->opaque_in.digits, one->opaque_in.length) == 0;
}

static void go_both_ways(size_t chosen, const uint8_t *bytes, size_t length) {
    run_t *runs = calloc(2, sizeof *runs);
    if (runs != NULL && length > 0 && length < BUFFER && !questions[chosen].noreply) {
        answer_shortly(&runs[0], chosen, bytes, length);
        answer_at_length(&runs[1], chosen, bytes, length);
        if (!are_alike(&runs[0], &runs[1], chosen)) {
            abort();
        }
    }
    free(runs);
}

/* ---- all of them ------------------------------------------------------------ */

/* In pieces of at most `most` bytes. */
static void answer_all(run_t *run, const uint8_t *bytes, size_t length, size_t most) {
    prepare(run);
    wr_meta_begin(&run->exchange, run->pointers, REQUESTS);
    send_all(run);
    for (size_t at = 0; at < length && !wr_meta_done(&run->exchange);) {
        at += feed(run, bytes + at, length - at, most);
    }
    if (!wr_meta_done(&run->exchange)) {
        wr_meta_abort(&run->exchange, WARMRING_TIMEOUT);
    }
    check(run);
}

int meta_fuzz(const uint8_t *bytes, size_t length) {
    run_t *runs = calloc(2, sizeof *runs);
    if (runs == NULL || length == 0) {
        free(runs);
        return 0;
    }
    go_both_ways(bytes[0] % REQUESTS, bytes + 1, length - 1);
    answer_all(&runs[0], bytes + 1, length - 1, (size_t)bytes[0] + 1); /* it chooses the pieces */
    answer_all(&runs[1], bytes + 1, length - 1, 1);
    for (size_t i = 0; i < REQUESTS; i++) {
        if (!are_same(&runs[0], &runs[1], i)) {
            abort();
        }
    }
    free(runs);
    return 0;
}
