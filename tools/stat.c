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
#include "stat.h"

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

static void ask(const survey_t *stat, size_t index, row_t *row) {
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
static warmring_side_t present_side(const survey_t *stat) {
    return warmring_topology_phase(warmring_file_topology(stat->file)) > WARMRING_HANDOVER
               ? WARMRING_NEW_RING
               : WARMRING_OLD_RING;
}

static void share_ring(const survey_t *stat) {
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

static const row_t *find_before(const survey_t *stat, const row_t *row) {
    for (size_t i = 0; i < stat->before_count; i++) {
        const row_t *old = &stat->before[i];
        if (old->reached && row->reached && strcmp(old->label, row->label) == 0 &&
            old->uptime <= row->uptime) {
            return old;
        }
    }
    return NULL;
}

static void share_items(const survey_t *stat) {
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

static int read_file(survey_t *stat) {
    warmring_file_t *file;
    if (warmring_file_read(&file, stat->name, stat->mode) != WARMRING_OK) {
        return fleet_fail();
    }
    warmring_file_free(stat->file);
    stat->file = file;
    return ENDED_WELL;
}

/* A file of servers, or the servers themselves. */
static int read_list(survey_t *stat, const char *const *values) {
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

static int look(survey_t *stat) {
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
    return stat->json ? print_survey_json(stat) : print_survey(stat);
}

static int keep_watching(survey_t *stat, double interval) {
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
    survey_t stat = {.name = operands[0],
                     .json = values[STAT_JSON] != NULL,
                     .watch = values[STAT_WATCH] != NULL,
                     .mode = values[STAT_ANY_WRITER] != NULL ? WARMRING_FILE_ANY_WRITER : 0};
    double deadline = 1000, interval = 2;
    int result = read_count("--deadline", values[STAT_DEADLINE], 1, 3600000, &deadline);
    if (result == ENDED_WELL) {
        result = read_count("--interval", values[STAT_INTERVAL], 1, 86400, &interval);
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
