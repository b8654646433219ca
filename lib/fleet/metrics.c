/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text format of Prometheus: one table says what each counter is called,
 * one line is written at a time.
 *
 * Only label values that come from outside, addresses and names, need
 * escaping. A line that would not fit (it has two such values of at most 250
 * bytes, each byte escaped) does not exist.
 */
#include <warmring/metrics.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"

enum { LINE_SIZE = 2048, ESCAPED_SIZE = 2 * 300, PHASES = WARMRING_SETTLING + 1 };

typedef struct {
    const warmring_snapshot_t *snapshot;
    warmring_text_sink_t *sink;
    void *context;
} page_t;

__attribute__((format(printf, 2, 3))) static void line(const page_t *page, const char *format,
                                                       ...) {
    char text[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > 0 && length < LINE_SIZE) {
        page->sink(page->context, text, (size_t)length);
    }
}

static void head(const page_t *page, const char *name, const char *type, const char *help) {
    line(page, "# HELP warmring_%s %s\n", name, help);
    line(page, "# TYPE warmring_%s %s\n", name, type);
}

/* ---- the client ------------------------------------------------------------ */

/* In this order; those of one metric stand together. */
typedef struct {
    size_t offset;
    const char *metric;
    const char *labels; /* with a comma behind; "" */
    const char *help;
} counter_t;

#define CLIENT(field) offsetof(warmring_counters_t, field)

static const counter_t client_counters[] = {
    {CLIENT(reads), "reads_total", "", "Keys read."},
    {CLIENT(hits_old), "hits_total", "ring=\"old\",", "Keys found."},
    {CLIENT(hits_new), "hits_total", "ring=\"new\",", "Keys found."},
    {CLIENT(misses), "misses_total", "", "Keys not found."},
    {CLIENT(read_errors), "read_errors_total", "", "Reads that failed."},
    {CLIENT(writes), "writes_total", "", "Keys stored, deleted or modified."},
    {CLIENT(write_errors), "write_errors_total", "", "Writes that failed."},
    {CLIENT(fallbacks), "fallbacks_total", "",
     "Reads that went on to the old owner of a moved key."},
    {CLIENT(fills), "fills_total", "", "Copies made from old to new owners."},
    {CLIENT(fills_refused), "fills_refused_total", "",
     "Copies not made: written meanwhile, or under way elsewhere."},
    {CLIENT(ghosts), "ghosts_total", "", "Copies of earlier rings seen and removed."},
    {CLIENT(partial_writes), "partial_writes_total", "", "Writes done on one of two servers."},
    {CLIENT(try_again), "try_again_total", "", "Calls not possible in their phase."},
    {CLIENT(applies), "topology_applies_total", "", "Topologies put in force."},
    {CLIENT(reloads), "topology_reloads_total", "", "Topologies taken from the file."},
    {CLIENT(file_errors), "topology_file_errors_total", "",
     "Changes of the topology file that could not be put in force."},
    {CLIENT(fence_errors), "topology_fence_errors_total", "",
     "Counts of steps on servers that were no numbers."},
    {CLIENT(stale), "topology_stale_total", "",
     "Calls refused since the topology may be out of date."},
};

enum { CLIENT_COUNTERS = sizeof client_counters / sizeof client_counters[0] };

#define ONE(name) +1
_Static_assert(CLIENT_COUNTERS == 0 WARMRING_CLIENT_COUNTER_LIST(ONE), "a row for each counter");

static uint64_t value_at(const void *counters, size_t offset) {
    uint64_t value;
    memcpy(&value, (const char *)counters + offset, sizeof value);
    return value;
}

/* Whether the row begins a metric. */
static bool is_first(const counter_t *list, size_t index) {
    return index == 0 || strcmp(list[index].metric, list[index - 1].metric) != 0;
}

static void write_client(const page_t *page) {
    warmring_counters_t counters[PHASES];
    for (int phase = 0; phase < PHASES; phase++) {
        counters[phase].size = sizeof counters[phase];
        (void)warmring_snapshot_client(page->snapshot, phase, &counters[phase]);
    }
    for (size_t i = 0; i < CLIENT_COUNTERS; i++) {
        const counter_t *row = &client_counters[i];
        if (is_first(client_counters, i)) {
            head(page, row->metric, "counter", row->help);
        }
        for (int phase = 0; phase < PHASES; phase++) {
            line(page, "warmring_%s{%sphase=\"%s\"} %" PRIu64 "\n", row->metric, row->labels,
                 warmring_phase_name((warmring_phase_t)phase),
                 value_at(&counters[phase], row->offset));
        }
    }
}

/* ---- what is in force -------------------------------------------------------- */

static void write_state(const page_t *page) {
    head(page, "phase", "gauge", "1 for the phase in force.");
    for (int phase = 0; phase < PHASES; phase++) {
        line(page, "warmring_phase{phase=\"%s\"} %d\n",
             warmring_phase_name((warmring_phase_t)phase),
             warmring_snapshot_phase(page->snapshot) == (warmring_phase_t)phase);
    }
    head(page, "epoch", "gauge", "The epoch of the topology in force.");
    line(page, "warmring_epoch %" PRIu64 "\n", warmring_snapshot_epoch(page->snapshot));
    head(page, "ring_bytes", "gauge", "Memory of all rings in force.");
    line(page, "warmring_ring_bytes %zu\n", warmring_snapshot_ring_bytes(page->snapshot));
}

/* ---- its servers --------------------------------------------------------------- */

#define SERVER(field) offsetof(warmring_server_counters_t, field)

static const counter_t server_counters[] = {
    {SERVER(requests), "server_requests_total", "", "Commands sent."},
    {SERVER(hits), "server_hits_total", "", "Items found."},
    {SERVER(misses), "server_misses_total", "", "Items not found."},
    {SERVER(connects), "server_connects_total", "", "Connections opened."},
    {SERVER(retries), "server_retries_total", "", "Commands repeated after a stale connection."},
    {SERVER(timeouts), "server_timeouts_total", "", "Commands not answered in time."},
    {SERVER(connect_errors), "server_connect_errors_total", "", "Connections that failed."},
    {SERVER(lost_connections), "server_lost_connections_total", "", "Connections that broke."},
    {SERVER(server_errors), "server_errors_total", "", "Commands answered with an error."},
    {SERVER(protocol_errors), "server_protocol_errors_total", "",
     "Answers that were none of memcached's."},
    {SERVER(fast_failures), "server_fast_failures_total", "",
     "Commands refused since the server was down."},
};

enum { SERVER_COUNTERS = sizeof server_counters / sizeof server_counters[0] };
_Static_assert(SERVER_COUNTERS == 0 WARMRING_SERVER_COUNTER_LIST(ONE), "a row for each counter");

/* A label's value: \ and " and line ends are written with a \ before them. */
static const char *escape(const char *value, char text[ESCAPED_SIZE]) {
    size_t used = 0;
    for (; *value != '\0' && used + 3 < ESCAPED_SIZE; value++) {
        if (*value == '\\' || *value == '"' || *value == '\n') {
            text[used++] = '\\';
        }
        text[used++] = *value == '\n' ? 'n' : *value;
    }
    text[used] = '\0';
    return text;
}

static bool next_server(const page_t *page, size_t index, warmring_server_counters_t *server) {
    server->size = sizeof *server;
    return warmring_snapshot_server(page->snapshot, index, server) == WARMRING_OK;
}

static void server_line(const page_t *page, const warmring_server_counters_t *server,
                        const char *metric, uint64_t value) {
    char address[ESCAPED_SIZE];
    char name[ESCAPED_SIZE];
    line(page, "warmring_%s{server=\"%s\",name=\"%s\"} %" PRIu64 "\n", metric,
         escape(server->address, address), escape(server->name, name), value);
}

static void write_servers(const page_t *page) {
    warmring_server_counters_t server;
    for (size_t i = 0; i < SERVER_COUNTERS; i++) {
        const counter_t *row = &server_counters[i];
        head(page, row->metric, "counter", row->help);
        for (size_t j = 0; next_server(page, j, &server); j++) {
            server_line(page, &server, row->metric, value_at(&server, row->offset));
        }
    }
    head(page, "server_up", "gauge", "0 while a server is in its back-off.");
    for (size_t j = 0; next_server(page, j, &server); j++) {
        server_line(page, &server, "server_up", !server.down);
    }
    head(page, "server_connections", "gauge", "Connections open, in use or idle.");
    for (size_t j = 0; next_server(page, j, &server); j++) {
        server_line(page, &server, "server_connections", server.connections);
    }
}

warmring_status_t warmring_metrics_write(const warmring_snapshot_t *snapshot,
                                         warmring_text_sink_t *sink, void *context) {
    if (WR_HAS_NULL(snapshot)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (sink == NULL) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "sink is NULL");
    }
    page_t page = {snapshot, sink, context};
    write_state(&page);
    write_client(&page);
    write_servers(&page);
    return WARMRING_OK;
}
