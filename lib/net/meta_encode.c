/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests as memcached's text commands.
 *
 * One row a verb says what its line is made of. Zero flags and a zero
 * expiration are the server's defaults and left out, except where the command
 * exists to set an expiration. Expirations come in wire form; the server reads
 * them into 32 signed bits and refuses more, so later ones are cut to the last
 * moment it knows.
 */
#include "net/meta_encode.h"

#include <string.h>

enum {
    HAS_VALUE = 1,
    HAS_FLAGS = 2,
    HAS_EXPIRATION = 4,
    SETS_EXPIRATION = 8,
    HAS_CAS = 16,
    HAS_DELTA = 32,
    HAS_STUB = 64,
    NO_KEY = 128,
    IS_CLASSIC = 256, /* "noreply", no opaque */
    IS_READ = 512
};

/* Texts are copied with all their room, then cut: one move each. */
enum { TEXT_ROOM = 16 };
typedef struct {
    char text[TEXT_ROOM];
    uint8_t length;
} text_t;

typedef struct {
    text_t command;
    text_t mode;
    unsigned has;
} line_t;

#define TEXT(text) \
    { text, sizeof text - 1 }

static const line_t lines[WR_VERBS] = {
    [WR_GET] = {TEXT("mg "), TEXT(" v f c"), IS_READ},
    [WR_SET] = {TEXT("ms "), TEXT(""), HAS_VALUE | HAS_FLAGS | HAS_EXPIRATION},
    [WR_ADD] = {TEXT("ms "), TEXT(" ME"), HAS_VALUE | HAS_FLAGS | HAS_EXPIRATION},
    [WR_REPLACE] = {TEXT("ms "), TEXT(" MR"), HAS_VALUE | HAS_FLAGS | HAS_EXPIRATION},
    [WR_APPEND] = {TEXT("ms "), TEXT(" MA"), HAS_VALUE},
    [WR_PREPEND] = {TEXT("ms "), TEXT(" MP"), HAS_VALUE},
    [WR_CAS] = {TEXT("ms "), TEXT(""), HAS_VALUE | HAS_FLAGS | HAS_EXPIRATION | HAS_CAS},
    [WR_DELETE] = {TEXT("md "), TEXT(""), 0},
    [WR_UNLEASE] = {TEXT("md "), TEXT(""), HAS_CAS},
    [WR_LEASE] = {TEXT("ms "), TEXT(" 0 ME c"), HAS_STUB},
    [WR_TOUCH] = {TEXT("mg "), TEXT(""), SETS_EXPIRATION},
    [WR_GET_AND_TOUCH] = {TEXT("mg "), TEXT(" v f c"), SETS_EXPIRATION | IS_READ},
    [WR_INCREMENT] = {TEXT("ma "), TEXT(""), HAS_DELTA},
    [WR_DECREMENT] = {TEXT("ma "), TEXT(" M-"), HAS_DELTA},
    [WR_FLUSH] = {TEXT("flush_all"), TEXT(""), NO_KEY | IS_CLASSIC},
};

const uint8_t wr_meta_traits[WR_VERBS] = {
    [WR_GET] = WR_META_KEYED | WR_META_ANSWERED,
    [WR_SET] = WR_META_KEYED | WR_META_VALUED,
    [WR_ADD] = WR_META_KEYED | WR_META_VALUED,
    [WR_REPLACE] = WR_META_KEYED | WR_META_VALUED,
    [WR_APPEND] = WR_META_KEYED | WR_META_VALUED,
    [WR_PREPEND] = WR_META_KEYED | WR_META_VALUED,
    [WR_CAS] = WR_META_KEYED | WR_META_VALUED | WR_META_BOUND,
    [WR_DELETE] = WR_META_KEYED,
    [WR_UNLEASE] = WR_META_KEYED | WR_META_BOUND,
    [WR_LEASE] = WR_META_KEYED | WR_META_VALUED | WR_META_ANSWERED,
    [WR_TOUCH] = WR_META_KEYED,
    [WR_GET_AND_TOUCH] = WR_META_KEYED | WR_META_ANSWERED,
    [WR_INCREMENT] = WR_META_KEYED,
    [WR_DECREMENT] = WR_META_KEYED,
};

static char *put(char *out, const char *bytes, size_t length) {
    memcpy(out, bytes, length);
    return out + length;
}

/* Most keys are short: a call of memcpy() would take longer. The last eight
 * bytes may begin in those before. */
static inline char *put_key(char *out, warmring_bytes_t key) {
    enum { WORD = sizeof(uint64_t) };
    if (key.length < WORD) {
        return put(out, key.data, key.length);
    }
    for (size_t at = 0; at < key.length - WORD; at += WORD) {
        memcpy(out + at, key.data + at, WORD);
    }
    put(out + key.length - WORD, key.data + key.length - WORD, WORD);
    return out + key.length;
}

static char *put_text(char *out, const text_t *text) {
    memcpy(out, text->text, TEXT_ROOM);
    return out + text->length;
}

char *wr_meta_encode_number(char *out, uint64_t number) {
    size_t length = 1;
    for (uint64_t rest = number; rest >= 10; rest /= 10) {
        length++;
    }
    for (char *at = out + length; at > out; number /= 10) {
        *--at = (char)('0' + number % 10);
    }
    return out + length;
}

void wr_meta_carry_opaque(wr_meta_opaque_t *opaque) {
    uint32_t at = opaque->length;
    while (at > 0 && opaque->digits[at - 1] == '9') {
        opaque->digits[--at] = '0';
    }
    if (at > 0) {
        opaque->digits[at - 1]++;
    } else if (opaque->length < WR_META_OPAQUE_DIGITS) {
        opaque->digits[0] = '1';
        opaque->digits[opaque->length++] = '0';
    } else {
        opaque->length = 1;
    }
}

static char *put_flag(char *out, char flag, uint64_t number) {
    *out++ = ' ';
    *out++ = flag;
    return wr_meta_encode_number(out, number);
}

static char *put_time(char *out, char flag, uint32_t expiration) {
    return put_flag(out, flag, expiration < INT32_MAX ? expiration : INT32_MAX);
}

static char *put_delta(char *out, const wr_request_t *request) {
    /* q does not hide the answer to v */
    out = wr_meta_is_quiet(request) ? out : put(out, " v", 2);
    out = put_flag(out, 'D', request->delta);
    if (request->initial != NULL) {
        out = put_time(out, 'N', request->expiration);
        out = put_flag(out, 'J', *request->initial);
    }
    return out;
}

static char *put_stub(char *out, const wr_request_t *request, const wr_meta_stub_t *stub) {
    out = put_time(out, 'T', request->expiration != 0 ? request->expiration : stub->lifetime_s);
    return put_flag(out, 'F', stub->flags);
}

static char *put_fields(char *out, const wr_request_t *request, unsigned has,
                        const wr_meta_stub_t *stub) {
    if ((has & HAS_FLAGS) != 0 && request->flags != 0) {
        out = put_flag(out, 'F', request->flags);
    }
    if ((has & SETS_EXPIRATION) != 0 || ((has & HAS_EXPIRATION) != 0 && request->expiration != 0)) {
        out = put_time(out, 'T', request->expiration);
    }
    if (request->cas != 0 && wr_verb_info(request->verb)->binds) {
        out = put_flag(out, 'C', request->cas);
    }
    if ((has & HAS_DELTA) != 0) {
        out = put_delta(out, request);
    }
    if ((has & HAS_STUB) != 0) {
        out = put_stub(out, request, stub);
    }
    return out;
}

static char *put_opaque(char *out, const wr_meta_opaque_t *opaque) {
    out = put(out, " O", 2);
    memcpy(out, opaque->digits, WR_META_OPAQUE_ROOM);
    return out + opaque->length;
}

static char *put_ending(char *out, const wr_request_t *request, unsigned has,
                        const wr_meta_opaque_t *opaque) {
    if (wr_meta_is_quiet(request)) {
        static const text_t quiet = TEXT(" q"), classic = TEXT(" noreply");
        out = put_text(out, (has & IS_CLASSIC) != 0 ? &classic : &quiet);
    } else if ((has & IS_CLASSIC) == 0) {
        out = put_opaque(out, opaque);
    }
    return put(out, "\r\n", 2);
}

char *wr_meta_encode(char *out, const wr_request_t *request, const wr_meta_opaque_t *opaque,
                     const wr_meta_stub_t *stub) {
    const line_t *line = &lines[request->verb];
    out = put_text(out, &line->command);
    if ((line->has & NO_KEY) == 0) {
        out = put_key(out, request->key);
    }
    if ((line->has & HAS_VALUE) != 0) {
        *out++ = ' ';
        out = wr_meta_encode_number(out, request->value.length);
    }
    out = put_text(out, &line->mode);
    if ((line->has & IS_READ) != 0 && request->wants_ttl) {
        out = put(out, " t", 2);
    }
    out = put_fields(out, request, line->has, stub);
    return put_ending(out, request, line->has, opaque);
}

static inline bool joins(const wr_request_t *request) {
    return request->verb == WR_GET && !request->wants_ttl &&
           request->key.length - 1 < WR_META_KEY_MAX;
}

bool wr_meta_joins(wr_request_t *const *requests, size_t count) {
    return count > 1 && joins(requests[0]) && joins(requests[1]);
}

size_t wr_meta_encode_gets(char **out, wr_request_t *const *requests, size_t count) {
    char *at = put(*out, "gets", 4);
    const char *last = *out + WR_META_GETS_MAX - (sizeof " \r\n" - 1); /* of a key's ends */
    size_t length = 0;
    for (; length < count && joins(requests[length]); length++) {
        warmring_bytes_t key = requests[length]->key;
        if (key.length > (size_t)(last - at)) {
            break;
        }
        *at++ = ' ';
        at = put_key(at, key);
    }
    *out = put(at, "\r\n", 2);
    return length;
}

char *wr_meta_encode_barrier(char *out) {
    return put(out, "mn\r\n", 4);
}
