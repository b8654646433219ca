/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One server: its connections, its health and its counters.
 *
 * A server object is counted and outlives topologies: a new view takes over
 * the objects whose endpoint did not change, with their connections.
 */
#ifndef WR_NET_SERVER_H
#define WR_NET_SERVER_H

#include <warmring/client.h>

#include "base/deadline.h"
#include "net/request.h"
#include "net/transport.h"

/* How a client treats its servers; shared by all of them, must outlive them. */
typedef struct {
    const wr_transport_t *transport; /* the one to try first */
    void *context;                   /* the transport's */
    const wr_transport_t *other;     /* for servers that do not know the first;
                                        NULL: their refusal stands */
    void *other_context;
    uint32_t connect_timeout_ms; /* 0: the deadline alone counts */
    uint32_t pool_max;
    uint32_t idle_close_ms;
    uint32_t failure_limit;
    uint32_t retry_ms;
    uint32_t stub_lifetime_s; /* of the stub WR_LEASE leaves */
    bool tcp_keepalive;
} wr_net_config_t;

/* `host` and `port` as wr_endpoint_t; NULL when memory is out. */
wr_server_t *wr_server_create(const char *host, uint16_t port, const wr_net_config_t *config);
wr_server_t *wr_server_retain(wr_server_t *server);
/* The last release closes all connections. */
void wr_server_release(wr_server_t *server);

/* "10.0.0.7:11211", "[fd00::7]:11211", "unix:/run/memcached.sock"; lives as
 * long as the server. */
const char *wr_server_address(const wr_server_t *server);
const char *wr_server_host(const wr_server_t *server);
uint16_t wr_server_port(const wr_server_t *server);
const wr_net_config_t *wr_server_config(const wr_server_t *server);

/* What a transport keeps from one connection for the next: the last thing laid
 * here, or NULL. Taken away, it is the caller's; laid here, the server's, which
 * frees what it replaces by the transport's free_session(). */
void *wr_server_take_session(wr_server_t *server);
void wr_server_keep_session(wr_server_t *server, void *session);

/* Unique in the process, growing with creation: the order in which batches
 * take connections. A server starts with it, as every token takes it. */
typedef struct {
    uint64_t id;
} wr_server_head_t;
static inline uint64_t wr_server_id(const wr_server_t *server) {
    return ((const wr_server_head_t *)server)->id;
}

/* Whether its transport binds commands to a CAS value; settled by the first
 * connection. */
bool wr_server_binds(const wr_server_t *server);

/* Whether a request would be answered SERVER_DOWN now. */
bool wr_server_is_down(const wr_server_t *server);

/* wr_fail(SERVER_DOWN) with this server's text, counted as a fast failure. */
warmring_status_t wr_server_fail_down(wr_server_t *server);

/* Closes connections idle for too long; probes the server if it is down and
 * its back-off has ended. */
void wr_server_tick(wr_server_t *server, wr_deadline_t deadline);

/* Fills everything but `name`. */
void wr_server_count(const wr_server_t *server, warmring_server_counters_t *counters);

/* What a watermark is made of. */
typedef struct {
    uint64_t cas;    /* the server's CAS counter */
    int64_t started; /* when it started, in Unix seconds by its own clock, the
                        same as long as it runs; -1: it cannot tell */
} wr_probe_t;

/*
 * Asks a server for both, first when it started, so that a restart between the
 * two shows later on. OK and *probe; NOT_SUPPORTED for a server without CAS
 * (`-C`); any fault. A server that keeps when it started to itself, as one
 * that wants a login does, is no fault.
 */
warmring_status_t wr_server_probe_cas(wr_server_t *server, wr_deadline_t deadline,
                                      wr_probe_t *probe);

#endif
