/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of a plan, by hand: three logarithmic axes, the CV on the left,
 * memory on the right, points per weight below.
 */
#include "plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

enum { WIDTH = 800, HEIGHT = 480, LEFT = 72, RIGHT = 710, TOP = 64, BOTTOM = 410, STEPS = 160 };

static const char cv_color[] = "#1f5fa8", memory_color[] = "#b35c00", mark_color[] = "#1a7a3a";

/* From a logarithmic range to pixels. */
typedef struct {
    double low, high;
    double start, end;
} axis_t;

typedef struct {
    FILE *out;
    const candidates_t *candidates;
    axis_t x, cv, memory;
} plot_t;

static double place(const axis_t *axis, double value) {
    double share = log(value / axis->low) / log(axis->high / axis->low);
    return axis->start + share * (axis->end - axis->start);
}

static bool is_on(const axis_t *axis, double value) {
    return value >= axis->low * 0.999 && value <= axis->high * 1.001;
}

static void widen(axis_t *axis, double value) {
    if (value > 0) {
        axis->low = axis->low > 0 ? fmin(axis->low, value) : value;
        axis->high = fmax(axis->high, value);
    }
}

/* Room at both ends, and for one value alone. */
static void loosen(axis_t *axis) {
    axis->low /= 1.25;
    axis->high *= 1.25;
}

static plot_t lay_out(FILE *out, const candidates_t *candidates, double target) {
    plot_t plot = {.out = out,
                   .candidates = candidates,
                   .x = {.start = LEFT, .end = RIGHT},
                   .cv = {.start = BOTTOM, .end = TOP},
                   .memory = {.start = BOTTOM, .end = TOP}};
    widen(&plot.cv, target);
    for (size_t i = 0; i < candidates->count; i++) {
        const candidate_t *row = &candidates->list[i];
        widen(&plot.x, row->points_per_weight);
        widen(&plot.cv, row->cv_theory);
        widen(&plot.cv, row->cv_measured);
        widen(&plot.memory, row->bytes);
    }
    loosen(&plot.x);
    loosen(&plot.cv);
    loosen(&plot.memory);
    return plot;
}

/* ---- axes ---- */

static void line(const plot_t *plot, double x1, double y1, double x2, double y2,
                 const char *style) {
    fprintf(plot->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2,
            y2, style);
}

static void text(const plot_t *plot, double x, double y, const char *anchor, const char *color,
                 const char *content) {
    fprintf(plot->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", x,
            y, anchor, color, content);
}

/* The 1, 2 and 5 of every decade on the axis; `first` to `next` with 0. */
static double next_tick(const axis_t *axis, double tick) {
    static const double digits[] = {1, 2, 5};
    double decade = pow(10, floor(log10(axis->low)));
    for (; decade <= axis->high; decade *= 10) {
        for (size_t i = 0; i < 3; i++) {
            double value = digits[i] * decade;
            if (value > tick * 1.0001 && value >= axis->low) {
                return value <= axis->high ? value : 0;
            }
        }
    }
    return 0;
}

/* Labels are left out where they would stand on each other. */
static void draw_grid(const plot_t *plot) {
    static const char grid[] = "stroke=\"#dddddd\"";
    text_t label;
    double free_from = 0;
    for (double tick = next_tick(&plot->x, 0); tick > 0; tick = next_tick(&plot->x, tick)) {
        double x = place(&plot->x, tick);
        line(plot, x, TOP, x, BOTTOM, grid);
        if (x >= free_from) {
            text(plot, x, BOTTOM + 18, "middle", "#333333", number(&label, tick));
            free_from = x + 14 + 7 * (double)strlen(label.text);
        }
    }
    for (double tick = next_tick(&plot->cv, 0); tick > 0; tick = next_tick(&plot->cv, tick)) {
        double y = place(&plot->cv, tick);
        line(plot, LEFT, y, RIGHT, y, grid);
        snprintf(label.text, sizeof label.text, "%.3g %%", 100 * tick);
        text(plot, LEFT - 8, y + 4, "end", cv_color, label.text);
    }
}

static void draw_memory_ticks(const plot_t *plot) {
    text_t label;
    double unit = 1;
    for (int power = 0; power < 15; power++) {
        double tick = unit * pow(10, power % 3);
        if (is_on(&plot->memory, tick)) {
            double y = place(&plot->memory, tick);
            line(plot, RIGHT, y, RIGHT + 6, y, "stroke=\"#b35c00\"");
            snprintf(label.text, sizeof label.text, "%.0f %s", pow(10, power % 3),
                     (const char *[]){"B", "KiB", "MiB", "GiB", "TiB"}[power / 3]);
            text(plot, RIGHT + 10, y + 4, "start", memory_color, label.text);
        }
        unit *= power % 3 == 2 ? 1024 : 1;
    }
}

static void draw_frame(const plot_t *plot) {
    fprintf(plot->out,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
            "stroke=\"#666666\"/>\n",
            LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP);
    text(plot, (LEFT + RIGHT) / 2.0, BOTTOM + 42, "middle", "#333333", "points per weight");
    text(plot, LEFT, TOP - 10, "start", cv_color, "CV: theory (line), measured (dots)");
    text(plot, RIGHT, TOP - 10, "end", memory_color, "memory (squares)");
}

/* ---- what is shown ---- */

static void draw_cv(const plot_t *plot) {
    double low = plot->candidates->list[0].points_per_weight;
    double high = plot->candidates->list[plot->candidates->count - 1].points_per_weight;
    fprintf(plot->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
            cv_color);
    for (int i = 0; i <= STEPS; i++) {
        double density = low * pow(high / low, (double)i / STEPS);
        density = low >= 1 ? round(density) : density; /* as people choose them */
        double cv = candidates_cv(plot->candidates, density);
        if (cv > 0) {
            fprintf(plot->out, "%.1f,%.1f ", place(&plot->x, density), place(&plot->cv, cv));
        }
    }
    fputs("\"/>\n", plot->out);
    for (size_t i = 0; i < plot->candidates->count; i++) {
        const candidate_t *row = &plot->candidates->list[i];
        if (row->measured && row->cv_measured > 0) {
            fprintf(plot->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n",
                    place(&plot->x, row->points_per_weight), place(&plot->cv, row->cv_measured),
                    cv_color);
        }
    }
}

static void draw_memory(const plot_t *plot) {
    fprintf(plot->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"",
            memory_color);
    for (size_t i = 0; i < plot->candidates->count; i++) {
        const candidate_t *row = &plot->candidates->list[i];
        if (row->measured) {
            fprintf(plot->out, "%.1f,%.1f ", place(&plot->x, row->points_per_weight),
                    place(&plot->memory, row->bytes));
        }
    }
    fputs("\"/>\n", plot->out);
    for (size_t i = 0; i < plot->candidates->count; i++) {
        const candidate_t *row = &plot->candidates->list[i];
        if (row->measured) {
            fprintf(plot->out,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"7\" height=\"7\" fill=\"%s\"/>\n",
                    place(&plot->x, row->points_per_weight) - 3.5,
                    place(&plot->memory, row->bytes) - 3.5, memory_color);
        }
    }
}

static void draw_target(const plot_t *plot, double target) {
    text_t share;
    char label[80];
    double y = place(&plot->cv, target);
    line(plot, LEFT, y, RIGHT, y, "stroke=\"#1f5fa8\" stroke-dasharray=\"2 4\"");
    snprintf(label, sizeof label, "target %s", plain_percent(&share, target));
    text(plot, LEFT + 6, y - 5, "start", cv_color, label);
}

static void draw_chosen(const plot_t *plot, const candidate_t *chosen) {
    text_t density, cv, memory;
    char label[160];
    double x = place(&plot->x, chosen->points_per_weight);
    bool at_left = x < (LEFT + RIGHT) / 2.0;
    line(plot, x, TOP, x, BOTTOM,
         "stroke=\"#1a7a3a\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"");
    snprintf(label, sizeof label, "recommended: %s", number(&density, chosen->points_per_weight));
    text(plot, at_left ? x + 8 : x - 8, TOP + 18, at_left ? "start" : "end", mark_color, label);
    snprintf(label, sizeof label, "CV %s%s%s", percent(&cv, chosen->cv_theory),
             chosen->measured ? ", " : "", chosen->measured ? bytes(&memory, chosen->bytes) : "");
    text(plot, at_left ? x + 8 : x - 8, TOP + 35, at_left ? "start" : "end", mark_color, label);
}

static void draw(const plot_t *plot, const candidate_t *chosen, double target) {
    text_t weight;
    fprintf(plot->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n"
            "<text x=\"%d\" y=\"26\" font-size=\"17\" fill=\"#111111\">Balance and memory of a "
            "ring of %zu servers, weights %s in all</text>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT, plot->candidates->servers->count,
            number(&weight, plot->candidates->weight));
    draw_grid(plot);
    draw_memory_ticks(plot);
    draw_memory(plot);
    draw_cv(plot);
    draw_target(plot, target);
    if (chosen != NULL) {
        draw_chosen(plot, chosen);
    }
    draw_frame(plot);
    fputs("</svg>\n", plot->out);
}

int plot_plan(const char *file, const candidates_t *candidates, const candidate_t *chosen,
              double target) {
    FILE *out = fopen(file, "we");
    if (out == NULL) {
        return fail("--svg %s: %s", file, strerror(errno));
    }
    plot_t plot = lay_out(out, candidates, target);
    draw(&plot, chosen, target);
    bool lost = ferror(out) != 0;
    errno = 0;
    lost = fclose(out) != 0 || lost;
    return lost ? fail("--svg %s: cannot write: %s", file, strerror(errno)) : ENDED_WELL;
}
