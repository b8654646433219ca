/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes to answers: the receiving half of an exchange.
 *
 * Lists are matched by key, every other answer by its opaque number (a miss
 * has none), lines of quiet commands by standing before the barrier's MN. An
 * answer that fits nothing ends the exchange: the stream is not to be trusted.
 */
#include "net/meta_exchange.h"

#include <inttypes.h>
#include <string.h>

#include "base/fail.h"
#include "base/number.h"

/* What each answer means to each verb: status + 1, 0 when it is none. */
#define IS(status) (uint8_t)(1 + WARMRING_##status)
#define STORE_ANSWERS \
    { [WR_META_HD] = IS(OK), [WR_META_NS] = IS(NOT_STORED) }
#define BOUND_STORE_ANSWERS \
    { [WR_META_HD] = IS(OK), [WR_META_NS] = IS(NOT_STORED), [WR_META_EX] = IS(EXISTS) }
#define READ_ANSWERS \
    { [WR_META_VA] = IS(OK), [WR_META_EN] = IS(NOT_FOUND) }
#define NUMBER_ANSWERS                                                                      \
    {                                                                                       \
        [WR_META_VA] = IS(OK), [WR_META_NF] = IS(NOT_FOUND), [WR_META_NS] = IS(NOT_STORED), \
        [WR_META_EX] = IS(EXISTS)                                                           \
    }

static const uint8_t meanings[WR_VERBS][WR_META_KINDS] = {
    [WR_GET] = READ_ANSWERS,
    [WR_SET] = STORE_ANSWERS,
    [WR_ADD] = STORE_ANSWERS,
    [WR_REPLACE] = STORE_ANSWERS,
    [WR_APPEND] = BOUND_STORE_ANSWERS,
    [WR_PREPEND] = BOUND_STORE_ANSWERS,
    [WR_CAS] = {[WR_META_HD] = IS(OK),
                [WR_META_NF] = IS(NOT_FOUND),
                [WR_META_EX] = IS(EXISTS),
                [WR_META_NS] = IS(NOT_STORED)},
    [WR_DELETE] = {[WR_META_HD] = IS(OK), [WR_META_NF] = IS(NOT_FOUND)},
    [WR_UNLEASE] = {[WR_META_HD] = IS(OK), [WR_META_NF] = IS(NOT_FOUND), [WR_META_EX] = IS(EXISTS)},
    [WR_LEASE] = STORE_ANSWERS,
    [WR_TOUCH] =
        {[WR_META_HD] = IS(OK), [WR_META_EN] = IS(NOT_FOUND), [WR_META_NF] = IS(NOT_FOUND)},
    [WR_GET_AND_TOUCH] = READ_ANSWERS,
    [WR_INCREMENT] = NUMBER_ANSWERS,
    [WR_DECREMENT] = NUMBER_ANSWERS,
    [WR_FLUSH] = {[WR_META_OK] = IS(OK)},
};

/* The flags a good answer must bring. */
static const unsigned needs[WR_VERBS] = {
    [WR_GET] = WR_META_HAS_FLAGS | WR_META_HAS_CAS,
    [WR_GET_AND_TOUCH] = WR_META_HAS_FLAGS | WR_META_HAS_CAS,
    [WR_LEASE] = WR_META_HAS_CAS,
};

/* Flags that other users of the server may cause on an item. */
static const unsigned tolerated = WR_META_HAS_WON | WR_META_HAS_GIVEN | WR_META_HAS_STALE;

static void abort_protocol(wr_meta_exchange_t *exchange, const char *why) {
    wr_meta_forget_refusal(exchange);
    wr_meta_abort(exchange, wr_fail(WARMRING_PROTOCOL_ERROR, "%s: unexpected answer (%s)",
                                    exchange->label, why));
}

static bool text_is(const wr_meta_reply_t *reply, const char *text) {
    size_t length = strlen(text);
    return length == 0 ||
           (reply->text.length >= length && memcmp(reply->text.data, text, length) == 0);
}

typedef struct {
    wr_meta_kind_t kind;
    warmring_status_t status;
    bool keeps_sync;
    const char *text; /* how it starts */
} error_t;

static const error_t errors[] = {
    {WR_META_CLIENT_ERROR, WARMRING_NOT_NUMERIC, true, "cannot increment or decrement non-numeric"},
    {WR_META_CLIENT_ERROR, WARMRING_AUTH_FAILED, false, "unauthenticated"},
    {WR_META_CLIENT_ERROR, WARMRING_SERVER_ERROR, false, ""},
    {WR_META_SERVER_ERROR, WARMRING_TOO_LARGE, true, "object too large"},
    {WR_META_SERVER_ERROR, WARMRING_SERVER_ERROR, true, ""},
    {WR_META_ERROR, WARMRING_SERVER_ERROR, false, ""},
};

/* NULL: the line is no error. */
static const error_t *find_error(const wr_meta_reply_t *reply) {
    if (reply->kind < WR_META_ERROR) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].kind == reply->kind && text_is(reply, errors[i].text)) {
            return &errors[i];
        }
    }
    return NULL;
}

static warmring_status_t fail_with(const wr_meta_exchange_t *exchange, const error_t *error,
                                   const wr_meta_reply_t *reply) {
    static const char *const words[WR_META_KINDS] = {[WR_META_ERROR] = "ERROR ",
                                                     [WR_META_CLIENT_ERROR] = "CLIENT_ERROR ",
                                                     [WR_META_SERVER_ERROR] = "SERVER_ERROR "};
    if (reply->text.length == 0) {
        return wr_fail(WARMRING_PROTOCOL_ERROR, "%s: unexpected answer (ERROR)", exchange->label);
    }
    /* NOLINTNEXTLINE(-Wanalyzer-null-dereference): the table's last row of each kind fits all */
    return wr_fail(error->status, "%s: server answered: %s%.*s", exchange->label,
                   words[reply->kind], (int)reply->text.length, reply->text.data);
}

/* A line that belongs to quiet commands, or ends their part. */
static void answer_quiet(wr_meta_exchange_t *exchange, const wr_meta_reply_t *reply) {
    const error_t *error = find_error(reply);
    if (reply->kind == WR_META_MN && exchange->answered < exchange->encoded) {
        exchange->quiet_in = 0;
    } else if (reply->kind == WR_META_ERROR) {
        wr_meta_abort(exchange, fail_with(exchange, error, reply));
    } else if (error != NULL) {
        exchange->broken |= !error->keeps_sync;
    } else if (reply->kind > WR_META_EX || reply->kind == WR_META_VA) {
        abort_protocol(exchange, "to a command that wants none");
    }
}

/* The request at `answered`, or the list from there on, is complete. */
static inline void complete(wr_meta_exchange_t *exchange, size_t next) {
    exchange->answered = next;
    exchange->list_end = 0;
    if (exchange->piece == exchange->pieces_end) {
        wr_meta_skip_silent(exchange);
    }
}

static void answer_error(wr_meta_exchange_t *exchange, const error_t *error,
                         const wr_meta_reply_t *reply) {
    warmring_status_t status = fail_with(exchange, error, reply);
    if (reply->kind == WR_META_ERROR || exchange->list_end != 0) {
        wr_meta_abort(exchange, status);
        return;
    }
    exchange->requests[exchange->answered]->status = status;
    exchange->broken |= !error->keeps_sync;
    wr_meta_next_opaque(&exchange->opaque_in);
    complete(exchange, exchange->answered + 1);
}

/* A value that nobody wants to wait for: behind it nothing is read. */
static void refuse_item(wr_meta_exchange_t *exchange, wr_request_t *request,
                        const wr_meta_reply_t *reply) {
    uint64_t length = reply->value_length;
    request->value_length = length < SIZE_MAX ? (size_t)length : SIZE_MAX;
    request->status = wr_fail(
        WARMRING_TOO_LARGE, "%s: the value of '%.*s' has %" PRIu64 " bytes, max_value_bytes is %zu",
        exchange->label, (int)request->key.length, request->key.data, length,
        exchange->reader.limits.value);
    wr_meta_abort(exchange, WARMRING_CONNECTION_LOST);
}

/* Takes what an item's line says, and finds room for the value, which is within
 * the limit: the status of the request once it has come. */
static inline warmring_status_t find_room(wr_request_t *request, const wr_meta_reply_t *reply) {
    char *room = NULL;
    warmring_status_t status = WARMRING_OK;
    if (request->sink != NULL) {
        room = request->sink->reserve(request->sink, (size_t)reply->value_length);
        status = room != NULL ? WARMRING_OK : request->sink->refusal;
    }
    request->value_out = room;
    request->value_length = (size_t)reply->value_length;
    request->flags_out = (uint32_t)reply->flags;
    request->cas_out = reply->cas;
    if ((reply->has & WR_META_HAS_TTL) != 0) {
        request->ttl = reply->ttl;
    }
    return status;
}

static inline wr_meta_event_t take_item(wr_meta_exchange_t *exchange, wr_request_t *request,
                                        const wr_meta_reply_t *reply, const char **wrong) {
    if (reply->value_length > exchange->reader.limits.value) {
        refuse_item(exchange, request, reply);
        return WR_META_LINE;
    }
    exchange->item = request;
    exchange->item_status = find_room(request, reply);
    return wr_meta_take_value(&exchange->reader, request->value_out, request->value_length, wrong);
}

static wr_meta_event_t take_number(wr_meta_exchange_t *exchange, wr_request_t *request,
                                   const wr_meta_reply_t *reply, const char **wrong) {
    if (reply->value_length > sizeof exchange->digits) {
        abort_protocol(exchange, "number too long");
        return WR_META_LINE;
    }
    exchange->item = request;
    exchange->item_status = WARMRING_OK;
    request->value_length = (size_t)reply->value_length;
    return wr_meta_take_value(&exchange->reader, exchange->digits, request->value_length, wrong);
}

static bool matches_key(const wr_request_t *request, const wr_meta_reply_t *reply) {
    return request->status == WR_META_PENDING && request->key.length == reply->key.length &&
           memcmp(request->key.data, reply->key.data, request->key.length) == 0;
}

/* The place of an item's key from `from` on; `list_end`: it has none. */
static size_t find_from(const wr_meta_exchange_t *exchange, const wr_meta_reply_t *reply,
                        size_t from) {
    while (from < exchange->list_end && !matches_key(exchange->requests[from], reply)) {
        from++;
    }
    return from;
}

/* Items are likely to come in the order of their keys. */
static inline void expect_from(wr_meta_exchange_t *exchange, size_t index) {
    exchange->list_next = index;
    exchange->reader.expected =
        index < exchange->list_end ? &exchange->requests[index]->key : &wr_meta_no_key;
}

/* Keys that have no item are passed; a proxy may answer in another order. */
static size_t search_list(const wr_meta_exchange_t *exchange, const wr_meta_reply_t *reply) {
    size_t index = find_from(exchange, reply, exchange->list_next);
    return index < exchange->list_end ? index : find_from(exchange, reply, exchange->answered);
}

/* Whether an item is that of the expected key, and its first. */
static inline bool is_expected(const wr_meta_exchange_t *exchange, const wr_meta_reply_t *reply) {
    return reply->key.data == exchange->reader.expected->data &&
           exchange->requests[exchange->list_next]->status == WR_META_PENDING;
}

/* NULL: it is no item of the list. */
static inline wr_request_t *find_in_list(wr_meta_exchange_t *exchange,
                                         const wr_meta_reply_t *reply) {
    size_t index =
        is_expected(exchange, reply) ? exchange->list_next : search_list(exchange, reply);
    if (index == exchange->list_end) {
        return NULL;
    }
    expect_from(exchange, index + 1);
    return exchange->requests[index];
}

static void end_list(wr_meta_exchange_t *exchange) {
    for (size_t i = exchange->answered; i < exchange->list_end; i++) {
        wr_request_t *request = exchange->requests[i];
        if (request->status == WR_META_PENDING) {
            request->status = WARMRING_NOT_FOUND;
        }
    }
    complete(exchange, exchange->list_end);
}

static inline wr_meta_event_t answer_item(wr_meta_exchange_t *exchange,
                                          const wr_meta_reply_t *reply, const char **wrong) {
    if ((reply->has & WR_META_HAS_CAS) == 0) {
        abort_protocol(exchange, "to gets");
        return WR_META_LINE;
    }
    wr_request_t *request = find_in_list(exchange, reply);
    if (request == NULL) {
        abort_protocol(exchange, "item of a key that was not asked for");
        return WR_META_LINE;
    }
    return take_item(exchange, request, reply, wrong);
}

static void answer_list(wr_meta_exchange_t *exchange, const wr_meta_reply_t *reply) {
    if (reply->kind == WR_META_END) {
        end_list(exchange);
    } else {
        abort_protocol(exchange, "to gets");
    }
}

static inline bool is_opaque(const wr_meta_exchange_t *exchange, const wr_meta_reply_t *reply) {
    if ((reply->has & WR_META_HAS_OPAQUE) == 0) {
        return reply->kind == WR_META_EN || reply->kind == WR_META_OK;
    }
    return wr_meta_is_opaque(&exchange->opaque_in, reply->opaque);
}

static inline const char *check_flags(const wr_meta_exchange_t *exchange,
                                      const wr_request_t *request, const wr_meta_reply_t *reply,
                                      bool good) {
    unsigned wanted = needs[request->verb] | (request->wants_ttl ? WR_META_HAS_TTL : 0u);
    if ((reply->has & ~(wanted | tolerated | WR_META_HAS_OPAQUE)) != 0) {
        return "flags that were not asked for";
    }
    if (good && (reply->has & needs[request->verb]) != needs[request->verb]) {
        return "without the flags asked for";
    }
    return is_opaque(exchange, reply) ? NULL : "to another command";
}

static inline wr_meta_event_t answer_one(wr_meta_exchange_t *exchange, const wr_meta_reply_t *reply,
                                         const char **bad) {
    wr_request_t *request = exchange->requests[exchange->answered];
    uint8_t meaning = meanings[request->verb][reply->kind];
    const char *wrong =
        meaning == 0 ? "of another kind" : check_flags(exchange, request, reply, meaning == IS(OK));
    if (wrong != NULL) {
        abort_protocol(exchange, wrong);
        return WR_META_LINE;
    }
    wr_meta_next_opaque(&exchange->opaque_in);
    if (reply->kind == WR_META_VA) {
        return wr_verb_info(request->verb)->reads ? take_item(exchange, request, reply, bad)
                                                  : take_number(exchange, request, reply, bad);
    }
    if (request->verb == WR_LEASE) {
        request->cas_out = reply->cas;
    }
    request->status = (warmring_status_t)(meaning - 1);
    complete(exchange, exchange->answered + 1);
    return WR_META_LINE;
}

/* Finds out what a line is the first answer to. False when that was no more
 * than quiet commands, or nothing. */
static inline bool begin_answer(wr_meta_exchange_t *exchange, const wr_meta_reply_t *reply) {
    wr_meta_skip_silent(exchange);
    if (exchange->quiet_in > 0) {
        answer_quiet(exchange, reply);
        return false;
    }
    if (exchange->answered == exchange->encoded) {
        abort_protocol(exchange, "to no command");
        return false;
    }
    size_t length = exchange->requests[exchange->answered]->joined;
    exchange->list_end = length == 0 ? 0 : exchange->answered + length;
    expect_from(exchange, exchange->answered);
    return true;
}

/* Returns what became of the value behind the line; LINE: there is none. */
static inline wr_meta_event_t answer_line(wr_meta_exchange_t *exchange,
                                          const wr_meta_reply_t *reply, const char **wrong) {
    if (exchange->list_end == 0 && !begin_answer(exchange, reply)) {
        return WR_META_LINE;
    }
    if (exchange->list_end != 0 && reply->kind == WR_META_VALUE) {
        return answer_item(exchange, reply, wrong);
    }
    const error_t *error = reply->kind < WR_META_ERROR ? NULL : find_error(reply);
    if (error == NULL && exchange->list_end == 0) {
        return answer_one(exchange, reply, wrong);
    }
    if (error != NULL) {
        answer_error(exchange, error, reply);
    } else {
        answer_list(exchange, reply);
    }
    return WR_META_LINE;
}

static bool read_digits(wr_meta_exchange_t *exchange, wr_request_t *request) {
    size_t length = request->value_length;
    while (length > 0 && exchange->digits[length - 1] == ' ') {
        length--;
    }
    return wr_parse_uint(exchange->digits, length, UINT64_MAX, &request->number);
}

static inline void finish_value(wr_meta_exchange_t *exchange) {
    wr_request_t *request = exchange->item;
    if (exchange->list_end != 0) {
        request->status = exchange->item_status;
        return;
    }
    if (wr_verb_info(request->verb)->reads) {
        request->status = exchange->item_status;
    } else if (read_digits(exchange, request)) {
        request->status = WARMRING_OK;
    } else {
        abort_protocol(exchange, "not a number");
        return;
    }
    complete(exchange, exchange->answered + 1);
}

/* ---- one answer, the usual way ------------------------------------------------ */

/* The word of an answer without a value. */
static wr_meta_kind_t find_short(const char *at) {
    static const struct {
        char word[2];
        uint8_t kind;
    } words[] = {{"HD", WR_META_HD},
                 {"EN", WR_META_EN},
                 {"NF", WR_META_NF},
                 {"NS", WR_META_NS},
                 {"EX", WR_META_EX}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (memcmp(at, words[i].word, sizeof words[i].word) == 0) {
            return (wr_meta_kind_t)words[i].kind;
        }
    }
    return WR_META_KINDS;
}

/* The opaque number that is due and the line's end; NULL: something else. */
static inline const char *read_ending(const wr_meta_exchange_t *exchange, const char *at) {
    const wr_meta_opaque_t *opaque = &exchange->opaque_in;
    if (at[0] != ' ' || at[1] != 'O') {
        return NULL;
    }
    size_t same = 0;
    while (same < opaque->length && at[2 + same] == opaque->digits[same]) {
        same++;
    }
    at += 2 + same;
    return same == opaque->length && at[0] == '\r' && at[1] == '\n' ? at + 2 : NULL;
}

/* VA LENGTH fFLAGS cCAS Oopaque, behind the word; what a get asks for. */
static inline const char *read_item(const wr_meta_exchange_t *exchange, const char *at,
                                    const char *stop, wr_meta_reply_t *reply) {
    at = wr_scan_length(at, &reply->value_length);
    at = at != NULL && at[0] == ' ' && at[1] == 'f'
             ? wr_scan_number(at + 2, UINT32_MAX, &reply->flags)
             : NULL;
    at = at != NULL && at[0] == ' ' && at[1] == 'c' ? wr_scan_cas(at + 2, stop, &reply->cas) : NULL;
    return at != NULL ? read_ending(exchange, at) : NULL;
}

static void end_one(wr_meta_exchange_t *exchange, warmring_status_t status) {
    exchange->requests[0]->status = status;
    exchange->reader.end = 0;
    exchange->answered = 1;
    wr_meta_next_opaque(&exchange->opaque_in);
}

static bool absorb_short(wr_meta_exchange_t *exchange, const char *at, const char *stop) {
    const wr_request_t *request = exchange->requests[0];
    wr_meta_kind_t kind = find_short(at);
    uint8_t meaning = kind < WR_META_KINDS ? meanings[request->verb][kind] : 0;
    at += 2;
    const char *end =
        kind == WR_META_EN && at[0] == '\r' && at[1] == '\n' ? at + 2 : read_ending(exchange, at);
    if (meaning == 0 || end != stop || (meaning == IS(OK) && needs[request->verb] != 0)) {
        return false;
    }
    end_one(exchange, (warmring_status_t)(meaning - 1));
    return true;
}

static bool absorb_item(wr_meta_exchange_t *exchange, const char *at, const char *stop) {
    wr_request_t *request = exchange->requests[0];
    wr_meta_reply_t reply = {.has = WR_META_HAS_FLAGS | WR_META_HAS_CAS};
    const char *value = read_item(exchange, at, stop, &reply);
    const wr_meta_limits_t *limits = &exchange->reader.limits;
    if (value == NULL || (size_t)(value - exchange->reader.buffer) > limits->line ||
        reply.value_length > limits->value || (size_t)(stop - value) != reply.value_length + 2 ||
        memcmp(stop - 2, "\r\n", 2) != 0) {
        return false;
    }
    warmring_status_t status = find_room(request, &reply);
    if (request->value_out != NULL) {
        memcpy(request->value_out, value, request->value_length);
    }
    end_one(exchange, status);
    return true;
}

bool wr_meta_absorb_one(wr_meta_exchange_t *exchange) {
    const wr_request_t *request = exchange->requests[0];
    const char *at = exchange->reader.buffer, *stop = at + exchange->reader.end;
    if (exchange->reader.start != 0 || exchange->quiet_in != 0 || stop - at < 4) {
        return false;
    }
    if (memcmp(at, "VA ", 3) != 0) {
        return absorb_short(exchange, at, stop);
    }
    return wr_verb_info(request->verb)->reads && !request->wants_ttl &&
           absorb_item(exchange, at + 3, stop);
}

/* ---- items of a list, the usual way --------------------------------------------- */

/* VALUE KEY FLAGS LENGTH CAS, if the key is that one: the value behind it. */
static inline const char *read_listed(const char *at, const char *stop, warmring_bytes_t key,
                                      wr_meta_reply_t *reply) {
    static const char word[] = "VALUE ";
    enum { WORD = sizeof word - 1 };
    if ((size_t)(stop - at) <= WORD + key.length || memcmp(at, word, WORD) != 0 ||
        at[WORD + key.length] != ' ' || !wr_scan_same(at + WORD, key.data, key.length)) {
        return NULL;
    }
    at = wr_scan_number(at + WORD + key.length + 1, UINT32_MAX, &reply->flags);
    at = at != NULL && *at == ' ' ? wr_scan_length(at + 1, &reply->value_length) : NULL;
    at = at != NULL && *at == ' ' ? wr_scan_cas(at + 1, stop, &reply->cas) : NULL;
    return at != NULL && at[0] == '\r' && at[1] == '\n' ? at + 2 : NULL;
}

/* Whether a whole value of `length` bytes stands there. */
static inline bool is_whole(const char *value, const char *stop, uint64_t length) {
    size_t there = (size_t)(stop - value);
    return there >= 2 && there - 2 >= length && memcmp(value + length, "\r\n", 2) == 0;
}

/* Takes an item, if it is whole, and that of the key that is likely to be next. */
static inline bool absorb_listed(wr_meta_exchange_t *exchange, size_t index) {
    wr_meta_reader_t *reader = &exchange->reader;
    wr_request_t *request = exchange->requests[index];
    const char *at = reader->buffer + reader->start, *stop = reader->buffer + reader->end;
    wr_meta_reply_t reply;
    const char *value = read_listed(at, stop, request->key, &reply);
    if (value == NULL || !is_whole(value, stop, reply.value_length) ||
        (size_t)(value - at) > reader->limits.line || reply.value_length > reader->limits.value ||
        request->status != WR_META_PENDING) {
        return false;
    }
    reply.has = WR_META_HAS_FLAGS | WR_META_HAS_CAS;
    request->status = find_room(request, &reply);
    if (request->value_out != NULL) {
        memcpy(request->value_out, value, request->value_length);
    }
    reader->start = (size_t)(value - reader->buffer) + request->value_length + 2;
    return true;
}

static void absorb_list(wr_meta_exchange_t *exchange) {
    size_t index = exchange->list_next;
    while (index < exchange->list_end && absorb_listed(exchange, index)) {
        index++;
    }
    expect_from(exchange, index);
}

/* Bytes behind the last answer that nobody asked for. */
static bool has_junk(const wr_meta_exchange_t *exchange) {
    return wr_meta_done(exchange) && exchange->quiet_in == 0 && wr_meta_has_rest(&exchange->reader);
}

void wr_meta_absorb(wr_meta_exchange_t *exchange) {
    wr_meta_reply_t reply = {0};
    const char *wrong = NULL;
    wr_meta_event_t event;
    do {
        if (exchange->list_end != 0 && !exchange->reader.in_value) {
            absorb_list(exchange);
        }
        event = wr_meta_next(&exchange->reader, &reply, &wrong);
        if (event == WR_META_LINE) {
            event = answer_line(exchange, &reply, &wrong);
        }
        if (event == WR_META_BODY) {
            finish_value(exchange);
        } else if (event == WR_META_BROKEN) {
            abort_protocol(exchange, wrong);
        }
    } while (event != WR_META_MORE && !(exchange->broken && exchange->answered == exchange->count));
    exchange->broken |= event == WR_META_MORE && has_junk(exchange);
}
