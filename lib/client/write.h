/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing keys, one or many, through every phase: stores, deletes and
 * whatever depends on the present value.
 */
#ifndef WR_CLIENT_WRITE_H
#define WR_CLIENT_WRITE_H

#include "client/client.h"
#include "client/watch.h"

/* One key to write: wr_write_start(), then whatever else `command` asks. */
typedef struct {
    wr_kind_t kind;
    wr_request_t command;          /* as the caller means it */
    const warmring_token_t *token; /* EXISTS unless taken from the server that
                                      the command goes to; NULL: none */

    wr_route_t route;
    wr_request_t request[WR_STEPS]; /* set when they are needed */
    unsigned steps;                 /* how many there are to run; 0: refused, or done by bind.c */
    warmring_status_t status;
    const wr_request_t *result; /* where the caller's command was answered;
                                   NULL when it was not run */
} wr_write_t;

static inline void wr_write_start(wr_write_t *write, wr_kind_t kind, wr_verb_t verb,
                                  warmring_bytes_t key) {
    write->kind = kind;
    wr_ask(&write->command, NULL, verb, key);
    write->token = NULL;
    write->steps = 0;
    write->status = WARMRING_OK;
    write->result = NULL;
}

/*
 * Runs all of them; afterwards `status` says what became of each. `queue`
 * has room for `count` pointers; `watch` may be NULL.
 */
void wr_write(const wr_operation_t *operation, wr_write_t *writes, size_t count,
              wr_request_t **queue, wr_watch_t *watch);

/* The same for one, of which nobody else is told. */
void wr_write_one(const wr_operation_t *operation, wr_write_t *write);

/* What any store checks first: BAD_ARGUMENT for a value that is missing or
 * looks like a stub. */
warmring_status_t wr_value_check(warmring_bytes_t bytes, uint32_t flags);

#endif
