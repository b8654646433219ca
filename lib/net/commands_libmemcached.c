/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands, spoken through libmemcached.
 *
 * Its calls are not what they seem; these are the traps and what is done:
 *
 * - memcached_get() takes another key's value, and a miss for a hit of length
 *   zero: all reads are memcached_mget() and memcached_fetch_result(), and
 *   keys are compared.
 * - memcached_fetch_result() turns every code into NOTFOUND while nothing has
 *   been read, so SERVER_ERROR, ERROR, junk and memory faults would look like
 *   a miss. The test is `result->count == 0`; a count of one before each call
 *   lets the true code through. Only END is a miss.
 * - A multi-get that could not be sent whole reconnects half-way and goes on
 *   with the rest: anything but success loses all its keys.
 * - A binary multi-get sends while the server answers, and each side may fill
 *   the other's buffers: it goes out in pieces that always fit.
 * - An ascii counter's answer that is none (an item's, say) is a success, with
 *   the largest number: where that comes, the value is read back.
 * - A binary server's "not a number" cannot be told from junk: the value is
 *   read back to find out.
 * - A quiet binary delete of a missing key is answered nevertheless: quiet
 *   commands are for ascii.
 * - cas with zero desyncs an ascii connection: refused.
 * - An answer that no store can have (junk, or one out of step) aborts the
 *   process by an assertion. Against a server that lies nothing can be done
 *   from here; against getting out of step, a connection is given up after
 *   every answer that was not expected.
 */
#include "net/libmemcached_connection.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <warmring/client.h>

#include "base/fail.h"
#include "net/server.h"

enum {
    LARGE_VALUE = 65536,       /* its buffer is not kept */
    INCREMENT_ROUNDS = 8,      /* against somebody who deletes all the time */
    EXPIRED_LONG_AGO = 2592001 /* more than 30 days: a Unix time, in 1970 */
};

void wr_libmemcached_arm(wr_libmemcached_t *connection, wr_deadline_t deadline) {
    int left = wr_deadline_left_ms(deadline);
    memcached_behavior_set(connection->memc, MEMCACHED_BEHAVIOR_POLL_TIMEOUT,
                           (uint64_t)(left > 0 ? left : 1));
}

static void set_noreply(wr_libmemcached_t *connection, bool noreply) {
    if (connection->noreply != noreply) {
        connection->noreply = noreply;
        memcached_behavior_set(connection->memc, MEMCACHED_BEHAVIOR_NOREPLY, noreply);
    }
}

static const char *label_of(const wr_libmemcached_t *connection) {
    return wr_server_address(connection->base.server);
}

/* Answers after which the stream is in step. CLIENT_ERROR is one only where
 * it says that a value is no number. */
static bool in_step(memcached_return_t code, warmring_status_t status) {
    return code == MEMCACHED_CLIENT_ERROR ? status == WARMRING_NOT_NUMERIC : wr_is_answer(status);
}

void wr_libmemcached_conclude(wr_libmemcached_t *connection, wr_request_t *request,
                              memcached_return_t code, wr_deadline_t deadline) {
    code = wr_libmemcached_cause(connection->memc, code);
    request->status = wr_libmemcached_status(connection->memc, code, label_of(connection),
                                             connection->started, deadline);
    if (!in_step(code, request->status)) {
        connection->base.broken = true;
    }
}

/* ---- reads ------------------------------------------------------------- */

memcached_return_t wr_libmemcached_ask(wr_libmemcached_t *connection, wr_request_t **requests,
                                       size_t count) {
    for (size_t i = 0; i < count; i++) {
        connection->keys[i] = requests[i]->key.data;
        connection->lengths[i] = requests[i]->key.length;
        requests[i]->sent = true;
    }
    memcached_return_t code =
        memcached_mget(connection->memc, connection->keys, connection->lengths, count);
    return wr_libmemcached_cause(connection->memc, code);
}

static void take_value(wr_request_t *request, const memcached_result_st *result) {
    request->status = WARMRING_OK;
    request->value_length = memcached_result_length(result);
    request->flags_out = memcached_result_flags(result);
    request->cas_out = memcached_result_cas(result);
    if (request->sink == NULL) {
        return;
    }
    request->value_out = request->sink->reserve(request->sink, request->value_length);
    if (request->value_out == NULL) {
        request->status = request->sink->refusal;
    } else if (request->value_length != 0) {
        memcpy(request->value_out, memcached_result_value(result), request->value_length);
    }
}

static bool is_for(const wr_request_t *request, const memcached_result_st *result) {
    return request->key.length == memcached_result_key_length(result) &&
           memcmp(request->key.data, memcached_result_key_value(result), request->key.length) == 0;
}

/* A hit is marked by its status leaving NOT_FOUND. Servers answer in order,
 * so the next hit lies ahead; else it is looked for from the start. */
static wr_request_t *find_asker(wr_request_t **requests, size_t count, size_t *next,
                                const memcached_result_st *result) {
    for (size_t tried = 0; tried < count; tried++) {
        size_t index = (*next + tried) % count;
        wr_request_t *request = requests[index];
        if (request->status == WARMRING_NOT_FOUND && is_for(request, result)) {
            *next = index + 1;
            return request;
        }
    }
    return NULL;
}

static void shed_large_buffer(wr_libmemcached_t *connection) {
    if (connection->result.value.current_size > LARGE_VALUE) {
        memcached_result_free(&connection->result);
        memcached_result_create(connection->memc, &connection->result);
    }
}

/* Fetches until the end; MEMCACHED_END is the good one. */
static memcached_return_t fetch_all(wr_libmemcached_t *connection, wr_request_t **requests,
                                    size_t count, wr_deadline_t deadline) {
    memcached_return_t code;
    size_t next = 0;
    for (;;) {
        wr_libmemcached_arm(connection, deadline);
        connection->result.count = 1;
        if (memcached_fetch_result(connection->memc, &connection->result, &code) == NULL) {
            return wr_libmemcached_cause(connection->memc, code);
        }
        wr_request_t *request = find_asker(requests, count, &next, &connection->result);
        if (request == NULL) {
            return MEMCACHED_UNKNOWN_READ_FAILURE;
        }
        take_value(request, &connection->result);
        shed_large_buffer(connection);
    }
}

void wr_libmemcached_read(wr_libmemcached_t *connection, wr_request_t **requests, size_t count,
                          wr_deadline_t deadline) {
    for (size_t i = 0; i < count; i++) {
        requests[i]->status = WARMRING_NOT_FOUND;
    }
    memcached_return_t code = fetch_all(connection, requests, count, deadline);
    if (code == MEMCACHED_END) {
        return;
    }
    connection->base.broken = true;
    warmring_status_t status = wr_libmemcached_status(connection->memc, code, label_of(connection),
                                                      connection->started, deadline);
    if (wr_is_answer(status)) {
        status = wr_fail(WARMRING_PROTOCOL_ERROR, "%s: unexpected answer (%s)",
                         label_of(connection), memcached_strerror(connection->memc, code));
    }
    for (size_t i = 0; i < count; i++) {
        if (requests[i]->status == WARMRING_NOT_FOUND) {
            requests[i]->status = status;
        }
    }
}

static void read_one(wr_libmemcached_t *connection, wr_request_t *request, wr_deadline_t deadline) {
    wr_libmemcached_arm(connection, deadline);
    memcached_return_t code = wr_libmemcached_ask(connection, &request, 1);
    if (code == MEMCACHED_SUCCESS) {
        wr_libmemcached_read(connection, &request, 1, deadline);
    } else {
        wr_libmemcached_conclude(connection, request, code, deadline);
    }
}

/* ---- stores ------------------------------------------------------------ */

typedef memcached_return_t store_function(memcached_st *memc, const char *key, size_t key_length,
                                          const char *value, size_t value_length, time_t expiration,
                                          uint32_t flags);

static memcached_return_t store(wr_libmemcached_t *connection, const wr_request_t *request,
                                store_function *function) {
    const char *value = request->value.length != 0 ? request->value.data : "";
    return function(connection->memc, request->key.data, request->key.length, value,
                    request->value.length, (time_t)request->expiration, request->flags);
}

static void do_set(wr_libmemcached_t *connection, wr_request_t *request, wr_deadline_t deadline) {
    wr_libmemcached_conclude(connection, request, store(connection, request, memcached_set),
                             deadline);
}

/* Binary servers say EXISTS and NOT_FOUND where ascii ones say NOT_STORED. */
static void not_stored(wr_request_t *request) {
    if (request->status == WARMRING_EXISTS || request->status == WARMRING_NOT_FOUND) {
        request->status = WARMRING_NOT_STORED;
    }
}

static void do_add(wr_libmemcached_t *connection, wr_request_t *request, wr_deadline_t deadline) {
    wr_libmemcached_conclude(connection, request, store(connection, request, memcached_add),
                             deadline);
    not_stored(request);
}

static void do_replace(wr_libmemcached_t *connection, wr_request_t *request,
                       wr_deadline_t deadline) {
    wr_libmemcached_conclude(connection, request, store(connection, request, memcached_replace),
                             deadline);
    not_stored(request);
}

static void do_append(wr_libmemcached_t *connection, wr_request_t *request,
                      wr_deadline_t deadline) {
    wr_libmemcached_conclude(connection, request, store(connection, request, memcached_append),
                             deadline);
    not_stored(request);
}

static void do_prepend(wr_libmemcached_t *connection, wr_request_t *request,
                       wr_deadline_t deadline) {
    wr_libmemcached_conclude(connection, request, store(connection, request, memcached_prepend),
                             deadline);
    not_stored(request);
}

static bool refuse_zero_cas(wr_libmemcached_t *connection, wr_request_t *request) {
    if (request->cas != 0) {
        return false;
    }
    request->sent = false;
    request->status = wr_fail(WARMRING_BAD_ARGUMENT, "%s: a token of zero", label_of(connection));
    return true;
}

static void do_cas(wr_libmemcached_t *connection, wr_request_t *request, wr_deadline_t deadline) {
    if (refuse_zero_cas(connection, request)) {
        return;
    }
    const char *value = request->value.length != 0 ? request->value.data : "";
    memcached_return_t code = memcached_cas(
        connection->memc, request->key.data, request->key.length, value, request->value.length,
        (time_t)request->expiration, request->flags, request->cas);
    wr_libmemcached_conclude(connection, request, code, deadline);
}

/* There is no delete bound to a token: an empty value that has expired is
 * stored instead. */
static void do_unlease(wr_libmemcached_t *connection, wr_request_t *request,
                       wr_deadline_t deadline) {
    if (refuse_zero_cas(connection, request)) {
        return;
    }
    memcached_return_t code =
        memcached_cas(connection->memc, request->key.data, request->key.length, "", 0,
                      EXPIRED_LONG_AGO, WARMRING_RESERVED_FLAGS, request->cas);
    wr_libmemcached_conclude(connection, request, code, deadline);
}

static void do_lease(wr_libmemcached_t *connection, wr_request_t *request, wr_deadline_t deadline) {
    uint32_t lifetime = request->expiration != 0
                            ? request->expiration
                            : wr_server_config(connection->base.server)->stub_lifetime_s;
    memcached_return_t code =
        memcached_add(connection->memc, request->key.data, request->key.length, "", 0,
                      (time_t)lifetime, WARMRING_RESERVED_FLAGS);
    wr_libmemcached_conclude(connection, request, code, deadline);
    not_stored(request);
    if (request->status != WARMRING_OK) {
        return;
    }
    wr_sink_t *sink = request->sink;
    request->sink = NULL;
    read_one(connection, request, deadline);
    request->sink = sink;
    bool gone = request->status == WARMRING_NOT_FOUND ||
                (request->status == WARMRING_OK && !wr_is_stub(request));
    if (gone) {
        request->status = WARMRING_NOT_STORED;
        request->cas_out = 0;
    }
}

/* ---- the others -------------------------------------------------------- */

static void do_delete(wr_libmemcached_t *connection, wr_request_t *request,
                      wr_deadline_t deadline) {
    memcached_return_t code =
        memcached_delete(connection->memc, request->key.data, request->key.length, 0);
    wr_libmemcached_conclude(connection, request, code, deadline);
}

static void do_touch(wr_libmemcached_t *connection, wr_request_t *request, wr_deadline_t deadline) {
    memcached_return_t code = memcached_touch(connection->memc, request->key.data,
                                              request->key.length, (time_t)request->expiration);
    wr_libmemcached_conclude(connection, request, code, deadline);
}

static void do_get_and_touch(wr_libmemcached_t *connection, wr_request_t *request,
                             wr_deadline_t deadline) {
    do_touch(connection, request, deadline);
    if (request->status == WARMRING_OK) {
        read_one(connection, request, deadline);
    }
}

static void do_flush(wr_libmemcached_t *connection, wr_request_t *request, wr_deadline_t deadline) {
    wr_libmemcached_conclude(connection, request, memcached_flush(connection->memc, 0), deadline);
}

/* ---- counters ---------------------------------------------------------- */

static memcached_return_t count_once(wr_libmemcached_t *connection, wr_request_t *request) {
    const char *key = request->key.data;
    size_t length = request->key.length;
    bool up = request->verb == WR_INCREMENT;
    if (connection->binary && request->initial != NULL) {
        return (up ? memcached_increment_with_initial : memcached_decrement_with_initial)(
            connection->memc, key, length, request->delta, *request->initial,
            (time_t)request->expiration, &request->number);
    }
    return (up ? memcached_increment_by_key : memcached_decrement_by_key)(
        connection->memc, key, length, key, length, request->delta, &request->number);
}

static void add_initial(wr_libmemcached_t *connection, wr_request_t *request,
                        wr_deadline_t deadline) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, *request->initial);
    memcached_return_t code =
        memcached_add(connection->memc, request->key.data, request->key.length, digits,
                      (size_t)length, (time_t)request->expiration, 0);
    wr_libmemcached_conclude(connection, request, code, deadline);
    request->number = *request->initial;
}

/* A number as memcached takes it: digits, and spaces behind them. */
static bool is_number(const char *value, size_t length) {
    size_t digits = 0;
    while (digits < length && value[digits] >= '0' && value[digits] <= '9') {
        digits++;
    }
    size_t end = digits;
    while (end < length && value[end] == ' ') {
        end++;
    }
    return digits > 0 && digits <= 20 && end == length;
}

/* What the key holds now, over a new connection; NULL: nobody knows. */
static const memcached_result_st *read_back(wr_libmemcached_t *connection,
                                            const wr_request_t *request, wr_deadline_t deadline) {
    memcached_return_t code;
    memcached_quit(connection->memc);
    wr_libmemcached_arm(connection, deadline);
    if (memcached_mget(connection->memc, &request->key.data, &request->key.length, 1) !=
        MEMCACHED_SUCCESS) {
        return NULL;
    }
    connection->result.count = 1;
    const memcached_result_st *result =
        memcached_fetch_result(connection->memc, &connection->result, &code);
    return result != NULL && is_for(request, result) ? result : NULL;
}

static bool holds_no_number(wr_libmemcached_t *connection, const wr_request_t *request,
                            wr_deadline_t deadline) {
    const memcached_result_st *result = read_back(connection, request, deadline);
    return result != NULL &&
           !is_number(memcached_result_value(result), memcached_result_length(result));
}

static bool holds_largest(wr_libmemcached_t *connection, const wr_request_t *request,
                          wr_deadline_t deadline) {
    static const char largest[] = "18446744073709551615";
    const memcached_result_st *result = read_back(connection, request, deadline);
    return result != NULL && memcached_result_length(result) >= sizeof largest - 1 &&
           memcmp(memcached_result_value(result), largest, sizeof largest - 1) == 0;
}

static void conclude_count(wr_libmemcached_t *connection, wr_request_t *request,
                           memcached_return_t code, wr_deadline_t deadline) {
    wr_libmemcached_conclude(connection, request, code, deadline);
    if (connection->binary && code == MEMCACHED_UNKNOWN_READ_FAILURE &&
        holds_no_number(connection, request, deadline)) {
        request->status =
            wr_fail(WARMRING_NOT_NUMERIC, "%s: value is not a number", label_of(connection));
    }
    if (!connection->binary && request->status == WARMRING_OK && request->number == UINT64_MAX) {
        connection->base.broken = true;
        if (!holds_largest(connection, request, deadline)) {
            request->status =
                wr_fail(WARMRING_PROTOCOL_ERROR, "%s: unexpected answer (of another kind)",
                        label_of(connection));
        }
    }
}

static void do_count(wr_libmemcached_t *connection, wr_request_t *request, wr_deadline_t deadline) {
    for (int round = 0; round < INCREMENT_ROUNDS; round++) {
        wr_libmemcached_arm(connection, deadline);
        conclude_count(connection, request, count_once(connection, request), deadline);
        if (request->status != WARMRING_NOT_FOUND || request->initial == NULL) {
            return;
        }
        wr_libmemcached_arm(connection, deadline);
        add_initial(connection, request, deadline);
        if (request->status != WARMRING_NOT_STORED) {
            return;
        }
    }
    request->status = WARMRING_NOT_FOUND;
}

/* ---- the table --------------------------------------------------------- */

typedef void command_function(wr_libmemcached_t *connection, wr_request_t *request,
                              wr_deadline_t deadline);

static const struct {
    command_function *run;
    bool may_be_quiet;
} commands[WR_VERBS] = {
    [WR_GET] = {read_one, false},       [WR_SET] = {do_set, true},
    [WR_ADD] = {do_add, true},          [WR_REPLACE] = {do_replace, true},
    [WR_APPEND] = {do_append, true},    [WR_PREPEND] = {do_prepend, true},
    [WR_CAS] = {do_cas, true},          [WR_DELETE] = {do_delete, true},
    [WR_UNLEASE] = {do_unlease, true},  [WR_LEASE] = {do_lease, false},
    [WR_TOUCH] = {do_touch, false},     [WR_GET_AND_TOUCH] = {do_get_and_touch, false},
    [WR_INCREMENT] = {do_count, false}, [WR_DECREMENT] = {do_count, false},
    [WR_FLUSH] = {do_flush, false},
};

static bool takes_cas(wr_verb_t verb) {
    return verb == WR_CAS || verb == WR_UNLEASE;
}

void wr_libmemcached_do(wr_libmemcached_t *connection, wr_request_t *request,
                        wr_deadline_t deadline) {
    if (request->cas != 0 && wr_verb_info(request->verb)->binds && !takes_cas(request->verb)) {
        request->status = wr_fail(WARMRING_NOT_SUPPORTED,
                                  "%s: %s bound to a token, through "
                                  "libmemcached",
                                  label_of(connection), wr_verb_info(request->verb)->name);
        return;
    }
    bool quiet = request->noreply && commands[request->verb].may_be_quiet && !connection->binary;
    wr_libmemcached_arm(connection, deadline);
    set_noreply(connection, quiet);
    request->sent = true;
    commands[request->verb].run(connection, request, deadline);
    set_noreply(connection, false);
    if (request->noreply && wr_is_answer(request->status)) {
        request->status = WARMRING_OK;
    }
}
