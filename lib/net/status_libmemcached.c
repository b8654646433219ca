/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From libmemcached's return codes to statuses and texts.
 */
#include "net/libmemcached_connection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "net/server.h"

static const struct {
    memcached_return_t code;
    warmring_status_t status;
} table[] = {
    {MEMCACHED_SUCCESS, WARMRING_OK},
    {MEMCACHED_STORED, WARMRING_OK},
    {MEMCACHED_DELETED, WARMRING_OK},
    {MEMCACHED_BUFFERED, WARMRING_OK},
    {MEMCACHED_STAT, WARMRING_OK},
    {MEMCACHED_ITEM, WARMRING_OK},
    {MEMCACHED_VALUE, WARMRING_OK},
    {MEMCACHED_END, WARMRING_NOT_FOUND},
    {MEMCACHED_NOTFOUND, WARMRING_NOT_FOUND},
    {MEMCACHED_NOTSTORED, WARMRING_NOT_STORED},
    {MEMCACHED_DATA_EXISTS, WARMRING_EXISTS},
    {MEMCACHED_DATA_DOES_NOT_EXIST, WARMRING_NOT_FOUND},
    {MEMCACHED_E2BIG, WARMRING_TOO_LARGE},
    {MEMCACHED_TIMEOUT, WARMRING_TIMEOUT},
    {MEMCACHED_IN_PROGRESS, WARMRING_TIMEOUT},
    {MEMCACHED_CONNECTION_FAILURE, WARMRING_CONNECTION_LOST},
    {MEMCACHED_ERRNO, WARMRING_CONNECTION_LOST},
    {MEMCACHED_WRITE_FAILURE, WARMRING_CONNECTION_LOST},
    {MEMCACHED_READ_FAILURE, WARMRING_CONNECTION_LOST},
    {MEMCACHED_FAILURE, WARMRING_CONNECTION_LOST},
    {MEMCACHED_SOME_ERRORS, WARMRING_CONNECTION_LOST},
    {MEMCACHED_PARTIAL_READ, WARMRING_PROTOCOL_ERROR},
    {MEMCACHED_UNKNOWN_READ_FAILURE, WARMRING_PROTOCOL_ERROR},
    {MEMCACHED_PROTOCOL_ERROR, WARMRING_PROTOCOL_ERROR},
    {MEMCACHED_ERROR, WARMRING_PROTOCOL_ERROR},
    {MEMCACHED_CLIENT_ERROR, WARMRING_SERVER_ERROR},
    {MEMCACHED_SERVER_ERROR, WARMRING_SERVER_ERROR},
    {MEMCACHED_SERVER_MEMORY_ALLOCATION_FAILURE, WARMRING_SERVER_ERROR},
    {MEMCACHED_MEMORY_ALLOCATION_FAILURE, WARMRING_OUT_OF_MEMORY},
    {MEMCACHED_AUTH_PROBLEM, WARMRING_AUTH_FAILED},
    {MEMCACHED_AUTH_FAILURE, WARMRING_AUTH_FAILED},
    {MEMCACHED_AUTH_CONTINUE, WARMRING_AUTH_FAILED},
    {MEMCACHED_HOST_LOOKUP_FAILURE, WARMRING_RESOLVE_FAILED},
    {MEMCACHED_SERVER_MARKED_DEAD, WARMRING_SERVER_DOWN},
    {MEMCACHED_SERVER_TEMPORARILY_DISABLED, WARMRING_SERVER_DOWN},
    {MEMCACHED_NO_SERVERS, WARMRING_BAD_SERVER},
    {MEMCACHED_BAD_KEY_PROVIDED, WARMRING_BAD_KEY},
    {MEMCACHED_KEY_TOO_BIG, WARMRING_BAD_KEY},
    {MEMCACHED_INVALID_ARGUMENTS, WARMRING_BAD_ARGUMENT},
    {MEMCACHED_NOT_SUPPORTED, WARMRING_NOT_SUPPORTED},
    {MEMCACHED_INVALID_HOST_PROTOCOL, WARMRING_NOT_SUPPORTED},
    {MEMCACHED_DEPRECATED, WARMRING_NOT_SUPPORTED},
    {MEMCACHED_FAIL_UNIX_SOCKET, WARMRING_CONNECT_FAILED},
};

warmring_status_t wr_status_from_libmemcached(memcached_return_t code) {
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].code == code) {
            return table[i].status;
        }
    }
    return WARMRING_PROTOCOL_ERROR;
}

memcached_return_t wr_libmemcached_cause(const memcached_st *memc, memcached_return_t code) {
    memcached_return_t last = memcached_last_error(memc);
    bool vague = code == MEMCACHED_SUCCESS || code == MEMCACHED_SOME_ERRORS ||
                 code == MEMCACHED_FAILURE || code == MEMCACHED_WRITE_FAILURE ||
                 code == MEMCACHED_NOTFOUND || code == MEMCACHED_END;
    return vague && last != MEMCACHED_SUCCESS ? last : code;
}

/* A server's own words, which libmemcached wraps as "(0x...) WORDS,  host:
 * ..." or "(0x...) NAME, WORDS,  host: ...". */
static void server_words(const memcached_st *memc, char *words, size_t size) {
    const char *message = memcached_last_error_message(memc);
    const char *start = strchr(message, ')');
    start = start != NULL && start[1] == ' ' ? start + 2 : message;
    static const char name[] = "SERVER ERROR, ";
    if (strncmp(start, name, sizeof name - 1) == 0) {
        start += sizeof name - 1;
    }
    static const char covered[] = "Error occ"; /* its own words, over the server's */
    if (strncmp(start, covered, sizeof covered - 1) == 0) {
        start = "an error";
    }
    const char *end = strstr(start, ",  host:");
    end = end != NULL ? end : strstr(start, ",  socket:");
    size_t length = end != NULL ? (size_t)(end - start) : strlen(start);
    snprintf(words, size, "%.*s", (int)length, start);
}

static const char *cause_of_loss(int error, char *buffer, size_t size) {
    switch (error) {
    case ECONNRESET:
        return "reset by peer";
    case 0:
    case EPIPE:
        return "closed by the server";
    default:
        return wr_system_text(error, buffer, size);
    }
}

static warmring_status_t fail_client_error(const memcached_st *memc, const char *label) {
    char words[256];
    server_words(memc, words, sizeof words);
    if (strstr(words, "non-numeric") != NULL) {
        return wr_fail(WARMRING_NOT_NUMERIC, "%s: value is not a number", label);
    }
    warmring_status_t status =
        strstr(words, "unauthenticated") != NULL ? WARMRING_AUTH_FAILED : WARMRING_SERVER_ERROR;
    return wr_fail(status, "%s: server answered: %s", label, words);
}

static warmring_status_t fail_memory(const memcached_st *memc, const char *label) {
    if (memcached_last_error(memc) == MEMCACHED_MEMORY_ALLOCATION_FAILURE) {
        return wr_fail(WARMRING_OUT_OF_MEMORY, "%s: out of memory", label);
    }
    return wr_fail(WARMRING_SERVER_ERROR, "%s: server is out of memory", label);
}

static warmring_status_t fail_server_error(const memcached_st *memc, memcached_return_t code,
                                           const char *label) {
    char words[256] = "out of memory";
    if (code == MEMCACHED_SERVER_ERROR) {
        server_words(memc, words, sizeof words);
    }
    return wr_fail(WARMRING_SERVER_ERROR, "%s: server answered: %s", label, words);
}

warmring_status_t wr_libmemcached_status(const memcached_st *memc, memcached_return_t code,
                                         const char *label, wr_time_t since,
                                         wr_deadline_t deadline) {
    char buffer[128];
    warmring_status_t status = wr_status_from_libmemcached(code);
    if (status <= WARMRING_EXISTS) {
        return status;
    }
    if (code == MEMCACHED_CLIENT_ERROR) {
        return fail_client_error(memc, label);
    }
    switch (status) {
    case WARMRING_OUT_OF_MEMORY:
        return fail_memory(memc, label);
    case WARMRING_SERVER_ERROR:
        return fail_server_error(memc, code, label);
    case WARMRING_TOO_LARGE:
        return wr_fail(status, "%s: value too large for the server", label);
    case WARMRING_TIMEOUT:
        return wr_fail(status, "%s: no answer within %lld ms", label,
                       wr_ms_between(since, deadline.at));
    case WARMRING_CONNECTION_LOST:
        return wr_fail(status, "%s: connection lost (%s)", label,
                       cause_of_loss(memcached_last_error_errno(memc), buffer, sizeof buffer));
    case WARMRING_AUTH_FAILED:
        return wr_fail(status, "%s: server refused the credentials", label);
    default:
        return wr_fail(status, "%s: unexpected answer (%s)", label, memcached_strerror(memc, code));
    }
}

warmring_status_t wr_libmemcached_connect_status(const memcached_st *memc, memcached_return_t code,
                                                 const char *label, wr_time_t since,
                                                 wr_deadline_t deadline) {
    char buffer[128];
    int error = memcached_last_error_errno(memc);
    switch (wr_status_from_libmemcached(code)) {
    case WARMRING_TIMEOUT:
        return wr_fail(WARMRING_TIMEOUT, "%s: connect timed out after %lld ms", label,
                       wr_ms_between(since, deadline.at));
    case WARMRING_AUTH_FAILED:
        return wr_fail(WARMRING_AUTH_FAILED, "%s: server refused the credentials", label);
    case WARMRING_OUT_OF_MEMORY:
        return wr_fail(WARMRING_OUT_OF_MEMORY, "%s: out of memory", label);
    case WARMRING_PROTOCOL_ERROR:
        return wr_fail(WARMRING_PROTOCOL_ERROR, "%s: unexpected answer to the first command",
                       label);
    default:
        return wr_fail(WARMRING_CONNECT_FAILED, "%s: %s", label,
                       error == ECONNREFUSED ? "connection refused"
                       : error != 0          ? wr_system_text(error, buffer, sizeof buffer)
                                             : memcached_strerror(memc, code));
    }
}
