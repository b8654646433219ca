/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of a multi call: items in input order, and one status per
 * server, all in one arena.
 */
#ifndef WR_CLIENT_RESULTS_H
#define WR_CLIENT_RESULTS_H

#include "client/arena.h"
#include "client/client.h"
#include "client/watch.h"

struct warmring_results {
    wr_arena_t arena;
    warmring_item_t *items;
    size_t count;
    size_t refused;              /* the first item refused before the start; `count`: none */
    const char *refusal;         /* why */
    wr_server_result_t *servers; /* by seat until sealed, then only those asked */
    size_t server_count;
    wr_sink_t sink;   /* values into the arena */
    wr_watch_t watch; /* notes the status of each server in `servers` */
};

/* Empties the results and makes room for `count` items of `view`, which the
 * caller fills. False when memory is out; they are empty then. */
bool wr_results_start(warmring_results_t *results, size_t count, const wr_view_t *view);

/* Copies addresses and keeps the servers that were asked; the view may go
 * then. */
void wr_results_seal(warmring_results_t *results, const wr_view_t *view);

/* Keeps the thread's detail text if item `index` is the first refused one. */
void wr_results_refuse(warmring_results_t *results, size_t index);

/* OK, or the first fault among the items, with its text. */
warmring_status_t wr_results_status(const warmring_results_t *results);

#endif
