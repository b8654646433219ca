/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport on libmemcached: one memcached_st with one server for each
 * connection, cloned from a template that has none.
 *
 * libmemcached keeps its descriptors to itself, and freeing a handle sends
 * "quit" and shuts the socket down. For a socket that a fork() has shared
 * that would end the parent's connection. So a child does not free such a
 * handle: abandon() puts it on a list for good, where leak checkers find it.
 * Its descriptor is closed by exec() or exit().
 *
 * When a signal interrupts its poll(), libmemcached takes the time since the
 * start of the wait off what is left once for each signal: two signals end
 * the wait too early, or, when what is left gets below zero, never. So a
 * thread keeps signals pending while it is inside, which is no longer than the
 * deadline; those that tell of a fault of the program itself are let through.
 */
#include "net/transport_libmemcached.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "net/libmemcached_connection.h"
#include "net/server.h"

enum {
    BINARY_PIECE = 100 /* keys of a binary multi-get sent at once */
};

typedef struct {
    memcached_st *pattern;
} context_t;

/* ---- context ----------------------------------------------------------- */

/* Everything of `memc` that is ours to decide is set back. */
static void strip(memcached_st *memc) {
    memc->number_of_hosts = 0;
    memc->servers = NULL;
    memc->last_disconnected_server = NULL;
    memc->distribution = MEMCACHED_DISTRIBUTION_MODULA;
    memc->number_of_replicas = 0;
    memc->flags.auto_eject_hosts = false;
    memc->flags.buffer_requests = false;
    memc->flags.hash_with_namespace = false;
    memc->flags.no_block = false;
    memc->flags.reply = true;
    memc->flags.randomize_replica_read = false;
    memc->flags.support_cas = true;
    memc->flags.tcp_nodelay = true;
    memc->flags.use_sort_hosts = false;
    memc->flags.use_udp = false;
    memc->flags.verify_key = false;
    memc->flags.is_fetching_version = false;
    memc->snd_timeout = 0;
    memc->rcv_timeout = 0;
    memc->server_failure_limit = UINT32_MAX;
    memc->server_timeout_limit = UINT32_MAX;
    memc->io_key_prefetch = 0;
    memc->user_data = NULL;
    memc->on_clone = NULL;
    memc->on_cleanup = NULL;
    memc->get_key_failure = NULL;
    memc->delete_trigger = NULL;
    memc->callbacks = NULL;
    memc->_namespace = NULL;
}

void *wr_libmemcached_context(const memcached_st *memc) {
    context_t *context = wr_malloc(sizeof *context);
    memcached_st *defaults = memc == NULL ? memcached_create(NULL) : NULL;
    const memcached_st *source = memc != NULL ? memc : defaults;
    if (context == NULL || source == NULL) {
        wr_free(context);
        memcached_free(defaults);
        return NULL;
    }
    memcached_st stripped = *source; /* lends its parts to the clone only */
    strip(&stripped);
    context->pattern = memcached_clone(NULL, &stripped);
    memcached_free(defaults);
    if (context->pattern == NULL) {
        wr_free(context);
        return NULL;
    }
    return context;
}

static void free_context(void *argument) {
    context_t *context = argument;
    if (context != NULL) {
        memcached_free(context->pattern);
        wr_free(context);
    }
}

/* ---- signals ----------------------------------------------------------- */

static void hold_signals(sigset_t *before) {
    static const int faults[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    sigset_t held;
    sigfillset(&held);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        sigdelset(&held, faults[i]);
    }
    pthread_sigmask(SIG_SETMASK, &held, before);
}

static void let_signals(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* ---- opening ----------------------------------------------------------- */

static bool add_server(memcached_st *memc, const wr_address_t *address) {
    memcached_return_t code =
        address->storage.ss_family == AF_UNIX
            ? memcached_server_add_unix_socket(memc, address->text)
            : memcached_server_add(memc, address->text, (in_port_t)address->port);
    return memcached_success(code);
}

static void free_handle(wr_libmemcached_t *connection) {
    if (connection->memc != NULL) {
        /* so that nothing it sends is waited for */
        memcached_behavior_set(connection->memc, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, 0);
        memcached_result_free(&connection->result);
        memcached_free(connection->memc);
    }
    wr_free(connection->keys);
    wr_free(connection->lengths);
    wr_free(connection);
}

static bool make_room(wr_libmemcached_t *connection, size_t count) {
    if (count <= connection->capacity) {
        return true;
    }
    const char **keys = wr_realloc(connection->keys, count * sizeof *keys);
    connection->keys = keys != NULL ? keys : connection->keys;
    size_t *lengths = wr_realloc(connection->lengths, count * sizeof *lengths);
    connection->lengths = lengths != NULL ? lengths : connection->lengths;
    if (keys == NULL || lengths == NULL) {
        return false;
    }
    connection->capacity = count;
    return true;
}

static wr_libmemcached_t *make_handle(const context_t *context, const wr_net_config_t *config,
                                      const wr_address_t *address) {
    wr_libmemcached_t *connection = wr_calloc(1, sizeof *connection);
    if (connection == NULL) {
        return NULL;
    }
    connection->memc = memcached_clone(NULL, context->pattern);
    if (connection->memc != NULL) {
        memcached_result_create(connection->memc, &connection->result);
        connection->binary =
            memcached_behavior_get(connection->memc, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL) != 0;
        if (config->tcp_keepalive) {
            memcached_behavior_set(connection->memc, MEMCACHED_BEHAVIOR_TCP_KEEPALIVE, 1);
        }
        if (make_room(connection, 1) && add_server(connection->memc, address)) {
            return connection;
        }
    }
    free_handle(connection);
    return NULL;
}

/* Asking for the size of a socket buffer connects and sends nothing; it keeps
 * the reason of a failure that other calls paint over. Where both sizes were
 * configured libmemcached answers from memory: then the reason may be lost. */
static memcached_return_t connect_only(memcached_st *memc) {
    memcached_behavior_t size = memc->recv_size == -1 ? MEMCACHED_BEHAVIOR_SOCKET_RECV_SIZE
                                                      : MEMCACHED_BEHAVIOR_SOCKET_SEND_SIZE;
    if (memcached_behavior_get(memc, size) != 0) {
        return MEMCACHED_SUCCESS;
    }
    return wr_libmemcached_cause(memc, MEMCACHED_FAILURE);
}

/* A first get: whoever answers it speaks memcached and accepts us. A request
 * of the caller is never sent to a server that accepts and then hangs. */
static memcached_return_t greet(wr_libmemcached_t *connection) {
    static const char *const key = "warmring:hello";
    size_t length = strlen(key);
    memcached_return_t code = memcached_mget(connection->memc, &key, &length, 1);
    if (code != MEMCACHED_SUCCESS) {
        return wr_libmemcached_cause(connection->memc, code);
    }
    do {
        connection->result.count = 1;
    } while (memcached_fetch_result(connection->memc, &connection->result, &code) != NULL);
    code = wr_libmemcached_cause(connection->memc, code);
    return code == MEMCACHED_END ? MEMCACHED_SUCCESS : code;
}

static warmring_status_t say_hello(wr_libmemcached_t *connection, const char *label,
                                   wr_deadline_t deadline) {
    wr_libmemcached_arm(connection, deadline);
    memcached_return_t code = greet(connection);
    if (code == MEMCACHED_SUCCESS) {
        return WARMRING_OK;
    }
    if (code == MEMCACHED_TIMEOUT || code == MEMCACHED_CLIENT_ERROR) {
        warmring_status_t status =
            wr_libmemcached_status(connection->memc, code, label, connection->started, deadline);
        return status == WARMRING_SERVER_ERROR ? WARMRING_PROTOCOL_ERROR : status;
    }
    return wr_libmemcached_connect_status(connection->memc, code, label, connection->started,
                                          deadline);
}

static warmring_status_t open_connection(const void *context, wr_server_t *server,
                                         const wr_address_t *address, wr_deadline_t deadline,
                                         wr_connection_t **result) {
    const char *label = wr_server_address(server);
    wr_libmemcached_t *connection = make_handle(context, wr_server_config(server), address);
    if (connection == NULL) {
        return wr_fail(WARMRING_OUT_OF_MEMORY, "%s: out of memory", label);
    }
    connection->base.server = server;
    connection->started = wr_now();
    wr_libmemcached_arm(connection, deadline);
    memcached_behavior_set(
        connection->memc, MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT,
        memcached_behavior_get(connection->memc, MEMCACHED_BEHAVIOR_POLL_TIMEOUT));
    sigset_t signals;
    hold_signals(&signals);
    memcached_return_t code = connect_only(connection->memc);
    warmring_status_t status = code == MEMCACHED_SUCCESS
                                   ? say_hello(connection, label, deadline)
                                   : wr_libmemcached_connect_status(connection->memc, code, label,
                                                                    connection->started, deadline);
    let_signals(&signals);
    if (status != WARMRING_OK) {
        free_handle(connection);
        return status;
    }
    *result = &connection->base;
    return WARMRING_OK;
}

static void close_connection(wr_connection_t *connection) {
    free_handle((wr_libmemcached_t *)connection);
}

static _Atomic(wr_libmemcached_t *) abandoned;

static void abandon(wr_connection_t *base) {
    wr_libmemcached_t *connection = (wr_libmemcached_t *)base;
    wr_libmemcached_t *head = atomic_load_explicit(&abandoned, memory_order_relaxed);
    do {
        base->next = (wr_connection_t *)head;
    } while (!atomic_compare_exchange_weak_explicit(&abandoned, &head, connection,
                                                    memory_order_release, memory_order_relaxed));
}

/* ---- batches ----------------------------------------------------------- */

/* The gets at the start of a list that go out together. */
static size_t count_gets(const wr_libmemcached_t *connection, wr_request_t **requests,
                         size_t count) {
    size_t limit = connection->binary && count > BINARY_PIECE ? BINARY_PIECE : count;
    size_t number = 0;
    while (number < limit && requests[number]->verb == WR_GET) {
        number++;
    }
    return number;
}

static void fail_from(wr_request_t **requests, size_t count, warmring_status_t status) {
    for (size_t i = 0; i < count; i++) {
        requests[i]->status = status;
    }
}

/* Nothing of these was sent. */
static void refuse(wr_libmemcached_t *connection, wr_request_t **requests, size_t count,
                   wr_deadline_t deadline) {
    if (wr_deadline_passed(deadline)) {
        fail_from(requests, count,
                  wr_fail(WARMRING_TIMEOUT, "%s: deadline passed before all was sent",
                          wr_server_address(connection->base.server)));
    } else {
        fail_from(requests, count, WARMRING_CONNECTION_LOST);
    }
}

static bool ask(wr_libmemcached_t *connection, wr_request_t **requests, size_t count,
                wr_deadline_t deadline) {
    if (!make_room(connection, count)) {
        fail_from(requests, count, wr_fail_memory());
        return false;
    }
    wr_libmemcached_arm(connection, deadline);
    memcached_return_t code = wr_libmemcached_ask(connection, requests, count);
    if (code == MEMCACHED_SUCCESS) {
        return true;
    }
    connection->base.broken = true;
    fail_from(requests, count,
              wr_libmemcached_status(connection->memc, code,
                                     wr_server_address(connection->base.server),
                                     connection->started, deadline));
    return false;
}

static void send_batch(wr_connection_t *base, wr_request_t **requests, size_t count,
                       wr_deadline_t deadline) {
    wr_libmemcached_t *connection = (wr_libmemcached_t *)base;
    connection->started = wr_now();
    connection->asked = 0;
    for (size_t i = 0; i < count; i++) {
        wr_answer_start(requests[i], WARMRING_OK);
    }
    size_t number = count_gets(connection, requests, count);
    if (number == 0) {
        return;
    }
    sigset_t signals;
    hold_signals(&signals);
    if (ask(connection, requests, number, deadline)) {
        connection->asked = number;
    }
    let_signals(&signals);
}

/* Completes the next requests of a list; returns how many. */
static size_t step(wr_libmemcached_t *connection, wr_request_t **requests, size_t count,
                   wr_deadline_t deadline) {
    size_t number = connection->asked;
    connection->asked = 0;
    if (number != 0) {
        wr_libmemcached_read(connection, requests, number, deadline);
        return number;
    }
    if (requests[0]->status != WARMRING_OK) {
        return 1;
    }
    if (connection->base.broken || wr_deadline_passed(deadline)) {
        refuse(connection, requests, count, deadline);
        return count;
    }
    number = count_gets(connection, requests, count);
    if (number == 0) {
        wr_libmemcached_do(connection, requests[0], deadline);
        return 1;
    }
    if (ask(connection, requests, number, deadline)) {
        wr_libmemcached_read(connection, requests, number, deadline);
    }
    return number;
}

static void receive_batch(wr_connection_t *base, wr_request_t **requests, size_t count,
                          wr_deadline_t deadline) {
    sigset_t signals;
    hold_signals(&signals);
    for (size_t done = 0; done < count;) {
        done += step((wr_libmemcached_t *)base, requests + done, count - done, deadline);
    }
    let_signals(&signals);
}

const wr_transport_t wr_transport_libmemcached = {
    .name = "libmemcached",
    .open = open_connection,
    .close = close_connection,
    .abandon = abandon,
    .send = send_batch,
    .receive = receive_batch,
    .free_context = free_context,
};
