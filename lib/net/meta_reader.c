/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines and values out of a stream of bytes.
 *
 * A line is a word, for some kinds fixed arguments, and for meta answers
 * flags. It is walked over once: every reader returns the place behind what
 * it understood, or NULL, and the line is good when that meets the CR LF.
 *
 * The buffer holds whole what the parser looks at: a line is complete or left
 * where it is, moved to the buffer's front when the room behind it runs out.
 * A value's bytes that came with its line are copied from the buffer; the
 * rest never passes through it, but for its CR LF and what follows.
 */
#include "net/meta_reader.h"

#include <string.h>

/* The line being read, up to its CR LF, which ends all that walks over it. */
typedef struct {
    const char *end; /* at the CR */
    size_t token;    /* bytes of a key or an opaque token */
} line_t;

static inline unsigned digit_of(char c) {
    return (unsigned)(unsigned char)c - '0';
}

/* The digits up to `end` overflow no 64 bits. */
static bool fits(const char *at, const char *end) {
    uint64_t value = 0;
    for (; at < end; at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)) {
            return false;
        }
    }
    return true;
}

/* Nineteen digits cannot overflow 64 bits; more are looked at again. */
static inline const char *end_number(const char *first, const char *at, uint64_t value,
                                     uint64_t most, uint64_t *number) {
    enum { SAFE_DIGITS = 19 };
    for (unsigned digit; (digit = digit_of(*at)) < 10; at++) {
        value = value * 10 + digit;
    }
    *number = value;
    bool good = at != first && value <= most && (at - first <= SAFE_DIGITS || fits(first, at));
    return good ? at : NULL;
}

static inline const char *read_number(const char *at, uint64_t most, uint64_t *number) {
    return end_number(at, at, 0, most, number);
}

/* The number that the first eight bytes are, if all are digits: neighbours are
 * put together, three times. */
static inline bool read_eight(const char *at, uint64_t *number) {
    static const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    word -= ones * '0';
    if (((word | (word + ones * 0x76)) & ones * 0x80) != 0) {
        return false;
    }
    word = word * 10 + (word >> 8);
    word = (word & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
           (word >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001);
    *number = word >> 32;
    return true;
}

/* CAS values are long on a server that has been up for a while. Six bytes
 * before a line's CR LF there are eight that may be read. */
static inline const char *read_cas(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    uint64_t eight = 0;
    bool is_long = line->end - at >= 6 && read_eight(at, &eight);
    return end_number(at, is_long ? at + 8 : at, eight, UINT64_MAX, &reply->cas);
}

/* Up to the next blank or the line's end. Whoever asked compares keys and
 * opaque tokens byte for byte. They are short: a call of memchr() would take
 * longer. */
static inline const char *read_token(const char *at, const line_t *line, warmring_bytes_t *token) {
    const char *first = at;
    while ((unsigned char)*at > ' ') {
        at++;
    }
    *token = (warmring_bytes_t){first, (size_t)(at - first)};
    return at != first && token->length <= line->token ? at : NULL;
}

static inline const char *read_ttl(const char *at, wr_meta_reply_t *reply) {
    uint64_t number;
    if (at[0] == '-' && at[1] == '1') {
        reply->ttl = -1;
        return at + 2;
    }
    at = read_number(at, INT64_MAX, &number);
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
        return read_number(at, UINT32_MAX, &reply->flags);
    case WR_META_HAS_CAS:
        return read_cas(at, line, reply);
    case WR_META_HAS_OPAQUE:
        return read_token(at, line, &reply->opaque);
    case WR_META_HAS_TTL:
        return read_ttl(at, reply);
    case WR_META_HAS_SIZE:
        return read_number(at, UINT64_MAX, &reply->size);
    case WR_META_HAS_KEY:
        return read_token(at, line, &reply->key);
    default:
        return at;
    }
}

/* The readers of what follows the word return what is wrong, or NULL. */

static inline const char *end_line(const char *at, const line_t *line) {
    return at == line->end ? NULL : "junk at the end of a line";
}

static inline const char *read_flags(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    unsigned has = 0;
    while (*at == ' ') {
        unsigned flag = find_flag(*++at);
        if (flag == 0 && *at == '\r') { /* some answers end in a space */
            break;
        }
        if (flag == 0 || (has & flag) != 0) {
            return "unknown or repeated flag";
        }
        has |= flag;
        at = read_value(at + 1, flag, line, reply);
        if (at == NULL) {
            return "bad flag";
        }
    }
    reply->has = has;
    return end_line(at, line);
}

static inline const char *read_length(const char *at, wr_meta_reply_t *reply) {
    uint64_t length;
    at = read_number(at, SIZE_MAX, &length);
    reply->value_length = (size_t)length;
    return at;
}

static const char *read_length_flags(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    at = *at == ' ' ? read_length(at + 1, reply) : NULL;
    return at != NULL ? read_flags(at, line, reply) : "bad value length";
}

static const char *read_flags_alone(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    return read_flags(at, line, reply);
}

static const char *read_classic_item(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    static const char wrong[] = "bad VALUE line";
    at = *at == ' ' ? read_token(at + 1, line, &reply->key) : NULL;
    if (at == NULL) {
        return "bad or over-long key";
    }
    at = *at == ' ' ? read_number(at + 1, UINT32_MAX, &reply->flags) : NULL;
    if (at == NULL || *at != ' ') {
        return wrong;
    }
    at = read_length(at + 1, reply);
    reply->has = WR_META_HAS_FLAGS | WR_META_HAS_KEY;
    if (at != NULL && *at == ' ') {
        at = read_cas(at + 1, line, reply);
        reply->has |= WR_META_HAS_CAS;
    }
    return at != NULL ? end_line(at, line) : wrong;
}

static const char *read_text(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    if (*at != ' ' || at + 1 == line->end) {
        return "bad error line";
    }
    reply->text = (warmring_bytes_t){at + 1, (size_t)(line->end - at - 1)};
    return NULL;
}

static const char *read_optional_text(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    return at == line->end ? NULL : read_text(at, line, reply);
}

static const char *read_no_more(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    (void)reply;
    return end_line(at, line);
}

/* ---- words ---------------------------------------------------------------- */

typedef struct {
    char word[13];
    uint8_t length;
    uint8_t kind;
    const char *(*read)(const char *at, const line_t *line, wr_meta_reply_t *reply);
} word_t;

#define WORD(text, kind, read) \
    { text, sizeof text - 1, kind, read }

/* The frequent ones first. */
static const word_t words[] = {
    WORD("VALUE", WR_META_VALUE, read_classic_item),
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

/* Too short for a call of memcmp(). The word ends in a NUL, and the line in a
 * CR LF, so neither is passed. */
static inline bool starts_with(const char *line, const word_t *word) {
    size_t same = 2;
    while (word->word[same] != '\0' && line[same] == word->word[same]) {
        same++;
    }
    return same == word->length && (unsigned char)line[same] <= ' ';
}

/* No word is shorter than two letters. */
static const word_t *find_word(const char *line, size_t length) {
    for (size_t i = 0; length >= 2 && i < sizeof words / sizeof words[0]; i++) {
        if (memcmp(words[i].word, line, 2) == 0 && starts_with(line, &words[i])) {
            return &words[i];
        }
    }
    return NULL;
}

/* Reads one line, `length` bytes that end in LF; NULL, or what is wrong. */
static inline const char *parse(const wr_meta_limits_t *limits, const char *line, size_t length,
                                wr_meta_reply_t *reply) {
    if (length > limits->line) {
        return "line longer than the limit";
    }
    if (length < 2 || line[length - 2] != '\r') {
        return "line without CR LF";
    }
    const word_t *word = find_word(line, length - 2);
    if (word == NULL) {
        return "not a line of memcached's";
    }
    reply->kind = (wr_meta_kind_t)word->kind;
    reply->has = 0;
    reply->text.length = 0;
    line_t rest = {line + length - 2, limits->key};
    return word->read(line + word->length, &rest, reply);
}

/* ---- the stream -------------------------------------------------------------- */

void wr_meta_reader_init(wr_meta_reader_t *reader, const wr_meta_limits_t *limits, char *buffer,
                         size_t capacity) {
    *reader = (wr_meta_reader_t){.limits = *limits, .buffer = buffer, .capacity = capacity};
}

static size_t buffered(const wr_meta_reader_t *reader) {
    return reader->end - reader->start;
}

static wr_meta_event_t broken(const char **wrong, const char *why) {
    *wrong = why;
    return WR_META_BROKEN;
}

wr_meta_event_t wr_meta_next_of_value(wr_meta_reader_t *reader, const char **wrong) {
    const char *bytes = reader->buffer + reader->start;
    size_t there = buffered(reader);
    size_t length = there < reader->value_left ? there : reader->value_left;
    if (reader->destination != NULL && length > 0) {
        memcpy(reader->destination, bytes, length);
        reader->destination += length;
    }
    reader->value_left -= length;
    reader->start += length;
    if (reader->value_left > 0 || there == length) {
        return WR_META_MORE;
    }
    bool is_whole = there - length > 1;
    if (bytes[length] != '\r' || (is_whole && bytes[length + 1] != '\n')) {
        return broken(wrong, "value longer than announced");
    }
    if (!is_whole) {
        return WR_META_MORE;
    }
    reader->start += 2;
    reader->in_value = false;
    return WR_META_BODY;
}

wr_meta_event_t wr_meta_next_line(wr_meta_reader_t *reader, wr_meta_reply_t *reply,
                                  const char **wrong) {
    const char *line = reader->buffer + reader->start;
    size_t there = buffered(reader);
    const char *found = memchr(line + reader->scanned, '\n', there - reader->scanned);
    if (found == NULL) {
        reader->scanned = there;
        return there < reader->limits.line ? WR_META_MORE
                                           : broken(wrong, "line longer than the limit");
    }
    size_t length = (size_t)(found + 1 - line);
    *wrong = parse(&reader->limits, line, length, reply);
    if (*wrong != NULL) {
        return WR_META_BROKEN;
    }
    reader->start += length;
    reader->scanned = 0;
    return WR_META_LINE;
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
