/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines a memcached answers with.
 *
 * A line is a word, for some kinds fixed arguments, and for meta answers
 * flags. It is walked over once: every reader returns the place behind what
 * it understood, or NULL, and the line is good when that meets the CR LF.
 */
#include "net/meta_parse.h"

#include <stddef.h>
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
static inline const char *read_number(const char *at, uint64_t most, uint64_t *number) {
    enum { SAFE_DIGITS = 19 };
    const char *first = at;
    uint64_t value = 0;
    for (unsigned digit; (digit = digit_of(*at)) < 10; at++) {
        value = value * 10 + digit;
    }
    *number = value;
    bool good = at != first && value <= most && (at - first <= SAFE_DIGITS || fits(first, at));
    return good ? at : NULL;
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

/* What is behind a flag's letter, and where in a reply it goes. */
typedef enum { UNKNOWN, NOTHING, NUMBER, TTL, TOKEN } value_t;

typedef struct {
    uint8_t value; /* value_t */
    uint8_t place;
    uint16_t has;
    uint64_t most; /* of a number */
} flag_t;

#define PLACE(member) offsetof(wr_meta_reply_t, member)

/* By letter, from 'A'. */
static const flag_t flags['z' - 'A' + 1] = {
    ['f' - 'A'] = {NUMBER, PLACE(flags), WR_META_HAS_FLAGS, UINT32_MAX},
    ['c' - 'A'] = {NUMBER, PLACE(cas), WR_META_HAS_CAS, UINT64_MAX},
    ['t' - 'A'] = {TTL, PLACE(ttl), WR_META_HAS_TTL, INT64_MAX},
    ['s' - 'A'] = {NUMBER, PLACE(size), WR_META_HAS_SIZE, UINT64_MAX},
    ['O' - 'A'] = {TOKEN, PLACE(opaque), WR_META_HAS_OPAQUE, 0},
    ['k' - 'A'] = {TOKEN, PLACE(key), WR_META_HAS_KEY, 0},
    ['W' - 'A'] = {NOTHING, 0, WR_META_HAS_WON, 0},
    ['Z' - 'A'] = {NOTHING, 0, WR_META_HAS_GIVEN, 0},
    ['X' - 'A'] = {NOTHING, 0, WR_META_HAS_STALE, 0},
};

/* NULL: unknown, or there already. */
static inline const flag_t *find_flag(char letter, unsigned has) {
    size_t index = (size_t)((unsigned char)letter - 'A');
    bool good = index < sizeof flags / sizeof flags[0] && flags[index].value != UNKNOWN &&
                (has & flags[index].has) == 0;
    return good ? &flags[index] : NULL;
}

static inline const char *read_value(const char *at, const flag_t *flag, const line_t *line,
                                     wr_meta_reply_t *reply) {
    void *place = (char *)reply + flag->place;
    if (flag->value == TOKEN) {
        return read_token(at, line, place);
    }
    if (flag->value == NOTHING) {
        return at;
    }
    if (flag->value == TTL && at[0] == '-' && at[1] == '1') {
        *(int64_t *)place = -1;
        return at + 2;
    }
    return read_number(at, flag->most, place);
}

/* The readers of what follows the word return what is wrong, or NULL. */

static inline const char *end_line(const char *at, const line_t *line) {
    return at == line->end ? NULL : "junk at the end of a line";
}

static inline const char *read_flags(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    while (*at == ' ') {
        if (*++at == '\r') { /* some answers end in a space */
            break;
        }
        const flag_t *flag = find_flag(*at, reply->has);
        if (flag == NULL) {
            return "unknown or repeated flag";
        }
        at = read_value(at + 1, flag, line, reply);
        if (at == NULL) {
            return "bad flag";
        }
        reply->has |= flag->has;
    }
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
        at = read_number(at + 1, UINT64_MAX, &reply->cas);
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

const char *wr_meta_parse(const wr_meta_limits_t *limits, const char *line, size_t length,
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
