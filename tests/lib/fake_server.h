/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that misbehaves by script, in threads of the test, on a free
 * loopback port or a unix socket. What a real memcached never does, this one
 * does on demand.
 *
 * A script is a list of steps that every connection runs through from its
 * start; when it ends the connection is closed.
 *
 *     static const fake_step_t partial[] = {
 *         FAKE_AWAIT(), FAKE_SAY("VA 10 f0 c1 O0\r\nabc"), FAKE_RESET(), FAKE_END};
 *     fake_server_t *server = fake_server_start(partial);
 *     ... fake_server_port(server) ...
 *     fake_server_free(server);
 */
#ifndef TESTS_FAKE_SERVER_H
#define TESTS_FAKE_SERVER_H

#include <stddef.h>
#include <stdint.h>

typedef struct fake_server fake_server_t;

/*
 * Answers one command: `command` is its line without CR LF, NUL-terminated;
 * writes the answer and returns its length, at most `capacity`. May run in
 * several threads. FAKE_NO_ANSWER ends FAKE_SERVE(): the script goes on with
 * this command as the last one read.
 */
#define FAKE_NO_ANSWER SIZE_MAX

/* The `number` of a FAKE_SERVE() that leaves the value of that command unread. */
enum { FAKE_VALUE_UNREAD = 1 };
typedef size_t fake_answer_t(void *data, const char *command, char *answer, size_t capacity);

typedef enum {
    FAKE_ACTION_END,         /* close */
    FAKE_ACTION_AWAIT,       /* read one whole command, its value included; close
                                when the client did */
    FAKE_ACTION_SAY,         /* send `bytes` */
    FAKE_ACTION_DRIP,        /* send them one at a time, `number` ms apart */
    FAKE_ACTION_FLOOD,       /* send them over and over until the client closes */
    FAKE_ACTION_ANSWER,      /* send what `answer` says to the last command */
    FAKE_ACTION_SERVE,       /* read and answer commands until FAKE_NO_ANSWER */
    FAKE_ACTION_DRIP_ANSWER, /* as ANSWER, a byte every `number` ms */
    FAKE_ACTION_PAUSE,       /* `number` ms */
    FAKE_ACTION_HANG,        /* read nothing, send nothing until the server ends */
    FAKE_ACTION_RESET,       /* close with a reset */
    FAKE_ACTION_AGAIN        /* start over */
} fake_action_t;

typedef struct {
    fake_action_t action;
    const char *bytes;
    size_t length;
    uint32_t number;
    fake_answer_t *answer;
    void *data;
} fake_step_t;

/* `text` must be a string literal; it may contain NULs. */
#define FAKE_AWAIT() \
    { .action = FAKE_ACTION_AWAIT }
#define FAKE_SAY(text) \
    { .action = FAKE_ACTION_SAY, .bytes = text, .length = sizeof text - 1 }
#define FAKE_BYTES(data_, length_) \
    { .action = FAKE_ACTION_SAY, .bytes = data_, .length = length_ }
#define FAKE_DRIP(text, ms) \
    { .action = FAKE_ACTION_DRIP, .bytes = text, .length = sizeof text - 1, .number = ms }
#define FAKE_FLOOD(text) \
    { .action = FAKE_ACTION_FLOOD, .bytes = text, .length = sizeof text - 1 }
#define FAKE_ANSWER(function, data_) \
    { .action = FAKE_ACTION_ANSWER, .answer = function, .data = data_ }
#define FAKE_SERVE(function, data_) \
    { .action = FAKE_ACTION_SERVE, .answer = function, .data = data_ }
#define FAKE_DRIP_ANSWER(function, data_, ms) \
    { .action = FAKE_ACTION_DRIP_ANSWER, .answer = function, .data = data_, .number = ms }
#define FAKE_PAUSE(ms) \
    { .action = FAKE_ACTION_PAUSE, .number = ms }
#define FAKE_HANG() \
    { .action = FAKE_ACTION_HANG }
#define FAKE_RESET() \
    { .action = FAKE_ACTION_RESET }
#define FAKE_AGAIN() \
    { .action = FAKE_ACTION_AGAIN }
#define FAKE_END \
    { .action = FAKE_ACTION_END }

/* Starts a server; the script (and what it points to) must outlive it. Bails
 * when the system has no socket or thread for it. */
fake_server_t *fake_server_start(const fake_step_t *script);
fake_server_t *fake_server_start_unix(const fake_step_t *script);

/* A server that listens and never accepts: connects succeed, nothing is ever
 * read. */
fake_server_t *fake_server_start_deaf(void);

/* The same with its backlog full, so that connects hang. */
fake_server_t *fake_server_start_full(void);

/* A port that is ours and refuses connections. */
fake_server_t *fake_server_start_refusing(void);

/* Makes a server of the last three accept, those that wait included: from now
 * on it runs `script`. */
void fake_server_wake(fake_server_t *server, const fake_step_t *script);

/* Later connections run this script. */
void fake_server_script(fake_server_t *server, const fake_step_t *script);

/* Ends all connections and frees; NULL is fine. */
void fake_server_free(fake_server_t *server);

uint16_t fake_server_port(const fake_server_t *server); /* 0: unix socket */
/* "127.0.0.1:41234" or "unix:/tmp/...". */
const char *fake_server_address(const fake_server_t *server);
const char *fake_server_path(const fake_server_t *server); /* NULL: TCP */

/* So far: connections accepted, and whole commands read. */
size_t fake_server_connections(fake_server_t *server);
size_t fake_server_commands(fake_server_t *server);

/* The last command line read, cut to fit, "" before the first. */
void fake_server_last_command(fake_server_t *server, char *line, size_t capacity);

#endif
