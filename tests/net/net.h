/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of net/ share: a configuration and requests in one line.
 */
#ifndef TESTS_NET_H
#define TESTS_NET_H

#include <warmring/client.h>
#include <warmring/memory.h>

#include "base/deadline.h"
#include "net/server.h"
#include "net/transport_libmemcached.h"
#include "net/transport_meta.h"

#include "../lib/fake_memcached.h"
#include "../lib/fixture.h"
#include "../lib/tap.h"
#include "../lib/transports.h"

/* Defaults of a client with the transport in force (../lib/transports.h), or
 * with libmemcached and a context made after `memc` unless that is NULL. Free
 * with net_free(). */
wr_net_config_t net_config(const memcached_st *memc);
void net_free(wr_net_config_t *config);

/* The server `index` of a fixture. */
wr_server_t *net_server(const fixture_t *fixture, size_t index, const wr_net_config_t *config);
wr_server_t *net_fake(const fake_server_t *fake, const wr_net_config_t *config);

/* A request with room for its value. */
typedef struct {
    wr_sink_t sink; /* first: reserve() finds the room by it */
    wr_request_t request;
    char *room;
    size_t capacity;
    char small[256];
} net_call_t;

/* Prepares a call; strings may be NULL. */
void net_call(net_call_t *call, wr_server_t *server, wr_verb_t verb, const char *key,
              const char *value);
/* Runs it with a deadline in ms. */
warmring_status_t net_run(net_call_t *call, uint32_t deadline_ms);
/* Both. */
warmring_status_t net_do(net_call_t *call, wr_server_t *server, wr_verb_t verb, const char *key,
                         const char *value);

warmring_server_counters_t net_counters(const wr_server_t *server);

/* Milliseconds since `start`. */
double net_ms_since(wr_time_t start);

/* How many descriptors this process has open. */
size_t net_descriptors(void);

#endif
