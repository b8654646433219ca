/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a batch by server: each server's in their order, the groups
 * in the order of wr_server_id(), in which connections are taken.
 */
#ifndef WR_NET_GROUPS_H
#define WR_NET_GROUPS_H

#include "net/batch_poll.h"
#include "net/health.h"
#include "net/request.h"

/* What goes to one server. */
typedef struct {
    wr_request_t **requests;
    size_t count;
    wr_server_t *server;
    wr_connection_t *connection; /* NULL: nothing to collect */
    wr_dial_t *opening;          /* unless this is about to make it */
    wr_admission_t admission;
    bool was_used;     /* the connection, before */
    bool stale_before; /* one was of no use */
    bool repeated;     /* some were sent before */
} wr_group_t;

typedef struct {
    wr_group_t *groups;
    size_t count;
    wr_batch_part_t *parts; /* room for as many */
} wr_groups_t;

/* Reorders `requests` and makes their groups, in one block of memory. False
 * when there is none; nothing is changed then. */
bool wr_groups_make(wr_groups_t *groups, wr_request_t **requests, size_t count);
void wr_groups_free(wr_groups_t *groups);

#endif
