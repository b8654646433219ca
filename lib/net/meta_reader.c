/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines and values out of a stream of bytes.
 *
 * The buffer holds whole what the parser looks at: a line is complete or left
 * where it is, moved to the buffer's front when the room behind it runs out.
 * A value's bytes that came with its line are copied from the buffer; the
 * rest never passes through it, but for its CR LF and what follows.
 */
#include "net/meta_reader.h"

#include <string.h>

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
    *wrong = wr_meta_parse(&reader->limits, line, length, reply);
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
