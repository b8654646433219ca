/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket of a conversation in lines, and `stats`.
 */
#include "net/lines.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fail.h"
#include "base/memory.h"
#include "net/address.h"
#include "net/meta_connection.h"
#include "net/transport_meta.h"

enum { ADDRESSES = 8, COMMAND_MAX = 128, RETRY_MS = 5 };

/* ---- the socket ---------------------------------------------------------- */

static bool is_ready(const wr_wait_t *wait) {
    return wait->events == 0 && wait->wake == 0;
}

/* Waits for what opening needs; what poll() found. */
static short await_opening(const wr_connection_t *connection, const wr_wait_t *wait,
                           wr_deadline_t deadline) {
    int descriptor = wait->events != 0 ? wr_meta_descriptor(connection) : -1;
    struct pollfd event = {.fd = descriptor, .events = wait->events};
    int left = wr_deadline_left_ms(deadline);
    return poll(&event, 1, wait->wake != 0 && left > RETRY_MS ? RETRY_MS : left) > 0 ? event.revents
                                                                                     : 0;
}

static warmring_status_t connect_to(wr_server_t *server, const wr_address_t *address,
                                    wr_deadline_t deadline, wr_connection_t **connection) {
    const wr_net_config_t *config = wr_server_config(server);
    const wr_transport_t *native = &wr_transport_meta;
    warmring_status_t status = native->open_start(
        config->transport == native ? config->context : NULL, server, address, false, connection);
    if (status != WARMRING_OK) {
        return status;
    }
    wr_wait_t wait = {0, 0};
    status = native->open_step(*connection, 0, &wait);
    while (status == WARMRING_OK && !is_ready(&wait)) {
        short ready = await_opening(*connection, &wait, deadline);
        status = ready == 0 && wr_deadline_passed(deadline)
                     ? native->open_expire(*connection)
                     : native->open_step(*connection, ready, &wait);
    }
    if (status != WARMRING_OK) {
        native->close(*connection);
    }
    return status;
}

warmring_status_t wr_lines_open(wr_lines_t **lines, wr_server_t *server, wr_deadline_t deadline) {
    wr_address_t addresses[ADDRESSES];
    const char *label = wr_server_address(server);
    size_t count = 0;
    *lines = NULL;
    warmring_status_t status = wr_resolve(label, wr_server_host(server), wr_server_port(server),
                                          deadline, addresses, ADDRESSES, &count);
    if (status != WARMRING_OK) {
        return status;
    }
    wr_lines_t *opened = wr_malloc(sizeof *opened);
    if (opened == NULL) {
        return wr_fail_memory();
    }
    status = WARMRING_CONNECT_FAILED;
    for (size_t i = 0; i < count && status != WARMRING_OK; i++) {
        status = connect_to(server, &addresses[i], wr_deadline_share(deadline, count - i),
                            &opened->connection);
    }
    if (status != WARMRING_OK) {
        wr_free(opened);
        return status;
    }
    opened->label = label;
    opened->start = opened->end = 0;
    *lines = opened;
    return WARMRING_OK;
}

void wr_lines_close(wr_lines_t *lines) {
    if (lines != NULL) {
        wr_transport_meta.close(lines->connection);
        wr_free(lines);
    }
}

static wr_stream_t *stream_of(const wr_lines_t *lines) {
    return &((wr_meta_connection_t *)lines->connection)->stream;
}

static warmring_status_t lose(const wr_lines_t *lines, ssize_t result) {
    char buffer[128];
    return wr_fail(WARMRING_CONNECTION_LOST, "%s: connection lost (%s)", lines->label,
                   result == 0 ? "closed by the server"
                               : wr_stream_error(stream_of(lines), buffer, sizeof buffer));
}

/* Waits for the socket; OK when it is worth another try. */
static warmring_status_t await(const wr_lines_t *lines, short events, wr_deadline_t deadline) {
    struct pollfd wait = {.fd = stream_of(lines)->descriptor, .events = events};
    int left = wr_deadline_left_ms(deadline);
    if (events == POLLIN && wr_stream_has_more(stream_of(lines))) {
        return WARMRING_OK;
    }
    if (left == 0 || (poll(&wait, 1, left) == 0 && wr_deadline_passed(deadline))) {
        return wr_fail(WARMRING_TIMEOUT, "%s: no answer in time", lines->label);
    }
    return WARMRING_OK;
}

static bool is_later(ssize_t length) {
    return length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

warmring_status_t wr_lines_send(wr_lines_t *lines, const char *command, wr_deadline_t deadline) {
    size_t left = strlen(command);
    while (left > 0) {
        struct iovec piece = {(char *)command, left};
        ssize_t length = wr_stream_send(stream_of(lines), &piece, 1);
        if (length > 0) {
            command += length;
            left -= (size_t)length;
        } else if (!is_later(length)) {
            return lose(lines, length);
        } else {
            warmring_status_t status = await(lines, POLLOUT, deadline);
            if (status != WARMRING_OK) {
                return status;
            }
        }
    }
    return WARMRING_OK;
}

static warmring_status_t receive(wr_lines_t *lines, wr_deadline_t deadline) {
    memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
    lines->end -= lines->start;
    lines->start = 0;
    for (;;) {
        struct iovec piece = {lines->buffer + lines->end, sizeof lines->buffer - lines->end};
        ssize_t length = wr_stream_receive(stream_of(lines), &piece, 1, false);
        if (length > 0) {
            lines->end += (size_t)length;
            return WARMRING_OK;
        }
        if (!is_later(length)) {
            return lose(lines, length);
        }
        warmring_status_t status = await(lines, POLLIN, deadline);
        if (status != WARMRING_OK) {
            return status;
        }
    }
}

/* The line that ends in the LF at `end`. */
static warmring_status_t take_line(wr_lines_t *lines, char *end, const char **line) {
    char *begin = lines->buffer + lines->start;
    lines->start += (size_t)(end - begin) + 1;
    end -= end > begin && end[-1] == '\r';
    *end = '\0';
    *line = begin;
    return strlen(begin) == (size_t)(end - begin)
               ? WARMRING_OK
               : wr_fail(WARMRING_PROTOCOL_ERROR, "%s: a byte 0 in its answer", lines->label);
}

warmring_status_t wr_lines_next(wr_lines_t *lines, wr_deadline_t deadline, const char **line) {
    size_t scanned = 0;
    for (;;) {
        char *begin = lines->buffer + lines->start;
        size_t length = lines->end - lines->start;
        char *end = memchr(begin + scanned, '\n', length - scanned);
        if (end != NULL) {
            return take_line(lines, end, line);
        }
        if (length > WR_LINE_MAX) {
            return wr_fail(WARMRING_PROTOCOL_ERROR, "%s: a line of its answer is too long",
                           lines->label);
        }
        scanned = length;
        warmring_status_t status = receive(lines, deadline);
        if (status != WARMRING_OK) {
            return status;
        }
    }
}

/* ---- stats ----------------------------------------------------------------- */

/* STAT NAME VALUE; false when it is something else. */
static bool read_stat(const char *line, wr_stat_reader_t *reader, void *context) {
    static const char word[] = "STAT ";
    char name[128];
    if (strncmp(line, word, sizeof word - 1) != 0) {
        return false;
    }
    line += sizeof word - 1;
    size_t length = strcspn(line, " ");
    if (length == 0 || length >= sizeof name) {
        return false;
    }
    memcpy(name, line, length);
    name[length] = '\0';
    reader(context, name, line[length] == ' ' ? line + length + 1 : line + length);
    return true;
}

static warmring_status_t read_stats(wr_lines_t *lines, wr_stat_reader_t *reader, void *context,
                                    wr_deadline_t deadline) {
    for (;;) {
        const char *line;
        warmring_status_t status = wr_lines_next(lines, deadline, &line);
        if (status != WARMRING_OK || strcmp(line, "END") == 0) {
            return status;
        }
        if (!read_stat(line, reader, context)) {
            return wr_fail(WARMRING_SERVER_ERROR, "%s: the server answered stats with: %.100s",
                           lines->label, line);
        }
    }
}

warmring_status_t wr_server_stats(wr_server_t *server, const char *group, wr_stat_reader_t *reader,
                                  void *context, wr_deadline_t deadline) {
    char command[COMMAND_MAX];
    wr_lines_t *lines;
    snprintf(command, sizeof command, "stats%s%.64s\r\n", group != NULL ? " " : "",
             group != NULL ? group : "");
    warmring_status_t status = wr_lines_open(&lines, server, deadline);
    if (status == WARMRING_OK) {
        status = wr_lines_send(lines, command, deadline);
    }
    if (status == WARMRING_OK) {
        status = read_stats(lines, reader, context, deadline);
    }
    wr_lines_close(lines);
    return status;
}
