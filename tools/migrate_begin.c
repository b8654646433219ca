/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring migrate begin: to which ring, and what that would move.
 */
#include <stdio.h>
#include <string.h>

#include "fleet.h"
#include "outlook.h"
#include "servers.h"

enum {
    BEGIN_TO = FLEET_OPTION_COUNT,
    BEGIN_DIALECT,
    BEGIN_POINTS,
    BEGIN_HASH,
    BEGIN_HASH_TAG,
    BEGIN_MAX_POINTS
};

static const option_t begin_options[] = {
    FLEET_OPTIONS,
    [BEGIN_TO] = {"--to", "SERVERS", "the servers to be, a file (- standard input)"},
    [BEGIN_DIALECT] = {"--dialect", "D", "the dialect to be (as now)"},
    [BEGIN_POINTS] = {"--points", "P", "points per weight unit to be (as now)"},
    [BEGIN_HASH] = {"--hash", "H", "how keys will be hashed (as now)"},
    [BEGIN_HASH_TAG] = {"--hash-tag", "XY", "what surrounds the part that is hashed (as now)"},
    [BEGIN_MAX_POINTS] = {"--max-points", "N", "the most points a ring may have (as now)"},
    {0},
};

static const char foreign_writers[] =
    "Writers that do not use warmring with this file must have stopped before WARMING: what\n"
    "they write or delete is not seen by readers of the new owners, and old values come back.\n\n";

static json_t *read_json(const warmring_file_t *file) {
    return json_loads(warmring_file_text(file), 0, NULL);
}

/* Whether this migration has begun already: it was given before. */
static bool has_begun(const fleet_t *fleet, const warmring_topology_t *target) {
    warmring_file_t *wanted = NULL;
    if (fleet_phase(fleet) != WARMRING_PREPARED ||
        warmring_file_create(&wanted, target, NULL, 0) != WARMRING_OK) {
        return false;
    }
    json_t *now = read_json(fleet->file);
    json_t *then = read_json(wanted);
    const json_t *migration = json_object_get(now, "migration");
    bool same = !json_is_true(json_object_get(migration, "backwards")) &&
                json_equal(json_object_get(migration, "ring"), json_object_get(then, "ring")) == 1;
    json_decref(now);
    json_decref(then);
    warmring_file_free(wanted);
    return same;
}

static int tell_begun(const fleet_t *fleet, const char *already) {
    printf("%s: phase %s%s\nNext: warmring migrate warm %s PERCENT\n", fleet->path,
           warmring_phase_name(fleet_phase(fleet)), already, fleet->path);
    return ENDED_WELL;
}

int migrate_to(fleet_t *fleet, const warmring_topology_t *target) {
    warmring_file_t *next;
    if (has_begun(fleet, target)) {
        int told = fleet_announce(fleet);
        return told == ENDED_WELL ? tell_begun(fleet, " already") : told;
    }
    if (fleet_phase(fleet) != WARMRING_STABLE) {
        return fail("%s is in phase %s: finish this migration or roll it back first", fleet->path,
                    warmring_phase_name(fleet_phase(fleet)));
    }
    int result = outlook_moves(fleet_topology(fleet), target, WARMRING_ROLLOUT_ALL);
    if (result == ENDED_WELL) {
        fputs(outlook_phase(WARMRING_PREPARED, false), stdout);
        fputs(foreign_writers, stdout);
        result = fleet_confirm(fleet, "Have all other writers stopped, and shall it begin?");
    }
    if (result == ENDED_WELL) {
        result = fleet_wait(fleet, WARMRING_WARM);
    }
    if (result != ENDED_WELL) {
        return result;
    }
    if (warmring_fleet_begin(fleet->file, target, NULL, fleet->deadline_ms, &next) != WARMRING_OK) {
        return fleet_fail();
    }
    result = fleet_put(fleet, next);
    return result == ENDED_WELL ? tell_begun(fleet, "") : result;
}

/* Whatever of the new ring was not chosen is as it is now; with another dialect
 * it is that dialect's default. `ring` keeps the strings. */
static void keep_ring(const json_t *ring, const ring_choice_t *choice,
                      warmring_ring_options_t *options) {
    if (choice->dialect != NULL) {
        return;
    }
    options->dialect = json_string_value(json_object_get(ring, "dialect"));
    if (choice->points == NULL) {
        options->points_per_weight = json_number_value(json_object_get(ring, "points_per_weight"));
    }
    if (choice->max_points == NULL) {
        options->max_points = (uint64_t)json_integer_value(json_object_get(ring, "max_points"));
    }
    if (choice->hash == NULL) {
        options->hash = json_string_value(json_object_get(ring, "hash"));
    }
    if (choice->hash_tag == NULL) {
        options->hash_tag = json_string_value(json_object_get(ring, "hash_tag"));
    }
}

static int build_target(const fleet_t *fleet, const char *file, const ring_choice_t *choice,
                        warmring_topology_t **target) {
    warmring_ring_options_t options;
    servers_t list = {0};
    int result = choose_ring(choice, &options);
    if (result != ENDED_WELL) {
        return result;
    }
    json_t *text = read_json(fleet->file);
    keep_ring(json_object_get(text, "ring"), choice, &options);
    result = servers_read(&list, file);
    if (result == ENDED_WELL) {
        result = servers_build(&list, &options, target);
    }
    servers_free(&list);
    json_decref(text);
    return result;
}

static int run_begin(const char *const *values, const char *const *operands) {
    fleet_t fleet;
    warmring_topology_t *target = NULL;
    ring_choice_t choice = {.dialect_option = "--dialect",
                            .dialect = values[BEGIN_DIALECT],
                            .points_option = "--points",
                            .points = values[BEGIN_POINTS],
                            .max_points = values[BEGIN_MAX_POINTS],
                            .hash = values[BEGIN_HASH],
                            .hash_tag = values[BEGIN_HASH_TAG]};
    if (values[BEGIN_TO] == NULL) {
        return misuse("--to SERVERS is missing");
    }
    if (strcmp(values[BEGIN_TO], "-") == 0 && values[FLEET_YES] == NULL) {
        return misuse("--to - takes standard input, so nothing can be asked: say --yes");
    }
    int result = fleet_open(&fleet, operands[0], values);
    if (result == ENDED_WELL) {
        result = build_target(&fleet, values[BEGIN_TO], &choice, &target);
    }
    if (result == ENDED_WELL) {
        result = migrate_to(&fleet, target);
    }
    warmring_topology_release(target);
    fleet_close(&fleet);
    return result;
}

const command_t migrate_begin_command = {
    .name = "migrate begin",
    .summary = "begin to move keys to another ring",
    .operands = "FILE",
    .options = begin_options,
    .text = "Shows what would move, asks, takes the watermark of each new server, and leads\n"
            "the topology file to PREPARED.\n",
    .run = run_begin,
};
