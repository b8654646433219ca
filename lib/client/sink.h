/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items, and where values go: an item's own memory, a buffer of the caller, or the arena
 * of a multi call (results.h). Each puts a NUL behind the value.
 */
#ifndef WR_CLIENT_SINK_H
#define WR_CLIENT_SINK_H

#include <warmring/client.h>

#include "net/request.h"

typedef struct {
    wr_sink_t sink;
    warmring_item_t *item;
} wr_item_sink_t;

typedef struct {
    wr_sink_t sink;
    char *buffer;
    size_t capacity;
} wr_buffer_sink_t;

/* An item as a call finds it, emptied; BAD_ARGUMENT for one that was not set
 * up. */
warmring_status_t wr_item_start(warmring_item_t *item, const char *key, size_t key_length);

/* The same, but what it owns stays, to be used for the next value. Unless
 * that is a hit, wr_item_release() is due. */
warmring_status_t wr_item_restart(warmring_item_t *item, const char *key, size_t key_length);

/* Frees what was read into an item that is no hit. */
void wr_item_release(warmring_item_t *item);

wr_item_sink_t wr_item_sink(warmring_item_t *item);
wr_buffer_sink_t wr_buffer_sink(void *buffer, size_t capacity);

#endif
