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

/* The line being read. */
typedef struct {
    const wr_meta_reader_t *reader;
    const char *stop;  /* behind what was received, at the NUL */
    const char *wrong; /* why a reader returned NULL; NULL: see refuse() */
} line_t;

static const char *fail(line_t *line, const char *wrong) {
    line->wrong = wrong;
    return NULL;
}

static inline unsigned digit_of(char c) {
    return (unsigned)(unsigned char)c - '0';
}

/* One to nineteen digits fit 64 bits. If twenty do not, what they came to is
 * less than the first one says, as 2 * 10^19 is beyond. */
static inline bool fits(const char *first, size_t digits, uint64_t value) {
    static const uint64_t twenty_digits = UINT64_C(10000000000000000000);
    return digits - 1 < 19 ||
           (digits == 20 && (*first == '0' || (*first == '1' && value >= twenty_digits)));
}

static inline const char *end_number(const char *first, const char *at, uint64_t value,
                                     uint64_t most, uint64_t *number) {
    for (unsigned digit; (digit = digit_of(*at)) < 10; at++) {
        value = value * 10 + digit;
    }
    *number = value;
    return value <= most && fits(first, (size_t)(at - first), value) ? at : NULL;
}

static inline const char *read_number(const char *at, uint64_t most, uint64_t *number) {
    return end_number(at, at, 0, most, number);
}

/* Eight bytes at once, the first one lowest. */
enum { WORD = WR_META_WORD };
static const uint64_t ones = UINT64_C(0x0101010101010101);

static inline bool has_word(const char *at, const line_t *line) {
    return line->stop - at >= WORD;
}

static inline uint64_t read_word(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Where a mask has its lowest byte that is not 0. */
static inline unsigned first_byte(uint64_t mask) {
    return (unsigned)__builtin_ctzll(mask) / 8;
}

/* Eight digits, as their values: neighbours are put together, three times. */
static inline uint64_t join_digits(uint64_t word) {
    word = word * 10 + (word >> 8);
    word = (word & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
           (word >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001);
    return word >> 32;
}

/* A long number: CAS values are, on a server that has been up for a while.
 * Fewer than eight digits get zeros before them. */
static inline const char *read_cas(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    if (!has_word(at, line)) {
        return read_number(at, UINT64_MAX, &reply->cas);
    }
    uint64_t word = read_word(at) - ones * '0';
    uint64_t others = (word | (word + ones * 0x76)) & ones * 0x80;
    if (others == 0) {
        return end_number(at, at + WORD, join_digits(word), UINT64_MAX, &reply->cas);
    }
    unsigned digits = first_byte(others);
    reply->cas = digits > 0 ? join_digits(word << (64 - 8 * digits)) : 0;
    return digits > 0 ? at + digits : NULL;
}

/* The first blank or control character. Of the bytes that the difference marks
 * the lowest is surely one; a marked one above it may not be. */
static inline const char *end_token(const char *at, const line_t *line) {
    for (; has_word(at, line); at += WORD) {
        uint64_t word = read_word(at);
        uint64_t low = (word - ones * (' ' + 1)) & ~word & ones * 0x80;
        if (low != 0) {
            return at + first_byte(low);
        }
    }
    while ((unsigned char)*at > ' ') {
        at++;
    }
    return at;
}

/* Whoever asked compares keys and opaque tokens byte for byte. */
static inline const char *read_token(const char *at, const line_t *line, warmring_bytes_t *token) {
    const char *end = end_token(at, line);
    *token = (warmring_bytes_t){at, (size_t)(end - at)};
    return token->length - 1 < line->reader->limits.key ? end : NULL;
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

/* The key of an item is nearly always the expected one. */
static inline const char *read_key(const char *at, const line_t *line, warmring_bytes_t *key) {
    const warmring_bytes_t *expected = &line->reader->expected;
    size_t length = expected->length;
    if (length >= WORD && (size_t)(line->stop - at) > length && at[length] == ' ' &&
        wr_meta_has_words(*expected, at)) {
        *key = *expected;
        return at + length;
    }
    return read_token(at, line, key);
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

static inline const char *read_length(const char *at, wr_meta_reply_t *reply) {
    uint64_t length;
    at = read_number(at, SIZE_MAX, &length);
    reply->value_length = (size_t)length;
    return at;
}

static const char *read_length_flags(const char *at, line_t *line, wr_meta_reply_t *reply) {
    at = *at == ' ' ? read_length(at + 1, reply) : NULL;
    return at != NULL ? read_flags(at, line, reply) : fail(line, "bad value length");
}

static const char *read_flags_alone(const char *at, line_t *line, wr_meta_reply_t *reply) {
    return read_flags(at, line, reply);
}

static inline const char *read_classic_item(const char *at, line_t *line, wr_meta_reply_t *reply) {
    at = read_key(at, line, &reply->key);
    if (at == NULL) {
        return fail(line, "bad or over-long key");
    }
    at = *at == ' ' ? read_number(at + 1, UINT32_MAX, &reply->flags) : NULL;
    at = at != NULL && *at == ' ' ? read_length(at + 1, reply) : NULL;
    reply->has = WR_META_HAS_FLAGS | WR_META_HAS_KEY;
    if (at != NULL && *at == ' ') {
        at = read_cas(at + 1, line, reply);
        reply->has |= WR_META_HAS_CAS;
    }
    return at != NULL ? at : fail(line, "bad VALUE line");
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

/* What most lines start with; of the others the frequent ones first. */
static const char item_word[] = "VALUE ";
enum { ITEM_WORD = sizeof item_word - 1 };
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

static inline bool is_item(const char *at, const line_t *line) {
    return line->stop - at > ITEM_WORD && memcmp(at, item_word, ITEM_WORD) == 0;
}

static inline const char *read_item(const char *at, line_t *line, wr_meta_reply_t *reply) {
    reply->kind = WR_META_VALUE;
    return read_classic_item(at + ITEM_WORD, line, reply);
}

/* ---- the stream -------------------------------------------------------------- */

void wr_meta_reader_init(wr_meta_reader_t *reader, const wr_meta_limits_t *limits, char *buffer,
                         size_t capacity) {
    *reader = (wr_meta_reader_t){.limits = *limits, .buffer = buffer, .capacity = capacity - 1};
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

/* A line that was not read to its CR LF: there is none yet, or it is bad. */
static wr_meta_event_t refuse(const wr_meta_reader_t *reader, const char *reason,
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

/* A line was read up to `at`. */
static inline wr_meta_event_t end_line(wr_meta_reader_t *reader, const char *at, const line_t *line,
                                       const char **wrong) {
    const char *start = reader->buffer + reader->start;
    if (at == NULL || at[0] != '\r' || at[1] != '\n' ||
        (size_t)(at + 2 - start) > reader->limits.line) {
        return refuse(reader, line->wrong, wrong);
    }
    reader->start += (size_t)(at + 2 - start);
    return WR_META_LINE;
}

/* Apart, for the registers of a call. */
static __attribute__((noinline)) wr_meta_event_t
next_other(wr_meta_reader_t *reader, line_t line, wr_meta_reply_t *reply, const char **wrong) {
    const char *at = read_other(reader->buffer + reader->start, &line, reply);
    return end_line(reader, at, &line, wrong);
}

wr_meta_event_t wr_meta_next_line(wr_meta_reader_t *reader, wr_meta_reply_t *reply,
                                  const char **wrong) {
    const char *at = reader->buffer + reader->start;
    line_t line = {reader, reader->buffer + reader->end, NULL};
    reply->text.length = 0;
    if (!is_item(at, &line)) {
        return next_other(reader, line, reply, wrong);
    }
    at = read_item(at, &line, reply);
    return end_line(reader, at, &line, wrong);
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
