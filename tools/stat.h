/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What warmring stat found out, between who asks and who prints.
 */
#ifndef TOOLS_STAT_H
#define TOOLS_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warmring/fleet.h>

/* Of a server's statistics, by their names there. */
#define STAT_NUMBERS(X) \
    X(bytes)            \
    X(limit_maxbytes)   \
    X(curr_items) X(get_hits) X(get_misses) X(evictions) X(curr_connections) X(uptime)

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

typedef struct {
    const char *name; /* of the file or list */
    warmring_file_t *file;
    bool is_file; /* it has a phase and a fence */
    uint32_t deadline_ms;
    uint32_t mode;
    bool json, watch;
    row_t *rows, *before; /* of this time and the last */
    size_t count, before_count;
} survey_t;

/* Print it, for people and for programs. Return how the program ends. */
int print_survey(const survey_t *stat);
int print_survey_json(const survey_t *stat);

#endif
