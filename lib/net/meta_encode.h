/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests as memcached's text commands: pure, no I/O, no memory.
 *
 * Every command but the classic ones is a meta command. One that is answered
 * carries an opaque number, which its answer must bring back, so that an
 * answer is never taken for another command's.
 */
#ifndef WR_NET_META_ENCODE_H
#define WR_NET_META_ENCODE_H

#include "net/request.h"

enum {
    WR_META_KEY_MAX = 250,
    WR_META_HEAD_MAX = 512, /* room for any command line of one request */
    WR_META_GETS_MAX = 8192 /* and for one of many keys */
};

/* An opaque number, as it is written: counted in decimal, since it is sent and
 * compared each time. It starts at "0"; behind "999" comes that again. */
enum { WR_META_OPAQUE_ROOM = 4, WR_META_OPAQUE_DIGITS = 3 };
typedef struct {
    char digits[WR_META_OPAQUE_ROOM];
    uint32_t length;
} wr_meta_opaque_t;

#define WR_META_OPAQUE_FIRST \
    { "0", 1 }

/* What "9", "99" or "999" becomes. */
void wr_meta_carry_opaque(wr_meta_opaque_t *opaque);
static inline void wr_meta_next_opaque(wr_meta_opaque_t *opaque) {
    char *last = &opaque->digits[opaque->length - 1];
    if (*last != '9') {
        ++*last;
    } else {
        wr_meta_carry_opaque(opaque);
    }
}

static inline bool wr_meta_is_opaque(const wr_meta_opaque_t *opaque, warmring_bytes_t text) {
    if (text.length != opaque->length) {
        return false;
    }
    size_t same = 0;
    while (same < text.length && text.data[same] == opaque->digits[same]) {
        same++;
    }
    return same == text.length;
}

/* What a lease leaves where nothing was. */
typedef struct {
    uint32_t flags;
    uint32_t lifetime_s;
} wr_meta_stub_t;

/* What must be known of a verb besides its line, as bits. */
enum { WR_META_KEYED = 1, WR_META_BOUND = 2, WR_META_ANSWERED = 4, WR_META_VALUED = 8 };
extern const uint8_t wr_meta_traits[WR_VERBS];

/*
 * Why a request cannot be spoken: OK, BAD_KEY (no length from 1 to
 * WR_META_KEY_MAX) or BAD_ARGUMENT (bound to token 0, as a server without
 * CAS hands out: it would not be bound at all). Such a request is skipped.
 */
static inline warmring_status_t wr_meta_refusal(const wr_request_t *request) {
    uint8_t traits = wr_meta_traits[request->verb];
    if ((traits & WR_META_KEYED) != 0 && request->key.length - 1 >= WR_META_KEY_MAX) {
        return WARMRING_BAD_KEY;
    }
    return (traits & WR_META_BOUND) != 0 && request->cas == 0 ? WARMRING_BAD_ARGUMENT : WARMRING_OK;
}

/* Whether the request waits for no answer. Reads and leases always do. */
static inline bool wr_meta_is_quiet(const wr_request_t *request) {
    return request->noreply && (wr_meta_traits[request->verb] & WR_META_ANSWERED) == 0;
}

/* Whether the value and CR LF follow the line. */
static inline bool wr_meta_has_value(const wr_request_t *request) {
    return (wr_meta_traits[request->verb] & WR_META_VALUED) != 0;
}

/*
 * Writes the command line, CR LF included, and returns its end. `out` has room
 * for WR_META_HEAD_MAX bytes; the request is not refused.
 */
char *wr_meta_encode(char *out, const wr_request_t *request, const wr_meta_opaque_t *opaque,
                     const wr_meta_stub_t *stub);

/* Whether the first two requests go into one `gets` line: plain reads that want
 * no TTL. */
bool wr_meta_joins(wr_request_t *const *requests, size_t count);

/* Writes that line, for these and as many behind them as go into it: at most
 * WR_META_GETS_MAX bytes. *out is its end then. Returns how many. */
size_t wr_meta_encode_gets(char **out, wr_request_t *const *requests, size_t count);

/* The command that is answered MN once all before it are done. */
char *wr_meta_encode_barrier(char *out);

/* A number in decimal, at most 20 bytes. */
char *wr_meta_encode_number(char *out, uint64_t number);

#endif
