/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the libmemcached transport share: a connection, how its
 * return codes are told to our callers, and the commands.
 */
#ifndef WR_NET_LIBMEMCACHED_CONNECTION_H
#define WR_NET_LIBMEMCACHED_CONNECTION_H

#include "net/transport_libmemcached.h"

typedef struct {
    wr_connection_t base;
    memcached_st *memc; /* one server, one socket */
    memcached_result_st result;
    bool binary;
    bool noreply;      /* as libmemcached's behavior stands now */
    wr_time_t started; /* of the batch: for texts */
    size_t asked;      /* keys of a multi-get under way */
    const char **keys; /* room for those of a multi-get, */
    size_t *lengths;   /* both of `capacity` */
    size_t capacity;
} wr_libmemcached_t;

/* ---- status_libmemcached.c --------------------------------------------- */

/* The status that answers to a return code; PROTOCOL_ERROR for unknown ones. */
warmring_status_t wr_status_from_libmemcached(memcached_return_t code);

/* The most telling code of a call: the one returned, or the one behind it. */
memcached_return_t wr_libmemcached_cause(const memcached_st *memc, memcached_return_t code);

/* The status of a call, with a text for faults that starts with `label`.
 * `since` and `deadline` say how long was waited. */
warmring_status_t wr_libmemcached_status(const memcached_st *memc, memcached_return_t code,
                                         const char *label, wr_time_t since,
                                         wr_deadline_t deadline);

/* The same for a connect. */
warmring_status_t wr_libmemcached_connect_status(const memcached_st *memc, memcached_return_t code,
                                                 const char *label, wr_time_t since,
                                                 wr_deadline_t deadline);

/* ---- commands_libmemcached.c ------------------------------------------- */

/* Sets what a poll may wait to what is left; at least a millisecond, so that
 * what has arrived is still read. */
void wr_libmemcached_arm(wr_libmemcached_t *connection, wr_deadline_t deadline);

/* Sends one get for `count` requests. */
memcached_return_t wr_libmemcached_ask(wr_libmemcached_t *connection, wr_request_t **requests,
                                       size_t count);

/* Reads the answers: every request that had none before gets its status. */
void wr_libmemcached_read(wr_libmemcached_t *connection, wr_request_t **requests, size_t count,
                          wr_deadline_t deadline);

/* Runs any other command. */
void wr_libmemcached_do(wr_libmemcached_t *connection, wr_request_t *request,
                        wr_deadline_t deadline);

/* Sets a request's status from a code; breaks the connection when the code
 * leaves the stream in doubt. */
void wr_libmemcached_conclude(wr_libmemcached_t *connection, wr_request_t *request,
                              memcached_return_t code, wr_deadline_t deadline);

#endif
