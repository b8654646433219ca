/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server object: its life, its texts and its counters. How requests run
 * is in run.c, its connections are in pool.c, its health in health.c.
 */
#include "net/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "net/lines.h"

static _Atomic uint64_t last_id;

/* The address as users write it. */
static char *make_address(const char *host, uint16_t port) {
    size_t size = strlen(host) + sizeof "unix:[]:65535";
    char *address = wr_malloc(size);
    if (address == NULL) {
        return NULL;
    }
    if (host[0] == '/') {
        snprintf(address, size, "unix:%s", host);
    } else if (strchr(host, ':') != NULL) {
        snprintf(address, size, "[%s]:%u", host, port);
    } else {
        snprintf(address, size, "%s:%u", host, port);
    }
    return address;
}

wr_server_t *wr_server_create(const char *host, uint16_t port, const wr_net_config_t *config) {
    wr_server_t *server = wr_calloc(1, sizeof *server);
    if (server == NULL) {
        return NULL;
    }
    server->config = config;
    server->port = port;
    server->head.id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
    atomic_init(&server->references, 1);
    server->host = wr_copy(host, strlen(host));
    server->address = make_address(host, port);
    if (server->host != NULL && server->address != NULL &&
        wr_pool_init(&server->pool, server->head.id, config->pool_max, config->idle_close_ms)) {
        return server;
    }
    wr_free(server->host);
    wr_free(server->address);
    wr_free(server);
    return NULL;
}

wr_server_t *wr_server_retain(wr_server_t *server) {
    atomic_fetch_add_explicit(&server->references, 1, memory_order_relaxed);
    return server;
}

void wr_server_release(wr_server_t *server) {
    if (server == NULL ||
        atomic_fetch_sub_explicit(&server->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    wr_pool_destroy(&server->pool);
    wr_server_keep_session(server, NULL);
    wr_free(server->host);
    wr_free(server->address);
    wr_free(server);
}

const char *wr_server_address(const wr_server_t *server) {
    return server->address;
}

const char *wr_server_host(const wr_server_t *server) {
    return server->host;
}

uint16_t wr_server_port(const wr_server_t *server) {
    return server->port;
}

const wr_net_config_t *wr_server_config(const wr_server_t *server) {
    return server->config;
}

void *wr_server_take_session(wr_server_t *server) {
    return atomic_exchange(&server->session, NULL);
}

void wr_server_keep_session(wr_server_t *server, void *session) {
    void *before = atomic_exchange(&server->session, session);
    if (before != NULL) {
        server->config->transport->free_session(before);
    }
}

bool wr_server_binds(const wr_server_t *server) {
    const wr_net_config_t *config = server->config;
    bool first = config->other == NULL || atomic_load(&server->speech) != WR_SPEECH_OTHER;
    return (first ? config->transport : config->other)->binds;
}

bool wr_server_is_down(const wr_server_t *server) {
    return wr_health_is_down(&server->health);
}

warmring_status_t wr_server_fail_down(wr_server_t *server) {
    wr_count(server, WR_COUNT_fast_failures, 1);
    return wr_fail(WARMRING_SERVER_DOWN, "%s: server is down, next try within %u ms",
                   server->address, server->config->retry_ms);
}

void wr_server_tick(wr_server_t *server, wr_deadline_t deadline) {
    wr_pool_trim(server);
    if (!wr_health_wants_probe(&server->health)) {
        return;
    }
    static const char key[] = "warmring:tick";
    wr_detail_t detail;
    wr_detail_save(&detail);
    wr_request_t request = {.server = server, .verb = WR_GET, .key = {key, sizeof key - 1}};
    wr_run_one(&request, deadline);
    wr_detail_restore(&detail);
}

void wr_server_count(const wr_server_t *server, warmring_server_counters_t *counters) {
    counters->size = sizeof *counters;
    counters->address = server->address;
    counters->down = wr_health_is_suspect(&server->health);
    counters->connections = wr_pool_open_count(server);
#define READ_COUNTER(name) \
    counters->name = atomic_load_explicit(&server->counters[WR_COUNT_##name], memory_order_relaxed);
    WARMRING_SERVER_COUNTER_LIST(READ_COUNTER)
#undef READ_COUNTER
    wr_totals_t totals;
    wr_pool_add_up(&server->pool, &totals);
    counters->requests += totals.requests;
    counters->hits += totals.hits;
    counters->misses += totals.misses;
}

/* The CAS value of an item stored just now, which outlives the call: one that
 * was stored and is gone means a server that does not keep what it is given. */
static warmring_status_t probe_counter(wr_server_t *server, wr_deadline_t deadline, uint64_t *cas) {
    char key[80];
    int length =
        snprintf(key, sizeof key, "warmring:probe:%x-%" PRIx64 "-%" PRIx64, (unsigned)getpid(),
                 (uint64_t)wr_now(), atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed));
    warmring_bytes_t name = {key, (size_t)length};
    uint32_t life = (uint32_t)(wr_deadline_left_ms(deadline) / 1000) + 2;
    wr_request_t set = {.server = server, .verb = WR_SET, .key = name, .expiration = life};
    wr_request_t get = {.server = server, .verb = WR_GET, .key = name};
    wr_request_t *both[] = {&set, &get};
    wr_run(both, 2, deadline);
    if (set.status != WARMRING_OK) {
        return set.status;
    }
    if (get.status == WARMRING_NOT_FOUND) {
        return wr_fail(WARMRING_SERVER_ERROR, "%s: does not keep what it stores", server->address);
    }
    if (get.status == WARMRING_OK && get.cas_out == 0) {
        return wr_fail(WARMRING_NOT_SUPPORTED, "%s: server runs without CAS (-C)", server->address);
    }
    *cas = get.cas_out;
    return get.status;
}

/* Of `stats`: -1 until seen. */
typedef struct {
    int64_t time, uptime;
} started_t;

static void read_clock(void *context, const char *name, const char *value) {
    started_t *seen = context;
    uint64_t number;
    if (wr_parse_uint(value, strlen(value), INT64_MAX, &number)) {
        seen->time = strcmp(name, "time") == 0 ? (int64_t)number : seen->time;
        seen->uptime = strcmp(name, "uptime") == 0 ? (int64_t)number : seen->uptime;
    }
}

/* Whatever keeps a server from telling leaves -1. */
static warmring_status_t probe_start(wr_server_t *server, wr_deadline_t deadline,
                                     int64_t *started) {
    started_t seen = {-1, -1};
    wr_detail_t detail;
    wr_detail_save(&detail);
    *started = -1;
    warmring_status_t status = wr_server_stats(server, NULL, read_clock, &seen, deadline);
    if (status == WARMRING_OUT_OF_MEMORY) {
        return status;
    }
    if (status != WARMRING_OK) {
        wr_detail_restore(&detail);
    } else if (seen.uptime >= 0 && seen.time >= seen.uptime) {
        *started = seen.time - seen.uptime;
    }
    return WARMRING_OK;
}

warmring_status_t wr_server_probe_cas(wr_server_t *server, wr_deadline_t deadline,
                                      wr_probe_t *probe) {
    warmring_status_t status = probe_start(server, wr_deadline_share(deadline, 2), &probe->started);
    return status == WARMRING_OK ? probe_counter(server, deadline, &probe->cas) : status;
}

void wr_detail_save(wr_detail_t *detail) {
    const char *text = warmring_error_detail();
    detail->text[0] = '\0';
    if (text[0] != '\0') {
        memcpy(detail->text, text, strlen(text) + 1);
    }
}

void wr_detail_restore(const wr_detail_t *detail) {
    if (strcmp(detail->text, warmring_error_detail()) != 0) {
        wr_fail(WARMRING_OK, "%s", detail->text);
    }
}
