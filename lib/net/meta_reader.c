/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines and values out of a stream of bytes.
 *
 * A line is a word, for some kinds fixed arguments, and for meta answers
 * flags. It is walked over once: every reader returns the place behind what
 * it understood, or NULL, and the line is good when that meets a CR LF. Behind
 * what was received stands a NUL, which ends every walk, so nobody looks for
 * the line's end first. Only where a walk fails is it looked for: a line that
 * has none yet is left where it is until more has come.
 *
 * The buffer holds whole what the parser looks at: a line is moved to the
 * buffer's front when the room behind it runs out. A value's bytes that came
 * with its line are copied from the buffer; the rest never passes through it,
 * but for its CR LF and what follows.
 */
#include "net/meta_reader.h"

#include <string.h>

#include "net/meta_scan.h"

/* The line being read. */
typedef struct {
    const wr_meta_reader_t *reader;
    const char *stop;  /* behind what was received, at the NUL */
    const char *wrong; /* why a reader returned NULL; NULL: see wr_meta_refuse() */
} line_t;

static const char *fail(line_t *line, const char *wrong) {
    line->wrong = wrong;
    return NULL;
}

/* Whoever asked compares keys and opaque tokens byte for byte. */
static inline const char *read_token(const char *at, const line_t *line, warmring_bytes_t *token) {
    return wr_scan_token(at, line->stop, line->reader->limits.key, token);
}

static inline const char *read_ttl(const char *at, wr_meta_reply_t *reply) {
    uint64_t number;
    if (at[0] == '-' && at[1] == '1') {
        reply->ttl = -1;
        return at + 2;
    }
    at = wr_scan_number(at, INT64_MAX, &number);
    reply->ttl = (int64_t)number;
    return at;
}

/* By letter, from 'A'; 0: unknown. */
static const uint16_t flags['z' - 'A' + 1] = {
    ['f' - 'A'] = WR_META_HAS_FLAGS,  ['c' - 'A'] = WR_META_HAS_CAS,
    ['t' - 'A'] = WR_META_HAS_TTL,    ['s' - 'A'] = WR_META_HAS_SIZE,
    ['O' - 'A'] = WR_META_HAS_OPAQUE, ['k' - 'A'] = WR_META_HAS_KEY,
    ['W' - 'A'] = WR_META_HAS_WON,    ['Z' - 'A'] = WR_META_HAS_GIVEN,
    ['X' - 'A'] = WR_META_HAS_STALE,
};

static inline unsigned find_flag(char letter) {
    size_t index = (size_t)((unsigned char)letter - 'A');
    return index < sizeof flags / sizeof flags[0] ? flags[index] : 0;
}

/* What is behind a flag's letter. */
static inline const char *read_value(const char *at, unsigned flag, const line_t *line,
                                     wr_meta_reply_t *reply) {
    switch (flag) {
    case WR_META_HAS_FLAGS:
        return wr_scan_number(at, UINT32_MAX, &reply->flags);
    case WR_META_HAS_CAS:
        return wr_scan_cas(at, line->stop, &reply->cas);
    case WR_META_HAS_OPAQUE:
        return read_token(at, line, &reply->opaque);
    case WR_META_HAS_TTL:
        return read_ttl(at, reply);
    case WR_META_HAS_SIZE:
        return wr_scan_number(at, UINT64_MAX, &reply->size);
    case WR_META_HAS_KEY:
        return read_token(at, line, &reply->key);
    default:
        return at;
    }
}

/* ---- what follows a word --------------------------------------------------- */

static inline const char *read_flags(const char *at, line_t *line, wr_meta_reply_t *reply) {
    unsigned has = 0;
    while (*at == ' ') {
        unsigned flag = find_flag(*++at);
        if (flag == 0 && *at == '\r') { /* some answers end in a space */
            break;
        }
        if (flag == 0 || (has & flag) != 0) {
            return fail(line, "unknown or repeated flag");
        }
        has |= flag;
        at = read_value(at + 1, flag, line, reply);
        if (at == NULL) {
            return fail(line, "bad flag");
        }
    }
    reply->has = has;
    return at;
}

static const char *read_length_flags(const char *at, line_t *line, wr_meta_reply_t *reply) {
    at = *at == ' ' ? wr_scan_length(at + 1, &reply->value_length) : NULL;
    return at != NULL ? read_flags(at, line, reply) : fail(line, "bad value length");
}

static const char *read_flags_alone(const char *at, line_t *line, wr_meta_reply_t *reply) {
    return read_flags(at, line, reply);
}

/* The one thing whose end must be looked for. */
static const char *read_text(const char *at, line_t *line, wr_meta_reply_t *reply) {
    const char *end = memchr(at, '\n', (size_t)(line->stop - at));
    if (end == NULL || end - at < 3 || *at != ' ') {
        return fail(line, "bad error line");
    }
    reply->text = (warmring_bytes_t){at + 1, (size_t)(end - at - 2)};
    return end - 1;
}

static const char *read_optional_text(const char *at, line_t *line, wr_meta_reply_t *reply) {
    return *at == ' ' ? read_text(at, line, reply) : at;
}

static const char *read_no_more(const char *at, line_t *line, wr_meta_reply_t *reply) {
    (void)line;
    (void)reply;
    return at;
}

/* ---- words ---------------------------------------------------------------- */

typedef struct {
    char word[13];
    uint8_t length;
    uint8_t kind;
    const char *(*read)(const char *at, line_t *line, wr_meta_reply_t *reply);
} word_t;

#define WORD(text, kind, read) \
    { text, sizeof text - 1, kind, read }

/* The frequent ones first; VALUE is not among them, see wr_meta_next_line(). */
static const word_t words[] = {
    WORD("VA", WR_META_VA, read_length_flags),
    WORD("HD", WR_META_HD, read_flags_alone),
    WORD("EN", WR_META_EN, read_flags_alone),
    WORD("END", WR_META_END, read_no_more),
    WORD("NF", WR_META_NF, read_flags_alone),
    WORD("NS", WR_META_NS, read_flags_alone),
    WORD("EX", WR_META_EX, read_flags_alone),
    WORD("MN", WR_META_MN, read_no_more),
    WORD("OK", WR_META_OK, read_no_more),
    WORD("VERSION", WR_META_VERSION, read_text),
    WORD("ERROR", WR_META_ERROR, read_optional_text),
    WORD("CLIENT_ERROR", WR_META_CLIENT_ERROR, read_text),
    WORD("SERVER_ERROR", WR_META_SERVER_ERROR, read_text),
};

/* Too short for a call of memcmp(). Neither the word nor what was received is
 * passed, as each ends in a NUL, and only a word's NUL is within a word. */
static inline bool starts_with(const char *line, const word_t *word) {
    size_t same = 0;
    while (word->word[same] != '\0' && line[same] == word->word[same]) {
        same++;
    }
    return same == word->length && (unsigned char)line[same] <= ' ';
}

static const word_t *find_word(const char *line) {
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (starts_with(line, &words[i])) {
            return &words[i];
        }
    }
    return NULL;
}

static const char *read_other(const char *at, line_t *line, wr_meta_reply_t *reply) {
    const word_t *word = find_word(at);
    if (word == NULL) {
        return fail(line, "not a line of memcached's");
    }
    reply->kind = (wr_meta_kind_t)word->kind;
    reply->has = 0;
    return word->read(at + word->length, line, reply);
}

/* ---- the stream -------------------------------------------------------------- */

const warmring_bytes_t wr_meta_no_key = {NULL, 0};

void wr_meta_reader_init(wr_meta_reader_t *reader, const wr_meta_limits_t *limits, char *buffer,
                         size_t capacity) {
    *reader = (wr_meta_reader_t){
        .limits = *limits, .buffer = buffer, .capacity = capacity - 1, .expected = &wr_meta_no_key};
}

static size_t buffered(const wr_meta_reader_t *reader) {
    return reader->end - reader->start;
}

static wr_meta_event_t broken(const char **wrong, const char *why) {
    *wrong = why;
    return WR_META_BROKEN;
}

wr_meta_event_t wr_meta_next_part(wr_meta_reader_t *reader, const char **wrong) {
    const char *bytes = reader->buffer + reader->start;
    size_t there = buffered(reader);
    size_t length = there < reader->value_left ? there : reader->value_left;
    if (reader->destination != NULL && length > 0) {
        memcpy(reader->destination, bytes, length);
        reader->destination += length;
    }
    reader->value_left -= length;
    reader->start += length;
    bool may_follow = there == length || (there == length + 1 && bytes[length] == '\r');
    return may_follow ? WR_META_MORE : broken(wrong, "value longer than announced");
}

wr_meta_event_t wr_meta_refuse(const wr_meta_reader_t *reader, const char *reason,
                               const char **wrong) {
    const char *start = reader->buffer + reader->start;
    size_t there = buffered(reader);
    const char *end = memchr(start, '\n', there);
    size_t length = end != NULL ? (size_t)(end + 1 - start) : there;
    if (length > reader->limits.line || (end == NULL && length == reader->limits.line)) {
        return broken(wrong, "line longer than the limit");
    }
    if (end == NULL) {
        return WR_META_MORE;
    }
    if (length < 2 || end[-1] != '\r') {
        return broken(wrong, "line without CR LF");
    }
    return broken(wrong, reason != NULL ? reason : "junk at the end of a line");
}

wr_meta_event_t wr_meta_next_other(wr_meta_reader_t *reader, wr_meta_reply_t *reply,
                                   const char **wrong) {
    line_t line = {reader, reader->buffer + reader->end, NULL};
    const char *at = read_other(reader->buffer + reader->start, &line, reply);
    return wr_meta_end_line(reader, at, line.wrong, wrong);
}

static void move_to_front(wr_meta_reader_t *reader) {
    size_t length = buffered(reader);
    if (length > 0 && reader->start > 0) {
        memmove(reader->buffer, reader->buffer + reader->start, length);
    }
    reader->start = 0;
    reader->end = length;
}

int wr_meta_room(wr_meta_reader_t *reader, struct iovec pieces[2]) {
    if (buffered(reader) == 0 || reader->capacity - reader->end < reader->limits.line) {
        move_to_front(reader);
    }
    int count = 0;
    if (reader->value_left > 0 && reader->destination != NULL) {
        pieces[count++] = (struct iovec){reader->destination, reader->value_left};
    }
    pieces[count++] = (struct iovec){reader->buffer + reader->end, reader->capacity - reader->end};
    return count;
}
