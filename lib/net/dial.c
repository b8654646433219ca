/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a connection: resolve, connect to one of the addresses, find out
 * which transport the server knows.
 */
#include "net/dial.h"

#include <poll.h>
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

/* ---- the end --------------------------------------------------------------- */

static void fail(wr_dial_t *dial, warmring_status_t status) {
    dial->state = WR_DIAL_OVER;
    dial->status = status;
    dial->connection = NULL;
    wr_count(dial->server, WR_COUNT_connect_errors, 1);
}

static void succeed(wr_dial_t *dial) {
    wr_connection_t *connection = dial->connection;
    if (dial->tries != 0) {
        dial->resolved.first = (dial->resolved.first + dial->tries) % dial->resolved.count;
        remember_addresses(dial->server, &dial->resolved);
    }
    dial->state = WR_DIAL_OVER;
    dial->status = WARMRING_OK;
    wr_count(dial->server, WR_COUNT_connects, 1);
    connection->server = dial->server;
    connection->next = NULL;
    connection->opened_at = wr_now();
    connection->generation = wr_fork_generation();
    connection->used = false;
    connection->broken = false;
}

/* ---- one address ----------------------------------------------------------- */

static const wr_address_t *present_address(const wr_dial_t *dial) {
    const wr_resolved_t *resolved = &dial->resolved;
    return &resolved->list[(resolved->first + dial->tries) % resolved->count];
}

static bool takes_other(const wr_server_t *server) {
    return server->config->other != NULL && atomic_load(&server->speech) == WR_SPEECH_OTHER;
}

/* An equal share of what is left for each address yet to be tried. */
static wr_deadline_t share(const wr_dial_t *dial, wr_deadline_t deadline) {
    wr_deadline_t slice = wr_deadline_share(deadline, dial->resolved.count - dial->tries);
    uint32_t cap = dial->server->config->connect_timeout_ms;
    return cap == 0 ? slice : wr_deadline_min(slice, wr_deadline_in_ms(cap));
}

static warmring_status_t start_steps(wr_dial_t *dial, const wr_transport_t *transport) {
    wr_server_t *server = dial->server;
    bool ask = atomic_load(&server->speech) != WR_SPEECH_FIRST;
    warmring_status_t status = transport->open_start(server->config->context, server,
                                                     present_address(dial), ask, &dial->connection);
    if (status == WARMRING_OK) {
        dial->connection->transport = transport;
        dial->connection->server = server;
        dial->until = share(dial, dial->deadline).at;
        dial->state = WR_DIAL_WAITS;
        dial->wait = (wr_wait_t){0, wr_now()};
    }
    return status;
}

/* Starts with the present address; a fault is of this one. */
static warmring_status_t start_try(wr_dial_t *dial) {
    const wr_net_config_t *config = dial->server->config;
    dial->connection = NULL;
    if (!takes_other(dial->server) && config->transport->open_step != NULL) {
        return start_steps(dial, config->transport);
    }
    dial->state = WR_DIAL_BLOCKS;
    return WARMRING_OK;
}

/* What one address came to; the next one may do better. */
static void conclude_try(wr_dial_t *dial, warmring_status_t status) {
    while (status != WARMRING_OK) {
        if (++dial->tries == dial->resolved.count || wr_deadline_passed(dial->deadline)) {
            dial->resolved.count = 0;
            remember_addresses(dial->server, &dial->resolved);
            atomic_store(&dial->server->speech, WR_SPEECH_UNKNOWN);
            fail(dial, status);
            return;
        }
        status = start_try(dial);
    }
}

/* ---- in steps -------------------------------------------------------------- */

static void close_connection(wr_dial_t *dial) {
    if (dial->connection != NULL) {
        dial->connection->transport->close(dial->connection);
        dial->connection = NULL;
    }
}

static warmring_status_t step_or_expire(wr_dial_t *dial, short ready) {
    const wr_transport_t *transport = dial->connection->transport;
    wr_time_t now = wr_now();
    if (ready == 0 && now >= dial->until) {
        return transport->open_expire(dial->connection);
    }
    bool is_time = dial->wait.wake != 0 && now >= dial->wait.wake;
    return ready != 0 || is_time ? transport->open_step(dial->connection, ready, &dial->wait)
                                 : WARMRING_OK;
}

static void go_on(wr_dial_t *dial, short ready) {
    warmring_status_t status = step_or_expire(dial, ready);
    if (status == WARMRING_OK) {
        if (dial->wait.events == 0 && dial->wait.wake == 0) {
            atomic_store(&dial->server->speech, WR_SPEECH_FIRST);
            succeed(dial);
        }
        return;
    }
    bool hung_up = dial->connection->hung_up;
    close_connection(dial);
    if (hung_up && !dial->asks_again) {
        dial->asks_again = true;
        status = start_try(dial);
        if (status == WARMRING_OK) {
            return;
        }
    }
    if (status == WARMRING_NOT_SUPPORTED && dial->server->config->other != NULL) {
        atomic_store(&dial->server->speech, WR_SPEECH_OTHER);
        dial->state = WR_DIAL_BLOCKS;
        return;
    }
    conclude_try(dial, status);
}

static bool has_failed(const wr_dial_t *dial) {
    return dial->state == WR_DIAL_OVER && dial->status != WARMRING_OK;
}

void wr_dial_step(wr_dial_t *dial, short ready) {
    wr_detail_t detail;
    wr_detail_save(&detail);
    go_on(dial, ready);
    if (!has_failed(dial)) {
        wr_detail_restore(&detail);
    }
}

void wr_dial_start(wr_dial_t *dial, wr_server_t *server, wr_deadline_t resolved_by,
                   wr_deadline_t deadline) {
    dial->server = server;
    dial->deadline = deadline;
    dial->connection = NULL;
    dial->tries = 0;
    dial->asks_again = false;
    warmring_status_t status = resolve(server, resolved_by, &dial->resolved);
    if (status != WARMRING_OK) {
        fail(dial, status);
        return;
    }
    conclude_try(dial, start_try(dial));
    if (dial->state == WR_DIAL_WAITS) {
        wr_dial_step(dial, 0);
    }
}

wr_time_t wr_dial_alarm(const wr_dial_t *dial) {
    wr_time_t wake = dial->wait.wake;
    return wake != 0 && wake < dial->until ? wake : dial->until;
}

void wr_dial_cancel(wr_dial_t *dial, warmring_status_t status) {
    if (dial->state != WR_DIAL_OVER) {
        close_connection(dial);
        fail(dial, status);
    }
}

/* ---- waiting --------------------------------------------------------------- */

static void wait_and_step(wr_dial_t *dial) {
    const wr_connection_t *connection = dial->connection;
    bool polls = dial->wait.events != 0;
    struct pollfd wait = {.fd = polls ? connection->transport->descriptor(connection) : -1,
                          .events = dial->wait.events};
    int left = wr_deadline_left_ms((wr_deadline_t){.at = wr_dial_alarm(dial)});
    int ready = poll(&wait, 1, left);
    if (ready >= 0 || left == 0) {
        wr_dial_step(dial, ready > 0 ? wait.revents : 0);
    }
}

static void open_blocking(wr_dial_t *dial, wr_deadline_t deadline) {
    wr_server_t *server = dial->server;
    const wr_net_config_t *config = server->config;
    bool other = takes_other(server);
    const wr_transport_t *transport = other ? config->other : config->transport;
    wr_detail_t detail;
    wr_detail_save(&detail);
    warmring_status_t status =
        transport->open(other ? config->other_context : config->context, server,
                        present_address(dial), share(dial, deadline), &dial->connection);
    if (status == WARMRING_OK) {
        dial->connection->transport = transport;
        succeed(dial);
    } else {
        conclude_try(dial, status);
    }
    if (!has_failed(dial)) {
        wr_detail_restore(&detail);
    }
}

warmring_status_t wr_dial_finish(wr_dial_t *dial, wr_deadline_t deadline) {
    while (dial->state != WR_DIAL_OVER) {
        if (dial->state == WR_DIAL_WAITS) {
            wait_and_step(dial);
        } else {
            open_blocking(dial, deadline);
        }
    }
    return dial->status;
}

/* ---- what it tells ---------------------------------------------------------- */

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
