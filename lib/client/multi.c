/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls on many keys: a bad key gets its status before anything is sent,
 * the others become one batch of reads or writes.
 */
#include <stddef.h>

#include "base/fail.h"
#include "client/read.h"
#include "client/results.h"
#include "client/write.h"

/* What a multi call works on; all arrays are in the results' arena. */
typedef struct {
    wr_operation_t operation;
    warmring_results_t *results;
    wr_request_t **queue;
    warmring_item_t **items; /* of each key in the batch */
    size_t batched;          /* how many keys are in it */
    bool faulty;             /* some item has a fault */
} multi_t;

static warmring_status_t begin(multi_t *multi, warmring_t *client, const void *input, size_t count,
                               warmring_results_t *results, const warmring_call_t *call) {
    if (WR_HAS_NULL(results)) {
        return WARMRING_BAD_ARGUMENT;
    }
    multi->results = results;
    multi->batched = 0;
    multi->faulty = false;
    results->count = 0;
    results->server_count = 0;
    if (count > 0 && WR_HAS_NULL(input)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_status_t status = wr_operation_begin(&multi->operation, client, call);
    if (status != WARMRING_OK) {
        return status;
    }
    if (wr_results_start(results, count, multi->operation.view)) {
        multi->queue = wr_arena_room(&results->arena, count, sizeof *multi->queue);
        multi->items = wr_arena_room(&results->arena, count, sizeof *multi->items);
        if (multi->queue != NULL && multi->items != NULL) {
            return WARMRING_OK;
        }
        results->count = 0;
    }
    wr_operation_end(&multi->operation);
    return wr_fail_memory();
}

static warmring_status_t end(multi_t *multi) {
    wr_results_seal(multi->results, multi->operation.view);
    wr_operation_end(&multi->operation);
    return multi->faulty ? wr_results_status(multi->results) : WARMRING_OK;
}

static warmring_status_t give_up(multi_t *multi) {
    multi->results->count = 0;
    wr_operation_end(&multi->operation);
    return wr_fail_memory();
}

static inline void set_status(multi_t *multi, warmring_item_t *item, warmring_status_t status) {
    item->status = status;
    multi->faulty |= status > WARMRING_EXISTS;
}

static void refuse_item(multi_t *multi, warmring_item_t *item, warmring_status_t status) {
    set_status(multi, item, status);
    wr_results_refuse(multi->results, (size_t)(item - multi->results->items));
}

/* A key as it is sent, in *wire; false: no memory. */
static inline bool find_wire(const multi_t *multi, warmring_bytes_t key, warmring_bytes_t *wire) {
    const warmring_t *client = multi->operation.client;
    size_t prefix = client->options.prefix_length;
    char *buffer = NULL;
    if (prefix > 0) {
        buffer = wr_arena_take(&multi->results->arena, prefix + key.length);
        if (buffer == NULL) {
            return false;
        }
    }
    *wire = wr_key_prefixed(client, key, buffer);
    return true;
}

/* Where keys stand: alone, or each in something of `stride` bytes. */
typedef struct {
    char *first;
    size_t stride;
} keys_t;

/*
 * Each item starts out with its key. The input is keys, or what starts with
 * one, each `stride` bytes long. The good ones are in the batch then, and
 * `wires` has them as they are sent. False: no memory.
 */
static bool take_keys(multi_t *multi, const void *input, size_t stride, keys_t wires) {
    const warmring_t *client = multi->operation.client;
    const warmring_item_t *behind = multi->results->items + multi->results->count;
    const char *at = input;
    warmring_item_t **batched = multi->items;
    for (warmring_item_t *item = multi->results->items; item < behind; item++, at += stride) {
        warmring_bytes_t key = *(const warmring_bytes_t *)at;
        warmring_status_t status = wr_key_check(client, key);
        *item = (warmring_item_t){.size = sizeof *item, .key = key};
        if (status != WARMRING_OK) {
            refuse_item(multi, item, status);
            continue;
        }
        if (!find_wire(multi, key, (warmring_bytes_t *)wires.first)) {
            return false;
        }
        wires.first += wires.stride;
        *batched++ = item;
    }
    multi->batched = (size_t)(batched - multi->items);
    return true;
}

static inline void fill_item(multi_t *multi, warmring_item_t *item, const wr_read_t *read) {
    const wr_request_t *answer = &read->answer;
    set_status(multi, item, answer->status);
    if (answer->status == WARMRING_OK) {
        item->value = (warmring_bytes_t){answer->value_out, answer->value_length};
        item->flags = answer->flags_out;
        item->token = wr_read_token(&multi->operation, read);
    }
}

warmring_status_t warmring_get_multi(warmring_t *client, const warmring_bytes_t *keys, size_t count,
                                     warmring_results_t *results, const warmring_call_t *call) {
    multi_t multi;
    warmring_status_t status = begin(&multi, client, keys, count, results, call);
    if (status != WARMRING_OK) {
        return status;
    }
    wr_read_t *reads = wr_arena_room(&results->arena, count, sizeof *reads);
    if (reads == NULL ||
        !take_keys(&multi, keys, sizeof *keys, (keys_t){(char *)&reads->key, sizeof *reads})) {
        return give_up(&multi);
    }
    wr_read(&multi.operation, reads, multi.batched, &results->sink, multi.queue, &results->watch);
    for (size_t i = 0; i < multi.batched; i++) {
        fill_item(&multi, multi.items[i], &reads[i]);
    }
    return end(&multi);
}

/* Runs the writes of a batch and notes what became of each. */
static warmring_status_t run_writes(multi_t *multi, wr_write_t *writes) {
    warmring_results_t *results = multi->results;
    wr_write(&multi->operation, writes, multi->batched, multi->queue, &results->watch);
    for (size_t i = 0; i < multi->batched; i++) {
        set_status(multi, multi->items[i], writes[i].status);
    }
    return end(multi);
}

static keys_t wires_of(wr_write_t *writes) {
    return (keys_t){(char *)&writes->command.key, sizeof *writes};
}

/* The parts of an entry that a request takes; a bad one is the item's status. */
static warmring_status_t take_entry(const warmring_t *client, const warmring_entry_t *entry,
                                    wr_request_t *command) {
    warmring_status_t status = wr_value_check(entry->value, entry->flags);
    if (status == WARMRING_OK) {
        status = wr_expiration_make(client, entry->expiration, &command->expiration);
    }
    command->value = entry->value;
    command->flags = entry->flags;
    return status;
}

/* Makes the writes of the batch; those of bad entries leave it. */
static void take_entries(multi_t *multi, const warmring_entry_t *entries, wr_write_t *writes) {
    size_t count = multi->batched;
    multi->batched = 0;
    for (size_t i = 0; i < count; i++) {
        warmring_item_t *item = multi->items[i];
        wr_write_t *write = &writes[multi->batched];
        size_t index = (size_t)(item - multi->results->items);
        wr_write_start(write, WR_KIND_STORE, WR_SET, writes[i].command.key);
        warmring_status_t status =
            take_entry(multi->operation.client, &entries[index], &write->command);
        if (status != WARMRING_OK) {
            refuse_item(multi, item, status);
            continue;
        }
        multi->items[multi->batched++] = item;
    }
}

warmring_status_t warmring_set_multi(warmring_t *client, const warmring_entry_t *entries,
                                     size_t count, warmring_results_t *results,
                                     const warmring_call_t *call) {
    multi_t multi;
    warmring_status_t status = begin(&multi, client, entries, count, results, call);
    if (status != WARMRING_OK) {
        return status;
    }
    _Static_assert(offsetof(warmring_entry_t, key) == 0, "an entry starts with its key");
    wr_write_t *writes = wr_arena_array(&results->arena, count, sizeof *writes);
    if (writes == NULL || !take_keys(&multi, entries, sizeof *entries, wires_of(writes))) {
        return give_up(&multi);
    }
    take_entries(&multi, entries, writes);
    return run_writes(&multi, writes);
}

warmring_status_t warmring_delete_multi(warmring_t *client, const warmring_bytes_t *keys,
                                        size_t count, warmring_results_t *results,
                                        const warmring_call_t *call) {
    multi_t multi;
    warmring_status_t status = begin(&multi, client, keys, count, results, call);
    if (status != WARMRING_OK) {
        return status;
    }
    wr_write_t *writes = wr_arena_array(&results->arena, count, sizeof *writes);
    if (writes == NULL || !take_keys(&multi, keys, sizeof *keys, wires_of(writes))) {
        return give_up(&multi);
    }
    for (size_t i = 0; i < multi.batched; i++) {
        wr_write_start(&writes[i], WR_KIND_ERASE, WR_DELETE, writes[i].command.key);
    }
    return run_writes(&multi, writes);
}
