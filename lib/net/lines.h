/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation in lines: commands whose answers are many lines that no
 * request of request.h stands for, such as `stats`. It has a socket of its
 * own, which no pool knows, and speaks memcached's text protocol whatever the
 * client's transport is.
 */
#ifndef WR_NET_LINES_H
#define WR_NET_LINES_H

#include <stddef.h>

#include "net/server.h"

enum { WR_LINE_MAX = 8192 };

typedef struct {
    struct wr_connection *connection; /* a native one */
    const char *label;                /* of the server, which must outlive the conversation */
    size_t start, end;                /* of what came and was not read yet */
    char buffer[2 * WR_LINE_MAX];
} wr_lines_t;

/* Connects. OK and *lines, to be closed; or a fault. */
warmring_status_t wr_lines_open(wr_lines_t **lines, wr_server_t *server, wr_deadline_t deadline);
/* NULL is fine. */
void wr_lines_close(wr_lines_t *lines);

/* Sends a command, its CR LF included. OK, TIMEOUT, CONNECTION_LOST. */
warmring_status_t wr_lines_send(wr_lines_t *lines, const char *command, wr_deadline_t deadline);

/*
 * The next line without its line end, NUL-terminated; good until the next
 * call. OK, TIMEOUT, CONNECTION_LOST, or PROTOCOL_ERROR for one that is longer
 * than WR_LINE_MAX or has a NUL in it.
 */
warmring_status_t wr_lines_next(wr_lines_t *lines, wr_deadline_t deadline, const char **line);

/* Takes one line of `stats`; the strings are good until it returns. */
typedef void wr_stat_reader_t(void *context, const char *name, const char *value);

/*
 * Asks for `stats`, or `stats GROUP` unless NULL, on a connection of its own.
 * OK once all was read; SERVER_ERROR with the server's words; the faults of
 * the functions above.
 */
warmring_status_t wr_server_stats(wr_server_t *server, const char *group, wr_stat_reader_t *reader,
                                  void *context, wr_deadline_t deadline);

#endif
