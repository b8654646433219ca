/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stages of opening a connection, in their order.
 */
#include "net/meta_open.h"

#include <unistd.h>

#include "base/fail.h"
#include "base/fork.h"
#include "base/memory.h"

static bool always(const wr_meta_connection_t *connection) {
    (void)connection;
    return true;
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
    {is_to_be_asked, wr_meta_probe_step, wr_meta_probe_expire},
};

enum { STAGES = sizeof stages / sizeof stages[0] };

warmring_status_t wr_meta_open(const wr_meta_options_t *options, const char *label,
                               const wr_address_t *address, bool ask,
                               wr_meta_connection_t **connection) {
    wr_meta_connection_t *opened = wr_malloc(sizeof *opened);
    if (opened == NULL) {
        return wr_fail_memory();
    }
    warmring_status_t status =
        wr_meta_socket(label, address, options->keepalive, &opened->descriptor);
    if (status != WARMRING_OK) {
        wr_free(opened);
        return status;
    }
    opened->base = (wr_connection_t){.generation = wr_fork_generation()};
    opened->timeout = 0;
    opened->opening = (wr_meta_opening_t){.address = *address, .begun = wr_now(), .ask = ask};
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
