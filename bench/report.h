/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of a run for people, and its samples as tab-separated values.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Totals since the run began. */
typedef struct {
    double seconds;
    uint64_t reads, hits_new, hits_old, deleted, loads;
} report_totals_t;

/* Where the run stands. */
typedef struct {
    const char *phase;
    double rollout; /* percent; negative: none */
} report_place_t;

typedef struct {
    const char *name;
    FILE *samples;           /* NULL: not wanted */
    report_totals_t printed; /* at the last row of the table */
    report_totals_t sampled; /* at the last sample */
} report_t;

void report_begin(report_t *report, const char *name, FILE *samples);

/* A row of what was counted since the last row, and a sample alike. */
void report_row(report_t *report, const report_place_t *place, const report_totals_t *now);
void report_sample(report_t *report, const report_place_t *place, const report_totals_t *now);

/* The last line of the table. */
void report_end(const report_t *report, const report_totals_t *now);

/* The first line of the samples' file. */
void report_samples_header(FILE *samples);

#endif
