/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stages of opening a connection, in their order.
 */
#include "net/meta_open.h"

#include <errno.h>

#include "base/fail.h"
#include "base/fork.h"
#include "base/memory.h"

static bool always(const wr_meta_connection_t *connection) {
    (void)connection;
    return true;
}

static bool wants_tls(const wr_meta_connection_t *connection) {
    return connection->opening.tls != NULL;
}

static bool wants_login(const wr_meta_connection_t *connection) {
    return connection->opening.login.line != NULL;
}

static bool is_to_be_asked(const wr_meta_connection_t *connection) {
    return connection->opening.ask;
}

static const struct {
    bool (*is_needed)(const wr_meta_connection_t *connection);
    warmring_status_t (*step)(wr_meta_connection_t *connection, short ready, wr_wait_t *wait);
    warmring_status_t (*expire)(wr_meta_connection_t *connection);
} stages[] = {
    {always, wr_meta_connect_step, wr_meta_connect_expire},
    {wants_tls, wr_meta_tls_step, wr_meta_tls_expire},
    {wants_login, wr_meta_login_step, wr_meta_login_expire},
    {is_to_be_asked, wr_meta_probe_step, wr_meta_probe_expire},
};

enum { STAGES = sizeof stages / sizeof stages[0] };

warmring_status_t wr_meta_open(const wr_meta_options_t *options, wr_server_t *server,
                               const char *label, const wr_address_t *address, bool ask,
                               wr_meta_connection_t **connection) {
    wr_meta_connection_t *opened = wr_malloc(sizeof *opened);
    if (opened == NULL) {
        return wr_fail_memory();
    }
    opened->stream = (wr_stream_t){.descriptor = -1};
    warmring_status_t status =
        wr_meta_socket(label, address, options->keepalive, &opened->stream.descriptor);
    if (status != WARMRING_OK) {
        wr_free(opened);
        return status;
    }
    opened->base = (wr_connection_t){.server = server, .generation = wr_fork_generation()};
    opened->opening = (wr_meta_opening_t){.address = *address,
                                          .begun = wr_now(),
                                          .tls = options->tls,
                                          .login = options->login,
                                          .ask = ask};
    wr_meta_exchange_init(&opened->exchange, label, &options->stub, &options->limits, opened->input,
                          sizeof opened->input);
    *connection = opened;
    return WARMRING_OK;
}

static bool is_waiting(const wr_wait_t *wait) {
    return wait->events != 0 || wait->wake != 0;
}

warmring_status_t wr_meta_open_step(wr_connection_t *base, short ready, wr_wait_t *wait) {
    wr_meta_connection_t *connection = (wr_meta_connection_t *)base;
    wr_meta_opening_t *opening = &connection->opening;
    for (; opening->stage < STAGES; opening->stage++, ready = 0) {
        *wait = (wr_wait_t){0, 0};
        if (!stages[opening->stage].is_needed(connection)) {
            continue;
        }
        warmring_status_t status = stages[opening->stage].step(connection, ready, wait);
        if (status != WARMRING_OK || is_waiting(wait)) {
            return status;
        }
        opening->asked = false;
    }
    return WARMRING_OK;
}

warmring_status_t wr_meta_open_expire(wr_connection_t *base) {
    wr_meta_connection_t *connection = (wr_meta_connection_t *)base;
    return stages[connection->opening.stage].expire(connection);
}

const char *wr_meta_open_hint(const wr_meta_connection_t *connection) {
    return connection->opening.tls == NULL ? "; if the server speaks TLS, set tls=1" : "";
}

warmring_status_t wr_meta_open_lost(const wr_meta_connection_t *connection, ssize_t result) {
    char buffer[128];
    bool is_refused = result < 0 && errno == EPROTO;
    return wr_fail(is_refused ? WARMRING_AUTH_FAILED : WARMRING_CONNECTION_LOST,
                   "%s: connection lost (%s) before the first answer%s", connection->exchange.label,
                   result == 0 ? "closed by the server"
                               : wr_stream_error(&connection->stream, buffer, sizeof buffer),
                   wr_meta_open_hint(connection));
}

warmring_status_t wr_meta_open_send(wr_meta_connection_t *connection, const char *command,
                                    size_t length) {
    struct iovec piece = {(char *)(uintptr_t)command, length};
    ssize_t sent = wr_stream_send(&connection->stream, &piece, 1);
    if (sent == (ssize_t)length) {
        return WARMRING_OK;
    }
    int error = errno;
    char unused[64];
    piece = (struct iovec){unused, sizeof unused};
    ssize_t got = wr_stream_receive(&connection->stream, &piece, 1, false);
    if (got >= 0 || errno == EAGAIN) {
        errno = error;
    }
    return wr_meta_open_lost(connection, -1);
}
