/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring balance: each server's share against its weight.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warmring/plan.h>

#include "command.h"
#include "report.h"
#include "servers.h"

enum { SERVERS, DIALECT, POINTS, HASH, MAX_POINTS, JSON };

static const option_t options[] = {
    [SERVERS] = {"--servers", "FILE", "the servers, one server string a line"},
    [DIALECT] = {"--dialect", "D", "how points are made (v2)"},
    [POINTS] = {"--points", "P", "points per weight unit (1000)"},
    [HASH] = {"--hash", "H", "how keys are hashed (the dialect's way)"},
    [MAX_POINTS] = {"--max-points", "N", "the most points a ring may have (16000000)"},
    [JSON] = {"--json", NULL, "print JSON"},
    {0},
};

typedef struct {
    const char *label;
    double weight;
    double wanted; /* shares of all keys */
    double share;
} row_t;

/* Share over wanted share; 1 for a drained server. */
static double ratio_of(const row_t *row) {
    return row->weight > 0 ? row->share / row->wanted : 1;
}

/* The farthest from what its weight says comes first. A server that should
 * have nothing and has something is worse than any other. */
static double badness(const row_t *row) {
    return row->weight > 0 ? fabs(ratio_of(row) - 1) : row->share > 0 ? INFINITY : -1;
}

static int by_badness(const void *a, const void *b) {
    const row_t *left = a, *right = b;
    double x = badness(left), y = badness(right);
    return x < y ? 1 : x > y ? -1 : strcmp(left->label, right->label);
}

static void fill_rows(row_t *rows, const warmring_topology_t *topology, size_t count) {
    double largest = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, weight_of(topology, i));
    }
    for (size_t i = 0; i < count; i++) {
        sum += weight_of(topology, i) / largest;
    }
    for (size_t i = 0; i < count; i++) {
        double weight = weight_of(topology, i);
        rows[i] = (row_t){.label = label_of(topology, i),
                          .weight = weight,
                          .wanted = weight / largest / sum,
                          .share = warmring_ring_share(ring_of(topology), (uint32_t)i)};
    }
    qsort(rows, count, sizeof *rows, by_badness);
}

static int print_text(const row_t *rows, size_t count, const warmring_ring_t *ring,
                      const warmring_plan_balance_t *balance) {
    text_t weight, wanted, share, measured, theory;
    int width = 6, weights = 10;
    for (size_t i = 0; i < count; i++) {
        width = wider(width, rows[i].label);
        weights = wider(weights, number(&weight, rows[i].weight));
    }
    printf("%-*s  %*s  %10s  %10s  %11s\n", width, "server", weights, "weight", "wanted", "share",
           "share/wanted");
    for (size_t i = 0; i < count; i++) {
        printf("%-*s  %*s  %10s  %10s  ", width, rows[i].label, weights,
               number(&weight, rows[i].weight), percent(&wanted, rows[i].wanted),
               percent(&share, rows[i].share));
        if (rows[i].weight > 0) {
            printf("%12.4f\n", ratio_of(&rows[i]));
        } else {
            printf("%12s\n", "drained");
        }
    }
    printf("\n%zu servers, dialect %s, %llu points: CV %s", count, warmring_ring_dialect(ring),
           (unsigned long long)warmring_ring_points(ring), percent(&measured, balance->cv));
    if (balance->cv_theory > 0) {
        printf(" (%s in theory)", percent(&theory, balance->cv_theory));
    }
    printf(", max/mean %.3f\nNext: `warmring plan` tells how many points a better balance takes.\n",
           balance->max_over_mean);
    return ENDED_WELL;
}

static int print_as_json(const row_t *rows, size_t count, const warmring_ring_t *ring,
                         const warmring_plan_balance_t *balance) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const row_t *row = &rows[i];
        json_add(&list, json_pack("{s:o, s:o, s:f, s:f, s:o}", "server", json_text(row->label),
                                  "weight", json_number(row->weight), "wanted", row->wanted,
                                  "share", row->share, "share_over_wanted",
                                  row->weight > 0 ? json_number(ratio_of(row)) : json_null()));
    }
    return print_json(
        json_pack("{s:s, s:I, s:o, s:o, s:o, s:I, s:o}", "dialect", warmring_ring_dialect(ring),
                  "points", (json_int_t)warmring_ring_points(ring), "cv_theory",
                  json_number(balance->cv_theory), "cv_measured", json_number(balance->cv),
                  "max_over_mean", json_number(balance->max_over_mean), "bytes",
                  (json_int_t)warmring_ring_bytes(ring), "servers", list));
}

static int show(const warmring_topology_t *topology, bool as_json) {
    const warmring_ring_t *ring = ring_of(topology);
    size_t count = warmring_ring_servers(ring);
    warmring_plan_balance_t balance = {.size = sizeof balance};
    row_t *rows = calloc(count, sizeof *rows);
    if (rows == NULL) {
        return fail("out of memory");
    }
    int result = FAILED;
    if (warmring_plan_balance(ring, &balance) != WARMRING_OK) {
        result = fail("%s", warmring_error_detail());
    } else {
        fill_rows(rows, topology, count);
        result = as_json ? print_as_json(rows, count, ring, &balance)
                         : print_text(rows, count, ring, &balance);
    }
    free(rows);
    return result;
}

static int run(const char *const *values, const char *const *operands) {
    (void)operands;
    warmring_topology_t *topology;
    ring_choice_t choice = {.dialect_option = "--dialect",
                            .dialect = values[DIALECT],
                            .points_option = "--points",
                            .points = values[POINTS],
                            .hash = values[HASH],
                            .max_points = values[MAX_POINTS]};
    int result = servers_load(values[SERVERS], &choice, &topology);
    if (result == ENDED_WELL) {
        result = show(topology, values[JSON] != NULL);
    }
    warmring_topology_release(topology);
    return result;
}

const command_t balance_command = {
    .name = "balance",
    .summary = "each server's share against its weight, worst first",
    .options = options,
    .needed = SERVERS + 1,
    .text = "Shares are exact parts of the hash space, counted and not sampled. The server\n"
            "farthest from what its weight says comes first. FILE may be -, standard input.\n",
    .run = run,
};
