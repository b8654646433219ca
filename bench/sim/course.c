/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is published to a fleet, and when: the topologies of a cold flip, of a
 * rollout by key and of a rollout by site, as the library makes them.
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* ---- the moves ------------------------------------------------------------------- */

typedef enum { END, STAY, FLIP, BEGIN, STEP, BY_KEY, BY_SITE } kind_t;

typedef struct {
    kind_t kind;
    uint32_t argument;
    uint32_t holds; /* how long what it publishes is the newest */
} move_t;

enum { ALL = WARMRING_ROLLOUT_ALL };

static const move_t moves[SIM_RUNS][SIM_VERSIONS] = {
    {{STAY, 0, 3}, {FLIP, 0, 45}},
    {{STAY, 0, 3},
     {BEGIN, 0, 2},
     {STEP, WARMRING_WARM, 0}, /* and its first stage at once */
     {BY_KEY, 500, 3},
     {BY_KEY, 2500, 3},
     {BY_KEY, 5000, 3},
     {BY_KEY, 7500, 3},
     {BY_KEY, ALL, 3},
     {STEP, WARMRING_COMMIT, 1},
     {STEP, WARMRING_COMMIT, 17},
     {STEP, WARMRING_FINISH, 2},
     {STEP, WARMRING_FINISH, 8}},
    {{STAY, 0, 3},
     {BEGIN, 0, 2},
     {STEP, WARMRING_WARM, 0},
     {BY_SITE, 0, 4},
     {BY_SITE, 1, 4},
     {BY_SITE, 2, 4},
     {BY_SITE, 3, 3},
     {STEP, WARMRING_COMMIT, 1},
     {STEP, WARMRING_COMMIT, 17},
     {STEP, WARMRING_FINISH, 2},
     {STEP, WARMRING_FINISH, 8}},
};

const char *const sim_run_names[SIM_RUNS] = {"cold", "key", "site"};

/* The shortest time in which every client has adopted a change and ended what
 * it had begun before: as a fleet's holds, for calls of one second. */
uint64_t sim_hold(const sim_options_t *options) {
    return (options->lag_s + 2) * options->rate;
}

/* ---- topologies ------------------------------------------------------------------- */

static warmring_topology_t *make_topology(const sim_options_t *options, uint64_t servers) {
    enum { LINE = 40 };
    char *text = sim_allocate(servers + 1, LINE);
    size_t used = 0;
    for (uint64_t i = 0; i < servers; i++) {
        used += (size_t)snprintf(text + used, LINE, "cache%05u=10.%u.%u.%u\n", (unsigned)i,
                                 (unsigned)(i >> 16 & 255), (unsigned)(i >> 8 & 255),
                                 (unsigned)(i & 255));
    }
    warmring_topology_t *topology;
    if (warmring_topology_parse(&topology, text, NULL, (double)options->points_per_weight) !=
        WARMRING_OK) {
        sim_give_up("servers");
    }
    free(text);
    return topology;
}

static void site_name(char *name, size_t site) {
    snprintf(name, SIM_PLACE_SIZE, "site-%zu", site);
}

/* What follows `present` by a move. */
static warmring_topology_t *next_topology(const warmring_topology_t *present,
                                          const warmring_topology_t *target, const move_t *move) {
    char site[SIM_PLACE_SIZE];
    warmring_topology_t *next = NULL;
    warmring_status_t status = WARMRING_OK;
    site_name(site, move->argument);
    switch (move->kind) {
    case FLIP:
        status = warmring_topology_replace(present, target, &next);
        break;
    case BEGIN:
        status = warmring_topology_migrate(present, target, &next);
        break;
    case STEP:
        status = warmring_topology_step(present, (warmring_step_t)move->argument, &next);
        break;
    case BY_KEY:
        status = warmring_topology_rollout(present, NULL, move->argument, &next);
        break;
    case BY_SITE:
        status = warmring_topology_rollout(present, site, ALL, &next);
        break;
    default:
        next = warmring_topology_retain(present);
    }
    if (status != WARMRING_OK) {
        sim_give_up("a move");
    }
    return next;
}

static void describe(sim_version_t *version, const move_t *move) {
    warmring_phase_t phase = warmring_topology_phase(version->topology);
    snprintf(version->phase, sizeof version->phase, "%s",
             move->kind == FLIP ? "flipped" : warmring_phase_name(phase));
    snprintf(version->stage, sizeof version->stage, "-");
    if (phase == WARMRING_WARMING && move->kind == BY_SITE) {
        snprintf(version->stage, sizeof version->stage, "%u site%s", (unsigned)move->argument + 1,
                 move->argument > 0 ? "s" : "");
    } else if (phase == WARMRING_WARMING) {
        snprintf(version->stage, sizeof version->stage, "%u %%", (unsigned)move->argument / 100);
    }
    for (size_t site = 0; site < SIM_SITES; site++) {
        char name[SIM_PLACE_SIZE];
        site_name(name, site);
        version->rollout[site] = warmring_topology_get_rollout(version->topology, name);
    }
}

static double moved_between(const warmring_topology_t *from, const warmring_topology_t *to) {
    warmring_preview_t *preview;
    if (warmring_topology_preview(from, to, &preview) != WARMRING_OK) {
        sim_give_up("preview");
    }
    double moved = warmring_preview_moved(preview);
    warmring_preview_free(preview);
    return moved;
}

void sim_course_make(sim_course_t *course, size_t run, const sim_options_t *options) {
    warmring_topology_t *present = make_topology(options, options->servers);
    warmring_topology_t *target = make_topology(options, options->servers + options->added);
    *course = (sim_course_t){.name = sim_run_names[run], .moved = moved_between(present, target)};
    for (const move_t *move = moves[run]; move->kind != END; move++) {
        sim_version_t *version = &course->versions[course->count++];
        warmring_topology_t *next = next_topology(present, target, move);
        warmring_topology_release(present);
        present = next;
        version->topology = warmring_topology_retain(next);
        version->from = course->end;
        describe(version, move);
        course->end += move->holds * sim_hold(options);
    }
    warmring_topology_release(target);
    warmring_topology_release(present);
}

void sim_course_free(sim_course_t *course) {
    for (size_t i = 0; i < course->count; i++) {
        warmring_topology_release(course->versions[i].topology);
    }
}
