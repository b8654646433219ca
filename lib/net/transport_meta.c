/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native transport's table, and its context.
 */
#include "net/transport_meta.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "net/meta_open.h"
#include "net/server.h"

void *wr_meta_context(size_t value_limit) {
    wr_meta_context_t *context = wr_calloc(1, sizeof *context);
    if (context != NULL) {
        context->limits = wr_meta_default_limits;
        if (value_limit != 0) {
            context->limits.value = value_limit;
        }
    }
    return context;
}

warmring_status_t wr_meta_context_tls(wr_meta_context_t *context, const wr_tls_options_t *options) {
    return wr_tls_create(options, &context->tls);
}

warmring_status_t wr_meta_context_login(wr_meta_context_t *context, const char *user,
                                        const char *password) {
    static const char format[] = "set warmring:login 0 -1 %zu\r\n%s %s\r\n";
    size_t length = strlen(user) + 1 + strlen(password);
    size_t size = sizeof format + 20 + length;
    context->login = wr_malloc(size);
    if (context->login == NULL) {
        return wr_fail_memory();
    }
    context->login_length = (size_t)snprintf(context->login, size, format, length, user, password);
    return WARMRING_OK;
}

static void free_context(void *argument) {
    wr_meta_context_t *context = argument;
    if (context->login != NULL) {
        wr_wipe(context->login, context->login_length);
        wr_free(context->login);
    }
    wr_tls_free(context->tls);
    wr_free(context);
}

static warmring_status_t open_connection(const void *context, wr_server_t *server,
                                         const wr_address_t *address, bool ask,
                                         wr_connection_t **connection) {
    const wr_net_config_t *config = wr_server_config(server);
    const wr_meta_context_t *own = context;
    wr_meta_options_t options = {
        .limits = own != NULL ? own->limits : wr_meta_default_limits,
        .stub = {.flags = WARMRING_RESERVED_FLAGS, .lifetime_s = config->stub_lifetime_s},
        .keepalive = config->tcp_keepalive,
        .tls = own != NULL ? own->tls : NULL,
        .login = {own != NULL ? own->login : NULL, own != NULL ? own->login_length : 0},
    };
    wr_meta_connection_t *opened;
    warmring_status_t status =
        wr_meta_open(&options, server, wr_server_address(server), address, ask, &opened);
    if (status == WARMRING_OK) {
        *connection = &opened->base;
    }
    return status;
}

const wr_transport_t wr_transport_meta = {
    .name = "meta",
    .binds = true,
    .open_start = open_connection,
    .open_step = wr_meta_open_step,
    .open_expire = wr_meta_open_expire,
    .close = wr_meta_close,
    .abandon = wr_meta_abandon,
    .send = wr_meta_send,
    .receive = wr_meta_receive,
    .call = wr_meta_call,
    .descriptor = wr_meta_descriptor,
    .start = wr_meta_start,
    .step = wr_meta_step,
    .await = wr_meta_await,
    .expire = wr_meta_expire,
    .free_session = wr_tls_free_session,
    .free_context = free_context,
};
