/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <inttypes.h>

static report_totals_t since(const report_totals_t *before, const report_totals_t *now) {
    return (report_totals_t){
        .seconds = now->seconds - before->seconds,
        .reads = now->reads - before->reads,
        .hits_new = now->hits_new - before->hits_new,
        .hits_old = now->hits_old - before->hits_old,
        .deleted = now->deleted - before->deleted,
        .loads = now->loads - before->loads,
    };
}

static void format_rollout(const report_place_t *place, char text[16]) {
    if (place->rollout < 0)
        snprintf(text, 16, "-");
    else
        snprintf(text, 16, "%.0f%%", place->rollout);
}

void report_begin(report_t *report, const char *name, FILE *samples) {
    *report = (report_t){.name = name, .samples = samples};
    printf("%7s  %-8s  %7s  %8s  %8s  %8s  %7s  %12s\n", "seconds", "phase", "rollout", "reads",
           "hits new", "hits old", "deleted", "origin loads");
}

void report_row(report_t *report, const report_place_t *place, const report_totals_t *now) {
    report_totals_t row = since(&report->printed, now);
    char rollout[16];

    format_rollout(place, rollout);
    printf("%7.2f  %-8s  %7s  %8" PRIu64 "  %8" PRIu64 "  %8" PRIu64 "  %7" PRIu64 "  %12" PRIu64
           "\n",
           now->seconds, place->phase, rollout, row.reads, row.hits_new, row.hits_old, row.deleted,
           row.loads);
    fflush(stdout);
    report->printed = *now;
}

void report_sample(report_t *report, const report_place_t *place, const report_totals_t *now) {
    report_totals_t row = since(&report->sampled, now);
    char rollout[16];

    format_rollout(place, rollout);
    if (report->samples != NULL)
        fprintf(report->samples,
                "%s\t%.3f\t%.3f\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
                "\t%" PRIu64 "\n",
                report->name, now->seconds, row.seconds, place->phase, rollout, row.reads,
                row.hits_new, row.hits_old, row.deleted, row.loads);
    report->sampled = *now;
}

void report_end(const report_t *report, const report_totals_t *now) {
    printf("%7.2f  %-8s  %7s  %8" PRIu64 "  %8" PRIu64 "  %8" PRIu64 "  %7" PRIu64 "  %12" PRIu64
           "  %.2f%% of the reads\n\n",
           now->seconds, report->name, "total", now->reads, now->hits_new, now->hits_old,
           now->deleted, now->loads,
           now->reads == 0 ? 0.0 : 100.0 * (double)now->loads / (double)now->reads);
}

void report_samples_header(FILE *samples) {
    fprintf(samples, "run\tseconds\tlength\tphase\trollout\treads\thits_new\thits_old\tdeleted"
                     "\torigin_loads\n");
}
