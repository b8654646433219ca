/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser: every answer whole, byte by byte and split at each byte; what
 * is no answer refused; mutated streams survived.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../lib/tap.h"
#include "net/meta_reader.h"

static const wr_meta_limits_t limits = {.line = 512, .key = 250, .value = 1000};

/* What a stream said, as text: one line an event. */
typedef struct {
    char text[2048];
    size_t length;
} story_t;

TAP_FORMAT(2, 3) static void tell(story_t *story, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(story->text + story->length, sizeof story->text - story->length, format,
                           arguments);
    va_end(arguments);
    story->length += (size_t)length;
    if (story->length >= sizeof story->text) {
        story->length = sizeof story->text - 1;
    }
}

static void tell_numbers(story_t *story, const wr_meta_reply_t *reply) {
    if ((reply->has & WR_META_HAS_FLAGS) != 0) {
        tell(story, " f=%llu", (unsigned long long)reply->flags);
    }
    if ((reply->has & WR_META_HAS_CAS) != 0) {
        tell(story, " c=%llu", (unsigned long long)reply->cas);
    }
    if ((reply->has & WR_META_HAS_TTL) != 0) {
        tell(story, " t=%lld", (long long)reply->ttl);
    }
    if ((reply->has & WR_META_HAS_SIZE) != 0) {
        tell(story, " s=%llu", (unsigned long long)reply->size);
    }
}

static void tell_line(story_t *story, const wr_meta_reply_t *reply) {
    static const char *const names[WR_META_KINDS] = {
        "HD", "VA",    "EN",  "NF",      "NS",    "EX",           "MN",
        "OK", "VALUE", "END", "VERSION", "ERROR", "CLIENT_ERROR", "SERVER_ERROR"};
    tell(story, "%s", names[reply->kind]);
    tell_numbers(story, reply);
    if ((reply->has & WR_META_HAS_OPAQUE) != 0) {
        tell(story, " O=%.*s", (int)reply->opaque.length, reply->opaque.data);
    }
    if ((reply->has & WR_META_HAS_KEY) != 0) {
        tell(story, " k=%.*s", (int)reply->key.length, reply->key.data);
    }
    tell(story, "%s%s%s", (reply->has & WR_META_HAS_WON) != 0 ? " W" : "",
         (reply->has & WR_META_HAS_GIVEN) != 0 ? " Z" : "",
         (reply->has & WR_META_HAS_STALE) != 0 ? " X" : "");
    if (reply->text.length > 0) {
        tell(story, " (%.*s)", (int)reply->text.length, reply->text.data);
    }
    tell(story, "\n");
}

typedef struct {
    wr_meta_reader_t reader;
    char buffer[513];
    char value[1000];
    size_t value_length;
    bool drops; /* values go nowhere */
    bool broken;
    story_t story;
} session_t;

static void take_line(session_t *session, const wr_meta_reply_t *reply) {
    tell_line(&session->story, reply);
    if (reply->kind == WR_META_VA || reply->kind == WR_META_VALUE) {
        session->value_length = (size_t)reply->value_length;
        wr_meta_expect(&session->reader, session->drops ? NULL : session->value,
                       (size_t)reply->value_length);
    }
}

static void take_events(session_t *session) {
    wr_meta_reply_t reply;
    const char *wrong = NULL;
    for (;;) {
        switch (wr_meta_next(&session->reader, &reply, &wrong)) {
        case WR_META_MORE:
            return;
        case WR_META_LINE:
            take_line(session, &reply);
            break;
        case WR_META_BODY:
            tell(&session->story, "[%.*s]\n", session->drops ? 0 : (int)session->value_length,
                 session->value);
            break;
        case WR_META_BROKEN:
            tell(&session->story, "broken: %s\n", wrong);
            session->broken = true;
            return;
        }
    }
}

/* Hands over one piece, as often as the reader has room for it. */
static void feed(session_t *session, const char *bytes, size_t length) {
    while (length > 0 && !session->broken) {
        struct iovec pieces[2];
        int count = wr_meta_room(&session->reader, pieces);
        size_t filled = 0;
        for (int i = 0; i < count && length > 0; i++) {
            size_t part = length < pieces[i].iov_len ? length : pieces[i].iov_len;
            memcpy(pieces[i].iov_base, bytes, part);
            bytes += part;
            length -= part;
            filled += part;
        }
        if (filled == 0) {
            tap_bail("the reader has no room and is not broken");
        }
        wr_meta_filled(&session->reader, filled);
        take_events(session);
    }
}

static void begin(session_t *session, bool drops) {
    memset(session, 0, sizeof *session);
    session->drops = drops;
    wr_meta_reader_init(&session->reader, &limits, session->buffer, sizeof session->buffer);
}

static const struct {
    const char *stream;
    const char *story;
    const char *dropped; /* the story when values are dropped; NULL: the same */
} good[] = {
    {"HD\r\n", "HD\n", NULL},
    {"HD \r\n", "HD\n", NULL},
    {"HD c18446744073709551615 O7\r\n", "HD c=18446744073709551615 O=7\n", NULL},
    {"EN\r\nNF\r\nNS c0\r\nEX\r\nMN\r\nOK\r\n", "EN\nNF\nNS c=0\nEX\nMN\nOK\n", NULL},
    {"VA 3 f4294967295 c10 t-1 s3 kk Oabc\r\nabc\r\n",
     "VA f=4294967295 c=10 t=-1 s=3 O=abc k=k\n[abc]\n",
     "VA f=4294967295 c=10 t=-1 s=3 O=abc k=k\n[]\n"},
    {"VA 0 f77 c15 t5 W\r\n\r\nVA 0 t30 Z X\r\n\r\n", "VA f=77 c=15 t=5 W\n[]\nVA t=30 Z X\n[]\n",
     NULL},
    {"VA 4\r\n\r\n\r\n\r\nHD\r\n", "VA\n[\r\n\r\n]\nHD\n", "VA\n[]\nHD\n"},
    {"VALUE k 0 3 14\r\nEND\r\nVALUE long-key 4294967295 0\r\n\r\nEND\r\n",
     "VALUE f=0 c=14 k=k\n[END]\nVALUE f=4294967295 k=long-key\n[]\nEND\n",
     "VALUE f=0 c=14 k=k\n[]\nVALUE f=4294967295 k=long-key\n[]\nEND\n"},
    {"VALUE \xc3\xa4 1 2 3\r\nhi\r\nEND\r\n", "VALUE f=1 c=3 k=\xc3\xa4\n[hi]\nEND\n",
     "VALUE f=1 c=3 k=\xc3\xa4\n[]\nEND\n"},
    {"ERROR\r\nERROR Too many open connections\r\n", "ERROR\nERROR (Too many open connections)\n",
     NULL},
    {"CLIENT_ERROR bad data chunk\r\n", "CLIENT_ERROR (bad data chunk)\n", NULL},
    {"SERVER_ERROR out of memory storing object\r\n",
     "SERVER_ERROR (out of memory storing object)\n", NULL},
    {"VERSION 1.6.18\r\n", "VERSION (1.6.18)\n", NULL},
};

static bool agrees(const session_t *session, const char *story) {
    bool same = strcmp(session->story.text, story) == 0;
    if (!same) {
        tap_string(session->story.text, story, "story");
    }
    return same && !wr_meta_has_rest(&session->reader);
}

static bool in_any_pieces(const char *stream, const char *story, bool drops) {
    session_t session;
    size_t length = strlen(stream);
    bool held = true;
    for (size_t split = 0; split <= length; split++) {
        begin(&session, drops);
        feed(&session, stream, split);
        feed(&session, stream + split, length - split);
        held = agrees(&session, story) && held;
    }
    for (size_t step = 1; step <= 3; step++) {
        begin(&session, drops);
        for (size_t at = 0; at < length; at += step) {
            feed(&session, stream + at, length - at < step ? length - at : step);
        }
        held = agrees(&session, story) && held;
    }
    return held;
}

static void test_good(void) {
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        const char *dropped = good[i].dropped != NULL ? good[i].dropped : good[i].story;
        tap_ok(in_any_pieces(good[i].stream, good[i].story, false), "%.*s in any pieces",
               (int)strcspn(good[i].stream, "\r"), good[i].stream);
        tap_ok(in_any_pieces(good[i].stream, dropped, true), "and with its value dropped");
    }
}

/* Longer than the buffer: most of it goes past it. */
static void test_long_value(void) {
    char stream[1100];
    int head = snprintf(stream, sizeof stream, "VA 1000 f1 c2\r\n");
    for (int i = 0; i < 1000; i++) {
        stream[head + i] = (char)('a' + i % 26);
    }
    memcpy(stream + head + 1000, "\r\nMN\r\n", 6);
    size_t length = (size_t)head + 1000 + 6;
    bool held = true;
    for (size_t split = 0; split <= length; split++) {
        session_t session;
        begin(&session, split % 2 == 1);
        feed(&session, stream, split);
        feed(&session, stream + split, length - split);
        held = held && !session.broken && !wr_meta_has_rest(&session.reader) &&
               strstr(session.story.text, "]\nMN\n") != NULL &&
               (session.drops || memcmp(session.value, stream + head, 1000) == 0);
    }
    tap_ok(held, "a value longer than the buffer, split at each byte");
}

static const char *const bad[] = {
    "\r\n",
    "\n",
    "HD\n",
    "hd\r\n",
    "HDx\r\n",
    "HD  c1\r\n",
    "HD c\r\n",
    "HD c-1\r\n",
    "HD c1x\r\n",
    "HD c18446744073709551616\r\n",
    "HD c1 c2\r\n",
    "HD y\r\n",
    "HD f4294967296\r\n",
    "HD t-2\r\n",
    "HD O\r\n",
    "HD k\r\n",
    "HD Wx\r\n",
    "MN \r\n",
    "MN x\r\n",
    "END x\r\n",
    "VA\r\n",
    "VA \r\n",
    "VA -1\r\n",
    "VA 99999999999999999999999\r\n",
    "VA 3x\r\n",
    "VA 3\r\nabcd\r\n",
    "VA 3\r\nabc\rx",
    "VALUE k 0\r\n",
    "VALUE k 0 -3\r\n",
    "VALUE k 0 3 1 2\r\nabc\r\n",
    "VALUE k 4294967296 3\r\n",
    "VALUE  0 3\r\n",
    "STORED\r\n",
    "DELETED\r\n",
    "CLIENT_ERROR\r\n",
    "SERVER_ERRORS of many kinds\r\n",
    "VERSION\r\n",
    "ERROR\r \n",
    "<html>\r\n",
    "HTTP/1.1 400 Bad Request\r\n",
    "\x81\x01\x01\r\n",
    "HD c1\r\r\n",
};

static void test_bad(void) {
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        size_t length = strlen(bad[i]);
        bool held = true;
        for (size_t split = 0; split <= length; split++) {
            session_t session;
            begin(&session, false);
            feed(&session, bad[i], split);
            feed(&session, bad[i] + split, length - split);
            held = held && session.broken;
        }
        tap_ok(held, "refused: %.*s", (int)strcspn(bad[i], "\r\n"), bad[i]);
    }
}

static void feed_key(session_t *session, size_t key_length) {
    char line[300] = "VALUE ";
    memset(line + 6, 'k', key_length);
    memcpy(line + 6 + key_length, " 0 0\r\n\r\n", 8);
    begin(session, false);
    feed(session, line, 6 + key_length + 8);
}

static void test_limits(void) {
    session_t session;
    char line[600];
    memset(line, 'x', sizeof line);
    begin(&session, false);
    feed(&session, line, sizeof line);
    tap_contains(session.story.text, "line longer than the limit", "an endless line");

    memcpy(line, "SERVER_ERROR ", 13);
    memcpy(line + 510, "\r\n", 2);
    begin(&session, false);
    feed(&session, line, 512);
    tap_ok(!session.broken, "a line of just the limit");

    feed_key(&session, 250);
    tap_ok(!session.broken, "a key of just the limit");
    feed_key(&session, 251);
    tap_contains(session.story.text, "over-long key", "a longer key");
}

/* Every byte of every good stream replaced by every other. What comes out is
 * checked by the sanitizers, and that it ends by the test ending. */
static void test_mutations(void) {
    size_t streams = 0;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char stream[256];
        size_t length = strlen(good[i].stream);
        for (size_t at = 0; at < length; at++) {
            for (int byte = 0; byte < 256; byte++) {
                session_t session;
                memcpy(stream, good[i].stream, length);
                stream[at] = (char)byte;
                begin(&session, byte % 2 == 1);
                feed(&session, stream, length);
                streams++;
            }
        }
    }
    tap_ok(streams > 50000, "%zu mutated streams", streams);
}

int main(void) {
    test_good();
    test_long_value();
    test_bad();
    test_limits();
    test_mutations();
    return tap_done();
}
