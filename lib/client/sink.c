/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items and the sinks of single reads.
 */
#include "client/sink.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/memory.h"

void wr_item_release(warmring_item_t *item) {
    wr_free(item->owned);
    item->owned = NULL;
}

void warmring_item_clear(warmring_item_t *item) {
    if (item != NULL) {
        wr_item_release(item);
        item->value = (warmring_bytes_t){NULL, 0};
    }
}

warmring_status_t wr_item_restart(warmring_item_t *item, const char *key, size_t key_length) {
    if (WR_HAS_NULL(item)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (item->size != sizeof *item) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "item is not from WARMRING_ITEM_INIT");
    }
    item->value = (warmring_bytes_t){NULL, 0};
    item->status = WARMRING_NOT_FOUND;
    item->flags = 0;
    item->key = (warmring_bytes_t){key, key_length};
    item->token = (warmring_token_t){{0, 0, 0}};
    return WARMRING_OK;
}

warmring_status_t wr_item_start(warmring_item_t *item, const char *key, size_t key_length) {
    warmring_status_t status = wr_item_restart(item, key, key_length);
    if (status == WARMRING_OK) {
        wr_item_release(item);
    }
    return status;
}

/* What an item owns. An item that is read into again keeps it if the next
 * value fits and does not leave most of it unused. */
typedef struct {
    size_t capacity;
    alignas(max_align_t) char bytes[];
} block_t;

enum { SMALL = 4096, MOST_UNUSED = 4 };

static bool suits(const block_t *block, size_t size) {
    return size <= block->capacity &&
           (block->capacity <= SMALL || block->capacity / MOST_UNUSED <= size);
}

static block_t *renew(warmring_item_t *item, size_t size) {
    wr_free(item->owned);
    block_t *block = size < SIZE_MAX - sizeof *block ? wr_malloc(sizeof *block + size) : NULL;
    item->owned = block;
    if (block == NULL) {
        wr_fail_memory();
        return NULL;
    }
    block->capacity = size;
    return block;
}

static char *reserve_in_item(wr_sink_t *sink, size_t length) {
    warmring_item_t *item = ((wr_item_sink_t *)sink)->item;
    block_t *block = item->owned;
    size_t size = length < SIZE_MAX ? length + 1 : length;
    if (block == NULL || !suits(block, size)) {
        block = renew(item, size);
    }
    if (block == NULL) {
        return NULL;
    }
    block->bytes[length] = '\0';
    return block->bytes;
}

wr_item_sink_t wr_item_sink(warmring_item_t *item) {
    return (wr_item_sink_t){{reserve_in_item, WARMRING_OUT_OF_MEMORY}, item};
}

static char *reserve_in_buffer(wr_sink_t *sink, size_t length) {
    wr_buffer_sink_t *to = (wr_buffer_sink_t *)sink;
    static char nowhere[1]; /* for an empty value and no buffer */
    if (length > to->capacity) {
        wr_fail(WARMRING_BUFFER_TOO_SMALL, "the value has %zu bytes, the buffer %zu", length,
                to->capacity);
        return NULL;
    }
    if (to->capacity == 0) {
        return nowhere;
    }
    if (length < to->capacity) {
        to->buffer[length] = '\0';
    }
    return to->buffer;
}

wr_buffer_sink_t wr_buffer_sink(void *buffer, size_t capacity) {
    return (wr_buffer_sink_t){{reserve_in_buffer, WARMRING_BUFFER_TOO_SMALL}, buffer, capacity};
}
