/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeping results, and looking at them.
 */
#include "client/results.h"

#include <string.h>

#include "base/fail.h"
#include "base/memory.h"

static char *reserve_in_arena(wr_sink_t *sink, size_t length) {
    warmring_results_t *results =
        (warmring_results_t *)((char *)sink - offsetof(warmring_results_t, sink));
    char *room = length < SIZE_MAX ? wr_arena_take(&results->arena, length + 1) : NULL;
    if (room == NULL) {
        wr_fail_memory();
        return NULL;
    }
    room[length] = '\0';
    return room;
}

warmring_results_t *warmring_results_create(void) {
    warmring_results_t *results = wr_calloc(1, sizeof *results);
    if (results != NULL) {
        results->sink = (wr_sink_t){reserve_in_arena, WARMRING_OUT_OF_MEMORY};
    }
    return results;
}

void warmring_results_free(warmring_results_t *results) {
    if (results != NULL) {
        wr_arena_free(&results->arena);
        wr_free(results);
    }
}

static void forget(warmring_results_t *results) {
    wr_arena_empty(&results->arena);
    results->items = NULL;
    results->count = 0;
    results->servers = NULL;
    results->server_count = 0;
}

bool wr_results_start(warmring_results_t *results, size_t count, const wr_view_t *view) {
    forget(results);
    results->items = wr_arena_room(&results->arena, count, sizeof *results->items);
    results->servers = wr_arena_array(&results->arena, view->seats, sizeof *results->servers);
    if (results->items == NULL || results->servers == NULL) {
        forget(results);
        return false;
    }
    results->watch.servers = results->servers;
    results->count = count;
    results->refused = count;
    return true;
}

void wr_results_seal(warmring_results_t *results, const wr_view_t *view) {
    size_t kept = 0;
    for (uint32_t seat = 0; seat < view->seats; seat++) {
        if (results->servers[seat].asked) {
            const char *address = wr_server_address(view->server[seat]);
            char *copy = wr_arena_take(&results->arena, strlen(address) + 1);
            if (copy != NULL) {
                memcpy(copy, address, strlen(address) + 1);
            }
            results->servers[seat].address = copy != NULL ? copy : "";
            results->servers[kept++] = results->servers[seat];
        }
    }
    results->server_count = kept;
}

void wr_results_refuse(warmring_results_t *results, size_t index) {
    if (index >= results->refused) {
        return;
    }
    size_t length = strlen(warmring_error_detail());
    char *copy = wr_arena_take(&results->arena, length + 1);
    if (copy != NULL) {
        memcpy(copy, warmring_error_detail(), length + 1);
        results->refused = index;
        results->refusal = copy;
    }
}

warmring_status_t wr_results_status(const warmring_results_t *results) {
    for (size_t i = 0; i < results->count; i++) {
        if (results->items[i].status > WARMRING_EXISTS) {
            if (i == results->refused) {
                wr_fail(results->items[i].status, "%s", results->refusal);
            }
            return results->items[i].status;
        }
    }
    return WARMRING_OK;
}

const warmring_item_t *warmring_results_at(const warmring_results_t *results, size_t index) {
    return index < results->count ? &results->items[index] : NULL;
}

size_t warmring_results_count(const warmring_results_t *results) {
    return results->count;
}

bool warmring_results_next_hit(const warmring_results_t *results, size_t *index) {
    for (size_t i = *index + 1; i < results->count; i++) {
        const warmring_item_t *item = &results->items[i];
        if (item->status == WARMRING_OK && item->value.data != NULL) {
            *index = i;
            return true;
        }
    }
    return false;
}

warmring_status_t warmring_results_server(const warmring_results_t *results, size_t index,
                                          const char **name) {
    if (name != NULL) {
        *name = NULL;
    }
    if (WR_HAS_NULL(results)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (index >= results->server_count) {
        return WARMRING_NOT_FOUND;
    }
    if (name != NULL) {
        *name = results->servers[index].address;
    }
    return results->servers[index].status;
}
