/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The incremental half of the parser: bytes in, in any pieces, lines and
 * whole values out. No I/O: the owner asks for room, fills it, and takes the
 * events that became complete. A value that is still on its way is received
 * straight into its destination.
 *
 *     count = wr_meta_room(&reader, pieces);
 *     ... receive into pieces ...
 *     wr_meta_filled(&reader, received);
 *     while ((event = wr_meta_next(&reader, &reply, &wrong)) != WR_META_MORE) ...
 */
#ifndef WR_NET_META_READER_H
#define WR_NET_META_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "net/meta_scan.h"

/* What a server may send. */
typedef struct {
    size_t line;  /* bytes of a line, CR LF included */
    size_t key;   /* bytes of a key or an opaque token in it */
    size_t value; /* bytes of a value that is taken; not looked at here */
} wr_meta_limits_t;

typedef enum {
    WR_META_HD, /* done */
    WR_META_VA, /* a value follows */
    WR_META_EN, /* miss */
    WR_META_NF, /* not found */
    WR_META_NS, /* not stored */
    WR_META_EX, /* exists: another CAS */
    WR_META_MN, /* barrier reached */
    WR_META_OK,
    WR_META_VALUE, /* classic: a value follows */
    WR_META_END,   /* classic: the list's end */
    WR_META_VERSION,
    WR_META_ERROR,
    WR_META_CLIENT_ERROR,
    WR_META_SERVER_ERROR,
    WR_META_KINDS
} wr_meta_kind_t;

/* Which flags a line brought. */
enum {
    WR_META_HAS_FLAGS = 1,   /* f */
    WR_META_HAS_CAS = 2,     /* c */
    WR_META_HAS_TTL = 4,     /* t */
    WR_META_HAS_SIZE = 8,    /* s */
    WR_META_HAS_OPAQUE = 16, /* O */
    WR_META_HAS_KEY = 32,    /* k */
    WR_META_HAS_WON = 64,    /* W */
    WR_META_HAS_GIVEN = 128, /* Z: another client won */
    WR_META_HAS_STALE = 256  /* X */
};

/* One line. What it did not bring is undefined, but for `text`, which is
 * empty then. Bytes point into the buffer it was read from. */
typedef struct {
    wr_meta_kind_t kind;
    unsigned has;
    uint64_t flags; /* of 32 bits */
    uint64_t cas;
    int64_t ttl; /* -1: never */
    uint64_t size;
    uint64_t value_length;   /* VA, VALUE; as announced */
    warmring_bytes_t key;    /* VALUE, k; the reader's `expected` itself if it is that */
    warmring_bytes_t opaque; /* O */
    warmring_bytes_t text;   /* the errors and VERSION: what follows the word */
} wr_meta_reply_t;

typedef struct {
    wr_meta_limits_t limits;
    char *buffer;    /* the owner's; more than limits.line bytes */
    size_t capacity; /* of it, but for a NUL behind what was received */
    size_t start;    /* of what is not taken yet */
    size_t end;
    const warmring_bytes_t *expected; /* a key that is likely to come next */
    char *destination;                /* of the value's next byte; NULL: it is dropped */
    size_t value_left;                /* of the value */
    bool in_value;                    /* its bytes or its CR LF are expected */
} wr_meta_reader_t;

typedef enum {
    WR_META_MORE,  /* nothing complete: receive more */
    WR_META_LINE,  /* *reply is valid until the next call for room */
    WR_META_BODY,  /* the value is complete */
    WR_META_BROKEN /* *wrong says why; the stream is of no use any more */
} wr_meta_event_t;

/* Expected by a reader that expects none. */
extern const warmring_bytes_t wr_meta_no_key;

void wr_meta_reader_init(wr_meta_reader_t *reader, const wr_meta_limits_t *limits, char *buffer,
                         size_t capacity);

/* What wr_meta_next() does with some bytes there: a line that is no item; a
 * part of a value; a line that was not read to its CR LF, as there is none yet
 * or it is bad. */
wr_meta_event_t wr_meta_next_other(wr_meta_reader_t *reader, wr_meta_reply_t *reply,
                                   const char **wrong);
wr_meta_event_t wr_meta_next_part(wr_meta_reader_t *reader, const char **wrong);
wr_meta_event_t wr_meta_refuse(const wr_meta_reader_t *reader, const char *reason,
                               const char **wrong);

/* A line was read up to `at`; NULL: it is bad for that reason, or its end is. */
static inline wr_meta_event_t wr_meta_end_line(wr_meta_reader_t *reader, const char *at,
                                               const char *reason, const char **wrong) {
    const char *start = reader->buffer + reader->start;
    if (at == NULL || at[0] != '\r' || at[1] != '\n' ||
        (size_t)(at + 2 - start) > reader->limits.line) {
        return wr_meta_refuse(reader, reason, wrong);
    }
    reader->start += (size_t)(at + 2 - start);
    return WR_META_LINE;
}

/* What is behind the word of an item: KEY FLAGS LENGTH [CAS]. */
static inline const char *wr_meta_read_item(const wr_meta_reader_t *reader, const char *at,
                                            const char *stop, wr_meta_reply_t *reply,
                                            const char **reason) {
    at = wr_scan_expected(at, stop, reader->limits.key, reader->expected, &reply->key);
    if (at == NULL) {
        *reason = "bad or over-long key";
        return NULL;
    }
    at = *at == ' ' ? wr_scan_number(at + 1, UINT32_MAX, &reply->flags) : NULL;
    at = at != NULL && *at == ' ' ? wr_scan_length(at + 1, &reply->value_length) : NULL;
    reply->has = WR_META_HAS_FLAGS | WR_META_HAS_KEY;
    if (at != NULL && *at == ' ') {
        at = wr_scan_cas(at + 1, stop, &reply->cas);
        reply->has |= WR_META_HAS_CAS;
    }
    *reason = at == NULL ? "bad VALUE line" : NULL;
    return at;
}

/* Most lines are items. */
static inline wr_meta_event_t wr_meta_next_line(wr_meta_reader_t *reader, wr_meta_reply_t *reply,
                                                const char **wrong) {
    static const char word[] = "VALUE ";
    enum { WORD = sizeof word - 1 };
    const char *start = reader->buffer + reader->start;
    const char *stop = reader->buffer + reader->end;
    const char *reason;
    reply->text.length = 0;
    if (stop - start <= WORD || memcmp(start, word, WORD) != 0) {
        return wr_meta_next_other(reader, reply, wrong);
    }
    reply->kind = WR_META_VALUE;
    const char *at = wr_meta_read_item(reader, start + WORD, stop, reply, &reason);
    return wr_meta_end_line(reader, at, reason, wrong);
}

/* After a line with a value, before anything else: where its `length` bytes
 * go. They must stay there until its WR_META_BODY, or NULL drops them. */
static inline void wr_meta_expect(wr_meta_reader_t *reader, char *destination, size_t length) {
    reader->destination = destination;
    reader->value_left = length;
    reader->in_value = true;
}

/* The same, and what wr_meta_next() would return then: nearly always the value
 * is whole. */
static inline wr_meta_event_t wr_meta_take_value(wr_meta_reader_t *reader, char *destination,
                                                 size_t length, const char **wrong) {
    const char *bytes = reader->buffer + reader->start;
    size_t there = reader->end - reader->start;
    if (there < 2 || there - 2 < length || memcmp(bytes + length, "\r\n", 2) != 0) {
        wr_meta_expect(reader, destination, length);
        return wr_meta_next_part(reader, wrong);
    }
    if (destination != NULL) {
        memcpy(destination, bytes, length);
    }
    reader->start += length + 2;
    reader->value_left = 0;
    reader->in_value = false;
    return WR_META_BODY;
}

/* Whether bytes are left that no event was made of. */
static inline bool wr_meta_has_rest(const wr_meta_reader_t *reader) {
    return reader->start != reader->end;
}

static inline wr_meta_event_t wr_meta_next(wr_meta_reader_t *reader, wr_meta_reply_t *reply,
                                           const char **wrong) {
    if (!wr_meta_has_rest(reader)) {
        return WR_META_MORE;
    }
    return reader->in_value
               ? wr_meta_take_value(reader, reader->destination, reader->value_left, wrong)
               : wr_meta_next_line(reader, reply, wrong);
}

/* The room for what comes next: one or two pieces, never empty. */
int wr_meta_room(wr_meta_reader_t *reader, struct iovec pieces[2]);

/* That many bytes were received into it. */
static inline void wr_meta_filled(wr_meta_reader_t *reader, size_t length) {
    if (reader->value_left > 0 && reader->destination != NULL) {
        size_t direct = length < reader->value_left ? length : reader->value_left;
        reader->destination += direct;
        reader->value_left -= direct;
        length -= direct;
    }
    reader->end += length;
    reader->buffer[reader->end] = '\0';
}

#endif
