/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The border with libmemcached: clients configured after a memcached_st, and
 * its return codes as statuses.
 */
#include <warmring/libmemcached.h>

#include <string.h>

#include "base/fail.h"
#include "client/client.h"

/* The namespace of `memc` becomes the prefix, unless the options have one. */
static warmring_status_t take_namespace(const memcached_st *memc, warmring_options_t *options) {
    memcached_return_t code;
    const char *name =
        memcached_callback_get((memcached_st *)memc, MEMCACHED_CALLBACK_NAMESPACE, &code);
    if (name == NULL || name[0] == '\0' || options->prefix[0] != '\0') {
        return WARMRING_OK;
    }
    return warmring_options_set(options, "prefix", name);
}

warmring_status_t warmring_open_from(warmring_t **client, const memcached_st *memc,
                                     const char *servers, const warmring_options_t *options) {
    if (WR_EMPTY_OR_NULL(client, memc, servers)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_options_t taken;
    warmring_status_t status = wr_options_take(options, &taken);
    if (status == WARMRING_OK) {
        status = take_namespace(memc, &taken);
    }
    if (status == WARMRING_OK) {
        status = warmring_options_set(&taken, "transport", "libmemcached");
    }
    if (status == WARMRING_OK) {
        status = wr_options_check(&taken);
    }
    if (status == WARMRING_OK) {
        status = wr_client_open(client, servers, &taken, memc);
    }
    wr_options_wipe(&taken);
    return status;
}

static const struct {
    memcached_return_t code;
    warmring_status_t status;
} codes[] = {
    {MEMCACHED_SUCCESS, WARMRING_OK},
    {MEMCACHED_STORED, WARMRING_OK},
    {MEMCACHED_DELETED, WARMRING_OK},
    {MEMCACHED_STAT, WARMRING_OK},
    {MEMCACHED_ITEM, WARMRING_OK},
    {MEMCACHED_VALUE, WARMRING_OK},
    {MEMCACHED_BUFFERED, WARMRING_OK},
    {MEMCACHED_NOTFOUND, WARMRING_NOT_FOUND},
    {MEMCACHED_DATA_DOES_NOT_EXIST, WARMRING_NOT_FOUND},
    {MEMCACHED_END, WARMRING_NOT_FOUND},
    {MEMCACHED_NOTSTORED, WARMRING_NOT_STORED},
    {MEMCACHED_DATA_EXISTS, WARMRING_EXISTS},
    {MEMCACHED_SOME_ERRORS, WARMRING_PARTIAL},
    {MEMCACHED_TIMEOUT, WARMRING_TIMEOUT},
    {MEMCACHED_IN_PROGRESS, WARMRING_TIMEOUT},
    {MEMCACHED_SERVER_MARKED_DEAD, WARMRING_SERVER_DOWN},
    {MEMCACHED_SERVER_TEMPORARILY_DISABLED, WARMRING_SERVER_DOWN},
    {MEMCACHED_CONNECTION_FAILURE, WARMRING_CONNECT_FAILED},
    {MEMCACHED_CONNECTION_BIND_FAILURE, WARMRING_CONNECT_FAILED},
    {MEMCACHED_FAIL_UNIX_SOCKET, WARMRING_CONNECT_FAILED},
    {MEMCACHED_INVALID_HOST_PROTOCOL, WARMRING_CONNECT_FAILED},
    {MEMCACHED_HOST_LOOKUP_FAILURE, WARMRING_RESOLVE_FAILED},
    {MEMCACHED_WRITE_FAILURE, WARMRING_CONNECTION_LOST},
    {MEMCACHED_READ_FAILURE, WARMRING_CONNECTION_LOST},
    {MEMCACHED_UNKNOWN_READ_FAILURE, WARMRING_CONNECTION_LOST},
    {MEMCACHED_PARTIAL_READ, WARMRING_CONNECTION_LOST},
    {MEMCACHED_ERRNO, WARMRING_CONNECTION_LOST},
    {MEMCACHED_SERVER_ERROR, WARMRING_SERVER_ERROR},
    {MEMCACHED_SERVER_MEMORY_ALLOCATION_FAILURE, WARMRING_SERVER_ERROR},
    {MEMCACHED_CLIENT_ERROR, WARMRING_PROTOCOL_ERROR},
    {MEMCACHED_ERROR, WARMRING_PROTOCOL_ERROR},
    {MEMCACHED_PROTOCOL_ERROR, WARMRING_PROTOCOL_ERROR},
    {MEMCACHED_E2BIG, WARMRING_TOO_LARGE},
    {MEMCACHED_AUTH_PROBLEM, WARMRING_AUTH_FAILED},
    {MEMCACHED_AUTH_FAILURE, WARMRING_AUTH_FAILED},
    {MEMCACHED_AUTH_CONTINUE, WARMRING_AUTH_FAILED},
    {MEMCACHED_NOT_SUPPORTED, WARMRING_NOT_SUPPORTED},
    {MEMCACHED_DEPRECATED, WARMRING_NOT_SUPPORTED},
    {MEMCACHED_BAD_KEY_PROVIDED, WARMRING_BAD_KEY},
    {MEMCACHED_NO_KEY_PROVIDED, WARMRING_BAD_KEY},
    {MEMCACHED_KEY_TOO_BIG, WARMRING_BAD_KEY},
    {MEMCACHED_INVALID_ARGUMENTS, WARMRING_BAD_ARGUMENT},
    {MEMCACHED_UNKNOWN_STAT_KEY, WARMRING_BAD_ARGUMENT},
    {MEMCACHED_PARSE_ERROR, WARMRING_BAD_SERVER},
    {MEMCACHED_PARSE_USER_ERROR, WARMRING_BAD_SERVER},
    {MEMCACHED_NO_SERVERS, WARMRING_BAD_SERVER},
    {MEMCACHED_MEMORY_ALLOCATION_FAILURE, WARMRING_OUT_OF_MEMORY},
};

warmring_status_t warmring_status_from_libmemcached(memcached_return_t code) {
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].code == code) {
            return codes[i].status;
        }
    }
    return WARMRING_PROTOCOL_ERROR;
}
