/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the native transport share: bare connections, requests in
 * one line, a sink.
 */
#ifndef TESTS_META_SUPPORT_H
#define TESTS_META_SUPPORT_H

#include "net/meta_open.h"

enum { STUB_FLAGS = 77, STUB_LIFETIME = 30 };

/* A sink into `room`, which takes values up to `capacity`. */
typedef struct {
    wr_sink_t sink;
    char *room;
    size_t capacity;
} buffer_sink_t;
buffer_sink_t buffer_sink(char *room, size_t capacity);

/* Connects to "127.0.0.1:PORT" or "unix:PATH". */
warmring_status_t try_open(const char *address, uint32_t ms, wr_meta_connection_t **connection);
/* And asks whether the server knows the meta commands. */
warmring_status_t try_probe(const char *address, uint32_t ms, wr_meta_connection_t **connection);
/* As try_open() within two seconds; bails on failure. */
wr_meta_connection_t *must_open(const char *address);
void must_close(wr_meta_connection_t *connection);

warmring_bytes_t bytes_of(const char *text);
wr_request_t request_of(wr_verb_t verb, const char *key, const char *value);

/* Runs one on a bare connection. */
warmring_status_t run(wr_meta_connection_t *connection, wr_request_t *request, uint32_t ms);
/* Runs many as one batch of that connection. */
void run_many(wr_meta_connection_t *connection, wr_request_t **requests, size_t count, uint32_t ms);

/* Milliseconds since a time. */
int64_t ms_since(wr_time_t begun);

#endif
