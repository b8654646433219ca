/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring plan: how many points for a balance.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warmring/plan.h>

#include "candidates.h"
#include "command.h"
#include "plot.h"
#include "report.h"

enum { SERVERS, TARGET, POINTS, JSON, SVG };

static const option_t options[] = {
    [SERVERS] = {"--servers", "FILE", "the servers, one server string a line"},
    [TARGET] = {"--target", "SHARE", "the CV to reach, as 5% or 0.05 (5%)"},
    [POINTS] = {"--points", "P", "look at P points per weight unit too"},
    [JSON] = {"--json", NULL, "print JSON"},
    [SVG] = {"--svg", "FILE", "draw CV and memory over points into FILE"},
    {0},
};

enum { MOST_WARNINGS = 6, WARNING = 640 };

/* Rings above the library's default are built only when asked for by --points.
 * Above this share of lost points the measured CV is what counts. */
static const double notable_collisions = 0.001;

typedef struct {
    candidates_t candidates;
    double target;
    double asked;       /* by --points; 0: none */
    double recommended; /* 0: none meets the target */
    char reason[200];
    char warnings[MOST_WARNINGS][WARNING];
    size_t warning_count;
} plan_t;

__attribute__((format(printf, 2, 3))) static void add_warning(plan_t *plan, const char *format,
                                                              ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(plan->warnings[plan->warning_count++], WARNING, format, arguments);
    va_end(arguments);
}

/* ---- planning ---- */

static void recommend_asked(plan_t *plan, double enough) {
    text_t cv, target, points;
    plan->recommended = plan->asked;
    int length = snprintf(plan->reason, sizeof plan->reason,
                          "it is what --points asks for; its CV by theory is %s",
                          percent(&cv, candidates_cv(&plan->candidates, plan->asked)));
    if (enough > 0) {
        snprintf(plan->reason + length, sizeof plan->reason - (size_t)length,
                 ", and %s would take %s", plain_percent(&target, plan->target),
                 number(&points, enough));
    }
}

/* `chosen` tells whether the target was given. */
static void recommend(plan_t *plan, bool chosen) {
    text_t cv, target;
    double enough;
    const servers_t *servers = plan->candidates.servers;
    warmring_status_t status = warmring_plan_points_per_weight(
        plan->candidates.weights, servers->count, plan->target, &enough);
    if (plan->asked > 0 && !chosen) {
        recommend_asked(plan, enough);
        return;
    }
    if (status != WARMRING_OK) {
        add_warning(plan, "no ring meets the target: %s", warmring_error_detail());
        return;
    }
    plan->recommended = enough;
    snprintf(plan->reason, sizeof plan->reason,
             "the smallest whose CV by theory, %s, meets the target of %s%s",
             percent(&cv, candidates_cv(&plan->candidates, enough)),
             plain_percent(&target, plan->target), chosen ? "" : " (--target sets another one)");
}

static int measure_all(plan_t *plan) {
    int result = ENDED_WELL;
    candidate_t *asked = candidates_find(&plan->candidates, plan->asked);
    for (size_t i = 0; i < plan->candidates.count && result == ENDED_WELL; i++) {
        candidate_t *candidate = &plan->candidates.list[i];
        if (candidate == asked || candidate->points <= WARMRING_DEFAULT_MAX_POINTS) {
            result = candidate_measure(&plan->candidates, candidate);
        }
    }
    return result;
}

static void warn_of_size(plan_t *plan, const candidate_t *candidate) {
    text_t points, density, share;
    double lost = warmring_plan_collisions(candidate->points);
    number(&points, candidate->points);
    number(&density, candidate->points_per_weight);
    if (candidate->points > WARMRING_DEFAULT_MAX_POINTS) {
        add_warning(plan, "%s points per weight are %s points: clients have to raise max_points%s",
                    density.text, points.text,
                    candidate->measured ? "" : "; --points builds and measures that ring");
    }
    if (lost > notable_collisions * candidate->points) {
        add_warning(plan,
                    "%s of %s points meet others on one of the 2^32 places and are lost; the "
                    "theory ignores that, so go by the measured CV",
                    percent(&share, lost / candidate->points), points.text);
    }
}

static void warn_of_names(plan_t *plan) {
    const servers_t *servers = plan->candidates.servers;
    size_t unnamed = servers_unnamed(servers);
    if (unnamed > 0) {
        add_warning(
            plan,
            "%zu of %zu servers have no name, so a new address would move their keys; on a "
            "new ring write NAME=HOST:PORT (naming servers of a ring in use moves keys, too)",
            unnamed, servers->count);
    }
}

static int make_plan(plan_t *plan, bool chosen) {
    recommend(plan, chosen);
    candidates_add_usual(&plan->candidates);
    if (plan->asked > 0) {
        candidates_add(&plan->candidates, plan->asked);
    }
    if (plan->recommended > 0) {
        candidates_add(&plan->candidates, plan->recommended);
    }
    int result = measure_all(plan);
    for (size_t i = 0; i < plan->candidates.count && result == ENDED_WELL; i++) {
        warn_of_size(plan, &plan->candidates.list[i]);
    }
    warn_of_names(plan);
    return result;
}

/* ---- for people ---- */

static void print_row(const candidate_t *row, int width, bool recommended) {
    text_t density, points, theory, measured, memory;
    printf("%s %*s  %11s  %9s", recommended ? "->" : "  ", width,
           number(&density, row->points_per_weight), number(&points, row->points),
           percent(&theory, row->cv_theory));
    if (row->measured) {
        printf("  %11s  %8.3f  %9s  %9.1f\n", percent(&measured, row->cv_measured),
               row->max_over_mean, bytes(&memory, row->bytes), row->build_ms);
    } else {
        printf("  %11s  %8s  %9s  %9s\n", "-", "-", "-", "-");
    }
}

static void print_table(const plan_t *plan, const candidate_t *chosen) {
    text_t density;
    int width = 10;
    for (size_t i = 0; i < plan->candidates.count; i++) {
        width = wider(width, number(&density, plan->candidates.list[i].points_per_weight));
    }
    printf("   %*s  %11s  %9s  %11s  %8s  %9s  %9s\n", width, "points per", "", "CV by", "CV",
           "max/", "", "build");
    printf("   %*s  %11s  %9s  %11s  %8s  %9s  %9s\n", width, "weight", "points", "theory",
           "measured", "mean", "memory", "ms");
    for (size_t i = 0; i < plan->candidates.count; i++) {
        print_row(&plan->candidates.list[i], width, chosen == &plan->candidates.list[i]);
    }
}

static void print_text(plan_t *plan) {
    text_t weight, density;
    const candidate_t *chosen = candidates_find(&plan->candidates, plan->recommended);
    printf("%zu servers, weights add up to %s, dialect v2\n\n", plan->candidates.servers->count,
           number(&weight, plan->candidates.weight));
    print_table(plan, chosen);
    putchar('\n');
    if (chosen != NULL) {
        number(&density, plan->recommended);
        printf("Recommended: %s points per weight: %s.\n", density.text, plan->reason);
        printf(
            "Next: set points_per_weight to %s in every client of a new ring. For a ring in use,\n"
            "`warmring diff` tells what the change would move.\n",
            density.text);
    }
    for (size_t i = 0; i < plan->warning_count; i++) {
        printf("Warning: %s.\n", plan->warnings[i]);
    }
}

/* ---- for programs ---- */

static json_t *when(bool known, double value) {
    return known ? json_number(value) : json_null();
}

static json_t *json_row(const candidate_t *row) {
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "points_per_weight",
        json_number(row->points_per_weight), "points", json_number(row->points), "cv_theory",
        json_number(row->cv_theory), "cv_measured", when(row->measured, row->cv_measured),
        "max_over_mean", when(row->measured, row->max_over_mean), "bytes",
        when(row->measured, row->bytes), "build_ms", when(row->measured, row->build_ms),
        "collisions", when(row->measured, row->collisions));
}

/* The recommendation's keys stand in the object itself as well, so that
 * `.points_per_weight` is the answer. */
static int print_as_json(plan_t *plan) {
    const candidate_t *chosen = candidates_find(&plan->candidates, plan->recommended);
    json_t *rows = json_array(), *warnings = json_array();
    for (size_t i = 0; i < plan->candidates.count; i++) {
        json_add(&rows, json_row(&plan->candidates.list[i]));
    }
    for (size_t i = 0; i < plan->warning_count; i++) {
        json_add(&warnings, json_text(plan->warnings[i]));
    }
    json_t *all = chosen != NULL ? json_row(chosen) : json_object();
    json_t *recommendation = chosen != NULL ? json_row(chosen) : json_null();
    if (chosen != NULL) {
        json_object_set_new(recommendation, "reason", json_string(plan->reason));
    }
    json_t *rest = json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o}", "servers", (json_int_t)plan->candidates.servers->count,
        "weight", json_number(plan->candidates.weight), "target", json_number(plan->target),
        "recommendation", recommendation, "candidates", rows, "warnings", warnings);
    if (all == NULL || rest == NULL || json_object_update(all, rest) != 0) {
        json_decref(all);
        all = NULL;
    }
    json_decref(rest);
    return print_json(all);
}

/* ---- */

static int show(plan_t *plan, const char *const *values) {
    int result = ENDED_WELL;
    if (values[SVG] != NULL) {
        result = plot_plan(values[SVG], &plan->candidates,
                           candidates_find(&plan->candidates, plan->recommended), plan->target);
    }
    if (values[JSON] != NULL) {
        int printed = print_as_json(plan);
        result = result == ENDED_WELL ? printed : result;
    } else {
        print_text(plan);
    }
    if (result == ENDED_WELL && plan->recommended <= 0) {
        result = fail("%s", plan->warnings[0]);
    }
    return result;
}

static int run(const char *const *values, const char *const *operands) {
    (void)operands;
    servers_t servers;
    plan_t plan = {.target = 0.05};
    int result = read_share("--target", values[TARGET], &plan.target);
    if (result == ENDED_WELL) {
        result = read_positive("--points", values[POINTS], &plan.asked);
    }
    if (result != ENDED_WELL) {
        return result;
    }
    result = servers_read(&servers, values[SERVERS]);
    if (result == ENDED_WELL) {
        result = candidates_create(&plan.candidates, &servers);
    }
    if (result == ENDED_WELL) {
        result = make_plan(&plan, values[TARGET] != NULL);
    }
    if (result == ENDED_WELL) {
        result = show(&plan, values);
    }
    candidates_free(&plan.candidates);
    servers_free(&servers);
    return result;
}

const command_t plan_command = {
    .name = "plan",
    .summary = "how many points a balance takes",
    .options = options,
    .needed = SERVERS + 1,
    .text = "Prints a table of densities and one recommendation: with --target the smallest\n"
            "points per weight whose CV by theory meets it, with --points alone that number.\n"
            "CV is the standard deviation of share over wanted share. Rings up to 4,000,000\n"
            "points are built and measured, and those of --points and of the recommendation\n"
            "(the latter up to 16,000,000). FILE may be -, standard input. Ends with 1 when no\n"
            "ring of 32-bit hashes meets the target.\n",
    .run = run,
};
