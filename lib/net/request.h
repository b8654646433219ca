/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command for one server, with room for its answer: what client/ hands
 * down and gets back, whatever the transport.
 */
#ifndef WR_NET_REQUEST_H
#define WR_NET_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warmring/client.h>

#include "base/deadline.h"

typedef struct wr_server wr_server_t;

typedef enum {
    WR_GET,
    WR_SET,
    WR_ADD,
    WR_REPLACE,
    WR_APPEND,
    WR_PREPEND,
    WR_CAS, /* store bound to `cas` */
    WR_DELETE,
    WR_UNLEASE, /* delete bound to `cas` */
    WR_LEASE,   /* put a stub where nothing is: OK and its `cas`, or
                   NOT_STORED when something is there */
    WR_TOUCH,
    WR_GET_AND_TOUCH,
    WR_INCREMENT,
    WR_DECREMENT,
    WR_FLUSH, /* every item; no key */
    WR_VERBS
} wr_verb_t;

/* What is known of each verb: one row a verb, in request.c. */
typedef struct {
    const char *name;
    bool idempotent; /* may be sent again when the first try got no answer */
    bool reads;      /* its answer is an item */
    bool stores;     /* it carries a value */
    bool binds;      /* it may be bound to a `cas`, if the transport can */
} wr_verb_info_t;
extern const wr_verb_info_t wr_verbs[WR_VERBS];
static inline const wr_verb_info_t *wr_verb_info(wr_verb_t verb) {
    return &wr_verbs[verb];
}

/*
 * Where a value goes. `reserve` returns room for `length` bytes (the
 * transport writes no NUL), or NULL when there is none; the transport then
 * drops the value and answers with `refusal`, value_length set all the same.
 */
typedef struct wr_sink {
    char *(*reserve)(struct wr_sink *sink, size_t length);
    warmring_status_t refusal;
} wr_sink_t;

/* A TTL in an answer, in seconds, or one of these. */
#define WR_TTL_UNKNOWN INT64_C(-2) /* the transport cannot tell */
#define WR_TTL_NEVER INT64_C(-1)

typedef struct wr_request {
    /* the question */
    wr_server_t *server;
    wr_verb_t verb;
    bool noreply;         /* do not wait for the answer; status is then OK */
    bool wants_ttl;       /* WR_GET: tell the TTL if the transport can */
    bool unbiased;        /* a fault says nothing about the server: the deadline is
                             shorter than what it may take */
    bool patient;         /* with opened_before: waits for such a connection until
                             the deadline */
    warmring_bytes_t key; /* as sent, prefix included; checked by client/ */
    warmring_bytes_t value;
    uint32_t flags;
    uint32_t expiration;     /* as sent: 0, up to 30 days, or a Unix time; of
                                WR_LEASE: 0 is the configured life of a stub */
    uint64_t cas;            /* WR_CAS, WR_UNLEASE; where the transport binds
                                also append, prepend, increment, decrement:
                                0: whatever is there */
    uint64_t delta;          /* WR_INCREMENT, WR_DECREMENT */
    const uint64_t *initial; /* the same; NULL: NOT_FOUND when missing */
    wr_sink_t *sink;         /* reads: where the value goes; NULL: dropped */
    wr_time_t opened_before; /* 0: any connection; else only one that was open
                                at that time: otherwise CONNECTION_LOST with
                                `sent` false */

    /* the answer */
    warmring_status_t status;
    uint32_t joined; /* for the transport: how many requests from this one on
                        went out as one command */
    uint32_t flags_out;
    bool sent;           /* false: the server surely saw nothing */
    bool was_sent;       /* for wr_run(): by an earlier try, which was not answered */
    wr_time_t opened_at; /* of the connection that carried it; for the
                            opened_before of what must follow on it */
    char *value_out;     /* in the sink */
    size_t value_length;
    uint64_t cas_out; /* reads and WR_LEASE */
    uint64_t number;  /* WR_INCREMENT, WR_DECREMENT */
    int64_t ttl;      /* reads with wants_ttl */
} wr_request_t;

/*
 * Runs all requests, those of different servers side by side, and returns
 * when each has its status; never later than the deadline by more than the
 * transport's slack. Requests of one server keep their order. On a fault the
 * thread's detail text tells about one of them.
 *
 * A request on a connection that turns out to be stale is sent once more on
 * a fresh one if its verb is idempotent; should that be refused, what the
 * server saw stays unknown: CONNECTION_LOST, unless it is a read. Connections
 * are taken in order of wr_server_id(), at most one a server, and all are back
 * when it returns.
 *
 * `requests` is reordered. A single request takes no memory.
 */
void wr_run(wr_request_t **requests, size_t count, wr_deadline_t deadline);

/* The same for one. */
void wr_run_one(wr_request_t *request, wr_deadline_t deadline);
/* And with a deadline whose `made` is about the present. */
void wr_run_now(wr_request_t *request, wr_deadline_t deadline);

/* Makes it a question for `key` that is sent as it is: the rest of what may be
 * asked is zero. The answer is not touched; wr_run() does that. */
static inline void wr_ask(wr_request_t *request, wr_server_t *server, wr_verb_t verb,
                          warmring_bytes_t key) {
    request->server = server;
    request->verb = verb;
    request->noreply = request->wants_ttl = request->unbiased = request->patient = false;
    request->key = key;
    request->value = (warmring_bytes_t){NULL, 0};
    request->flags = 0;
    request->expiration = 0;
    request->cas = 0;
    request->delta = 0;
    request->initial = NULL;
    request->sink = NULL;
    request->opened_before = 0;
}

/* What is known of the answer before there is one, or when nothing was sent. */
static inline void wr_answer_start(wr_request_t *request, warmring_status_t status) {
    request->status = status;
    request->joined = 0;
    request->flags_out = 0;
    request->sent = false;
    request->opened_at = 0;
    request->value_out = NULL;
    request->value_length = 0;
    request->cas_out = 0;
    request->number = 0;
    request->ttl = WR_TTL_UNKNOWN;
}

/* The stub of a lease: it has the reserved flags. It is empty, unless somebody
 * appended to it. */
static inline bool wr_is_stub(const wr_request_t *answer) {
    return answer->status == WARMRING_OK && answer->flags_out == WARMRING_RESERVED_FLAGS;
}

/* Whether a status is an answer of the server, not a fault on the way:
 * OK, NOT_FOUND, NOT_STORED, EXISTS, NOT_NUMERIC, TOO_LARGE,
 * BUFFER_TOO_SMALL. */
static inline bool wr_is_answer(warmring_status_t status) {
    static const uint32_t answers = 1u << WARMRING_OK | 1u << WARMRING_NOT_FOUND |
                                    1u << WARMRING_NOT_STORED | 1u << WARMRING_EXISTS |
                                    1u << WARMRING_NOT_NUMERIC | 1u << WARMRING_TOO_LARGE |
                                    1u << WARMRING_BUFFER_TOO_SMALL;
    return (size_t)status < 32 && (answers >> status & 1) != 0;
}

#endif
