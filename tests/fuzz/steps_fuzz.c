/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes what an operator does to a topology, in any order: edits, a migration,
 * its steps and rollouts, previews.
 *
 * Beside it runs a model that knows the phases and their table. What the table
 * has succeeds and leads there, with the next epoch; what it has not is
 * ILLEGAL_STEP. Whatever fails leaves NULL and the value before as it was.
 *
 * An input: a byte for each command, and what that reads as its arguments.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <warmring/topology.h>

#include "pure_fuzz.h"
#include "topology/topology.h"

enum { MOST_COMMANDS = 40, MOST_POINTS = 2500, NOWHERE = -1 };

/* Where a migration stands: the topology, and the list it may go to. */
typedef struct {
    tape_t tape;
    warmring_topology_t *now, *target;
} run_t;

static const int table[][WARMRING_SETTLE + 1] = {
#define ROW(warm, commit, finish, rollback, directly, settle) \
    { warm, commit, finish, rollback, directly, settle }
#define NO NOWHERE
    [WARMRING_STABLE] = ROW(NO, NO, NO, NO, NO, NO),
    [WARMRING_PREPARED] = ROW(WARMRING_WARMING, NO, NO, WARMRING_STABLE, NO, NO),
    [WARMRING_WARMING] = ROW(NO, WARMRING_HANDOVER, NO, WARMRING_PREPARED, WARMRING_DRAINING, NO),
    [WARMRING_HANDOVER] = ROW(NO, WARMRING_DRAINING, NO, WARMRING_PREPARED, NO, NO),
    [WARMRING_DRAINING] = ROW(NO, NO, WARMRING_CLOSING, WARMRING_HANDOVER, NO, NO),
    [WARMRING_CLOSING] = ROW(NO, NO, WARMRING_SETTLING, WARMRING_HANDOVER, NO, NO),
    [WARMRING_SETTLING] = ROW(NO, NO, WARMRING_STABLE, NO, NO, WARMRING_STABLE),
#undef ROW
#undef NO
};

static const char *const texts[] = {
    "a:1",           "b:1:2",   "c=a:2:3", "d=unix:/d:1.5", "[::1]:4", "c=x",     "e:1:0",
    "a:1:9",         "bad:0",   "",        "f:1:0.01",      "g=b:1",   "h:1:400", "--SERVER=i/?2",
    "two:1,three:1", "j:99999",
};

static const char *pick_text(run_t *run) {
    return texts[tape_pick(&run->tape, sizeof texts / sizeof texts[0])];
}

/* A server's label, sometimes one that nobody has. */
static const char *pick_label(run_t *run) {
    uint8_t choice = tape_byte(&run->tape);
    const char *label = warmring_topology_label(run->now, WARMRING_OLD_RING, choice % 8u);
    return label != NULL ? label : texts[choice % 4u];
}

/* ---- what must hold ---------------------------------------------------------- */

static void check_routes(const warmring_topology_t *topology) {
    warmring_phase_t phase = warmring_topology_phase(topology);
    uint32_t endpoints = wr_topology_endpoints(topology);
    for (uint32_t i = 0; i < 12; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%u", i * 40503u);
        wr_place_t place = {key, strlen(key), 0};
        int moved = warmring_topology_moved(topology, key, strlen(key));
        must(!moved || phase != WARMRING_STABLE);
        for (int kind = 0; kind < WR_KINDS; kind++) {
            wr_route_t route = wr_route(topology, &place, (wr_kind_t)kind, 5000);
            must(route.moved == (moved != 0) && route.owner[0] < endpoints);
            must(route.steps->step[0].action != WR_STEP_NONE);
            must(!moved || (route.owner[1] < endpoints && route.owner[0] != route.owner[1]));
        }
    }
}

static void check(const warmring_topology_t *topology) {
    warmring_phase_t phase = warmring_topology_phase(topology);
    int stable = phase == WARMRING_STABLE;
    uint32_t rollout = warmring_topology_get_rollout(topology, "rome");
    must((warmring_topology_ring(topology, WARMRING_NEW_RING) == NULL) == stable);
    must((warmring_topology_server(topology, WARMRING_NEW_RING, 0) == NULL) == stable);
    must(phase != WARMRING_PREPARED || rollout == 0);
    must(phase < WARMRING_HANDOVER || rollout == WARMRING_ROLLOUT_ALL);
    must(rollout <= WARMRING_ROLLOUT_ALL);
    check_routes(topology);
}

static void refused(const warmring_topology_t *next, warmring_status_t status) {
    must(next == NULL && warmring_error_detail()[0] != '\0');
    must(status == WARMRING_BAD_SERVER || status == WARMRING_BAD_ARGUMENT ||
         status == WARMRING_LIMIT_EXCEEDED || status == WARMRING_ILLEGAL_STEP);
}

/* Goes on with what a command gave, or stays. */
static void adopt(run_t *run, warmring_topology_t *next, warmring_status_t status,
                  warmring_phase_t phase) {
    if (status != WARMRING_OK) {
        refused(next, status);
        return;
    }
    must(warmring_topology_phase(next) == phase);
    must(warmring_topology_epoch(next) == warmring_topology_epoch(run->now) + 1);
    must(wr_topology_same_migration(run->now, next) ==
         (warmring_topology_phase(run->now) != WARMRING_STABLE && phase != WARMRING_STABLE));
    check(next);
    warmring_topology_release(run->now);
    run->now = next;
}

/* ---- commands ---------------------------------------------------------------- */

static warmring_status_t one_edit(run_t *run, size_t which, warmring_topology_t **next) {
    static const double weights[] = {0, 1, 2.5, 9, 1e-9, -1, 1e9, (double)NAN};
    const char *label = pick_label(run);
    switch (which) {
    case 0:
        return warmring_topology_set_weight(run->now, label, weights[tape_pick(&run->tape, 8)],
                                            next);
    case 1:
        return warmring_topology_add_server(run->now, pick_text(run), next);
    case 2:
        return warmring_topology_remove_server(run->now, label, next);
    case 3:
        return warmring_topology_set_address(run->now, label, pick_text(run), next);
    default:
        return warmring_topology_replace(run->now, run->target, next);
    }
}

static void edit(run_t *run) {
    warmring_topology_t *next = (void *)run;
    int stable = warmring_topology_phase(run->now) == WARMRING_STABLE;
    warmring_status_t status = one_edit(run, tape_pick(&run->tape, 5), &next);
    must(stable ? status != WARMRING_ILLEGAL_STEP : status == WARMRING_ILLEGAL_STEP);
    adopt(run, next, status, WARMRING_STABLE);
}

/* The list there is may be where a migration goes later. */
static void keep_target(run_t *run) {
    if (warmring_topology_phase(run->now) == WARMRING_STABLE) {
        warmring_topology_release(run->target);
        run->target = warmring_topology_retain(run->now);
    }
}

static void migrate(run_t *run) {
    warmring_topology_t *next = (void *)run;
    int stable = warmring_topology_phase(run->now) == WARMRING_STABLE;
    warmring_status_t status = warmring_topology_migrate(run->now, run->target, &next);
    must(status == (stable ? WARMRING_OK : WARMRING_ILLEGAL_STEP));
    adopt(run, next, status, WARMRING_PREPARED);
}

/* Past the last row there are numbers that are no step. */
static void step(run_t *run) {
    warmring_topology_t *next = (void *)run;
    size_t chosen = tape_pick(&run->tape, WARMRING_SETTLE + 2);
    warmring_phase_t phase = warmring_topology_phase(run->now);
    int leads = chosen <= WARMRING_SETTLE ? table[phase][chosen] : NOWHERE;
    const warmring_ring_t *stays = warmring_topology_ring(
        run->now, phase == WARMRING_SETTLING ? WARMRING_NEW_RING : WARMRING_OLD_RING);
    warmring_status_t status = warmring_topology_step(run->now, (warmring_step_t)chosen, &next);
    must(status == (leads != NOWHERE ? WARMRING_OK : WARMRING_ILLEGAL_STEP));
    must(leads == NOWHERE || warmring_topology_ring(next, WARMRING_OLD_RING) == stays ||
         phase == WARMRING_SETTLING);
    must(leads != WARMRING_STABLE || warmring_topology_ring(next, WARMRING_OLD_RING) == stays);
    adopt(run, next, status, leads != NOWHERE ? (warmring_phase_t)leads : phase);
}

static void rollout(run_t *run) {
    static const char *const scopes[] = {NULL, "rome", "oslo", "", "no scope"};
    warmring_topology_t *next = (void *)run;
    size_t scope = tape_pick(&run->tape, 5);
    uint32_t share = 50u * tape_byte(&run->tape);
    warmring_phase_t phase = warmring_topology_phase(run->now);
    int allowed = share <= WARMRING_ROLLOUT_ALL && scope < 3;
    warmring_status_t status = warmring_topology_rollout(run->now, scopes[scope], share, &next);
    must(status == (phase != WARMRING_WARMING ? WARMRING_ILLEGAL_STEP
                    : allowed                 ? WARMRING_OK
                                              : WARMRING_BAD_ARGUMENT));
    adopt(run, next, status, WARMRING_WARMING);
    must(status != WARMRING_OK || warmring_topology_get_rollout(run->now, scopes[scope]) == share);
}

static void preview(run_t *run) {
    warmring_preview_t *made;
    must(warmring_topology_preview(run->now, run->target, &made) == WARMRING_OK);
    double moved = warmring_preview_moved(made);
    double sums[4] = {0, 0, 0, 0};
    for (size_t i = 0; i < warmring_preview_servers(made); i++) {
        warmring_preview_server_t server = {.size = sizeof server};
        must(warmring_preview_server(made, i, &server) == WARMRING_OK && server.label[0] != '\0');
        must(server.gained >= 0 && server.lost >= 0);
        sums[0] += server.share_before;
        sums[1] += server.share_after;
        sums[2] += server.gained;
        sums[3] += server.lost;
    }
    must(fabs(sums[0] - 1) < 1e-9 && fabs(sums[1] - 1) < 1e-9);
    must(fabs(sums[2] - moved) < 1e-9 && fabs(sums[3] - moved) < 1e-9);
    must(wr_topology_follows(run->now, run->target) <= WR_FOLLOWS_NOT);
    warmring_preview_free(made);
}

static void (*const commands[])(run_t *) = {edit, edit,    step,        step,    step,
                                            step, migrate, keep_target, rollout, preview};

static warmring_topology_t *parse(const char *servers, size_t dialect) {
    warmring_ring_options_t options = {.size = sizeof options,
                                       .dialect = warmring_dialect_name(dialect),
                                       .points_per_weight = 10,
                                       .max_points = MOST_POINTS};
    warmring_topology_t *topology;
    must(wr_topology_parse(&topology, servers, &options) == WARMRING_OK);
    return topology;
}

int steps_fuzz(const uint8_t *bytes, size_t length) {
    run_t run = {.tape = {bytes, bytes + length}};
    size_t dialects = 0;
    while (warmring_dialect_name(dialects) != NULL) {
        dialects++;
    }
    run.now = parse("a:1", tape_pick(&run.tape, dialects + 1) % dialects);
    run.target = parse("a:1,b:1:2,z:1", tape_pick(&run.tape, dialects + 1) % dialects);
    for (int i = 0; i < MOST_COMMANDS && run.tape.at < run.tape.end; i++) {
        commands[tape_pick(&run.tape, sizeof commands / sizeof commands[0])](&run);
    }
    warmring_topology_release(run.now);
    warmring_topology_release(run.target);
    return 0;
}
