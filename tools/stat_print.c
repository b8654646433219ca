/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring stat: the table, and JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warmring/topology.h>

#include "report.h"
#include "stat.h"

/* ---- for people -------------------------------------------------------------------------- */

enum { COLUMNS = 11, CELL = 48 };

static const char *const headings[COLUMNS] = {"server",  "version", "memory", "of",
                                              "items",   "items %", "ring %", "hits",
                                              "evicted", "conns",   "told"};

typedef struct {
    char text[COLUMNS][CELL];
} line_t;

static void fill_line(const survey_t *stat, const row_t *row, line_t *line) {
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

static int print_table(const survey_t *stat) {
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

int print_survey(const survey_t *stat) {
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

static json_t *json_row(const survey_t *stat, const row_t *row) {
    json_t *entry = json_pack("{s:o, s:b, s:f}", "server", json_text(row->label), "reachable",
                              row->reached, "ring_share", row->ring_share);
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

int print_survey_json(const survey_t *stat) {
    json_t *rows = json_array();
    for (size_t i = 0; i < stat->count; i++) {
        json_add(&rows, json_row(stat, &stat->rows[i]));
    }
    json_t *value = json_pack("{s:o}", "servers", rows);
    if (value != NULL && stat->is_file) {
        const warmring_topology_t *topology = warmring_file_topology(stat->file);
        json_object_set_new(value, "phase",
                            json_string(warmring_phase_name(warmring_topology_phase(topology))));
        json_object_set_new(value, "steps",
                            json_integer((json_int_t)warmring_file_steps(stat->file)));
    }
    if (!stat->watch || value == NULL) {
        return print_json(value);
    }
    char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(value);
    if (text == NULL) {
        return fail("out of memory");
    }
    puts(text);
    free(text);
    return ENDED_WELL;
}
