/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring diff: what a change of ring would move.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warmring/plan.h>

#include "command.h"
#include "report.h"
#include "servers.h"

enum { DEFAULT_FLOWS = 10, MOST_FLOWS = 1000000 };

enum {
    FROM,
    TO,
    FROM_DIALECT,
    TO_DIALECT,
    FROM_POINTS,
    TO_POINTS,
    FROM_HASH,
    TO_HASH,
    MAX_POINTS,
    FLOWS,
    JSON
};

static const option_t options[] = {
    [FROM] = {"--from", "FILE", "the servers now, one server string a line"},
    [TO] = {"--to", "FILE", "the servers to be"},
    [FROM_DIALECT] = {"--from-dialect", "D", "the dialect now (v2)"},
    [TO_DIALECT] = {"--to-dialect", "D", "the dialect to be (v2)"},
    [FROM_POINTS] = {"--from-points", "P", "points per weight unit now (1000)"},
    [TO_POINTS] = {"--to-points", "P", "points per weight unit to be (1000)"},
    [FROM_HASH] = {"--from-hash", "H", "how keys are hashed now (the dialect's way)"},
    [TO_HASH] = {"--to-hash", "H", "how keys will be hashed (the dialect's way)"},
    [MAX_POINTS] = {"--max-points", "N", "the most points a ring may have (16000000)"},
    [FLOWS] = {"--flows", "N", "how many of the largest flows to show (10)"},
    [JSON] = {"--json", NULL, "print JSON"},
    {0},
};

/* Hit ratios before the change that its cost is told for. */
static const double hit_ratios[] = {0.9, 0.95, 0.99};
enum { HIT_RATIOS = sizeof hit_ratios / sizeof hit_ratios[0] };

typedef struct {
    warmring_topology_t *from, *to;
    double moved;
    double least; /* that any ring has to move for these shares */
    warmring_plan_flow_t *flows;
    size_t count;
} diff_t;

/* How much more the origin gets when the keys that move start as misses. */
static double load_factor(double hit_ratio, double moved) {
    return (1 - hit_ratio * (1 - moved)) / (1 - hit_ratio);
}

static int measure_least(diff_t *diff) {
    warmring_preview_t *preview;
    if (warmring_topology_preview(diff->from, diff->to, &preview) != WARMRING_OK) {
        return fail("%s", warmring_error_detail());
    }
    for (size_t i = 0; i < warmring_preview_servers(preview); i++) {
        warmring_preview_server_t server = {.size = sizeof server};
        if (warmring_preview_server(preview, i, &server) == WARMRING_OK) {
            diff->least += fmax(0, server.share_after - server.share_before);
        }
    }
    warmring_preview_free(preview);
    return ENDED_WELL;
}

static int measure(diff_t *diff, size_t capacity) {
    const warmring_ring_t *from = ring_of(diff->from), *to = ring_of(diff->to);
    diff->flows = calloc(capacity + 1, sizeof *diff->flows);
    if (diff->flows == NULL) {
        return fail("out of memory: %zu flows", capacity);
    }
    if (warmring_plan_moved(from, to, &diff->moved) != WARMRING_OK ||
        warmring_plan_largest_flows(from, to, diff->flows, capacity, &diff->count) != WARMRING_OK) {
        return fail("%s", warmring_error_detail());
    }
    return measure_least(diff);
}

/* ---- names ---- */

/* A server's label, and its address too where the other one has its name. */
typedef struct {
    char text[WARMRING_SERVER_STRINGS + 32];
} label_t;

static const char *label(label_t *label, const warmring_topology_t *topology, uint32_t index,
                         const char *other) {
    const warmring_server_t *server = warmring_topology_server(topology, WARMRING_OLD_RING, index);
    const char *name = label_of(topology, index);
    unsigned port = server->port != 0 ? server->port : WARMRING_DEFAULT_PORT;
    if (strcmp(name, other) != 0) {
        snprintf(label->text, sizeof label->text, "%s", name);
    } else if (server->host[0] == '/') {
        snprintf(label->text, sizeof label->text, "%s (unix:%s)", name, server->host);
    } else {
        bool v6 = strchr(server->host, ':') != NULL;
        snprintf(label->text, sizeof label->text, "%s (%s%s%s:%u)", name, v6 ? "[" : "",
                 server->host, v6 ? "]" : "", port);
    }
    return label->text;
}

static const char *label_from(label_t *text, const diff_t *diff, size_t flow) {
    const warmring_plan_flow_t *it = &diff->flows[flow];
    return label(text, diff->from, it->from, label_of(diff->to, it->to));
}

static const char *label_to(label_t *text, const diff_t *diff, size_t flow) {
    const warmring_plan_flow_t *it = &diff->flows[flow];
    return label(text, diff->to, it->to, label_of(diff->from, it->from));
}

/* ---- for people ---- */

static void print_ring(const char *side, const warmring_topology_t *topology) {
    const warmring_ring_t *ring = ring_of(topology);
    printf("%-6s%zu servers, dialect %s, %llu points\n", side, warmring_ring_servers(ring),
           warmring_ring_dialect(ring), (unsigned long long)warmring_ring_points(ring));
}

static int widest(const diff_t *diff, const char *(*of)(label_t *, const diff_t *, size_t)) {
    int width = 4;
    label_t text;
    for (size_t i = 0; i < diff->count; i++) {
        width = wider(width, of(&text, diff, i));
    }
    return width;
}

static void print_flows(const diff_t *diff) {
    int from_width = widest(diff, label_from), to_width = widest(diff, label_to);
    printf("\nLargest flows:\n  %-*s  %-*s  %12s\n", from_width, "from", to_width, "to",
           "of all keys");
    for (size_t i = 0; i < diff->count; i++) {
        label_t from, to;
        text_t share;
        printf("  %-*s  %-*s  %12s\n", from_width, label_from(&from, diff, i), to_width,
               label_to(&to, diff, i), percent(&share, diff->flows[i].part));
    }
}

static void print_cost(const diff_t *diff) {
    text_t before, after;
    puts("\nA cold flip (all clients at once, nothing warmed) makes the moved keys misses:\n"
         "  hits before   hits after   load on the origin");
    for (size_t i = 0; i < HIT_RATIOS; i++) {
        printf("  %11s   %10s   %16.1fx\n", plain_percent(&before, hit_ratios[i]),
               percent(&after, hit_ratios[i] * (1 - diff->moved)),
               load_factor(hit_ratios[i], diff->moved));
    }
    puts("\nNext: change over with a migration, which reads the old owner on a miss.");
}

static int print_text(const diff_t *diff) {
    text_t share;
    print_ring("from", diff->from);
    print_ring("to", diff->to);
    printf("\nmoved           %s of all keys\n", percent(&share, diff->moved));
    printf("least possible  %s (what growing shares take)\n", percent(&share, diff->least));
    if (diff->count > 0) {
        print_flows(diff);
    }
    if (diff->moved > 0) {
        print_cost(diff);
    } else {
        puts("\nNothing moves: the change can be made at once.");
    }
    return ENDED_WELL;
}

/* ---- for programs ---- */

static json_t *json_ring(const warmring_topology_t *topology) {
    const warmring_ring_t *ring = ring_of(topology);
    return json_pack("{s:I, s:s, s:I}", "servers", (json_int_t)warmring_ring_servers(ring),
                     "dialect", warmring_ring_dialect(ring), "points",
                     (json_int_t)warmring_ring_points(ring));
}

static json_t *json_flows(const diff_t *diff) {
    json_t *list = json_array();
    for (size_t i = 0; i < diff->count; i++) {
        label_t from, to;
        json_add(&list,
                 json_pack("{s:o, s:o, s:f}", "from", json_text(label_from(&from, diff, i)), "to",
                           json_text(label_to(&to, diff, i)), "share", diff->flows[i].part));
    }
    return list;
}

static json_t *json_cost(const diff_t *diff) {
    json_t *list = json_array();
    for (size_t i = 0; i < HIT_RATIOS; i++) {
        double hits = hit_ratios[i];
        json_add(&list, json_pack("{s:f, s:f, s:f}", "hit_ratio_before", hits, "hit_ratio_after",
                                  hits * (1 - diff->moved), "origin_load",
                                  load_factor(hits, diff->moved)));
    }
    return list;
}

static int print_as_json(const diff_t *diff) {
    return print_json(json_pack("{s:f, s:f, s:o, s:o, s:o, s:o}", "moved", diff->moved, "least",
                                diff->least, "from", json_ring(diff->from), "to",
                                json_ring(diff->to), "flows", json_flows(diff), "cold_flip",
                                json_cost(diff)));
}

static int load_both(diff_t *diff, const char *const *values) {
    ring_choice_t from = {.dialect_option = "--from-dialect",
                          .dialect = values[FROM_DIALECT],
                          .points_option = "--from-points",
                          .points = values[FROM_POINTS],
                          .hash = values[FROM_HASH],
                          .max_points = values[MAX_POINTS]};
    ring_choice_t to = {.dialect_option = "--to-dialect",
                        .dialect = values[TO_DIALECT],
                        .points_option = "--to-points",
                        .points = values[TO_POINTS],
                        .hash = values[TO_HASH],
                        .max_points = values[MAX_POINTS]};
    warmring_ring_options_t unused;
    int result = choose_ring(&to, &unused); /* before any work on the other */
    if (result == ENDED_WELL) {
        result = servers_load(values[FROM], &from, &diff->from);
    }
    return result == ENDED_WELL ? servers_load(values[TO], &to, &diff->to) : result;
}

static int run(const char *const *values, const char *const *operands) {
    (void)operands;
    diff_t diff = {0};
    double flows = DEFAULT_FLOWS;
    if (strcmp(values[FROM], "-") == 0 && strcmp(values[TO], "-") == 0) {
        return misuse("--from and --to cannot both be standard input");
    }
    int result = read_count("--flows", values[FLOWS], 0, MOST_FLOWS, &flows);
    if (result == ENDED_WELL) {
        result = load_both(&diff, values);
    }
    if (result == ENDED_WELL) {
        result = measure(&diff, (size_t)flows);
    }
    if (result == ENDED_WELL) {
        result = values[JSON] != NULL ? print_as_json(&diff) : print_text(&diff);
    }
    free(diff.flows);
    warmring_topology_release(diff.from);
    warmring_topology_release(diff.to);
    return result;
}

const command_t diff_command = {
    .name = "diff",
    .summary = "what moves between two rings",
    .options = options,
    .needed = TO + 1,
    .text = "Prints the exact share of all keys that change their server, the largest flows\n"
            "between servers, and what it would cost to change over cold. A FILE may be -,\n"
            "standard input.\n",
    .run = run,
};
