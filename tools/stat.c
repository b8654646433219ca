/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring stat: what each server of a topology file, or of a list, says of
 * itself, beside its share of the ring.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fleet.h"
#include "servers.h"

enum {
    STAT_WATCH,
    STAT_INTERVAL,
    STAT_JSON,
    STAT_DEADLINE,
    STAT_DIALECT,
    STAT_POINTS,
    STAT_ANY_WRITER
};

static const option_t options[] = {
    [STAT_WATCH] = {"--watch", NULL, "again and again, rates since the last time"},
    [STAT_INTERVAL] = {"--interval", "SECONDS", "how often --watch looks (2)"},
    [STAT_JSON] = {"--json", NULL, "print JSON, with --watch one value a line"},
    [STAT_DEADLINE] = {"--deadline", "MS", "how long a server may take (1000)"},
    [STAT_DIALECT] = {"--dialect", "D", "of a list of servers (v2)"},
    [STAT_POINTS] = {"--points", "P", "of a list of servers (1000)"},
    [STAT_ANY_WRITER] = {"--any-writer", NULL, "take a file that others may write to"},
    {0},
};

/* ---- one server's numbers -------------------------------------------------------------- */

#define STAT_NUMBERS(X)                                                                        \
    X(bytes)                                                                                   \
    X(limit_maxbytes) X(curr_items) X(get_hits) X(get_misses) X(evictions) X(curr_connections) \
        X(uptime)

typedef struct {
    char label[WARMRING_SERVER_STRINGS];
    bool reached;
    char version[24];
    char fault[160];
#define STAT_FIELD(name) double name;
    STAT_NUMBERS(STAT_FIELD)
#undef STAT_FIELD
    bool has_fence;
    uint64_t fence;
    double ring_share, item_share;
    double hit_rate; /* -1: nothing was read */
    double evicted;  /* since the start, or the last time */
} row_t;

static void take_stat(void *context, const char *name, const char *value) {
    row_t *row = context;
    if (strcmp(name, "version") == 0) {
        snprintf(row->version, sizeof row->version, "%s", value);
    }
#define STAT_READ(field)                  \
    if (strcmp(name, #field) == 0) {      \
        row->field = strtod(value, NULL); \
    }
    STAT_NUMBERS(STAT_READ)
#undef STAT_READ
}

typedef struct {
    const char *name; /* of the file or list */
    warmring_file_t *file;
    bool is_file; /* it has a phase and a fence */
    uint32_t deadline_ms;
    uint32_t mode;
    bool json, watch;
    row_t *rows, *before; /* of this time and the last */
    size_t count, before_count;
} stat_t;

static void ask(const stat_t *stat, size_t index, row_t *row) {
    warmring_file_server_t server = {.size = sizeof server};
    if (warmring_file_server(stat->file, index, &server) != WARMRING_OK) {
        return;
    }
    snprintf(row->label, sizeof row->label, "%s", server.label);
    row->reached = warmring_fleet_stats(stat->file, index, NULL, take_stat, row, NULL,
                                        stat->deadline_ms) == WARMRING_OK;
    if (!row->reached) {
        snprintf(row->fault, sizeof row->fault, "%s", warmring_error_detail());
        return;
    }
    row->has_fence =
        stat->is_file && warmring_fleet_fence(stat->file, index, NULL, stat->deadline_ms,
                                              &row->fence) == WARMRING_OK;
}

/* ---- shares ---------------------------------------------------------------------------- */

/* The ring whose owners answer now. */
static warmring_side_t present_side(const stat_t *stat) {
    return warmring_topology_phase(warmring_file_topology(stat->file)) > WARMRING_HANDOVER
               ? WARMRING_NEW_RING
               : WARMRING_OLD_RING;
}

static void share_ring(const stat_t *stat) {
    const warmring_topology_t *topology = warmring_file_topology(stat->file);
    warmring_preview_t *preview;
    if (warmring_topology_preview(topology, topology, &preview) != WARMRING_OK) {
        return;
    }
    for (size_t i = 0; i < warmring_preview_servers(preview) && i < stat->count; i++) {
        warmring_preview_server_t server = {.size = sizeof server};
        if (warmring_preview_server(preview, i, &server) == WARMRING_OK) {
            stat->rows[i].ring_share =
                present_side(stat) == WARMRING_OLD_RING ? server.share_before : server.share_after;
        }
    }
    warmring_preview_free(preview);
}

static const row_t *find_before(const stat_t *stat, const row_t *row) {
    for (size_t i = 0; i < stat->before_count; i++) {
        const row_t *old = &stat->before[i];
        if (old->reached && row->reached && strcmp(old->label, row->label) == 0 &&
            old->uptime <= row->uptime) {
            return old;
        }
    }
    return NULL;
}

static void share_items(const stat_t *stat) {
    static const row_t nothing;
    double items = 0;
    for (size_t i = 0; i < stat->count; i++) {
        items += stat->rows[i].curr_items;
    }
    for (size_t i = 0; i < stat->count; i++) {
        row_t *row = &stat->rows[i];
        const row_t *before = find_before(stat, row);
        before = before != NULL ? before : &nothing;
        double hits = row->get_hits - before->get_hits;
        double reads = hits + row->get_misses - before->get_misses;
        row->item_share = items > 0 ? row->curr_items / items : 0;
        row->hit_rate = reads > 0 ? hits / reads : -1;
        row->evicted = row->evictions - before->evictions;
    }
}

/* ---- for people -------------------------------------------------------------------------- */

enum { COLUMNS = 11, CELL = 48 };

static const char *const headings[COLUMNS] = {"server",  "version", "memory", "of",
                                              "items",   "items %", "ring %", "hits",
                                              "evicted", "conns",   "told"};

typedef struct {
    char text[COLUMNS][CELL];
} line_t;

static void fill_line(const stat_t *stat, const row_t *row, line_t *line) {
    text_t text;
    snprintf(line->text[0], CELL, "%.40s", row->label);
    snprintf(line->text[1], CELL, "%s", row->reached ? row->version : "away");
    for (size_t i = 2; i < COLUMNS; i++) {
        snprintf(line->text[i], CELL, "-");
    }
    snprintf(line->text[6], CELL, "%s", percent(&text, row->ring_share));
    if (!row->reached) {
        return;
    }
    snprintf(line->text[2], CELL, "%s", bytes(&text, row->bytes));
    snprintf(line->text[3], CELL, "%s", bytes(&text, row->limit_maxbytes));
    snprintf(line->text[4], CELL, "%.0f", row->curr_items);
    snprintf(line->text[5], CELL, "%s", percent(&text, row->item_share));
    if (row->hit_rate >= 0) {
        snprintf(line->text[7], CELL, "%.2f %%", 100 * row->hit_rate);
    }
    snprintf(line->text[8], CELL, "%.0f", row->evicted);
    snprintf(line->text[9], CELL, "%.0f", row->curr_connections);
    if (stat->is_file && row->has_fence) {
        snprintf(line->text[10], CELL, "%llu", (unsigned long long)row->fence);
    }
}

static void print_line(const line_t *line, const int *widths, size_t columns) {
    for (size_t i = 0; i < columns; i++) {
        bool left = i < 2;
        printf("%s%*s", i > 0 ? "  " : "", left ? -widths[i] : widths[i], line->text[i]);
    }
    putchar('\n');
}

static int print_table(const stat_t *stat) {
    size_t columns = stat->is_file ? COLUMNS : COLUMNS - 1;
    line_t *lines = calloc(stat->count + 1, sizeof *lines);
    int widths[COLUMNS] = {0};
    if (lines == NULL) {
        return fail("out of memory: %zu servers", stat->count);
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        snprintf(lines[0].text[i], CELL, "%s", headings[i]);
    }
    for (size_t i = 0; i < stat->count; i++) {
        fill_line(stat, &stat->rows[i], &lines[i + 1]);
    }
    for (size_t i = 0; i <= stat->count; i++) {
        for (size_t j = 0; j < COLUMNS; j++) {
            int length = (int)strlen(lines[i].text[j]);
            widths[j] = length > widths[j] ? length : widths[j];
        }
    }
    for (size_t i = 0; i <= stat->count; i++) {
        print_line(&lines[i], widths, columns);
    }
    free(lines);
    return ENDED_WELL;
}

static int print_text(const stat_t *stat) {
    if (stat->is_file) {
        printf("phase %s, steps %llu\n",
               warmring_phase_name(warmring_topology_phase(warmring_file_topology(stat->file))),
               (unsigned long long)warmring_file_steps(stat->file));
    }
    int result = print_table(stat);
    for (size_t i = 0; i < stat->count; i++) {
        if (!stat->rows[i].reached) {
            warn("%s", stat->rows[i].fault);
        }
    }
    return result;
}

/* ---- for programs -------------------------------------------------------------------------- */

static json_t *json_row(const stat_t *stat, const row_t *row) {
    json_t *entry = json_pack("{s:s, s:b, s:f}", "server", row->label, "reachable", row->reached,
                              "ring_share", row->ring_share);
    if (entry == NULL || !row->reached) {
        if (entry != NULL) {
            json_object_set_new(entry, "fault", json_string(row->fault));
        }
        return entry;
    }
    json_object_set_new(entry, "version", json_string(row->version));
    json_object_set_new(entry, "memory_used", json_number(row->bytes));
    json_object_set_new(entry, "memory_limit", json_number(row->limit_maxbytes));
    json_object_set_new(entry, "items", json_number(row->curr_items));
    json_object_set_new(entry, "item_share", json_real(row->item_share));
    json_object_set_new(entry, "hit_rate",
                        row->hit_rate >= 0 ? json_real(row->hit_rate) : json_null());
    json_object_set_new(entry, "evictions", json_number(row->evicted));
    json_object_set_new(entry, "connections", json_number(row->curr_connections));
    json_object_set_new(entry, "uptime_s", json_number(row->uptime));
    if (stat->is_file) {
        json_object_set_new(entry, "steps",
                            row->has_fence ? json_integer((json_int_t)row->fence) : json_null());
    }
    return entry;
}

static int print_as_json(const stat_t *stat) {
    json_t *rows = json_array();
    for (size_t i = 0; i < stat->count; i++) {
        json_array_append_new(rows, json_row(stat, &stat->rows[i]));
    }
    json_t *value = json_pack("{s:o}", "servers", rows);
    if (value != NULL && stat->is_file) {
        const warmring_topology_t *topology = warmring_file_topology(stat->file);
        json_object_set_new(value, "phase",
                            json_string(warmring_phase_name(warmring_topology_phase(topology))));
        json_object_set_new(value, "steps",
                            json_integer((json_int_t)warmring_file_steps(stat->file)));
    }
    if (!stat->watch) {
        return print_json(value);
    }
    char *text = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    json_decref(value);
    if (text == NULL) {
        return fail("out of memory");
    }
    puts(text);
    free(text);
    return ENDED_WELL;
}

/* ---- what is looked at ------------------------------------------------------------------------
 */

/* Whether a path leads to a topology file: JSON begins with '{'. */
static bool is_topology_file(const char *path) {
    FILE *stream = fopen(path, "re");
    int byte = ' ';
    while (stream != NULL && (byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n')) {
        byte = getc(stream);
    }
    if (stream != NULL) {
        fclose(stream);
    }
    return stream != NULL && byte == '{';
}

static int read_file(stat_t *stat) {
    warmring_file_t *file;
    if (warmring_file_read(&file, stat->name, stat->mode) != WARMRING_OK) {
        return fleet_fail();
    }
    warmring_file_free(stat->file);
    stat->file = file;
    return ENDED_WELL;
}

/* A file of servers, or the servers themselves. */
static int read_list(stat_t *stat, const char *const *values) {
    warmring_topology_t *topology = NULL;
    ring_choice_t choice = {.dialect_option = "--dialect",
                            .dialect = values[STAT_DIALECT],
                            .points_option = "--points",
                            .points = values[STAT_POINTS]};
    warmring_ring_options_t ring;
    int result = choose_ring(&choice, &ring);
    if (result == ENDED_WELL && (access(stat->name, F_OK) == 0 || strcmp(stat->name, "-") == 0)) {
        result = servers_load(stat->name, &choice, &topology);
    } else if (result == ENDED_WELL &&
               warmring_topology_parse(&topology, stat->name, ring.dialect,
                                       ring.points_per_weight) != WARMRING_OK) {
        result = fail("no file, and no servers: %s", warmring_error_detail());
    }
    if (result == ENDED_WELL &&
        warmring_file_create(&stat->file, topology, NULL, now_ms()) != WARMRING_OK) {
        result = fleet_fail();
    }
    warmring_topology_release(topology);
    return result;
}

static int look(stat_t *stat) {
    free(stat->before);
    stat->before = stat->rows;
    stat->before_count = stat->count;
    stat->count = warmring_file_servers(stat->file);
    stat->rows = calloc(stat->count + 1, sizeof *stat->rows);
    if (stat->rows == NULL) {
        stat->count = 0;
        return fail("out of memory");
    }
    for (size_t i = 0; i < stat->count; i++) {
        ask(stat, i, &stat->rows[i]);
    }
    share_ring(stat);
    share_items(stat);
    return stat->json ? print_as_json(stat) : print_text(stat);
}

static int keep_watching(stat_t *stat, double interval) {
    for (;;) {
        int result = look(stat);
        if (result != ENDED_WELL || !flush_output() || !stat->watch) {
            return result;
        }
        sleep((unsigned)interval);
        if (stat->is_file) {
            (void)read_file(stat); /* which complains; the last one will do */
        }
        if (!stat->json) {
            fputs(isatty(STDOUT_FILENO) ? "\033[H\033[2J" : "\n", stdout);
        }
    }
}

static int run(const char *const *values, const char *const *operands) {
    stat_t stat = {.name = operands[0],
                   .json = values[STAT_JSON] != NULL,
                   .watch = values[STAT_WATCH] != NULL,
                   .mode = values[STAT_ANY_WRITER] != NULL ? WARMRING_FILE_ANY_WRITER : 0};
    double deadline = 1000, interval = 2;
    int result = read_count("--deadline", values[STAT_DEADLINE], 3600000, &deadline);
    if (result == ENDED_WELL) {
        result = read_count("--interval", values[STAT_INTERVAL], 86400, &interval);
    }
    if (result == ENDED_WELL && (deadline < 1 || interval < 1)) {
        result = misuse("%s has to be 1 at least", deadline < 1 ? "--deadline" : "--interval");
    }
    if (result != ENDED_WELL) {
        return result;
    }
    stat.deadline_ms = (uint32_t)deadline;
    stat.is_file = is_topology_file(stat.name);
    result = stat.is_file ? read_file(&stat) : read_list(&stat, values);
    if (result == ENDED_WELL) {
        result = keep_watching(&stat, interval);
    }
    free(stat.rows);
    free(stat.before);
    warmring_file_free(stat.file);
    return result;
}

const command_t stat_command = {
    .name = "stat",
    .summary = "what each server says of itself",
    .operands = "FILE|SERVERS",
    .options = options,
    .text = "Asks every server of a topology file, of a file of servers, or of a list such as\n"
            "h1:11211,h2:11211, and prints a line for each: version, memory, items, its share of\n"
            "all items and of the ring, hits of all reads, evictions, connections, and the count\n"
            "of steps that it was told.\n",
    .run = run,
};
