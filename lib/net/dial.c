/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a connection: resolve, connect to one of the addresses, find out
 * which transport the server knows.
 */
#include "net/dial.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/fork.h"
#include "net/internal.h"

enum { ADDRESS_TTL_MS = 60000 };

static bool known_addresses(wr_server_t *server, wr_resolved_t *resolved) {
    wr_pool_t *pool = &server->pool;
    pthread_mutex_lock(pool->mutex);
    bool known = pool->resolved.count != 0 && wr_now() < pool->resolved.until;
    if (known) {
        *resolved = pool->resolved;
    }
    pthread_mutex_unlock(pool->mutex);
    return known;
}

static void remember_addresses(wr_server_t *server, const wr_resolved_t *resolved) {
    pthread_mutex_lock(server->pool.mutex);
    server->pool.resolved = *resolved;
    pthread_mutex_unlock(server->pool.mutex);
}

static warmring_status_t resolve(wr_server_t *server, wr_deadline_t deadline,
                                 wr_resolved_t *resolved) {
    if (known_addresses(server, resolved)) {
        return WARMRING_OK;
    }
    resolved->first = 0;
    resolved->until = wr_deadline_in_ms(ADDRESS_TTL_MS).at;
    warmring_status_t status = wr_resolve(server->address, server->host, server->port, deadline,
                                          resolved->list, WR_MAX_ADDRESSES, &resolved->count);
    if (status == WARMRING_OK) {
        remember_addresses(server, resolved);
    }
    return status;
}

/* An equal share of what is left for each address yet to be tried. */
static wr_deadline_t share(const wr_server_t *server, wr_deadline_t deadline, size_t tries) {
    wr_deadline_t slice = wr_deadline_share(deadline, tries);
    uint32_t cap = server->config->connect_timeout_ms;
    return cap == 0 ? slice : wr_deadline_min(slice, wr_deadline_in_ms(cap));
}

static warmring_status_t open_as(const wr_transport_t *transport, const void *context,
                                 wr_server_t *server, const wr_address_t *address,
                                 wr_deadline_t deadline, wr_connection_t **connection) {
    warmring_status_t status = transport->open(context, server, address, deadline, connection);
    if (status == WARMRING_OK) {
        (*connection)->transport = transport;
    }
    return status;
}

/* With the first transport; asks the server whether it knows it, once. */
static warmring_status_t dial_first(wr_server_t *server, const wr_address_t *address,
                                    wr_deadline_t deadline, wr_connection_t **connection) {
    const wr_transport_t *transport = server->config->transport;
    warmring_status_t status =
        open_as(transport, server->config->context, server, address, deadline, connection);
    if (status != WARMRING_OK || transport->probe == NULL ||
        atomic_load(&server->speech) == WR_SPEECH_FIRST) {
        return status;
    }
    status = transport->probe(*connection, deadline);
    if (status == WARMRING_OK) {
        atomic_store(&server->speech, WR_SPEECH_FIRST);
    } else {
        transport->close(*connection);
        *connection = NULL;
    }
    return status;
}

static warmring_status_t dial_one(wr_server_t *server, const wr_address_t *address,
                                  wr_deadline_t deadline, wr_connection_t **connection) {
    const wr_net_config_t *config = server->config;
    if (atomic_load(&server->speech) != WR_SPEECH_OTHER) {
        warmring_status_t status = dial_first(server, address, deadline, connection);
        if (status != WARMRING_NOT_SUPPORTED || config->other == NULL) {
            return status;
        }
        atomic_store(&server->speech, WR_SPEECH_OTHER);
    }
    return open_as(config->other, config->other_context, server, address, deadline, connection);
}

static warmring_status_t connect_any(wr_server_t *server, wr_resolved_t *resolved,
                                     wr_deadline_t deadline, wr_connection_t **connection) {
    warmring_status_t status = WARMRING_CONNECT_FAILED;
    size_t count = resolved->count;
    for (size_t i = 0; i < count; i++) {
        size_t index = (resolved->first + i) % count;
        status = dial_one(server, &resolved->list[index], share(server, deadline, count - i),
                          connection);
        if (status == WARMRING_OK) {
            if (i != 0) {
                resolved->first = index;
                remember_addresses(server, resolved);
            }
            return WARMRING_OK;
        }
    }
    resolved->count = 0;
    remember_addresses(server, resolved);
    atomic_store(&server->speech, WR_SPEECH_UNKNOWN);
    return status;
}

warmring_status_t wr_dial(wr_server_t *server, wr_deadline_t deadline,
                          wr_connection_t **connection) {
    wr_detail_t detail;
    wr_detail_save(&detail);
    wr_resolved_t resolved;
    warmring_status_t status = resolve(server, deadline, &resolved);
    if (status == WARMRING_OK) {
        status = connect_any(server, &resolved, deadline, connection);
    }
    if (status != WARMRING_OK) {
        wr_count(server, WR_COUNT_connect_errors, 1);
        return status;
    }
    wr_detail_restore(&detail);
    wr_count(server, WR_COUNT_connects, 1);
    (*connection)->server = server;
    (*connection)->next = NULL;
    (*connection)->opened_at = wr_now();
    (*connection)->generation = wr_fork_generation();
    (*connection)->used = false;
    return WARMRING_OK;
}

/* Whether the process has no descriptor left, or the system: neither tells
 * about the server. */
static bool lacks_descriptors(void) {
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor >= 0) {
        close(descriptor);
    }
    return descriptor < 0;
}

wr_verdict_t wr_dial_verdict(warmring_status_t status) {
    bool local = status == WARMRING_OUT_OF_MEMORY || status == WARMRING_AUTH_FAILED ||
                 status == WARMRING_NOT_SUPPORTED || lacks_descriptors();
    return local ? WR_VERDICT_NEUTRAL : WR_VERDICT_FAILED;
}
