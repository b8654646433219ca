/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fleets of sizes that no machine here has: a change of the ring as a cold
 * flip, as a rollout by key and as a rollout by site.
 *
 *   fleet-sim [-o SAMPLES] [NAME=NUMBER...]
 *
 * Prints tab-separated values, a line for each run; with -o a line for each
 * second of each run goes to a file. Names are those of sim_options_t, such as
 * servers=2048 added=512 keys=1000000 clients=1000 rate=50000 seed=1.
 *
 *   hits_before, hits_model  per cent of the reads before the change, and what
 *                            they are by the formula in keys.c
 *   moved, lost_first        the exact fraction of all keys that move; of keys
 *                            that were cached, the fraction whose first read
 *                            after a cold flip found nothing
 *   loads_before, loads_peak from the origin, a second
 *   loads_rollout            the peak in WARMING
 *   loads_extra              beyond those of the formula without a change
 *   stale                    hits of values that are not the newest
 *   commands_per_operation   on all servers
 *   new_at_end, new_most     the mean load of added servers in the last ten
 *                            samples, and the most in any, as a share of that of
 *                            the others in the same sample
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define OPTION(name) \
    { #name, offsetof(sim_options_t, name) }
static const struct {
    const char *name;
    size_t offset;
} names[] = {
    OPTION(seed), OPTION(servers),        OPTION(added),   OPTION(points_per_weight),
    OPTION(keys), OPTION(zipf_percent),   OPTION(clients), OPTION(lag_s),
    OPTION(rate), OPTION(sets_per_10000), OPTION(ttl_s),
};

/* NAME=NUMBER into the options; false when it is none. */
static bool set_option(sim_options_t *options, const char *text) {
    const char *equals = strchr(text, '=');
    for (size_t i = 0; equals != NULL && i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i].name);
        char *end;
        if (length == (size_t)(equals - text) && memcmp(text, names[i].name, length) == 0) {
            errno = 0;
            unsigned long long number = strtoull(equals + 1, &end, 10);
            *(uint64_t *)((char *)options + names[i].offset) = number;
            return end != equals + 1 && *end == '\0' && errno == 0;
        }
    }
    return false;
}

/* ---- tables ---------------------------------------------------------------------- */

static void print_samples(FILE *file, const sim_result_t *result) {
    for (size_t i = 0; i < result->count; i++) {
        const sim_sample_t *s = &result->samples[i];
        const sim_counts_t *c = &s->counts;
        fprintf(file,
                "%s\t%.0f\t%.0f\t%s\t%s\t%llu\t%llu\t%llu\t%llu\t%llu\t%.2f\t%llu\t%llu\t%llu"
                "\t%.1f\t%.1f\t%.0f\t%.0f\t%.0f\n",
                result->course.name, s->seconds, s->length, s->place->phase, s->place->stage,
                (unsigned long long)c->reads, (unsigned long long)c->sets,
                (unsigned long long)c->hits_old, (unsigned long long)c->hits_new,
                (unsigned long long)c->loads, sim_hits_percent(c), (unsigned long long)c->stale,
                (unsigned long long)c->fallbacks, (unsigned long long)c->fills, s->old_mean,
                s->new_mean, s->median, s->most_of_99, s->busiest);
    }
}

static void print_samples_header(FILE *file) {
    fputs("run\tseconds\tlength\tphase\trollout\treads\tsets\thits_old\thits_new\torigin_loads"
          "\thit_rate\tstale\tfallbacks\tfills\told_mean\tnew_mean\tmedian\tp99\tbusiest\n",
          file);
}

/* The mean load of added servers beside that of the others. */
static double new_beside_old(const sim_result_t *result, bool at_the_end) {
    double most = 0, old = 0, added = 0;
    for (size_t i = 0; i < result->count; i++) {
        const sim_sample_t *sample = &result->samples[i];
        double ratio = sample->new_mean / sample->old_mean;
        most = ratio > most ? ratio : most;
        if (i + 10 >= result->count) {
            old += sample->old_mean;
            added += sample->new_mean;
        }
    }
    return at_the_end ? added / old : most;
}

/* A number and a tab, or a dash where there is none. */
static void print_number(int digits, double number, bool is_one) {
    if (is_one) {
        printf("%.*f\t", digits, number);
    } else {
        printf("-\t");
    }
}

static void print_result(const sim_result_t *result) {
    const sim_counts_t *total = &result->total;
    double hits, first = sim_first_loads(result, &hits);
    double expected = (1 - result->expected) * (double)total->reads;
    printf("%s\t%llu\t%llu\t%.3f\t%.3f\t%.5f\t", result->course.name,
           (unsigned long long)total->operations, (unsigned long long)total->reads, hits,
           100 * result->expected, result->course.moved);
    print_number(5, (double)result->first_lost / (double)result->first_reads,
                 result->first_reads > 0);
    printf("%.0f\t%.0f\t", first, sim_peak_loads(result, NULL));
    print_number(0, sim_peak_loads(result, "WARMING"), result->first_reads == 0);
    printf("%.0f\t%llu\t%.3f\t%.2f\t%.2f\n", (double)total->loads - expected,
           (unsigned long long)total->stale, (double)result->served / (double)total->operations,
           new_beside_old(result, true), new_beside_old(result, false));
}

int main(int argc, char **argv) {
    sim_options_t options = sim_defaults;
    FILE *samples = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-o") == 0 && i + 1 < argc && samples == NULL) {
            samples = fopen(argv[++i], "we");
            if (samples == NULL) {
                fprintf(stderr, "fleet-sim: cannot write %s: %s\n", argv[i], strerror(errno));
                return 1;
            }
        } else if (!set_option(&options, argv[i])) {
            fprintf(stderr, "fleet-sim: '%s' is not -o FILE or NAME=NUMBER\n", argv[i]);
            return 2;
        }
    }
    puts("run\toperations\treads\thits_before\thits_model\tmoved\tlost_first\tloads_before"
         "\tloads_peak\tloads_rollout\tloads_extra\tstale\tcommands_per_operation\tnew_at_end\tnew_"
         "most");
    if (samples != NULL) {
        print_samples_header(samples);
    }
    for (size_t run = 0; run < SIM_RUNS; run++) {
        sim_result_t result;
        sim_run(&result, run, &options);
        print_result(&result);
        fflush(stdout);
        if (samples != NULL) {
            print_samples(samples, &result);
        }
        sim_result_free(&result);
    }
    if (samples != NULL && fclose(samples) != 0) {
        fprintf(stderr, "fleet-sim: cannot write the samples: %s\n", strerror(errno));
        return 1;
    }
    return 0;
}
