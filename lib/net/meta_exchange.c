/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to bytes, and what both directions share.
 *
 * Two cursors walk over the same requests: `encoded` turns them into commands,
 * a window of the output buffer at a time, and `answered` follows with the
 * answers. Both must agree on what was sent: which requests were refused,
 * which are quiet, where a barrier stands. All of that depends on the questions
 * alone, so it is computed twice rather than stored; only how many plain reads
 * were joined into a list stands in the first of them.
 *
 * Quiet commands (q) are not silent: an error, NS, EX or, by version, NF, HD
 * and EN of theirs still comes. They are answered OK when sent, and the next
 * command with an answer is preceded by a barrier (mn): up to its MN every
 * line is theirs. The other half, answers, is in meta_answer.c.
 */
#include "net/meta_exchange.h"

#include <string.h>

#include "base/fail.h"
#include "net/stream.h"

void wr_meta_exchange_init(wr_meta_exchange_t *exchange, const char *label,
                           const wr_meta_stub_t *stub, const wr_meta_limits_t *limits, char *buffer,
                           size_t capacity) {
    memset(exchange, 0, sizeof *exchange);
    exchange->label = label;
    exchange->stub = *stub;
    exchange->opaque_out = exchange->opaque_in = (wr_meta_opaque_t)WR_META_OPAQUE_FIRST;
    wr_meta_reader_init(&exchange->reader, limits, buffer, capacity);
}

static warmring_status_t refuse(const wr_meta_exchange_t *exchange, warmring_status_t refusal) {
    return refusal == WARMRING_BAD_KEY
               ? wr_fail(refusal, "key must have 1 to %d bytes", WR_META_KEY_MAX)
               : wr_fail(refusal, "%s: a token of zero", exchange->label);
}

void wr_meta_begin(wr_meta_exchange_t *exchange, wr_request_t **requests, size_t count) {
    exchange->any_refused = false;
    exchange->any_silent = false;
    exchange->requests = requests;
    exchange->count = count;
    exchange->encoded = 0;
    exchange->window = 0;
    exchange->answered = 0;
    exchange->reader.expected = &wr_meta_no_key; /* not that of requests which are gone */
}

static bool is_refused(const wr_meta_exchange_t *exchange, const wr_request_t *request) {
    return exchange->any_refused && wr_meta_refusal(request) != WARMRING_OK;
}

/* ---- commands ---------------------------------------------------------- */

/* A window being filled: bytes from `first` on are no piece yet. */
typedef struct {
    char *first;
    char *at;
} window_t;

static void add_piece(wr_meta_exchange_t *exchange, const char *bytes, size_t length) {
    if (length > 0) {
        exchange->pieces[exchange->pieces_end++] = (struct iovec){(char *)bytes, length};
    }
}

static void close_piece(wr_meta_exchange_t *exchange, window_t *window) {
    add_piece(exchange, window->first, (size_t)(window->at - window->first));
    window->first = window->at;
}

static void put_value(wr_meta_exchange_t *exchange, window_t *window, const wr_request_t *request) {
    size_t length = request->verb == WR_LEASE ? 0 : request->value.length;
    if (length > WR_META_SMALL) {
        close_piece(exchange, window);
        add_piece(exchange, request->value.data, length);
        add_piece(exchange, WR_LINE_END, WR_LINE_END_SIZE);
        return;
    }
    if (length > 0) {
        memcpy(window->at, request->value.data, length);
        window->at += length;
    }
    *window->at++ = '\r';
    *window->at++ = '\n';
}

static void put_barrier(wr_meta_exchange_t *exchange, window_t *window) {
    if (exchange->quiet_out > 0) {
        window->at = wr_meta_encode_barrier(window->at);
        exchange->quiet_out = 0;
    }
}

/* It counts as sent from here on, see wr_meta_abort(). */
static inline void start_answer(wr_request_t *request) {
    wr_answer_start(request, WR_META_PENDING);
    request->sent = true;
}

static inline void put_command(wr_meta_exchange_t *exchange, window_t *window,
                               const wr_request_t *request) {
    window->at = wr_meta_encode(window->at, request, &exchange->opaque_out, &exchange->stub);
    if (wr_meta_has_value(request)) {
        put_value(exchange, window, request);
    }
}

static void put_request(wr_meta_exchange_t *exchange, window_t *window) {
    wr_request_t *request = exchange->requests[exchange->encoded++];
    warmring_status_t refusal = wr_meta_refusal(request);
    if (refusal != WARMRING_OK) {
        wr_answer_start(request, refuse(exchange, refusal));
        exchange->any_refused = exchange->any_silent = true;
        return;
    }
    start_answer(request);
    bool quiet = wr_meta_is_quiet(request);
    if (quiet) {
        exchange->quiet_out++;
        exchange->any_silent = true;
    } else {
        put_barrier(exchange, window);
    }
    put_command(exchange, window, request);
    if (!quiet) {
        wr_meta_next_opaque(&exchange->opaque_out);
    }
}

static void put_list(wr_meta_exchange_t *exchange, window_t *window) {
    wr_request_t **requests = exchange->requests + exchange->encoded;
    put_barrier(exchange, window);
    size_t length = wr_meta_encode_gets(&window->at, requests, exchange->count - exchange->encoded);
    for (size_t i = 0; i < length; i++) {
        start_answer(requests[i]);
    }
    requests[0]->joined = (uint32_t)length;
    exchange->encoded += length;
}

static bool has_room(const wr_meta_exchange_t *exchange, const window_t *window, size_t bytes) {
    return exchange->pieces_end + 4 <= WR_META_PIECES &&
           (size_t)(exchange->out + WR_META_OUT - window->at) >= bytes;
}

static void fill_window(wr_meta_exchange_t *exchange) {
    enum { BARRIER = 4, SINGLE = WR_META_HEAD_MAX + WR_META_SMALL + 2 + BARRIER };
    window_t window = {exchange->out, exchange->out};
    exchange->window = exchange->encoded;
    exchange->window_sent = false;
    exchange->piece = exchange->pieces_end = 0;
    while (exchange->encoded < exchange->count && has_room(exchange, &window, SINGLE)) {
        if (!wr_meta_joins(exchange->requests + exchange->encoded,
                           exchange->count - exchange->encoded)) {
            put_request(exchange, &window);
        } else if (has_room(exchange, &window, WR_META_GETS_MAX + BARRIER)) {
            put_list(exchange, &window);
        } else {
            break;
        }
    }
    close_piece(exchange, &window);
}

/* Whether its command, with its value, is one piece, and is answered. */
static inline bool is_one_piece(const wr_meta_exchange_t *exchange, const wr_request_t *request) {
    return exchange->quiet_out == 0 && !request->noreply &&
           request->value.length <= WR_META_SMALL && wr_meta_refusal(request) == WARMRING_OK;
}

size_t wr_meta_begin_one(wr_meta_exchange_t *exchange, wr_request_t **request) {
    window_t window = {exchange->out, exchange->out};
    if (!is_one_piece(exchange, *request) || wr_meta_has_rest(&exchange->reader)) {
        return 0;
    }
    wr_meta_begin(exchange, request, 1);
    start_answer(*request);
    put_command(exchange, &window, *request);
    wr_meta_next_opaque(&exchange->opaque_out);
    exchange->reader.start = exchange->reader.end = 0;
    exchange->encoded = 1;
    exchange->window_sent = false;
    exchange->piece = exchange->pieces_end = 0;
    close_piece(exchange, &window);
    return exchange->pieces[0].iov_len;
}

/* ---- what the cursors have passed --------------------------------------- */

void wr_meta_pass_silent(wr_meta_exchange_t *exchange) {
    while (exchange->answered < exchange->encoded && exchange->list_end == 0) {
        wr_request_t *request = exchange->requests[exchange->answered];
        if (!is_refused(exchange, request)) {
            if (!wr_meta_is_quiet(request)) {
                return;
            }
            request->status = WARMRING_OK;
            exchange->quiet_in++;
        }
        exchange->answered++;
    }
}

struct iovec *wr_meta_output(wr_meta_exchange_t *exchange, size_t *count) {
    if (exchange->piece == exchange->pieces_end && exchange->encoded < exchange->count) {
        fill_window(exchange);
        if (exchange->piece == exchange->pieces_end) { /* all refused */
            wr_meta_skip_silent(exchange);
        }
    }
    *count = exchange->pieces_end - exchange->piece;
    return exchange->pieces + exchange->piece;
}

void wr_meta_written(wr_meta_exchange_t *exchange, size_t length) {
    exchange->window_sent = true;
    while (length > 0) {
        struct iovec *piece = &exchange->pieces[exchange->piece];
        size_t taken = length < piece->iov_len ? length : piece->iov_len;
        piece->iov_base = (char *)piece->iov_base + taken;
        piece->iov_len -= taken;
        length -= taken;
        exchange->piece += piece->iov_len == 0;
    }
    if (exchange->piece == exchange->pieces_end) {
        wr_meta_skip_silent(exchange);
    }
}

void wr_meta_abort(wr_meta_exchange_t *exchange, warmring_status_t status) {
    size_t seen = exchange->window_sent ? exchange->encoded : exchange->window;
    for (size_t i = 0; i < exchange->count; i++) {
        wr_request_t *request = exchange->requests[i];
        if (i >= exchange->encoded) {
            wr_answer_start(request, status);
        } else if (request->status == WR_META_PENDING) {
            request->status = status;
            request->sent = i < seen;
        }
    }
    exchange->answered = exchange->encoded = exchange->count;
    exchange->piece = exchange->pieces_end = 0;
    exchange->broken = true;
}
