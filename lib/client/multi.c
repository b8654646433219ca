/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls on many keys: a bad key gets its status before anything is sent,
 * the others become one batch of reads or writes.
 */
#include <string.h>

#include "base/fail.h"
#include "client/read.h"
#include "client/results.h"
#include "client/write.h"

/* What a multi call works on; all arrays are in the results' arena. */
typedef struct {
    wr_operation_t operation;
    warmring_results_t *results;
    wr_request_t **queue;
    size_t *origin; /* input index of each key in the batch */
    size_t batched; /* how many keys are in it */
} multi_t;

static warmring_status_t begin(multi_t *multi, warmring_t *client, const void *input, size_t count,
                               warmring_results_t *results, const warmring_call_t *call) {
    if (WR_HAS_NULL(results)) {
        return WARMRING_BAD_ARGUMENT;
    }
    multi->results = results;
    multi->batched = 0;
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
        multi->origin = wr_arena_room(&results->arena, count, sizeof *multi->origin);
        if (multi->queue != NULL && multi->origin != NULL) {
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
    return wr_results_status(multi->results);
}

static warmring_status_t give_up(multi_t *multi) {
    multi->results->count = 0;
    wr_operation_end(&multi->operation);
    return wr_fail_memory();
}

static warmring_bytes_t add_prefix(multi_t *multi, warmring_bytes_t key, bool *lost) {
    const warmring_t *client = multi->operation.client;
    char *buffer =
        wr_arena_take(&multi->results->arena, client->options.prefix_length + key.length);
    *lost = buffer == NULL;
    return *lost ? key : wr_key_prefixed(client, key, buffer);
}

/*
 * Item `index` starts out with its key. True when the key is good: it is in
 * the batch then, as sent in *wire. *lost is set when memory is out.
 */
static inline bool take_key(multi_t *multi, size_t index, warmring_bytes_t key,
                            warmring_bytes_t *wire, bool *lost) {
    warmring_item_t *item = &multi->results->items[index];
    const warmring_t *client = multi->operation.client;
    *item = (warmring_item_t){.size = sizeof *item, .key = key};
    item->status = wr_key_check(client, key);
    if (item->status != WARMRING_OK) {
        wr_results_refuse(multi->results, index);
        return false;
    }
    *wire = client->options.prefix_length == 0 ? key : add_prefix(multi, key, lost);
    multi->origin[multi->batched++] = index;
    return !*lost;
}

warmring_status_t warmring_get_multi(warmring_t *client, const warmring_bytes_t *keys, size_t count,
                                     warmring_results_t *results, const warmring_call_t *call) {
    multi_t multi;
    warmring_status_t status = begin(&multi, client, keys, count, results, call);
    if (status != WARMRING_OK) {
        return status;
    }
    wr_read_t *reads = wr_arena_room(&results->arena, count, sizeof *reads);
    bool lost = reads == NULL;
    for (size_t i = 0; i < count && !lost; i++) {
        wr_read_t *read = &reads[multi.batched];
        read->sink = &results->sink;
        (void)take_key(&multi, i, keys[i], &read->key, &lost);
    }
    if (lost) {
        return give_up(&multi);
    }
    wr_read(&multi.operation, reads, multi.batched, multi.queue, &results->watch);
    for (size_t i = 0; i < multi.batched; i++) {
        warmring_item_t *item = &results->items[multi.origin[i]];
        item->status = reads[i].answer.status;
        if (item->status == WARMRING_OK) {
            item->value =
                (warmring_bytes_t){reads[i].answer.value_out, reads[i].answer.value_length};
            item->flags = reads[i].answer.flags_out;
            item->token = wr_read_token(&multi.operation, &reads[i]);
        }
    }
    return end(&multi);
}

/* Runs the writes of a batch and notes what became of each. */
static warmring_status_t run_writes(multi_t *multi, wr_write_t *writes) {
    warmring_results_t *results = multi->results;
    wr_write(&multi->operation, writes, multi->batched, multi->queue, &results->watch);
    for (size_t i = 0; i < multi->batched; i++) {
        results->items[multi->origin[i]].status = writes[i].status;
    }
    return end(multi);
}

/* The parts of an entry that a request takes; a bad one is the item's status. */
static warmring_status_t take_entry(const warmring_t *client, const warmring_entry_t *entry,
                                    wr_request_t *command) {
    warmring_status_t status = wr_value_check(entry->value, entry->flags);
    if (status == WARMRING_OK) {
        status = wr_expiration_make(client, entry->expiration, &command->expiration);
    }
    command->verb = WR_SET;
    command->value = entry->value;
    command->flags = entry->flags;
    return status;
}

warmring_status_t warmring_set_multi(warmring_t *client, const warmring_entry_t *entries,
                                     size_t count, warmring_results_t *results,
                                     const warmring_call_t *call) {
    multi_t multi;
    warmring_status_t status = begin(&multi, client, entries, count, results, call);
    if (status != WARMRING_OK) {
        return status;
    }
    wr_write_t *writes = wr_arena_array(&results->arena, count, sizeof *writes);
    bool lost = writes == NULL;
    for (size_t i = 0; i < count && !lost; i++) {
        wr_write_t *write = &writes[multi.batched];
        write->kind = WR_KIND_STORE;
        if (take_key(&multi, i, entries[i].key, &write->command.key, &lost)) {
            status = take_entry(client, &entries[i], &write->command);
            results->items[i].status = status;
            if (status != WARMRING_OK) {
                wr_results_refuse(results, i);
                multi.batched--;
            }
        }
    }
    return lost ? give_up(&multi) : run_writes(&multi, writes);
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
    bool lost = writes == NULL;
    for (size_t i = 0; i < count && !lost; i++) {
        wr_write_t *write = &writes[multi.batched];
        write->kind = WR_KIND_ERASE;
        write->command.verb = WR_DELETE;
        (void)take_key(&multi, i, keys[i], &write->command.key, &lost);
    }
    return lost ? give_up(&multi) : run_writes(&multi, writes);
}
