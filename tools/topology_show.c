/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring topology show: what a topology file says, for people or programs.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <warmring/plan.h>

#include "command.h"
#include "report.h"
#include "topology.h"

enum { JSON, ANY_WRITER };

static const option_t options[] = {
    [JSON] = {"--json", NULL, "print JSON"},
    [ANY_WRITER] = {"--any-writer", NULL, "also a file that others may write to"},
    {0},
};

static const char *const side_names[] = {"old", "new"};

/* ---- steps ----------------------------------------------------------------------- */

/* Whether the phase allows it, however long it has to last yet. */
static bool is_possible(const warmring_file_t *file, warmring_step_t step) {
    warmring_topology_t *next;
    warmring_status_t status = warmring_topology_step(warmring_file_topology(file), step, &next);
    warmring_topology_release(next);
    return status == WARMRING_OK && step != WARMRING_COMMIT_DIRECTLY; /* not in a fleet */
}

static const warmring_step_t steps[] = {WARMRING_WARM, WARMRING_COMMIT, WARMRING_FINISH,
                                        WARMRING_SETTLE, WARMRING_ROLLBACK};
enum { STEPS = sizeof steps / sizeof steps[0] };

/* ---- rollouts --------------------------------------------------------------------- */

/* The object of that name in the file's own text; a new reference, or NULL. */
static json_t *migration_member(const warmring_file_t *file, const char *key) {
    json_t *root = json_loads(warmring_file_text(file), 0, NULL);
    json_t *member = json_object_get(json_object_get(root, "migration"), key);
    json_incref(member);
    json_decref(root);
    return member;
}

/* Rollouts of scopes as they are now; an object. */
static json_t *scopes_now(const warmring_file_t *file, int64_t now) {
    json_t *scopes = migration_member(file, "scopes"), *list = json_object(), *unused;
    const char *scope;
    json_object_foreach(scopes, scope, unused) {
        json_object_set_new(list, scope, json_integer(warmring_file_get_rollout(file, scope, now)));
    }
    json_decref(scopes);
    return list;
}

/* ---- for people -------------------------------------------------------------------- */

static const char *format_time(char *text, size_t size, int64_t ms) {
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) == NULL ||
        strftime(text, size, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) {
        snprintf(text, size, "%lld ms", (long long)ms);
    }
    return text;
}

static void print_servers(const warmring_topology_t *topology, warmring_side_t side) {
    const warmring_ring_t *ring = warmring_topology_ring(topology, side);
    size_t count = warmring_ring_servers(ring);
    int width = 6;
    for (size_t i = 0; i < count; i++) {
        int length = (int)strlen(warmring_topology_label(topology, side, i));
        width = length > width ? length : width;
    }
    printf("  %-*s  %10s  %10s\n", width, "server", "weight", "share");
    for (size_t i = 0; i < count; i++) {
        text_t weight, share;
        printf("  %-*s  %10s  %10s\n", width, warmring_topology_label(topology, side, i),
               number(&weight, warmring_topology_server(topology, side, i)->weight),
               percent(&share, warmring_ring_share(ring, (uint32_t)i)));
    }
}

static void print_ring(const warmring_topology_t *topology, warmring_side_t side,
                       const char *title) {
    const warmring_ring_t *ring = warmring_topology_ring(topology, side);
    printf("\n%s: dialect %s, %llu points\n", title, warmring_ring_dialect(ring),
           (unsigned long long)warmring_ring_points(ring));
    print_servers(topology, side);
}

static void print_rollout(const warmring_file_t *file, int64_t now) {
    json_t *scopes = scopes_now(file, now), *value;
    const char *scope;
    text_t share;
    printf("Rollout: %s", plain_percent(&share, warmring_file_get_rollout(file, NULL, now) / 1e4));
    json_object_foreach(scopes, scope, value) {
        printf(", %s %s", scope, plain_percent(&share, (double)json_integer_value(value) / 1e4));
    }
    printf(" of the keys that move\n");
    json_decref(scopes);
}

static int print_migration(const warmring_file_t *file, int64_t now) {
    const warmring_topology_t *topology = warmring_file_topology(file);
    double moved = 0;
    text_t share;
    if (warmring_plan_moved(warmring_topology_ring(topology, WARMRING_OLD_RING),
                            warmring_topology_ring(topology, WARMRING_NEW_RING),
                            &moved) != WARMRING_OK) {
        return fail("%s", warmring_error_detail());
    }
    printf("\nMoving: %s of all keys\n", percent(&share, moved));
    print_rollout(file, now);
    for (size_t i = 0; i < STEPS; i++) {
        int64_t hold = warmring_file_hold(file, steps[i], now);
        if (!is_possible(file, steps[i])) {
            continue;
        }
        if (hold == INT64_MAX) {
            printf("Step %s: not before max_ttl_s is declared\n", warmring_step_name(steps[i]));
        } else if (hold > 0) {
            printf("Step %s: in %lld s\n", warmring_step_name(steps[i]),
                   (long long)(hold + 999) / 1000);
        } else {
            printf("Step %s: now\n", warmring_step_name(steps[i]));
        }
    }
    return ENDED_WELL;
}

static int print_text(const warmring_file_t *file, const char *path, int64_t now) {
    const warmring_topology_t *topology = warmring_file_topology(file);
    bool migrates = warmring_topology_phase(topology) != WARMRING_STABLE;
    warmring_file_settings_t settings = WARMRING_FILE_SETTINGS_INIT;
    char since[64];
    (void)warmring_file_settings(file, &settings);
    printf("%s: phase %s since %s, epoch %llu, steps %llu\n", path,
           warmring_phase_name(warmring_topology_phase(topology)),
           format_time(since, sizeof since, warmring_file_since(file)),
           (unsigned long long)warmring_topology_epoch(topology),
           (unsigned long long)warmring_file_steps(file));
    printf("Clients: lag %u s, deadlines up to %u ms, ", (unsigned)settings.lag_s,
           (unsigned)settings.max_deadline_ms);
    if (settings.max_ttl_s > 0) {
        printf("TTLs up to %llu s\n", (unsigned long long)settings.max_ttl_s);
    } else {
        printf("longest TTL not declared\n");
    }
    print_ring(topology, WARMRING_OLD_RING, migrates ? "Old ring" : "Ring");
    if (!migrates) {
        return ENDED_WELL;
    }
    print_ring(topology, WARMRING_NEW_RING, "New ring");
    return print_migration(file, now);
}

/* ---- for programs ------------------------------------------------------------------- */

static json_t *ring_as_json(const warmring_topology_t *topology, warmring_side_t side) {
    const warmring_ring_t *ring = warmring_topology_ring(topology, side);
    json_t *servers = json_array();
    for (size_t i = 0; i < warmring_ring_servers(ring); i++) {
        const warmring_server_t *server = warmring_topology_server(topology, side, i);
        json_add(&servers, json_pack("{s:o, s:o, s:f}", "server",
                                     json_text(warmring_topology_label(topology, side, i)),
                                     "weight", json_number(server->weight), "share",
                                     warmring_ring_share(ring, (uint32_t)i)));
    }
    return json_pack("{s:s, s:s, s:I, s:o}", "side", side_names[side], "dialect",
                     warmring_ring_dialect(ring), "points", (json_int_t)warmring_ring_points(ring),
                     "servers", servers);
}

/* Each step that the phase allows, and the milliseconds until then; null: never
 * as the file is. */
static json_t *steps_as_json(const warmring_file_t *file, int64_t now) {
    json_t *list = json_object();
    for (size_t i = 0; i < STEPS; i++) {
        int64_t hold = warmring_file_hold(file, steps[i], now);
        if (is_possible(file, steps[i])) {
            json_object_set_new(list, warmring_step_name(steps[i]),
                                hold == INT64_MAX ? json_null() : json_integer(hold));
        }
    }
    return list;
}

static int print_as_json(const warmring_file_t *file, int64_t now) {
    const warmring_topology_t *topology = warmring_file_topology(file);
    warmring_file_settings_t settings = WARMRING_FILE_SETTINGS_INIT;
    json_t *rings = json_array();
    (void)warmring_file_settings(file, &settings);
    for (int side = WARMRING_OLD_RING; side <= WARMRING_NEW_RING; side++) {
        if (warmring_topology_ring(topology, (warmring_side_t)side) != NULL) {
            json_add(&rings, ring_as_json(topology, (warmring_side_t)side));
        }
    }
    return print_json(json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "phase",
        warmring_phase_name(warmring_topology_phase(topology)), "epoch",
        (json_int_t)warmring_topology_epoch(topology), "steps",
        (json_int_t)warmring_file_steps(file), "since", (json_int_t)warmring_file_since(file),
        "lag_s", (json_int_t)settings.lag_s, "max_deadline_ms",
        (json_int_t)settings.max_deadline_ms, "max_ttl_s", (json_int_t)settings.max_ttl_s,
        "rollout", (json_int_t)warmring_file_get_rollout(file, NULL, now), "scopes",
        scopes_now(file, now), "possible", steps_as_json(file, now), "rings", rings));
}

static int run(const char *const *values, const char *const *operands) {
    warmring_file_t *file;
    int result = topology_file_read(operands[0], values[ANY_WRITER] != NULL, &file);
    if (result == ENDED_WELL) {
        result = values[JSON] != NULL ? print_as_json(file, now_ms())
                                      : print_text(file, operands[0], now_ms());
    }
    warmring_file_free(file);
    return result;
}

const command_t topology_show_command = {
    .name = "topology show",
    .summary = "what a topology file says",
    .operands = "FILE",
    .options = options,
    .text = "Prints phase, rings, rollouts as they are now, and which steps are possible when.\n",
    .run = run,
};
