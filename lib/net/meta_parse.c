/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines a memcached answers with.
 *
 * A line is a word, for some kinds fixed arguments, and for meta answers
 * flags. It is walked over once: every reader returns the place behind what
 * it understood, or NULL, and the line is good when that meets the CR LF.
 */
#include "net/meta_parse.h"

#include <string.h>

/* The line being read, up to its CR LF, which ends all that walks over it. */
typedef struct {
    const char *end; /* at the CR */
    const wr_meta_limits_t *limits;
} line_t;

static bool is_digit(char c) {
    return (unsigned)(c - '0') < 10;
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
    for (; is_digit(*at); at++) {
        value = value * 10 + (uint64_t)(*at - '0');
    }
    *number = value;
    bool good = at != first && value <= most && (at - first <= SAFE_DIGITS || fits(first, at));
    return good ? at : NULL;
}

/* Up to the next blank or the line's end. Whoever asked compares keys and
 * opaque tokens byte for byte, so which bytes they hold is not looked at. */
static const char *read_token(const char *at, const line_t *line, warmring_bytes_t *token) {
    const char *blank = memchr(at, ' ', (size_t)(line->end - at));
    const char *end = blank != NULL ? blank : line->end;
    *token = (warmring_bytes_t){at, (size_t)(end - at)};
    return token->length > 0 && token->length <= line->limits->key ? end : NULL;
}

static const char *read_flags_value(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    uint64_t number;
    (void)line;
    at = read_number(at, UINT32_MAX, &number);
    reply->flags = (uint32_t)number;
    return at;
}

static const char *read_ttl(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    uint64_t number;
    (void)line;
    if (at[0] == '-' && at[1] == '1') {
        reply->ttl = -1;
        return at + 2;
    }
    at = read_number(at, INT64_MAX, &number);
    reply->ttl = (int64_t)number;
    return at;
}

static const char *read_cas(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    (void)line;
    return read_number(at, UINT64_MAX, &reply->cas);
}

static const char *read_size(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    (void)line;
    return read_number(at, UINT64_MAX, &reply->size);
}

static const char *read_opaque(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    return read_token(at, line, &reply->opaque);
}

static const char *read_key(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    return read_token(at, line, &reply->key);
}

static const char *read_nothing(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    (void)line;
    (void)reply;
    return at;
}

typedef struct {
    const char *(*read)(const char *at, const line_t *line, wr_meta_reply_t *reply);
    unsigned has;
} flag_t;

/* By letter, from 'A'. */
static const flag_t flags['z' - 'A' + 1] = {
    ['f' - 'A'] = {read_flags_value, WR_META_HAS_FLAGS},
    ['c' - 'A'] = {read_cas, WR_META_HAS_CAS},
    ['t' - 'A'] = {read_ttl, WR_META_HAS_TTL},
    ['s' - 'A'] = {read_size, WR_META_HAS_SIZE},
    ['O' - 'A'] = {read_opaque, WR_META_HAS_OPAQUE},
    ['k' - 'A'] = {read_key, WR_META_HAS_KEY},
    ['W' - 'A'] = {read_nothing, WR_META_HAS_WON},
    ['Z' - 'A'] = {read_nothing, WR_META_HAS_GIVEN},
    ['X' - 'A'] = {read_nothing, WR_META_HAS_STALE},
};

static const flag_t *find_flag(char letter) {
    size_t index = (size_t)((unsigned char)letter - 'A');
    bool known = index < sizeof flags / sizeof flags[0] && flags[index].read != NULL;
    return known ? &flags[index] : NULL;
}

/* The readers of what follows the word return what is wrong, or NULL. */

static const char *end_line(const char *at, const line_t *line) {
    return at == line->end ? NULL : "junk at the end of a line";
}

static const char *read_flags(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    while (*at == ' ') {
        if (*++at == '\r') { /* some answers end in a space */
            break;
        }
        const flag_t *flag = find_flag(*at);
        if (flag == NULL || (reply->has & flag->has) != 0) {
            return "unknown or repeated flag";
        }
        at = flag->read(at + 1, line, reply);
        if (at == NULL) {
            return "bad flag";
        }
        reply->has |= flag->has;
    }
    return end_line(at, line);
}

/* Returns the place behind the length; NULL and *wrong otherwise. */
static inline const char *read_length(const char *at, const line_t *line, wr_meta_reply_t *reply,
                                      const char **wrong) {
    uint64_t length;
    at = read_number(at, UINT64_MAX, &length);
    reply->value_length = (size_t)length;
    if (at != NULL && length <= line->limits->value) {
        return at;
    }
    *wrong = at == NULL ? "bad value length" : "value longer than the limit";
    return NULL;
}

static const char *read_length_flags(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    const char *wrong = "bad value length";
    at = *at == ' ' ? read_length(at + 1, line, reply, &wrong) : NULL;
    return at != NULL ? read_flags(at, line, reply) : wrong;
}

static const char *read_classic_item(const char *at, const line_t *line, wr_meta_reply_t *reply) {
    const char *wrong = "bad VALUE line";
    at = *at == ' ' ? read_token(at + 1, line, &reply->key) : NULL;
    if (at == NULL) {
        return "bad or over-long key";
    }
    at = *at == ' ' ? read_flags_value(at + 1, line, reply) : NULL;
    if (at == NULL || *at != ' ') {
        return wrong;
    }
    at = read_length(at + 1, line, reply, &wrong);
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
    WORD("HD", WR_META_HD, read_flags),
    WORD("EN", WR_META_EN, read_flags),
    WORD("END", WR_META_END, read_no_more),
    WORD("NF", WR_META_NF, read_flags),
    WORD("NS", WR_META_NS, read_flags),
    WORD("EX", WR_META_EX, read_flags),
    WORD("MN", WR_META_MN, read_no_more),
    WORD("OK", WR_META_OK, read_no_more),
    WORD("VERSION", WR_META_VERSION, read_text),
    WORD("ERROR", WR_META_ERROR, read_optional_text),
    WORD("CLIENT_ERROR", WR_META_CLIENT_ERROR, read_text),
    WORD("SERVER_ERROR", WR_META_SERVER_ERROR, read_text),
};

/* Too short for a call of memcmp(). The line has a CR LF behind `length`. */
static bool starts_with(const char *line, size_t length, const word_t *word) {
    if (word->length > length || (unsigned char)line[word->length] > ' ') {
        return false;
    }
    size_t same = 1;
    while (same < word->length && line[same] == word->word[same]) {
        same++;
    }
    return same == word->length;
}

static const word_t *find_word(const char *line, size_t length) {
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (words[i].word[0] == line[0] && starts_with(line, length, &words[i])) {
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
    memset(reply, 0, sizeof *reply);
    reply->kind = (wr_meta_kind_t)word->kind;
    line_t rest = {line + length - 2, limits};
    return word->read(line + word->length, &rest, reply);
}
