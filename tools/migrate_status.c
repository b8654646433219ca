/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring migrate status: where a migration stands and what comes next.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fleet.h"

enum { STATUS_JSON, STATUS_ANY_WRITER };

static const option_t options[] = {
    [STATUS_JSON] = {"--json", NULL, "print JSON"},
    [STATUS_ANY_WRITER] = {"--any-writer", NULL, "take a file that others may write to"},
    {0},
};

/* What comes after each phase: the step whose hold counts, the command. */
static const struct {
    warmring_step_t step;
    const char *command; /* behind "warmring migrate" */
    const char *operand; /* behind FILE */
} onward[WARMRING_SETTLING + 1] = {
    [WARMRING_STABLE] = {WARMRING_WARM, "begin", " --to SERVERS"},
    [WARMRING_PREPARED] = {WARMRING_WARM, "warm", " PERCENT"},
    [WARMRING_WARMING] = {WARMRING_COMMIT, "commit", ""},
    [WARMRING_HANDOVER] = {WARMRING_COMMIT, "commit", ""},
    [WARMRING_DRAINING] = {WARMRING_FINISH, "finish", ""},
    [WARMRING_CLOSING] = {WARMRING_FINISH, "finish", ""},
    [WARMRING_SETTLING] = {WARMRING_FINISH, "finish", ""},
};

/* A phase that a rollback led to and that does not end it. */
static bool is_going_back(const fleet_t *fleet, const json_t *text) {
    return fleet_phase(fleet) != WARMRING_STABLE &&
           json_is_true(json_object_get(json_object_get(text, "migration"), "backwards"));
}

static const char *clock_text(text_t *text, int64_t ms) {
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) == NULL ||
        strftime(text->text, sizeof text->text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) {
        snprintf(text->text, sizeof text->text, "%lld", (long long)ms);
    }
    return text->text;
}

/* ---- for people -------------------------------------------------------------------- */

static void print_rollout(const fleet_t *fleet, const char *scope, const char *label) {
    text_t share;
    double now = warmring_file_get_rollout(fleet->file, scope, now_ms());
    double end = warmring_topology_get_rollout(fleet_topology(fleet), scope);
    printf("%-12s %s", label, plain_percent(&share, now / WARMRING_ROLLOUT_ALL));
    if (now < end || now > end) {
        printf(", on its way to %s", plain_percent(&share, end / WARMRING_ROLLOUT_ALL));
    }
    putchar('\n');
}

static void print_rollouts(const fleet_t *fleet, json_t *text) {
    const char *scope;
    json_t *value;
    print_rollout(fleet, NULL, "rollout");
    json_object_foreach(json_object_get(json_object_get(text, "migration"), "scopes"), scope,
                        value) {
        char label[96];
        snprintf(label, sizeof label, "  %s", scope);
        print_rollout(fleet, scope, label);
    }
}

static void print_watermarks(const fleet_t *fleet) {
    int width = 8;
    for (size_t i = 0; i < warmring_file_servers(fleet->file); i++) {
        warmring_file_server_t server = {.size = sizeof server};
        if (warmring_file_server(fleet->file, i, &server) == WARMRING_OK) {
            int length = (int)strlen(server.label);
            width = length > width ? length : width;
        }
    }
    printf("\n  %-*s  %-8s  %20s  %s\n", width, "server", "ring", "watermark", "started");
    for (size_t i = 0; i < warmring_file_servers(fleet->file); i++) {
        warmring_file_server_t server = {.size = sizeof server};
        text_t started;
        if (warmring_file_server(fleet->file, i, &server) != WARMRING_OK) {
            continue;
        }
        printf("  %-*s  %-8s", width, server.label,
               server.on_old && server.on_new ? "both"
               : server.on_new                ? "new"
                                              : "old");
        if (server.marked) {
            printf("  %20llu  %s", (unsigned long long)server.watermark,
                   server.started >= 0 ? clock_text(&started, server.started * 1000) : "?");
        }
        putchar('\n');
    }
    putchar('\n');
}

static void print_next(const fleet_t *fleet, bool back) {
    warmring_phase_t phase = fleet_phase(fleet);
    const char *command = onward[phase].command;
    if (back) {
        printf("next         warmring migrate rollback %s\n", fleet->path);
    } else {
        printf("next         warmring migrate %s %s%s\n", command, fleet->path,
               onward[phase].operand);
    }
    if (phase == WARMRING_SETTLING) {
        printf("     sooner  warmring sweep %s --delete --hashed-by-key\n"
               "             warmring migrate finish %s --settled\n",
               fleet->path, fleet->path);
    } else if (phase != WARMRING_STABLE) {
        printf("         or  warmring migrate %s %s%s\n", back ? command : "rollback", fleet->path,
               back ? onward[phase].operand : "");
    }
}

static int print_text(const fleet_t *fleet, json_t *text) {
    text_t since, left_text;
    warmring_phase_t phase = fleet_phase(fleet);
    bool back = is_going_back(fleet, text);
    int64_t left =
        warmring_file_hold(fleet->file, back ? WARMRING_ROLLBACK : onward[phase].step, now_ms());
    printf("phase        %s%s\n", warmring_phase_name(phase), back ? ", on the way back" : "");
    printf("since        %s\n", clock_text(&since, warmring_file_since(fleet->file)));
    printf("hold         %s\n", left == 0           ? "over"
                                : left == INT64_MAX ? "without end: max_ttl_s is not declared"
                                                    : duration(&left_text, left));
    printf("epoch        %llu\nsteps        %llu\n",
           (unsigned long long)warmring_topology_epoch(fleet_topology(fleet)),
           (unsigned long long)warmring_file_steps(fleet->file));
    if (phase == WARMRING_WARMING) {
        print_rollouts(fleet, text);
    }
    if (phase != WARMRING_STABLE) {
        print_watermarks(fleet);
    }
    print_next(fleet, back);
    return ENDED_WELL;
}

/* ---- for programs -------------------------------------------------------------------- */

static json_t *json_rollouts(const fleet_t *fleet, const json_t *text) {
    const char *scope;
    json_t *value;
    json_t *scopes = json_object();
    json_object_foreach(json_object_get(json_object_get(text, "migration"), "scopes"), scope,
                        value) {
        json_object_set_new(scopes, scope,
                            json_integer(warmring_file_get_rollout(fleet->file, scope, now_ms())));
    }
    return json_pack("{s:I, s:o}", "all",
                     (json_int_t)warmring_file_get_rollout(fleet->file, NULL, now_ms()), "scopes",
                     scopes);
}

static json_t *json_servers(const fleet_t *fleet) {
    json_t *list = json_array();
    for (size_t i = 0; i < warmring_file_servers(fleet->file); i++) {
        warmring_file_server_t server = {.size = sizeof server};
        if (warmring_file_server(fleet->file, i, &server) != WARMRING_OK) {
            continue;
        }
        json_t *entry = json_pack("{s:o, s:b, s:b}", "server", json_text(server.label), "old",
                                  server.on_old, "new", server.on_new);
        if (server.marked) {
            json_object_set_new(entry, "watermark", json_integer((json_int_t)server.watermark));
            json_object_set_new(entry, "started",
                                server.started >= 0 ? json_integer(server.started) : json_null());
        }
        json_add(&list, entry);
    }
    return list;
}

static int print_as_json(const fleet_t *fleet, const json_t *text) {
    warmring_phase_t phase = fleet_phase(fleet);
    bool back = is_going_back(fleet, text);
    int64_t left =
        warmring_file_hold(fleet->file, back ? WARMRING_ROLLBACK : onward[phase].step, now_ms());
    json_t *value =
        json_pack("{s:s, s:b, s:I, s:o, s:I, s:I, s:s, s:o}", "phase", warmring_phase_name(phase),
                  "backwards", back, "since_ms", (json_int_t)warmring_file_since(fleet->file),
                  "hold_ms", left == INT64_MAX ? json_null() : json_integer(left), "epoch",
                  (json_int_t)warmring_topology_epoch(fleet_topology(fleet)), "steps",
                  (json_int_t)warmring_file_steps(fleet->file), "next",
                  back ? "rollback" : onward[phase].command, "servers", json_servers(fleet));
    if (value != NULL && phase == WARMRING_WARMING) {
        json_object_set_new(value, "rollout", json_rollouts(fleet, text));
    }
    return print_json(value);
}

static int run(const char *const *values, const char *const *operands) {
    const char *common[FLEET_OPTION_COUNT] = {[FLEET_ANY_WRITER] = values[STATUS_ANY_WRITER]};
    fleet_t fleet;
    int result = fleet_open(&fleet, operands[0], common);
    if (result == ENDED_WELL) {
        json_t *text = json_loads(warmring_file_text(fleet.file), 0, NULL);
        result =
            values[STATUS_JSON] != NULL ? print_as_json(&fleet, text) : print_text(&fleet, text);
        json_decref(text);
    }
    fleet_close(&fleet);
    return result;
}

const command_t migrate_status_command = {
    .name = "migrate status",
    .summary = "where a migration stands",
    .operands = "FILE",
    .options = options,
    .text = "Prints the phase, since when it lasts and how long it has to, the rollouts, the\n"
            "watermarks, and what comes next. It asks no server.\n",
    .run = run,
};
