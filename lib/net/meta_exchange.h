/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation with one server: requests become bytes to send, received
 * bytes become answers, both in any pieces and side by side. No I/O and no
 * memory: a connection moves the bytes, so the same steps serve blocking
 * calls, a poll loop and, later, an event loop.
 *
 * An exchange lives as long as its connection; wr_meta_begin() starts the
 * next batch of requests on it. It remembers commands that wait for no
 * answer: before the next one that does, it sends a barrier, and whatever
 * comes ahead of the barrier's answer belongs to them.
 */
#ifndef WR_NET_META_EXCHANGE_H
#define WR_NET_META_EXCHANGE_H

#include "base/fail.h"
#include "net/meta_encode.h"
#include "net/meta_reader.h"

enum {
    WR_META_OUT = 16384, /* bytes of commands sent at a time */
    WR_META_PIECES = 64, /* and pieces they and their values make */
    WR_META_SMALL = 512, /* a value up to this is copied to its command */
    WR_META_DIGITS = 24  /* longest number, with the blanks that may follow */
};

typedef struct {
    const char *label; /* of the server, for texts */
    wr_meta_stub_t stub;
    wr_request_t **requests;
    size_t count;
    bool any_refused; /* some of those before `encoded` cannot be spoken */
    bool any_silent;  /* or need no answer, for this or another reason */

    /* commands */
    size_t encoded;              /* requests before this one became bytes */
    size_t window;               /* first of those in `out` */
    bool window_sent;            /* some byte of it is on its way */
    wr_meta_opaque_t opaque_out; /* of the next command */
    uint32_t quiet_out;          /* commands without answer since the last barrier */
    unsigned piece;              /* the next to send */
    unsigned pieces_end;
    struct iovec pieces[WR_META_PIECES];
    char out[WR_META_OUT];

    /* answers */
    wr_meta_reader_t reader;
    size_t answered;            /* requests before this one need nothing more */
    wr_meta_opaque_t opaque_in; /* the next one's */
    uint32_t quiet_in;          /* as quiet_out, where the answers stand */
    size_t list_end;            /* behind the list being answered; 0: none is */
    size_t list_next;           /* where its next item is looked for first */
    wr_request_t *item;         /* whose value is under way */
    warmring_status_t item_status;
    char digits[WR_META_DIGITS];
    bool broken; /* the stream is in doubt: no further exchange */
} wr_meta_exchange_t;

void wr_meta_exchange_init(wr_meta_exchange_t *exchange, const char *label,
                           const wr_meta_stub_t *stub, const wr_meta_limits_t *limits, char *buffer,
                           size_t capacity);

/* Starts on requests, which stay the caller's and must live until all have
 * their status. The exchange is done with the last ones and not broken. */
void wr_meta_begin(wr_meta_exchange_t *exchange, wr_request_t **requests, size_t count);

/* The same for one request whose command is short and answered: it is in
 * `out` as the only piece, whose length is returned. 0: nothing has begun. */
size_t wr_meta_begin_one(wr_meta_exchange_t *exchange, wr_request_t **request);

/* The next bytes to send: the first piece, and in *count how many, 0 when all
 * is sent. */
struct iovec *wr_meta_output(wr_meta_exchange_t *exchange, size_t *count);
/* That many of them (more than none) were sent. */
void wr_meta_written(wr_meta_exchange_t *exchange, size_t length);

/* After wr_meta_filled() on the reader: turns what came into answers. A fault
 * completes every request, sets `broken` and the detail text. */
void wr_meta_absorb(wr_meta_exchange_t *exchange);

/* The same after wr_meta_begin_one() and one receive, if that brought a whole
 * answer of the usual form and nothing else. False: nothing is done. */
bool wr_meta_absorb_one(wr_meta_exchange_t *exchange);

/* Whether every request has its status. */
static inline bool wr_meta_done(const wr_meta_exchange_t *exchange) {
    return exchange->answered == exchange->count && exchange->piece == exchange->pieces_end;
}

/* Gives `status` to each request that has none, and sets `broken`. The caller
 * has written the detail text. */
void wr_meta_abort(wr_meta_exchange_t *exchange, warmring_status_t status);

/* Before the text of a fault that ends the exchange: of a value that had been
 * refused when only half of it had come, nothing is to be told then. */
static inline void wr_meta_forget_refusal(const wr_meta_exchange_t *exchange) {
    if (exchange->reader.in_value && exchange->item_status != WARMRING_OK) {
        wr_fail_undo();
    }
}

/* ---- between the two halves ---------------------------------------------- */

/* The status of a request that has none yet. */
#define WR_META_PENDING ((warmring_status_t)UINT32_C(0x7fffffff))

/* Passes requests that were encoded and need no answer. */
void wr_meta_pass_silent(wr_meta_exchange_t *exchange);
static inline void wr_meta_skip_silent(wr_meta_exchange_t *exchange) {
    if (exchange->any_silent) {
        wr_meta_pass_silent(exchange);
    }
}

#endif
