/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native transport's table, and its context.
 */
#include "net/transport_meta.h"

#include "base/memory.h"
#include "net/meta_open.h"
#include "net/server.h"

void *wr_meta_context(size_t value_limit) {
    wr_meta_context_t *context = wr_malloc(sizeof *context);
    if (context != NULL) {
        context->limits = wr_meta_default_limits;
        if (value_limit != 0) {
            context->limits.value = value_limit;
        }
    }
    return context;
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
    };
    wr_meta_connection_t *opened;
    warmring_status_t status =
        wr_meta_open(&options, wr_server_address(server), address, ask, &opened);
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
    .abandon = wr_meta_close,
    .send = wr_meta_send,
    .receive = wr_meta_receive,
    .descriptor = wr_meta_descriptor,
    .start = wr_meta_start,
    .step = wr_meta_step,
    .expire = wr_meta_expire,
    .free_context = wr_free,
};
