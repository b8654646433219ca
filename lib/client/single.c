/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public calls on one key: arguments in, one read or write, answer out.
 */
#include <string.h>

#include "base/fail.h"
#include "client/read.h"
#include "client/sink.h"
#include "client/write.h"

/* ---- reads ------------------------------------------------------------------ */

/* An item that has no token of its own. */
static inline void fill_item(warmring_item_t *item, const wr_request_t *answer) {
    item->value = (warmring_bytes_t){answer->value_out, answer->value_length};
    item->flags = answer->flags_out;
}

static inline warmring_status_t get_in_view(const wr_operation_t *operation, wr_sink_t *sink,
                                            warmring_item_t *item) {
    char buffer[WARMRING_MAX_KEY];
    wr_read_t read;
    read.key = wr_key_prefixed(operation->client, item->key, buffer);
    wr_read_one(operation, &read, sink);
    if (read.answer.status == WARMRING_OK) {
        fill_item(item, &read.answer);
        item->token = wr_read_token(operation, &read);
    } else if (read.answer.status == WARMRING_BUFFER_TOO_SMALL) {
        item->value.length = read.answer.value_length;
    }
    return read.answer.status;
}

static inline warmring_status_t get(warmring_t *client, wr_sink_t *sink, warmring_item_t *item,
                                    const warmring_call_t *call) {
    wr_operation_t operation;
    item->status = wr_operation_begin(&operation, client, call);
    if (item->status == WARMRING_OK) {
        item->status = wr_key_check(client, item->key);
        if (item->status == WARMRING_OK) {
            item->status = get_in_view(&operation, sink, item);
        }
        wr_operation_end(&operation);
    }
    if (item->status != WARMRING_OK) {
        wr_item_release(item);
    }
    return item->status;
}

warmring_status_t warmring_get(warmring_t *client, const char *key, size_t key_length,
                               warmring_item_t *item, const warmring_call_t *call) {
    warmring_status_t status = wr_item_restart(item, key, key_length);
    if (status != WARMRING_OK) {
        return status;
    }
    wr_item_sink_t sink = wr_item_sink(item);
    return get(client, &sink.sink, item, call);
}

warmring_status_t warmring_get_into(warmring_t *client, const char *key, size_t key_length,
                                    void *buffer, size_t capacity, warmring_item_t *item,
                                    const warmring_call_t *call) {
    warmring_status_t status = wr_item_start(item, key, key_length);
    if (status != WARMRING_OK) {
        return status;
    }
    if (capacity > 0 && WR_HAS_NULL(buffer)) {
        return WARMRING_BAD_ARGUMENT;
    }
    wr_buffer_sink_t sink = wr_buffer_sink(buffer, capacity);
    return get(client, &sink.sink, item, call);
}

/* ---- writes ----------------------------------------------------------------- */

/* Runs `write`, whose command has the caller's key. */
static warmring_status_t run_write(warmring_t *client, wr_write_t *write,
                                   const warmring_call_t *call) {
    wr_operation_t operation;
    warmring_status_t status = wr_operation_begin(&operation, client, call);
    if (status != WARMRING_OK) {
        return status;
    }
    status = wr_key_check(client, write->command.key);
    if (status == WARMRING_OK) {
        char buffer[WARMRING_MAX_KEY];
        write->command.key = wr_key_prefixed(client, write->command.key, buffer);
        wr_write_one(&operation, write);
        status = write->status;
    }
    wr_operation_end(&operation);
    return status;
}

/* Checks what a command carries, and runs it. */
static warmring_status_t store(warmring_t *client, wr_write_t *write, int64_t expiration,
                               const warmring_call_t *call) {
    wr_request_t *command = &write->command;
    if (WR_HAS_NULL(client)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_status_t status = wr_value_check(command->value, command->flags);
    if (status == WARMRING_OK) {
        status = wr_expiration_make(client, expiration, &command->expiration);
    }
    return status == WARMRING_OK ? run_write(client, write, call) : status;
}

static inline void start_store(wr_write_t *write, wr_kind_t kind, wr_verb_t verb,
                               warmring_bytes_t key, warmring_bytes_t value, uint32_t flags) {
    wr_write_start(write, kind, verb, key);
    write->command.value = value;
    write->command.flags = flags;
}

warmring_status_t warmring_set(warmring_t *client, const char *key, size_t key_length,
                               const void *value, size_t value_length, int64_t expiration,
                               uint32_t flags, const warmring_call_t *call) {
    wr_write_t write;
    start_store(&write, WR_KIND_STORE, WR_SET, (warmring_bytes_t){key, key_length},
                (warmring_bytes_t){value, value_length}, flags);
    return store(client, &write, expiration, call);
}

warmring_status_t warmring_add(warmring_t *client, const char *key, size_t key_length,
                               const void *value, size_t value_length, int64_t expiration,
                               uint32_t flags, const warmring_call_t *call) {
    wr_write_t write;
    start_store(&write, WR_KIND_MODIFY, WR_ADD, (warmring_bytes_t){key, key_length},
                (warmring_bytes_t){value, value_length}, flags);
    return store(client, &write, expiration, call);
}

warmring_status_t warmring_replace(warmring_t *client, const char *key, size_t key_length,
                                   const void *value, size_t value_length, int64_t expiration,
                                   uint32_t flags, const warmring_call_t *call) {
    wr_write_t write;
    start_store(&write, WR_KIND_MODIFY, WR_REPLACE, (warmring_bytes_t){key, key_length},
                (warmring_bytes_t){value, value_length}, flags);
    return store(client, &write, expiration, call);
}

warmring_status_t warmring_append(warmring_t *client, const char *key, size_t key_length,
                                  const void *value, size_t value_length,
                                  const warmring_call_t *call) {
    wr_write_t write;
    start_store(&write, WR_KIND_MODIFY, WR_APPEND, (warmring_bytes_t){key, key_length},
                (warmring_bytes_t){value, value_length}, 0);
    return store(client, &write, 0, call);
}

warmring_status_t warmring_prepend(warmring_t *client, const char *key, size_t key_length,
                                   const void *value, size_t value_length,
                                   const warmring_call_t *call) {
    wr_write_t write;
    start_store(&write, WR_KIND_MODIFY, WR_PREPEND, (warmring_bytes_t){key, key_length},
                (warmring_bytes_t){value, value_length}, 0);
    return store(client, &write, 0, call);
}

warmring_status_t warmring_delete(warmring_t *client, const char *key, size_t key_length,
                                  const warmring_call_t *call) {
    wr_write_t write;
    wr_write_start(&write, WR_KIND_ERASE, WR_DELETE, (warmring_bytes_t){key, key_length});
    return run_write(client, &write, call);
}

/* ---- what depends on the present value -------------------------------------- */

warmring_status_t warmring_cas(warmring_t *client, const char *key, size_t key_length,
                               const void *value, size_t value_length, int64_t expiration,
                               uint32_t flags, const warmring_token_t *token,
                               const warmring_call_t *call) {
    if (WR_HAS_NULL(token)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (token->word[0] == 0) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "the token is zero: take one from an item");
    }
    wr_write_t write;
    start_store(&write, WR_KIND_MODIFY, WR_CAS, (warmring_bytes_t){key, key_length},
                (warmring_bytes_t){value, value_length}, flags);
    write.token = token;
    write.command.cas = token->word[0];
    write.command.opened_before = (wr_time_t)token->word[2];
    write.command.patient = true;
    return store(client, &write, expiration, call);
}

warmring_status_t warmring_touch(warmring_t *client, const char *key, size_t key_length,
                                 int64_t expiration, const warmring_call_t *call) {
    wr_write_t write;
    wr_write_start(&write, WR_KIND_MODIFY, WR_TOUCH, (warmring_bytes_t){key, key_length});
    return store(client, &write, expiration, call);
}

warmring_status_t warmring_get_and_touch(warmring_t *client, const char *key, size_t key_length,
                                         int64_t expiration, warmring_item_t *item,
                                         const warmring_call_t *call) {
    warmring_status_t status = wr_item_start(item, key, key_length);
    if (status != WARMRING_OK) {
        return status;
    }
    wr_item_sink_t sink = wr_item_sink(item);
    wr_write_t write;
    wr_write_start(&write, WR_KIND_MODIFY, WR_GET_AND_TOUCH, (warmring_bytes_t){key, key_length});
    write.command.sink = &sink.sink;
    item->status = store(client, &write, expiration, call);
    if (item->status == WARMRING_OK) {
        fill_item(item, write.result);
    } else {
        warmring_item_clear(item);
    }
    return item->status;
}

static warmring_status_t count(warmring_t *client, wr_verb_t verb, warmring_bytes_t key,
                               uint64_t delta, const uint64_t *initial, int64_t expiration,
                               uint64_t *result, const warmring_call_t *call) {
    wr_write_t write;
    wr_write_start(&write, WR_KIND_MODIFY, verb, key);
    write.command.delta = delta;
    write.command.initial = initial;
    warmring_status_t status = store(client, &write, expiration, call);
    if (status == WARMRING_OK && result != NULL) {
        *result = write.result->number;
    }
    return status;
}

warmring_status_t warmring_increment(warmring_t *client, const char *key, size_t key_length,
                                     uint64_t delta, const uint64_t *initial, int64_t expiration,
                                     uint64_t *result, const warmring_call_t *call) {
    return count(client, WR_INCREMENT, (warmring_bytes_t){key, key_length}, delta, initial,
                 expiration, result, call);
}

warmring_status_t warmring_decrement(warmring_t *client, const char *key, size_t key_length,
                                     uint64_t delta, const uint64_t *initial, int64_t expiration,
                                     uint64_t *result, const warmring_call_t *call) {
    return count(client, WR_DECREMENT, (warmring_bytes_t){key, key_length}, delta, initial,
                 expiration, result, call);
}
