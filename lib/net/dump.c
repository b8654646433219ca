/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a metadump, one item a line:
 *
 *   key=a%20b exp=-1 la=1700000000 cas=3 fetch=no cls=1 size=67
 */
#include "net/dump.h"

#include <string.h>

#include "base/fail.h"
#include "base/number.h"

enum { KEY_MAX = 250 };

static int digit(char byte) {
    return byte >= '0' && byte <= '9'   ? byte - '0'
           : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
           : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                                        : -1;
}

/* Decodes %XX; the length, or SIZE_MAX for what is no key. */
static size_t decode(const char *text, size_t length, char key[KEY_MAX]) {
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        char byte = text[i];
        if (used == KEY_MAX) {
            return SIZE_MAX;
        }
        if (byte == '%') {
            if (length - i < 3 || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) {
                return SIZE_MAX;
            }
            byte = (char)(digit(text[i + 1]) << 4 | digit(text[i + 2]));
            i += 2;
        }
        key[used++] = byte;
    }
    return used > 0 ? used : SIZE_MAX;
}

/* The field's value and in *length its size; NULL when it is not there. */
static const char *find_field(const char *line, const char *name, size_t *length) {
    size_t size = strlen(name);
    while (strncmp(line, name, size) != 0) {
        line += strcspn(line, " ");
        if (*line == '\0') {
            return NULL;
        }
        line++;
    }
    *length = strcspn(line + size, " ");
    return line + size;
}

static bool read_item(const char *line, char key[KEY_MAX], wr_dump_item_t *item) {
    size_t length;
    if (strncmp(line, "key=", 4) != 0) {
        return false;
    }
    line += 4;
    item->key = (warmring_bytes_t){key, decode(line, strcspn(line, " "), key)};
    const char *text = find_field(line, "cas=", &length);
    return item->key.length != SIZE_MAX && text != NULL &&
           wr_parse_uint(text, length, UINT64_MAX, &item->cas);
}

static bool begins(const char *line, const char *word) {
    return strncmp(line, word, strlen(word)) == 0;
}

static warmring_status_t refuse(const wr_lines_t *lines, const char *line) {
    if (begins(line, "BUSY")) {
        return wr_fail(WARMRING_TRY_AGAIN, "%s: busy with another list of its keys", lines->label);
    }
    if (begins(line, "ERROR") || begins(line, "CLIENT_ERROR") || begins(line, "BADCLASS")) {
        return wr_fail(WARMRING_NOT_SUPPORTED,
                       "%s: cannot list its keys, it answers: %.80s (a "
                       "memcached that knows `lru_crawler metadump hash` can)",
                       lines->label, line);
    }
    return wr_fail(WARMRING_PROTOCOL_ERROR, "%s: no line of a metadump: %.80s", lines->label, line);
}

static warmring_status_t read_all(wr_lines_t *lines, wr_dump_reader_t *reader, void *context,
                                  uint32_t silence_ms) {
    for (;;) {
        const char *line;
        char key[KEY_MAX];
        wr_dump_item_t item;
        warmring_status_t status = wr_lines_next(lines, wr_deadline_in_ms(silence_ms), &line);
        if (status != WARMRING_OK || strcmp(line, "END") == 0) {
            return status;
        }
        if (!read_item(line, key, &item)) {
            return refuse(lines, line);
        }
        if (!reader(context, &item)) {
            return wr_fail(WARMRING_TRY_AGAIN, "%s: stopped", lines->label);
        }
    }
}

warmring_status_t wr_server_dump(wr_server_t *server, wr_dump_reader_t *reader, void *context,
                                 uint32_t silence_ms) {
    wr_lines_t *lines;
    wr_deadline_t deadline = wr_deadline_in_ms(silence_ms);
    warmring_status_t status = wr_lines_open(&lines, server, deadline);
    if (status == WARMRING_OK) {
        status = wr_lines_send(lines, "lru_crawler metadump hash\r\n", deadline);
    }
    if (status == WARMRING_OK) {
        status = read_all(lines, reader, context, silence_ms);
    }
    wr_lines_close(lines);
    return status;
}
