/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command and its answer by the short way of an exchange, and by the
 * general one: whatever the server says, in whatever pieces it comes, both must
 * leave the same.
 */
#include <stdio.h>
#include <string.h>

#include "../lib/tap.h"
#include "base/fail.h"
#include "net/meta_exchange.h"

enum {
    VALUE_MOST = 1000,
    LINE_MOST = 72,
    INPUT = 600, /* less than the longest value */
    INPUT_MOST = 4096,
    ANSWER_MOST = 2048
};

static const wr_meta_limits_t limits = {.line = LINE_MOST, .key = 10, .value = VALUE_MOST};
static const wr_meta_stub_t stub = {.flags = 77, .lifetime_s = 30};
static const char before[] = "an earlier failure";

typedef enum { ROOMY, TIGHT, NOWHERE } room_t; /* where values go */

/* What a request is answered. In `answer` '@' is the opaque number that is due
 * and '*' are `length` bytes of a value. */
typedef struct {
    wr_verb_t verb;
    const char *answer;
    bool quick; /* the short way takes it */
    warmring_status_t status;
    size_t length;
    bool wants_ttl;
    room_t room;
} case_t;

#define OK WARMRING_OK
#define NOT_FOUND WARMRING_NOT_FOUND
#define NOT_STORED WARMRING_NOT_STORED
#define EXISTS WARMRING_EXISTS
#define BAD WARMRING_PROTOCOL_ERROR
#define UNDONE WR_META_PENDING
#define LONGEST_LINE "VA 00000000000000000003 f00000000000000000001 c0000000000000000000"

static const case_t cases[] = {
    /* items */
    {WR_GET, "VA 3 f1 c2 O@\r\nabc\r\n", true, OK, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@\r\nabc\r\n", true, OK, 0, false, NOWHERE},
    {WR_GET, "VA 3 f1 c2 O@\r\nabc\r\n", true, WARMRING_BUFFER_TOO_SMALL, 0, false, TIGHT},
    {WR_GET, "VA 2 f1 c2 O@\r\nab\r\n", true, OK, 0, false, TIGHT},
    {WR_GET, "VA 0 f0 c0 O@\r\n\r\n", true, OK, 0, false, ROOMY},
    {WR_GET, "VA 0 f77 c9 O@\r\n\r\n", true, OK, 0, false, ROOMY},
    {WR_GET, "VA 4 f1 c2 O@\r\n\r\n\r\n\r\n", true, OK, 0, false, ROOMY},
    {WR_GET, "VA 4 f1 c2 O@\r\nEN\r\n\r\n", true, OK, 0, false, ROOMY},
    {WR_GET, "VA 3 f4294967295 c18446744073709551615 O@\r\nabc\r\n", true, OK, 0, false, ROOMY},
    {WR_GET, "VA 3 f4294967296 c2 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c18446744073709551616 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 4294967294 f1 c2 O@\r\n", false, WARMRING_TOO_LARGE, 0, false, ROOMY},
    {WR_GET, "VA 18446744073709551616 f1 c2 O@\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 003 f01 c000000000002 O@\r\nabc\r\n", true, OK, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c12345678 O@\r\nabc\r\n", true, OK, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c123456789 O@\r\nabc\r\n", true, OK, 0, false, ROOMY},
    {WR_GET, "VA 2 f1 c2 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 4 f1 c2 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 5 f1 c2 O@\r\nabc\r\n", false, UNDONE, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@\r\nabc\r\nX", false, OK, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@\r\nabc\r\nEN\r\n", false, OK, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@\r\nabc\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@\r\nabcXX", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@\r\nabc\rX", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@\r\nab", false, UNDONE, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@\r\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O1@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O0@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@0\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@x\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@ \r\nabc\r\n", false, OK, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 c2 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 O@ c2 f1\r\nabc\r\n", false, OK, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@ W\r\nabc\r\n", false, OK, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@ Z\r\nabc\r\n", false, OK, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@ W X\r\nabc\r\n", false, OK, 0, false, ROOMY},
    {WR_GET, "VA 3 W f1 c2 O@\r\nabc\r\n", false, OK, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@ s3\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 t5 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2 t5 O@\r\nabc\r\n", false, OK, 0, true, ROOMY},
    {WR_GET, "VA 3 f1 c2 t-1 O@\r\nabc\r\n", false, OK, 0, true, ROOMY},
    {WR_GET, "VA 3 f1 c2 O@\r\nabc\r\n", false, OK, 0, true, ROOMY},
    {WR_GET, "VA 3 f1  c2 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3  f1 c2 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA  3 f1 c2 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA -3 f1 c2 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f c2 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 3 f1 c2x O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA f1 c2 O@\r\n\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VAX 3 f1 c2 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VA 998 f1 c2 O@\r\n*\r\n", true, OK, 998, false, ROOMY},
    {WR_GET, "VA 1000 f1 c2 O@\r\n*\r\n", true, OK, 1000, false, ROOMY},
    {WR_GET, "VA 1000 f1 c2 O@\r\n*\r\n", true, OK, 1000, false, NOWHERE},
    {WR_GET, "VA 1000 f1 c2 O@\r\n*\r\n", true, WARMRING_BUFFER_TOO_SMALL, 1000, false, TIGHT},
    {WR_GET, "VA 1000 f1 c2 O@\r\n*x\r\n", false, BAD, 1000, false, ROOMY},
    {WR_GET, "VA 1001 f1 c2 O@\r\n*\r\n", false, WARMRING_TOO_LARGE, 1001, false, ROOMY},
    {WR_GET, LONGEST_LINE " O@\r\nabc\r\n", true, OK, 0, false, ROOMY},
    {WR_GET, LONGEST_LINE "0 O@\r\nabc\r\n", true, OK, 0, false, ROOMY},
    {WR_GET, LONGEST_LINE "1 O@ \r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET_AND_TOUCH, "VA 3 f1 c2 O@\r\nabc\r\n", true, OK, 0, false, ROOMY},
    {WR_GET_AND_TOUCH, "VA 3 f1 c2 t9 O@\r\nabc\r\n", false, OK, 0, true, ROOMY},
    {WR_GET_AND_TOUCH, "EN\r\n", true, NOT_FOUND, 0, false, ROOMY},
    /* misses */
    {WR_GET, "EN\r\n", true, NOT_FOUND, 0, false, ROOMY},
    {WR_GET, "EN\r\n", true, NOT_FOUND, 0, true, ROOMY},
    {WR_GET, "EN O@\r\n", true, NOT_FOUND, 0, false, ROOMY},
    {WR_GET, "EN O1@\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "EN \r\n", false, NOT_FOUND, 0, false, ROOMY},
    {WR_GET, "EN W\r\n", false, NOT_FOUND, 0, false, ROOMY},
    {WR_GET, "EN c2\r\n", false, NOT_FOUND, 0, false, ROOMY},
    {WR_GET, "EN\r\nEN\r\n", false, NOT_FOUND, 0, false, ROOMY},
    {WR_GET, "EN\r\n\r\n", false, NOT_FOUND, 0, false, ROOMY},
    {WR_GET, "EN\n\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "EN\r", false, UNDONE, 0, false, ROOMY},
    {WR_GET, "END\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "ENx\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "NF\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "NF O@\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "HD O@\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "MN\r\n", false, BAD, 0, false, ROOMY},
    {WR_TOUCH, "EN\r\n", true, NOT_FOUND, 0, false, ROOMY},
    {WR_TOUCH, "NF O@\r\n", true, NOT_FOUND, 0, false, ROOMY},
    {WR_TOUCH, "NF\r\n", false, BAD, 0, false, ROOMY},
    {WR_TOUCH, "HD O@\r\n", true, OK, 0, false, ROOMY},
    {WR_TOUCH, "VA 3 f1 c2 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    /* stores */
    {WR_SET, "HD O@\r\n", true, OK, 0, false, ROOMY},
    {WR_SET, "NS O@\r\n", true, NOT_STORED, 0, false, ROOMY},
    {WR_SET, "NS\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "HD\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "HD O@ \r\n", false, OK, 0, false, ROOMY},
    {WR_SET, "HD O@ W\r\n", false, OK, 0, false, ROOMY},
    {WR_SET, "HD c2 O@\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "HD O@ c2\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "HD  O@\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "HD O1@\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "HD O@1\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "HD O@\r\nHD O@\r\n", false, OK, 0, false, ROOMY},
    {WR_SET, "HD O@\n\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "HD O@\r", false, UNDONE, 0, false, ROOMY},
    {WR_SET, "HD", false, UNDONE, 0, false, ROOMY},
    {WR_SET, "H", false, UNDONE, 0, false, ROOMY},
    {WR_SET, "EX O@\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "NF O@\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "EN\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "OK\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "STORED\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "VA 3 f1 c2 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "SERVER_ERROR object too large for cache\r\n", false, WARMRING_TOO_LARGE, 0, false,
     ROOMY},
    {WR_SET, "SERVER_ERROR out of memory\r\n", false, WARMRING_SERVER_ERROR, 0, false, ROOMY},
    {WR_SET, "CLIENT_ERROR bad data chunk\r\n", false, WARMRING_SERVER_ERROR, 0, false, ROOMY},
    {WR_SET, "CLIENT_ERROR unauthenticated\r\n", false, WARMRING_AUTH_FAILED, 0, false, ROOMY},
    {WR_SET, "ERROR\r\n", false, BAD, 0, false, ROOMY},
    {WR_SET, "ERROR too many\r\n", false, WARMRING_SERVER_ERROR, 0, false, ROOMY},
    {WR_ADD, "HD O@\r\n", true, OK, 0, false, ROOMY},
    {WR_ADD, "NS O@\r\n", true, NOT_STORED, 0, false, ROOMY},
    {WR_REPLACE, "HD O@\r\n", true, OK, 0, false, ROOMY},
    {WR_REPLACE, "NS O@\r\n", true, NOT_STORED, 0, false, ROOMY},
    {WR_APPEND, "HD O@\r\n", true, OK, 0, false, ROOMY},
    {WR_APPEND, "EX O@\r\n", true, EXISTS, 0, false, ROOMY},
    {WR_PREPEND, "NS O@\r\n", true, NOT_STORED, 0, false, ROOMY},
    {WR_PREPEND, "EX\r\n", false, BAD, 0, false, ROOMY},
    {WR_CAS, "HD O@\r\n", true, OK, 0, false, ROOMY},
    {WR_CAS, "NF O@\r\n", true, NOT_FOUND, 0, false, ROOMY},
    {WR_CAS, "EX O@\r\n", true, EXISTS, 0, false, ROOMY},
    {WR_CAS, "EX O@ X\r\n", false, EXISTS, 0, false, ROOMY},
    {WR_CAS, "NS O@\r\n", true, NOT_STORED, 0, false, ROOMY},
    {WR_CAS, "EN\r\n", false, BAD, 0, false, ROOMY},
    {WR_LEASE, "HD c5 O@\r\n", false, OK, 0, false, ROOMY},
    {WR_LEASE, "HD O@ c5\r\n", false, OK, 0, false, ROOMY},
    {WR_LEASE, "HD O@\r\n", false, BAD, 0, false, ROOMY},
    {WR_LEASE, "NS O@\r\n", true, NOT_STORED, 0, false, ROOMY},
    {WR_LEASE, "NS c0 O@\r\n", false, NOT_STORED, 0, false, ROOMY},
    /* the rest */
    {WR_DELETE, "HD O@\r\n", true, OK, 0, false, ROOMY},
    {WR_DELETE, "NF O@\r\n", true, NOT_FOUND, 0, false, ROOMY},
    {WR_DELETE, "EX O@\r\n", false, BAD, 0, false, ROOMY},
    {WR_UNLEASE, "HD O@\r\n", true, OK, 0, false, ROOMY},
    {WR_UNLEASE, "NF O@\r\n", true, NOT_FOUND, 0, false, ROOMY},
    {WR_UNLEASE, "EX O@\r\n", true, EXISTS, 0, false, ROOMY},
    {WR_INCREMENT, "VA 2 O@\r\n12\r\n", false, OK, 0, false, ROOMY},
    {WR_INCREMENT, "VA 3 O@\r\n12 \r\n", false, OK, 0, false, ROOMY},
    {WR_INCREMENT, "VA 2 f1 c2 O@\r\n12\r\n", false, BAD, 0, false, ROOMY},
    {WR_INCREMENT, "VA 2 O@\r\n1x\r\n", false, BAD, 0, false, ROOMY},
    {WR_INCREMENT, "VA 0 O@\r\n\r\n", false, BAD, 0, false, ROOMY},
    {WR_INCREMENT, "VA 25 O@\r\n0000000000000000000000001\r\n", false, BAD, 0, false, ROOMY},
    {WR_INCREMENT, "HD O@\r\n", false, BAD, 0, false, ROOMY},
    {WR_INCREMENT, "NF O@\r\n", true, NOT_FOUND, 0, false, ROOMY},
    {WR_INCREMENT, "NS O@\r\n", true, NOT_STORED, 0, false, ROOMY},
    {WR_INCREMENT, "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n", false,
     WARMRING_NOT_NUMERIC, 0, false, ROOMY},
    {WR_DECREMENT, "VA 1 O@\r\n0\r\n", false, OK, 0, false, ROOMY},
    {WR_DECREMENT, "EX O@\r\n", true, EXISTS, 0, false, ROOMY},
    {WR_FLUSH, "OK\r\n", false, OK, 0, false, ROOMY},
    {WR_FLUSH, "HD O@\r\n", false, BAD, 0, false, ROOMY},
    /* no answer */
    {WR_GET, "\r\n\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "<html>\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "VALUE key 1 3 2\r\nabc\r\nEND\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "va 3 f1 c2 O@\r\nabc\r\n", false, BAD, 0, false, ROOMY},
    {WR_GET, "HD O@                                                                  \r\n", false,
     BAD, 0, false, ROOMY},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* ---- one side --------------------------------------------------------------- */

typedef struct {
    wr_sink_t sink;
    size_t capacity;
    char room[VALUE_MOST];
} store_t;

typedef struct {
    wr_meta_exchange_t exchange;
    char input[INPUT_MOST];
    wr_request_t request;
    wr_request_t *pointer;
    store_t store;
    char sent[1024];
    size_t sent_length;
    bool quick; /* the short way took the answer */
    char detail[WR_DETAIL_SIZE];
} side_t;

static char *reserve(wr_sink_t *sink, size_t length) {
    store_t *store = (store_t *)sink;
    if (length > store->capacity) {
        wr_fail(WARMRING_BUFFER_TOO_SMALL, "no room");
        return NULL;
    }
    return store->room;
}

static void ask(side_t *side, const case_t *c) {
    static const uint64_t initial = 5;
    wr_ask(&side->request, NULL, c->verb, (warmring_bytes_t){"key", 3});
    side->request.value = (warmring_bytes_t){"v", wr_verb_info(c->verb)->stores};
    side->request.cas = wr_verb_info(c->verb)->binds ? 3 : 0;
    side->request.initial = &initial;
    side->request.wants_ttl = c->wants_ttl;
    side->request.flags_out = 9;
    side->request.number = 9;
    memset(side->store.room, '-', sizeof side->store.room);
    side->store.sink = (wr_sink_t){reserve, WARMRING_BUFFER_TOO_SMALL};
    side->store.capacity = c->room == TIGHT ? 2 : VALUE_MOST;
    side->request.sink = c->room == NOWHERE ? NULL : &side->store.sink;
    side->pointer = &side->request;
}

static void start(side_t *side, size_t input, unsigned before_it) {
    wr_meta_exchange_init(&side->exchange, "server", &stub, &limits, side->input, input);
    for (unsigned i = 0; i < before_it; i++) {
        wr_meta_next_opaque(&side->exchange.opaque_in);
        wr_meta_next_opaque(&side->exchange.opaque_out);
    }
}

static void send_all(side_t *side) {
    size_t count;
    struct iovec *pieces;
    while ((pieces = wr_meta_output(&side->exchange, &count)), count > 0) {
        memcpy(side->sent + side->sent_length, pieces->iov_base, pieces->iov_len);
        side->sent_length += pieces->iov_len;
        wr_meta_written(&side->exchange, pieces->iov_len);
    }
}

static void begin(side_t *side, const case_t *c, bool one) {
    ask(side, c);
    side->sent_length = 0;
    side->quick = false;
    wr_fail(WARMRING_BAD_ARGUMENT, "%s", before);
    if (one && wr_meta_begin_one(&side->exchange, &side->pointer) == 0) {
        tap_bail("the short way is not begun");
    }
    if (!one) {
        wr_meta_begin(&side->exchange, &side->pointer, 1);
    }
    send_all(side);
}

/* Hands over one piece, as often as there is room for it and an answer due. */
static void feed(side_t *side, const char *bytes, size_t length, bool one) {
    while (length > 0 && !wr_meta_done(&side->exchange)) {
        struct iovec pieces[2];
        int count = wr_meta_room(&side->exchange.reader, pieces);
        size_t filled = 0;
        for (int i = 0; i < count; i++) {
            size_t room = pieces[i].iov_len < length - filled ? pieces[i].iov_len : length - filled;
            memcpy(pieces[i].iov_base, bytes + filled, room);
            filled += room;
        }
        bytes += filled;
        length -= filled;
        wr_meta_filled(&side->exchange.reader, filled);
        side->quick = one && wr_meta_absorb_one(&side->exchange);
        if (!side->quick) {
            wr_meta_absorb(&side->exchange);
        }
        one = false;
    }
}

/* The answer comes in two pieces, the first of which is received at once. */
static void run(side_t *side, const case_t *c, const char *answer, size_t length, size_t split,
                bool one) {
    begin(side, c, one);
    feed(side, answer, split, one);
    feed(side, answer + split, length - split, false);
    snprintf(side->detail, sizeof side->detail, "%s", warmring_error_detail());
}

/* ---- both ------------------------------------------------------------------- */

static bool is_same_answer(const wr_request_t *a, const wr_request_t *b) {
    bool none = a->value_out == NULL && b->value_out == NULL;
    bool both = a->value_out != NULL && b->value_out != NULL;
    return a->status == b->status && a->sent == b->sent && a->joined == b->joined &&
           a->flags_out == b->flags_out && a->cas_out == b->cas_out && a->number == b->number &&
           a->ttl == b->ttl && a->opened_at == b->opened_at && a->value_length == b->value_length &&
           (none || both);
}

static bool is_same_opaque(const wr_meta_opaque_t *a, const wr_meta_opaque_t *b) {
    return a->length == b->length && memcmp(a->digits, b->digits, a->length) == 0;
}

static bool is_same_reader(const wr_meta_reader_t *a, const wr_meta_reader_t *b) {
    return wr_meta_has_rest(a) == wr_meta_has_rest(b) && a->end - a->start == b->end - b->start &&
           a->in_value == b->in_value && (!a->in_value || a->value_left == b->value_left);
}

static bool is_same_exchange(const wr_meta_exchange_t *a, const wr_meta_exchange_t *b) {
    return a->broken == b->broken && a->answered == b->answered && a->encoded == b->encoded &&
           a->count == b->count && a->quiet_in == b->quiet_in && a->quiet_out == b->quiet_out &&
           a->list_end == b->list_end && a->window_sent == b->window_sent &&
           wr_meta_done(a) == wr_meta_done(b) && is_same_opaque(&a->opaque_in, &b->opaque_in) &&
           is_same_opaque(&a->opaque_out, &b->opaque_out) &&
           (a->broken || is_same_reader(&a->reader, &b->reader));
}

static const char *difference(const side_t *a, const side_t *b) {
    return a->sent_length != b->sent_length || memcmp(a->sent, b->sent, a->sent_length) != 0
               ? "the command"
           : !is_same_answer(&a->request, &b->request)             ? "the answer"
           : memcmp(a->store.room, b->store.room, VALUE_MOST) != 0 ? "the value"
           : !is_same_exchange(&a->exchange, &b->exchange)         ? "the exchange"
           : strcmp(a->detail, b->detail) != 0                     ? "the detail text"
                                                                   : NULL;
}

/* What is left of each must be as good for the next command. */
static const char *difference_after(side_t *a, side_t *b) {
    static const case_t next = {.verb = WR_SET};
    char answer[16];
    if (a->exchange.broken || !wr_meta_done(&a->exchange)) {
        return NULL;
    }
    int length = snprintf(answer, sizeof answer, "HD O%.*s\r\n", (int)a->exchange.opaque_out.length,
                          a->exchange.opaque_out.digits);
    run(a, &next, answer, (size_t)length, (size_t)length, true);
    run(b, &next, answer, (size_t)length, (size_t)length, false);
    return !a->quick || a->request.status != WARMRING_OK ? "the next answer" : difference(a, b);
}

static const char *compare(side_t *a, side_t *b, const case_t *c, const char *answer, size_t length,
                           size_t split) {
    run(a, c, answer, length, split, true);
    run(b, c, answer, length, split, false);
    return difference(a, b);
}

static size_t make_answer(const case_t *c, const wr_meta_opaque_t *opaque, char *answer) {
    size_t length = 0;
    for (const char *at = c->answer; *at != '\0'; at++) {
        if (*at == '@') {
            memcpy(answer + length, opaque->digits, opaque->length);
            length += opaque->length;
        } else if (*at == '*') {
            memset(answer + length, 'x', c->length);
            length += c->length;
        } else {
            answer[length++] = *at;
        }
    }
    return length;
}

static side_t one, all;
static char answer[ANSWER_MOST];

/* Commands before it make the opaque numbers 0, 8, 42 and 999. */
static const unsigned befores[] = {0, 8, 42, 999};
enum { BEFORES = sizeof befores / sizeof befores[0] };

static size_t start_both(const case_t *c, size_t input, unsigned before_it) {
    start(&one, input, before_it);
    start(&all, input, before_it);
    return make_answer(c, &one.exchange.opaque_out, answer);
}

/* In two pieces, in every way: where they differ, NULL for nowhere. */
static const char *compare_pieces(const case_t *c, size_t input, unsigned before_it) {
    size_t length = start_both(c, input, before_it);
    for (size_t split = 1; split <= length; split++) {
        start_both(c, input, before_it);
        const char *wrong = compare(&one, &all, c, answer, length, split);
        wrong = wrong != NULL ? wrong : difference_after(&one, &all);
        if (wrong != NULL) {
            tap_note("%s differs, opaque %u, input of %zu, split at %zu", wrong, before_it, input,
                     split);
            return wrong;
        }
    }
    return NULL;
}

static void test_pieces(const case_t *c) {
    const char *wrong = NULL;
    for (size_t i = 0; i < BEFORES && wrong == NULL; i++) {
        wrong = compare_pieces(c, INPUT, befores[i]);
        wrong = wrong != NULL ? wrong : compare_pieces(c, INPUT_MOST, befores[i]);
    }
    tap_ok(wrong == NULL, "%s, %.*s: the same both ways", wr_verb_info(c->verb)->name,
           (int)strcspn(c->answer, "\r\n"), c->answer);
}

/* What comes out is what the table says, by the way it says. */
static void test_whole(const case_t *c) {
    size_t length = start_both(c, INPUT_MOST, 7);
    run(&one, c, answer, length, length, true);
    tap_status(one.request.status, c->status, "... its status");
    tap_int(one.quick, c->quick, "... whether the short way took it");
    if (c->status == WARMRING_OK && c->quick) {
        tap_string(one.detail, before, "... the detail text is left alone");
    }
}

/* ---- what is not begun ------------------------------------------------------- */

static void check_refused(const wr_request_t *request, const char *what) {
    wr_meta_exchange_t then;
    wr_request_t copy = *request;
    wr_request_t *pointer = &copy;
    then = one.exchange;
    size_t length = wr_meta_begin_one(&one.exchange, &pointer);
    tap_int((int64_t)length, 0, "%s is not begun", what);
    tap_ok(memcmp(&then, &one.exchange, sizeof then) == 0, "... and nothing has changed");
}

static void test_not_begun(void) {
    static char long_key[251], long_value[WR_META_SMALL + 1];
    static const case_t set = {.verb = WR_SET}, unlease = {.verb = WR_UNLEASE};
    start(&one, INPUT_MOST, 0);
    ask(&one, &set);
    wr_request_t request = one.request;
    request.noreply = true;
    check_refused(&request, "a command without answer");
    request = one.request;
    request.value = (warmring_bytes_t){long_value, sizeof long_value};
    check_refused(&request, "a long value");
    request = one.request;
    request.key.length = 0;
    check_refused(&request, "an empty key");
    request.key = (warmring_bytes_t){long_key, sizeof long_key};
    check_refused(&request, "a long key");
    ask(&one, &unlease);
    one.request.cas = 0;
    check_refused(&one.request, "a token of zero");
}

/* Behind commands without answer comes a barrier, which is not the short way's. */
static void test_behind_quiet(void) {
    static const case_t set = {.verb = WR_SET};
    start(&one, INPUT_MOST, 0);
    ask(&one, &set);
    one.request.noreply = true;
    wr_meta_begin(&one.exchange, &one.pointer, 1);
    send_all(&one);
    ask(&one, &set);
    check_refused(&one.request, "a command behind a quiet one");
    begin(&one, &set, false);
    static const char answers[] = "NS \r\nMN\r\nHD O0\r\n";
    feed(&one, answers, sizeof answers - 1, false);
    tap_status(one.request.status, WARMRING_OK, "it goes the general way");
    begin(&one, &set, true);
    feed(&one, "HD O1\r\n", 7, true);
    tap_ok(one.quick && one.request.status == WARMRING_OK, "the next goes the short way");
}

/* ---- mutations ---------------------------------------------------------------- */

/* Every byte of what the short way takes replaced by every other. */
static void test_mutations(void) {
    size_t number = 0, differ = 0, quick = 0;
    for (size_t i = 0; i < CASES; i++) {
        if (!cases[i].quick || cases[i].length > 0) {
            continue;
        }
        size_t length = start_both(&cases[i], INPUT, 7);
        for (size_t at = 0; at < length; at++) {
            for (int byte = 0; byte < 256; byte++, number++) {
                start_both(&cases[i], INPUT, 7);
                answer[at] = (char)byte;
                const char *wrong = compare(&one, &all, &cases[i], answer, length, length);
                quick += one.quick;
                if (wrong != NULL && differ++ == 0) {
                    tap_note("%s of %.*s differs", wrong, (int)length, answer);
                }
            }
        }
    }
    tap_int((int64_t)differ, 0, "%zu mutated answers, %zu by the short way", number, quick);
}

int main(void) {
    for (size_t i = 0; i < CASES; i++) {
        test_pieces(&cases[i]);
        test_whole(&cases[i]);
    }
    test_not_begun();
    test_behind_quiet();
    test_mutations();
    return tap_done();
}
