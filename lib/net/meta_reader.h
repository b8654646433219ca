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

#include <sys/uio.h>

#include "net/meta_parse.h"

typedef struct {
    wr_meta_limits_t limits;
    char *buffer; /* the owner's; at least limits.line bytes */
    size_t capacity;
    size_t start; /* of what is not taken yet */
    size_t end;
    size_t scanned;    /* bytes behind start known to hold no LF */
    char *destination; /* of the value's next byte; NULL: it is dropped */
    size_t value_left; /* of the value */
    bool in_value;     /* its bytes or its CR LF are expected */
} wr_meta_reader_t;

typedef enum {
    WR_META_MORE,  /* nothing complete: receive more */
    WR_META_LINE,  /* *reply is valid until the next call for room */
    WR_META_BODY,  /* the value is complete */
    WR_META_BROKEN /* *wrong says why; the stream is of no use any more */
} wr_meta_event_t;

void wr_meta_reader_init(wr_meta_reader_t *reader, const wr_meta_limits_t *limits, char *buffer,
                         size_t capacity);

/* What wr_meta_next() does with some bytes there. */
wr_meta_event_t wr_meta_next_line(wr_meta_reader_t *reader, wr_meta_reply_t *reply,
                                  const char **wrong);
wr_meta_event_t wr_meta_next_of_value(wr_meta_reader_t *reader, const char **wrong);

/* Whether bytes are left that no event was made of. */
static inline bool wr_meta_has_rest(const wr_meta_reader_t *reader) {
    return reader->start != reader->end;
}

static inline wr_meta_event_t wr_meta_next(wr_meta_reader_t *reader, wr_meta_reply_t *reply,
                                           const char **wrong) {
    if (!wr_meta_has_rest(reader)) {
        return WR_META_MORE;
    }
    return reader->in_value ? wr_meta_next_of_value(reader, wrong)
                            : wr_meta_next_line(reader, reply, wrong);
}

/* After a line with a value, before anything else: where its `length` bytes
 * go. They must stay there until its WR_META_BODY, or NULL drops them. */
static inline void wr_meta_expect(wr_meta_reader_t *reader, char *destination, size_t length) {
    reader->destination = destination;
    reader->value_left = length;
    reader->in_value = true;
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
}

#endif
