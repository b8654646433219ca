/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people and their machines look at: the counters of a client as a page
 * of Prometheus' text format, and an observer that is told of each operation.
 *
 * NULL for an argument that has to be something is BAD_ARGUMENT, and the text
 * names it.
 */
#ifndef WARMRING_METRICS_H
#define WARMRING_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include <warmring/client.h>
#include <warmring/common.h>
#include <warmring/status.h>
#include <warmring/topology.h>

WARMRING_BEGIN_DECLS

/* Takes the next piece of a text, `length` bytes without a NUL. */
typedef void warmring_text_sink_t(void *context, const char *text, size_t length);

/*
 * Writes a snapshot in the text format of Prometheus, version 0.0.4, as a
 * page for it to fetch (Content-Type: text/plain; version=0.0.4):
 *
 *   # HELP warmring_hits_total Keys found.
 *   # TYPE warmring_hits_total counter
 *   warmring_hits_total{ring="old",phase="STABLE"} 81233
 *
 * Counters of the client have the label `phase`, those of its servers `server`
 * (the address) and `name` (as warmring_topology_label()). Gauges say what is
 * in force: warmring_phase is 1 for the present phase, and warmring_epoch,
 * warmring_ring_bytes, warmring_server_up and warmring_server_connections are
 * what they are called. Metrics may be added; those there are keep their names.
 *
 * A page has one client: a program that has several gives each a page of its
 * own. Returns OK or BAD_ARGUMENT. Threads: any, one for each snapshot at a
 * time. Cost: `sink` is called once a line, with nothing locked. Since 0.1.
 */
WARMRING_API warmring_status_t warmring_metrics_write(const warmring_snapshot_t *snapshot,
                                                      warmring_text_sink_t *sink, void *context);

/* What became of one key of one call. */
typedef struct {
    size_t size;
    const char *operation; /* "get", "set", "delete", ...; static */
    const char *server;    /* the address of the one whose answer counted, or that
                              would have been asked first */
    warmring_side_t side;  /* its ring; in STABLE the old one */
    warmring_phase_t phase;
    warmring_status_t status;
    uint64_t duration_ns; /* since the call began, of which it may be one of many keys */
} warmring_event_t;

/* `event` and its strings are good until the observer returns. */
typedef void warmring_observer_t(void *context, const warmring_event_t *event);

/*
 * Has `observer` told of every key that a call on this client reads, stores,
 * deletes or modifies, when it is done with the key; NULL: nobody. Keys and
 * calls that are refused before (BAD_KEY, BAD_ARGUMENT, TOPOLOGY_STALE, ...)
 * are not told of, nor are flushes.
 *
 * Set it before the client is used by other threads. The observer is called by
 * the thread of each call, several at the same time, before the call returns:
 * it should be quick, and must not use this client.
 *
 * Returns OK or BAD_ARGUMENT. Cost where there is none: a compare a key.
 * Since 0.1.
 */
WARMRING_API warmring_status_t warmring_set_observer(warmring_t *client,
                                                     warmring_observer_t *observer, void *context);

WARMRING_END_DECLS

#endif
