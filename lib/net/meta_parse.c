/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines a memcached answers with.
 *
 * A line is a word, for some kinds fixed arguments, and for meta answers
 * flags. A cursor walks over it once; every reader advances the cursor over
 * exactly what it understood or returns false, and the line is good when the
 * cursor meets the CR LF.
 */
#include "net/meta_parse.h"

#include <string.h>

typedef struct {
    const char *at;
    const char *end; /* of the line, at its CR */
    const wr_meta_limits_t *limits;
} cursor_t;

/* What stands behind a kind's word. */
typedef enum { NOTHING, FLAGS, LENGTH_FLAGS, CLASSIC_ITEM, TEXT, OPTIONAL_TEXT } shape_t;

typedef struct {
    char word[13];
    uint8_t length;
    uint8_t kind;
    uint8_t shape;
} word_t;

#define WORD(text, kind, shape) \
    { text, sizeof text - 1, kind, shape }

/* The frequent ones first. */
static const word_t words[] = {
    WORD("VA", WR_META_VA, LENGTH_FLAGS),
    WORD("HD", WR_META_HD, FLAGS),
    WORD("EN", WR_META_EN, FLAGS),
    WORD("VALUE", WR_META_VALUE, CLASSIC_ITEM),
    WORD("END", WR_META_END, NOTHING),
    WORD("NF", WR_META_NF, FLAGS),
    WORD("NS", WR_META_NS, FLAGS),
    WORD("EX", WR_META_EX, FLAGS),
    WORD("MN", WR_META_MN, NOTHING),
    WORD("OK", WR_META_OK, NOTHING),
    WORD("VERSION", WR_META_VERSION, TEXT),
    WORD("ERROR", WR_META_ERROR, OPTIONAL_TEXT),
    WORD("CLIENT_ERROR", WR_META_CLIENT_ERROR, TEXT),
    WORD("SERVER_ERROR", WR_META_SERVER_ERROR, TEXT),
};

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
static bool read_number(cursor_t *cursor, uint64_t most, uint64_t *number) {
    enum { SAFE_DIGITS = 19 };
    const char *at = cursor->at;
    uint64_t value = 0;
    for (; is_digit(*at); at++) {
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (at == cursor->at || value > most ||
        (at - cursor->at > SAFE_DIGITS && !fits(cursor->at, at))) {
        return false;
    }
    cursor->at = at;
    *number = value;
    return true;
}

static bool read_space(cursor_t *cursor) {
    return *cursor->at == ' ' && (cursor->at++, true);
}

/* Up to the next blank. Whoever asked compares keys and opaque tokens byte for
 * byte, so which bytes they hold is not looked at here. */
static bool read_token(cursor_t *cursor, warmring_bytes_t *token) {
    size_t rest = (size_t)(cursor->end - cursor->at);
    const char *blank = memchr(cursor->at, ' ', rest);
    token->data = cursor->at;
    token->length = blank != NULL ? (size_t)(blank - cursor->at) : rest;
    cursor->at += token->length;
    return token->length > 0 && token->length <= cursor->limits->key;
}

static bool read_flags_value(cursor_t *cursor, wr_meta_reply_t *reply) {
    uint64_t number;
    if (!read_number(cursor, UINT32_MAX, &number)) {
        return false;
    }
    reply->flags = (uint32_t)number;
    return true;
}

static bool read_ttl(cursor_t *cursor, wr_meta_reply_t *reply) {
    if (cursor->at[0] == '-' && cursor->at[1] == '1') {
        cursor->at += 2;
        reply->ttl = -1;
        return true;
    }
    uint64_t number;
    if (!read_number(cursor, INT64_MAX, &number)) {
        return false;
    }
    reply->ttl = (int64_t)number;
    return true;
}

static bool read_cas(cursor_t *cursor, wr_meta_reply_t *reply) {
    return read_number(cursor, UINT64_MAX, &reply->cas);
}

static bool read_size(cursor_t *cursor, wr_meta_reply_t *reply) {
    return read_number(cursor, UINT64_MAX, &reply->size);
}

static bool read_opaque(cursor_t *cursor, wr_meta_reply_t *reply) {
    return read_token(cursor, &reply->opaque);
}

static bool read_key(cursor_t *cursor, wr_meta_reply_t *reply) {
    return read_token(cursor, &reply->key);
}

static bool read_nothing(cursor_t *cursor, wr_meta_reply_t *reply) {
    (void)cursor;
    (void)reply;
    return true;
}

typedef struct {
    bool (*read)(cursor_t *cursor, wr_meta_reply_t *reply);
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

static const char *read_flags(cursor_t *cursor, wr_meta_reply_t *reply) {
    while (read_space(cursor)) {
        if (*cursor->at == '\r') { /* some answers end in a space */
            return NULL;
        }
        const flag_t *flag = find_flag(*cursor->at);
        if (flag == NULL || (reply->has & flag->has) != 0) {
            return "unknown or repeated flag";
        }
        cursor->at++;
        if (!flag->read(cursor, reply)) {
            return "bad flag";
        }
        reply->has |= flag->has;
    }
    return NULL;
}

static const char *read_length(cursor_t *cursor, wr_meta_reply_t *reply) {
    uint64_t length;
    if (!read_number(cursor, UINT64_MAX, &length)) {
        return "bad value length";
    }
    if (length > cursor->limits->value) {
        return "value longer than the limit";
    }
    reply->value_length = (size_t)length;
    return NULL;
}

static const char *read_classic_item(cursor_t *cursor, wr_meta_reply_t *reply) {
    if (!read_space(cursor) || !read_token(cursor, &reply->key)) {
        return "bad or over-long key";
    }
    if (!read_space(cursor) || !read_flags_value(cursor, reply) || !read_space(cursor)) {
        return "bad VALUE line";
    }
    const char *wrong = read_length(cursor, reply);
    if (wrong != NULL) {
        return wrong;
    }
    reply->has = WR_META_HAS_FLAGS | WR_META_HAS_KEY;
    if (read_space(cursor)) {
        if (!read_cas(cursor, reply)) {
            return "bad VALUE line";
        }
        reply->has |= WR_META_HAS_CAS;
    }
    return NULL;
}

static const char *read_text(cursor_t *cursor, wr_meta_reply_t *reply) {
    if (!read_space(cursor) || cursor->at == cursor->end) {
        return "bad error line";
    }
    reply->text = (warmring_bytes_t){cursor->at, (size_t)(cursor->end - cursor->at)};
    cursor->at = cursor->end;
    return NULL;
}

static const char *read_rest(cursor_t *cursor, shape_t shape, wr_meta_reply_t *reply) {
    const char *wrong;
    switch (shape) {
    case NOTHING:
        return NULL;
    case FLAGS:
        return read_flags(cursor, reply);
    case LENGTH_FLAGS:
        wrong = read_space(cursor) ? read_length(cursor, reply) : "bad value length";
        return wrong != NULL ? wrong : read_flags(cursor, reply);
    case CLASSIC_ITEM:
        return read_classic_item(cursor, reply);
    case TEXT:
        return read_text(cursor, reply);
    case OPTIONAL_TEXT:
        return cursor->at == cursor->end ? NULL : read_text(cursor, reply);
    }
    return NULL;
}

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
    cursor_t cursor = {line + word->length, line + length - 2, limits};
    const char *wrong = read_rest(&cursor, (shape_t)word->shape, reply);
    if (wrong != NULL) {
        return wrong;
    }
    return cursor.at == cursor.end ? NULL : "junk at the end of a line";
}
