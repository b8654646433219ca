/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring reweight: other weights, by a migration or at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet.h"
#include "outlook.h"

enum { AT_ONCE = FLEET_OPTION_COUNT };
enum { MOST_WEIGHTS = 65536 };

static const option_t options[] = {
    FLEET_OPTIONS,
    [AT_ONCE] = {"--at-once", NULL, "change over cold, without a migration"},
    {0},
};

/* "NAME=WEIGHT", where NAME may have '=' in it. */
static int read_weight(const char *text, char *name, size_t capacity, double *weight) {
    const char *sign = strrchr(text, '=');
    if (sign == NULL || sign == text || (size_t)(sign - text) >= capacity) {
        return misuse("\"%s\": not NAME=WEIGHT", text);
    }
    snprintf(name, capacity, "%.*s", (int)(sign - text), text);
    size_t digits = strspn(sign + 1, "0123456789.");
    char *end;
    *weight = strtod(sign + 1, &end);
    if (digits == 0 || sign[1] == '.' || (size_t)(end - sign - 1) != digits || *end != '\0') {
        return misuse("weight \"%s\" in \"%s\": not a decimal number", sign + 1, text);
    }
    return ENDED_WELL;
}

static int set_weights(const fleet_t *fleet, const char *const *weights,
                       warmring_topology_t **target) {
    *target = warmring_topology_retain(fleet_topology(fleet));
    for (; *weights != NULL; weights++) {
        char name[WARMRING_SERVER_STRINGS];
        double weight = 0;
        warmring_topology_t *next;
        int result = read_weight(*weights, name, sizeof name, &weight);
        if (result != ENDED_WELL) {
            return result;
        }
        if (warmring_topology_set_weight(*target, name, weight, &next) != WARMRING_OK) {
            return fail("\"%s\": %s", *weights, warmring_error_detail());
        }
        warmring_topology_release(*target);
        *target = next;
    }
    return ENDED_WELL;
}

static int change_cold(fleet_t *fleet, const warmring_topology_t *target) {
    warmring_file_t *next;
    int result = outlook_moves(fleet_topology(fleet), target, OUTLOOK_COLD);
    if (result == ENDED_WELL) {
        puts("Nothing is copied. Clients change over within the file's lag of each other, and\n"
             "write and read moved keys on different servers meanwhile. A server that had a key\n"
             "on an earlier ring serves what it still holds of it: empty the servers that gain\n"
             "keys first, or migrate instead. There is no rollback but another change.");
        result = fleet_confirm(fleet, "Change over at once?");
    }
    if (result == ENDED_WELL) {
        result = fleet_wait(fleet, WARMRING_WARM);
    }
    if (result != ENDED_WELL) {
        return result;
    }
    if (warmring_file_edit(fleet->file, target, now_ms(), &next) != WARMRING_OK) {
        return fleet_fail();
    }
    result = fleet_put(fleet, next);
    if (result == ENDED_WELL) {
        printf("%s: changed\n", fleet->path);
    }
    return result;
}

static int run(const char *const *values, const char *const *operands) {
    fleet_t fleet;
    warmring_topology_t *target = NULL;
    int result = fleet_open(&fleet, operands[0], values);
    if (result == ENDED_WELL) {
        result = set_weights(&fleet, operands + 1, &target);
    }
    if (result == ENDED_WELL) {
        result = values[AT_ONCE] != NULL ? change_cold(&fleet, target) : migrate_to(&fleet, target);
    }
    warmring_topology_release(target);
    fleet_close(&fleet);
    return result;
}

const command_t reweight_command = {
    .name = "reweight",
    .summary = "change weights of servers",
    .operands = "FILE NAME=WEIGHT...",
    .least = 2,
    .most = MOST_WEIGHTS,
    .options = options,
    .text = "Begins a migration of the topology file to the ring with these weights, see\n"
            "warmring migrate. A weight of 0 drains a server. With --at-once all clients change\n"
            "over cold.\n",
    .run = run,
};
