/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page for Prometheus, read by the rules of its format, and the observer.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warmring/metrics.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/null.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { PAGE_SIZE = 65536, EVENTS = 64 };

/* ---- the page ---------------------------------------------------------------- */

typedef struct {
    char text[PAGE_SIZE];
    size_t length;
    unsigned pieces;
} page_t;

static void take(void *context, const char *text, size_t length) {
    page_t *page = context;
    if (page->length + length >= PAGE_SIZE) {
        tap_bail("the page is too long");
    }
    memcpy(page->text + page->length, text, length);
    page->length += length;
    page->text[page->length] = '\0';
    page->pieces++;
}

static const char *skip_name(const char *at) {
    if (!isalpha((unsigned char)*at) && *at != '_' && *at != ':') {
        return NULL;
    }
    while (isalnum((unsigned char)*at) || *at == '_' || *at == ':') {
        at++;
    }
    return at;
}

/* name="value", ...; the place behind the brace, or NULL. */
static const char *skip_labels(const char *at) {
    for (;;) {
        at = skip_name(at);
        if (at == NULL || at[0] != '=' || at[1] != '"') {
            return NULL;
        }
        for (at += 2; *at != '"'; at++) {
            if (*at == '\0' || *at == '\n') {
                return NULL;
            }
            if (*at == '\\') {
                at++;
                if (strchr("\\\"n", *at) == NULL) {
                    return NULL;
                }
            }
        }
        at++;
        if (*at == '}') {
            return at + 1;
        }
        if (*at != ',') {
            return NULL;
        }
        at++;
    }
}

/* What a page has to be, line by line. */
typedef struct {
    char metric[96], type[16], help_of[96];
    char metrics[64][96];
    size_t metric_count, samples, samples_of_metric;
    const char *wrong;
} reader_t;

static void read_type(reader_t *reader, const char *line) {
    if (sscanf(line, "# TYPE %95s %15s", reader->metric, reader->type) != 2) {
        reader->wrong = "a TYPE without a type";
        return;
    }
    if (strcmp(reader->metric, reader->help_of) != 0) {
        reader->wrong = "a TYPE without its HELP";
    }
    for (size_t i = 0; i < reader->metric_count; i++) {
        if (strcmp(reader->metrics[i], reader->metric) == 0) {
            reader->wrong = "a metric in two places";
        }
    }
    strcpy(reader->metrics[reader->metric_count++], reader->metric);
    size_t length = strlen(reader->metric);
    bool total = length > 6 && strcmp(reader->metric + length - 6, "_total") == 0;
    if (strcmp(reader->type, total ? "counter" : "gauge") != 0) {
        reader->wrong = "counters are called ..._total, gauges are not";
    }
    reader->samples_of_metric = 0;
}

static void read_sample(reader_t *reader, const char *line) {
    const char *end = skip_name(line);
    if (end == NULL || strlen(reader->metric) != (size_t)(end - line) ||
        strncmp(line, reader->metric, (size_t)(end - line)) != 0) {
        reader->wrong = "a sample outside its metric";
        return;
    }
    if (*end == '{') {
        end = skip_labels(end + 1);
    }
    char *rest;
    if (end == NULL || *end != ' ') {
        reader->wrong = "labels that are none";
        return;
    }
    strtod(end + 1, &rest);
    if (rest == end + 1 || *rest != '\0') {
        reader->wrong = "a value that is no number";
    }
    reader->samples++;
}

static const char *read_page(const page_t *page, reader_t *reader) {
    char line[2048];
    *reader = (reader_t){.wrong = NULL};
    for (const char *at = page->text; *at != '\0' && reader->wrong == NULL;) {
        const char *end = strchr(at, '\n');
        if (end == NULL || (size_t)(end - at) >= sizeof line) {
            return "a line without an end";
        }
        memcpy(line, at, (size_t)(end - at));
        line[end - at] = '\0';
        if (strncmp(line, "# HELP ", 7) == 0) {
            if (sscanf(line, "# HELP %95s %*[^\n]", reader->help_of) != 1) {
                return "a HELP without a name";
            }
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            read_type(reader, line);
        } else {
            read_sample(reader, line);
        }
        at = end + 1;
    }
    return reader->wrong;
}

static void expect(const page_t *page, const char *line) {
    char found[512];
    snprintf(found, sizeof found, "\n%s\n", line);
    tap_ok(strstr(page->text, found) != NULL, "%s", line);
}

static page_t *write_page(warmring_t *client) {
    static page_t page;
    warmring_snapshot_t *snapshot = NULL;
    page = (page_t){.length = 0};
    if (warmring_snapshot_create(client, &snapshot) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    tap_status(warmring_metrics_write(snapshot, take, &page), WARMRING_OK, "a page");
    warmring_snapshot_free(snapshot);
    return &page;
}

static void check_page(void) {
    fixture_t *fixture = fixture_start(2, NULL);
    size_t odd = fixture_add_unix(fixture);
    char servers[512];
    char line[512];
    reader_t reader;
    snprintf(servers, sizeof servers, "one=%s,%s,%s", fixture_address(fixture, 0),
             fixture_address(fixture, 1), fixture_address(fixture, odd));
    warmring_t *client = test_open(servers);
    tap_status(store_key(client, "here", "value"), WARMRING_OK, "a store");
    for (int i = 0; i < 3; i++) {
        (void)read_key(client, "here");
    }
    (void)read_key(client, "not here");
    (void)read_key(client, "not_here");
    page_t *page = write_page(client);
    const char *wrong = read_page(page, &reader);
    tap_string(wrong, NULL, "it keeps to the format");
    tap_ok(reader.metric_count > 25 && reader.samples > 150, "%zu metrics, %zu samples",
           reader.metric_count, reader.samples);
    tap_int(page->pieces, (int64_t)(reader.samples + 2 * reader.metric_count),
            "a piece for each line");
    expect(page, "# TYPE warmring_hits_total counter");
    expect(page, "warmring_reads_total{phase=\"STABLE\"} 4");
    expect(page, "warmring_hits_total{ring=\"old\",phase=\"STABLE\"} 3");
    expect(page, "warmring_hits_total{ring=\"new\",phase=\"WARMING\"} 0");
    expect(page, "warmring_misses_total{phase=\"STABLE\"} 1");
    expect(page, "warmring_writes_total{phase=\"STABLE\"} 1");
    expect(page, "warmring_phase{phase=\"STABLE\"} 1");
    expect(page, "warmring_phase{phase=\"WARMING\"} 0");
    expect(page, "warmring_epoch 1");
    snprintf(line, sizeof line, "warmring_server_up{server=\"%s\",name=\"one\"} 1",
             fixture_address(fixture, 0));
    expect(page, line);
    steps_begin(client, fixture_servers(fixture));
    page = write_page(client);
    tap_string(read_page(page, &reader), NULL, "in PREPARED too");
    expect(page, "warmring_phase{phase=\"PREPARED\"} 1");
    warmring_close(client);
    fixture_free(fixture);
}

/* Bytes that a server string may not have, but a struct. */
static void check_escapes(void) {
    reader_t reader;
    warmring_t *client = NULL;
    warmring_topology_t *topology = NULL;
    warmring_server_t server = {
        .size = sizeof server, .name = "a\"b\\c", .host = "127.0.0.1", .port = 1, .weight = 1};
    if (warmring_topology_create(&topology, &server, 1, NULL) != WARMRING_OK ||
        warmring_open_topology(&client, topology, NULL) != WARMRING_OK) {
        tap_skip("such names are refused: %s", warmring_error_detail());
        warmring_topology_release(topology);
        return;
    }
    page_t *page = write_page(client);
    tap_string(read_page(page, &reader), NULL, "label values are escaped");
    expect(page, "warmring_server_up{server=\"127.0.0.1:1\",name=\"a\\\"b\\\\c\"} 1");
    warmring_close(client);
    warmring_topology_release(topology);
}

/* ---- the observer ----------------------------------------------------------------- */

typedef struct {
    warmring_event_t event[EVENTS];
    char server[EVENTS][64];
    size_t count;
} log_t;

static void keep(void *context, const warmring_event_t *event) {
    log_t *log = context;
    if (log->count < EVENTS) {
        log->event[log->count] = *event;
        snprintf(log->server[log->count], sizeof log->server[0], "%s", event->server);
        log->count++;
    }
}

static void check_event(log_t *log, const char *operation, const char *server, warmring_side_t side,
                        warmring_phase_t phase, warmring_status_t status) {
    const warmring_event_t *event = &log->event[0];
    const char *name = warmring_phase_name(phase);
    if (!tap_int((int64_t)log->count, 1, "%s in %s: one event", operation, name)) {
        return;
    }
    tap_string(event->operation, operation, "%s in %s", operation, name);
    tap_string(log->server[0], server, "%s in %s: its server", operation, name);
    tap_int(event->side, side, "%s in %s: its ring", operation, name);
    tap_int(event->phase, phase, "%s in %s: its phase", operation, name);
    tap_status(event->status, status, "%s in %s: its outcome", operation, name);
    tap_ok(event->duration_ns > 0 && event->duration_ns < UINT64_C(60000000000),
           "%s in %s: %" PRIu64 " ns", operation, name, event->duration_ns);
    tap_int((int64_t)event->size, (int64_t)sizeof *event, "%s in %s: its size", operation, name);
    log->count = 0;
}

static void check_observer(void) {
    static log_t log;
    fixture_t *fixture = fixture_start(2, NULL);
    const char *old = fixture_address(fixture, 0);
    const char *new = fixture_address(fixture, 1);
    char key[CALLS_KEY_SIZE];
    unsigned next = 0;
    log.count = 0;
    warmring_t *client = test_open(fixture_first_servers(fixture, 1));
    tap_status(warmring_set_observer(client, keep, &log), WARMRING_OK, "an observer");
    (void)store_key(client, "key", "value");
    check_event(&log, "set", old, WARMRING_OLD_RING, WARMRING_STABLE, WARMRING_OK);
    (void)read_key(client, "key");
    check_event(&log, "get", old, WARMRING_OLD_RING, WARMRING_STABLE, WARMRING_OK);
    (void)read_key(client, "none");
    check_event(&log, "get", old, WARMRING_OLD_RING, WARMRING_STABLE, WARMRING_NOT_FOUND);
    (void)!warmring_add(client, "key", 3, "x", 1, 0, 0, NULL);
    check_event(&log, "add", old, WARMRING_OLD_RING, WARMRING_STABLE, WARMRING_NOT_STORED);
    (void)read_key(client, "bad key");
    tap_int((int64_t)log.count, 0, "a bad key is not told of");

    warmring_bytes_t keys[] = {{"key", 3}, {"none", 4}, {"key", 3}};
    warmring_results_t *results = warmring_results_create();
    (void)!warmring_get_multi(client, keys, 3, results, NULL);
    tap_int((int64_t)log.count, 3, "three keys of one call: three events");
    log.count = 0;

    steps_begin(client, fixture_servers(fixture));
    steps_forward(client, WARMRING_WARMING);
    choose_key(client, "moved", true, &next, key);
    (void)store_key(client, key, "value");
    check_event(&log, "set", old, WARMRING_OLD_RING, WARMRING_WARMING, WARMRING_OK);
    (void)read_key(client, key);
    check_event(&log, "get", old, WARMRING_OLD_RING, WARMRING_WARMING, WARMRING_OK);
    (void)read_key(client, key);
    check_event(&log, "get", new, WARMRING_NEW_RING, WARMRING_WARMING, WARMRING_OK);
    steps_forward(client, WARMRING_DRAINING);
    (void)store_key(client, key, "value");
    check_event(&log, "set", new, WARMRING_NEW_RING, WARMRING_DRAINING, WARMRING_OK);
    (void)!warmring_append(client, key, strlen(key), "x", 1, NULL);
    tap_int(log.event[0].side, WARMRING_NEW_RING, "append, bound to the new owner's item");
    log.count = 0;
    tap_status(warmring_set_observer(client, NULL, NULL), WARMRING_OK, "no observer any more");
    (void)read_key(client, key);
    tap_int((int64_t)log.count, 0, "nobody is told");
    warmring_results_free(results);
    warmring_close(client);
    fixture_free(fixture);
}

#define NULL_LIST(X)                                        \
    X("snapshot", warmring_metrics_write(NULL, take, NULL)) \
    X("sink", warmring_metrics_write(snapshot, NULL, NULL)) \
    X("client", warmring_set_observer(NULL, keep, NULL))

static void check_null(void) {
    warmring_t *client = NULL;
    warmring_snapshot_t *snapshot = NULL;
    if (warmring_open(&client, "127.0.0.1:1", NULL) != WARMRING_OK ||
        warmring_snapshot_create(client, &snapshot) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    NULL_LIST(NULL_CHECK)
    warmring_snapshot_free(snapshot);
    warmring_close(client);
}

int main(void) {
    check_page();
    check_escapes();
    test_transports(check_observer);
    check_null();
    return tap_done();
}
