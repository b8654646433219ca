/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the receiving half of the native transport: any bytes, in pieces the
 * input chooses, as answers to a fixed pipeline of every kind of request. The
 * pipeline must end or wait for more, each status must be one of ours, and
 * every value lie whole in its room.
 *
 * meta_replay.c runs its committed corpus under make check.
 */
#include "meta_fuzz.h"

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

static void begin(run_t *run) {
    static const wr_meta_stub_t stub = {77, 30};
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
    wr_meta_begin(&run->exchange, run->pointers, REQUESTS);
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

int meta_fuzz(const uint8_t *bytes, size_t length) {
    run_t *run = calloc(1, sizeof *run);
    if (run == NULL || length == 0) {
        free(run);
        return 0;
    }
    begin(run);
    send_all(run);
    size_t most = (size_t)bytes[0] + 1; /* the first byte chooses the pieces */
    for (size_t at = 1; at < length && !wr_meta_done(&run->exchange);) {
        at += feed(run, bytes + at, length - at, most);
    }
    if (!wr_meta_done(&run->exchange)) {
        wr_meta_abort(&run->exchange, WARMRING_TIMEOUT);
    }
    check(run);
    free(run);
    return 0;
}
