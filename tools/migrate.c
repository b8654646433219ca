/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring migrate: a migration of a topology file, step by step.
 *
 * Each command has a list of the phases it may find the file in and the step
 * it takes from each, and goes on until it is where it leads. So one that was
 * interrupted in the middle goes on when it is given again.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet.h"
#include "outlook.h"

/* ---- steps by phase ---------------------------------------------------------------- */

typedef struct {
    warmring_phase_t from, to;
    warmring_step_t step;
} stage_t;

/* A command that leads through stages. */
typedef struct {
    const char *verb;
    bool back;             /* it is a rollback */
    const stage_t *stages; /* in the order they are taken in; the last is STABLE */
    warmring_phase_t goal; /* where it leads */
    const char *otherwise; /* what to do in a phase that is not in them */
} journey_t;

static const stage_t *find_stage(const journey_t *journey, warmring_phase_t phase) {
    for (const stage_t *stage = journey->stages; stage->from != WARMRING_STABLE; stage++) {
        if (stage->from == phase) {
            return stage;
        }
    }
    return NULL;
}

static int refuse(const fleet_t *fleet, const journey_t *journey) {
    return fail("%s is in phase %s, where there is nothing to %s: %s", fleet->path,
                warmring_phase_name(fleet_phase(fleet)), journey->verb, journey->otherwise);
}

/* Where a command would lead to is where the file is: one that was given before
 * may have been killed between the file and its announcement. STABLE may be
 * another one than that which was meant. */
static int arrived(const fleet_t *fleet, const journey_t *journey) {
    int result = warmring_file_steps(fleet->file) > 0 ? fleet_announce(fleet) : ENDED_WELL;
    if (result != ENDED_WELL || journey->goal == WARMRING_STABLE) {
        return refuse(fleet, journey);
    }
    printf("%s: phase %s already\n", fleet->path, warmring_phase_name(journey->goal));
    return ENDED_WELL;
}

/* How long a phase has to last at least. */
static int64_t hold_of(const fleet_t *fleet, warmring_phase_t phase, bool back) {
    warmring_file_settings_t settings = WARMRING_FILE_SETTINGS_INIT;
    (void)warmring_file_settings(fleet->file, &settings);
    int64_t hold = (int64_t)settings.lag_s * 1000 + settings.max_deadline_ms + 1000;
    bool leases = phase == WARMRING_CLOSING || (phase == WARMRING_PREPARED && back);
    return leases ? hold + (((int64_t)settings.max_deadline_ms + 999) / 1000 + 3) * 1000 : hold;
}

static void tell_journey(const fleet_t *fleet, const journey_t *journey) {
    text_t hold;
    warmring_phase_t phase = fleet_phase(fleet);
    const stage_t *stage;
    while ((stage = find_stage(journey, phase)) != NULL) {
        fputs(outlook_phase(stage->to, journey->back), stdout);
        phase = stage->to;
        if (find_stage(journey, phase) != NULL) {
            printf("(It lasts for %s.)\n", duration(&hold, hold_of(fleet, phase, journey->back)));
        }
    }
}

static int travel(fleet_t *fleet, const journey_t *journey) {
    if (find_stage(journey, fleet_phase(fleet)) == NULL) {
        return fleet_phase(fleet) == journey->goal ? arrived(fleet, journey)
                                                   : refuse(fleet, journey);
    }
    int result = journey->back ? ENDED_WELL : fleet_reach(fleet);
    if (result != ENDED_WELL) {
        return result;
    }
    tell_journey(fleet, journey);
    char question[64];
    snprintf(question, sizeof question, "%c%s now?", journey->verb[0] - 'a' + 'A',
             journey->verb + 1);
    result = fleet_confirm(fleet, question);
    const stage_t *stage;
    while (result == ENDED_WELL && (stage = find_stage(journey, fleet_phase(fleet))) != NULL) {
        result = fleet_step(fleet, stage->step);
    }
    return result;
}

static int run_journey(const char *const *values, const char *path, const journey_t *journey) {
    fleet_t fleet;
    int result = fleet_open(&fleet, path, values);
    if (result == ENDED_WELL) {
        result = travel(&fleet, journey);
    }
    fleet_close(&fleet);
    return result;
}

/* ---- warm ------------------------------------------------------------------------------ */

enum { WARM_SCOPE = FLEET_OPTION_COUNT, WARM_RAMP };

static const option_t warm_options[] = {
    FLEET_OPTIONS,
    [WARM_SCOPE] = {"--scope", "SITE", "only for clients of this scope"},
    [WARM_RAMP] = {"--ramp", "SECONDS", "reach PERCENT in so many seconds (0: at once)"},
    {0},
};

/* "5", "5%", "0.05%" to basis points. */
static int read_percent(const char *text, uint32_t *basis_points) {
    char *end;
    size_t length = strspn(text, "0123456789.");
    double value = strtod(text, &end);
    double points = value * 100;
    bool is_number = length > 0 && text[0] != '.' && (size_t)(end - text) == length &&
                     (text[length] == '\0' || strcmp(text + length, "%") == 0);
    if (!is_number || value > 100 || fabs(points - round(points)) > 1e-6) {
        return misuse("PERCENT \"%s\": not a number from 0 to 100 with up to two decimals", text);
    }
    *basis_points = (uint32_t)lround(points);
    return ENDED_WELL;
}

static int set_rollout(fleet_t *fleet, const char *scope, uint32_t basis_points, uint32_t ramp) {
    warmring_file_t *next;
    if (warmring_file_rollout(fleet->file, scope, basis_points, ramp, now_ms(), &next) !=
        WARMRING_OK) {
        return fleet_fail();
    }
    int result = fleet_put(fleet, next);
    if (result == ENDED_WELL) {
        text_t share, time;
        printf("%s: phase WARMING, rollout %s%s%s%s%s\n", fleet->path,
               plain_percent(&share, (double)basis_points / WARMRING_ROLLOUT_ALL),
               scope != NULL ? " for scope " : "", scope != NULL ? scope : "",
               ramp > 0 ? ", reached in " : "",
               ramp > 0 ? duration(&time, (int64_t)ramp * 1000) : "");
    }
    return result;
}

static int warm(fleet_t *fleet, const char *scope, uint32_t basis_points, uint32_t ramp) {
    if (fleet_phase(fleet) != WARMRING_PREPARED && fleet_phase(fleet) != WARMRING_WARMING) {
        return fail("%s is in phase %s: a rollout is set in PREPARED or WARMING", fleet->path,
                    warmring_phase_name(fleet_phase(fleet)));
    }
    int result = fleet_reach(fleet);
    if (result == ENDED_WELL) {
        result = outlook_moves(fleet_topology(fleet), fleet_topology(fleet), basis_points);
    }
    if (result == ENDED_WELL) {
        fputs(outlook_phase(WARMRING_WARMING, false), stdout);
        result = fleet_confirm(fleet, "Set this rollout?");
    }
    if (result == ENDED_WELL && fleet_phase(fleet) == WARMRING_PREPARED) {
        result = fleet_step(fleet, WARMRING_WARM);
    }
    return result == ENDED_WELL ? set_rollout(fleet, scope, basis_points, ramp) : result;
}

static int run_warm(const char *const *values, const char *const *operands) {
    fleet_t fleet;
    double ramp = 0;
    uint32_t basis_points = 0;
    int result = read_percent(operands[1], &basis_points);
    if (result == ENDED_WELL) {
        result = read_count("--ramp", values[WARM_RAMP], 0, 31536000, &ramp);
    }
    if (result != ENDED_WELL) {
        return result;
    }
    result = fleet_open(&fleet, operands[0], values);
    if (result == ENDED_WELL) {
        result = warm(&fleet, values[WARM_SCOPE], basis_points, (uint32_t)ramp);
    }
    fleet_close(&fleet);
    return result;
}

const command_t migrate_warm_command = {
    .name = "migrate warm",
    .summary = "let reads start at the new owners",
    .operands = "FILE PERCENT",
    .options = warm_options,
    .text = "Leads from PREPARED to WARMING where that is not done, and sets the share of the\n"
            "moved keys whose reads start at the new owner. Without --scope it is set for all\n"
            "clients, and what single scopes had is forgotten.\n",
    .run = run_warm,
};

/* ---- commit, finish, rollback ------------------------------------------------------------ */

static const option_t journey_options[] = {FLEET_OPTIONS, {0}};

static const stage_t commit_stages[] = {
    {WARMRING_WARMING, WARMRING_HANDOVER, WARMRING_COMMIT},
    {WARMRING_HANDOVER, WARMRING_DRAINING, WARMRING_COMMIT},
    {WARMRING_STABLE, WARMRING_STABLE, WARMRING_COMMIT},
};

static int run_commit(const char *const *values, const char *const *operands) {
    static const journey_t commit = {"commit", false, commit_stages, WARMRING_DRAINING,
                                     "it is done in WARMING and HANDOVER"};
    return run_journey(values, operands[0], &commit);
}

const command_t migrate_commit_command = {
    .name = "migrate commit",
    .summary = "give the moved keys to the new owners",
    .operands = "FILE",
    .options = journey_options,
    .text = "Leads from WARMING to HANDOVER, and, when that has lasted long enough, to DRAINING.\n",
    .run = run_commit,
};

static const stage_t rollback_stages[] = {
    {WARMRING_CLOSING, WARMRING_HANDOVER, WARMRING_ROLLBACK},
    {WARMRING_DRAINING, WARMRING_HANDOVER, WARMRING_ROLLBACK},
    {WARMRING_HANDOVER, WARMRING_PREPARED, WARMRING_ROLLBACK},
    {WARMRING_WARMING, WARMRING_PREPARED, WARMRING_ROLLBACK},
    {WARMRING_PREPARED, WARMRING_STABLE, WARMRING_ROLLBACK},
    {WARMRING_STABLE, WARMRING_STABLE, WARMRING_ROLLBACK},
};

static int run_rollback(const char *const *values, const char *const *operands) {
    static const journey_t rollback = {
        "roll back", true, rollback_stages, WARMRING_STABLE,
        "from PREPARED to CLOSING there is a way back, from SETTLING on only another migration"};
    return run_journey(values, operands[0], &rollback);
}

const command_t migrate_rollback_command = {
    .name = "migrate rollback",
    .summary = "go back to the old ring",
    .operands = "FILE",
    .options = journey_options,
    .text = "Leads back, step by step and each in its time, to STABLE on the old ring.\n",
    .run = run_rollback,
};

enum { FINISH_SETTLED = FLEET_OPTION_COUNT };

static const option_t finish_options[] = {
    FLEET_OPTIONS,
    [FINISH_SETTLED] = {"--settled", NULL, "end SETTLING: no copy of an earlier ring is left"},
    {0},
};

static const stage_t finish_stages[] = {
    {WARMRING_DRAINING, WARMRING_CLOSING, WARMRING_FINISH},
    {WARMRING_CLOSING, WARMRING_SETTLING, WARMRING_FINISH},
    {WARMRING_STABLE, WARMRING_STABLE, WARMRING_FINISH},
};

static const journey_t finish = {"finish", false, finish_stages, WARMRING_SETTLING,
                                 "it is done in DRAINING, CLOSING and SETTLING"};

/* What remains to be done in SETTLING. */
static void tell_rest(const fleet_t *fleet) {
    text_t left_text;
    int64_t left = warmring_file_hold(fleet->file, WARMRING_FINISH, now_ms());
    fputs("Servers may still hold values of earlier rings. ", stdout);
    if (left == INT64_MAX) {
        puts("The file does not declare how long\nvalues live (max_ttl_s), so time does not end "
             "this. When they are gone:");
    } else {
        printf("They are gone in %s:\n  warmring migrate finish %s\nor sooner:\n",
               duration(&left_text, left), fleet->path);
    }
    printf("  warmring sweep %s --delete --hashed-by-key\n  warmring migrate finish %s --settled\n",
           fleet->path, fleet->path);
}

static int settle(fleet_t *fleet, bool settled) {
    warmring_step_t step = settled ? WARMRING_SETTLE : WARMRING_FINISH;
    if (!settled && warmring_file_hold(fleet->file, step, now_ms()) > 0) {
        (void)fleet_announce(fleet); /* it may have been killed before it did */
        tell_rest(fleet);
        return fail("%s: SETTLING is not over", fleet->path);
    }
    fputs(outlook_phase(WARMRING_STABLE, false), stdout);
    if (settled) {
        puts("You vouch that no server holds a value of an earlier ring: the servers that gained\n"
             "keys were empty when it began, or all of them were swept.");
    }
    int result = fleet_confirm(fleet, "End the migration?");
    return result == ENDED_WELL ? fleet_step(fleet, step) : result;
}

static int run_finish(const char *const *values, const char *const *operands) {
    fleet_t fleet;
    bool settled = values[FINISH_SETTLED] != NULL;
    int result = fleet_open(&fleet, operands[0], values);
    if (result == ENDED_WELL && fleet_phase(&fleet) == WARMRING_SETTLING) {
        result = settle(&fleet, settled);
    } else if (result == ENDED_WELL && settled) {
        result = fail("%s is in phase %s: --settled ends SETTLING", fleet.path,
                      warmring_phase_name(fleet_phase(&fleet)));
    } else if (result == ENDED_WELL) {
        result = travel(&fleet, &finish);
        if (result == ENDED_WELL) {
            tell_rest(&fleet);
        }
    }
    fleet_close(&fleet);
    return result;
}

const command_t migrate_finish_command = {
    .name = "migrate finish",
    .summary = "leave the old owners",
    .operands = "FILE",
    .options = finish_options,
    .text = "Leads from DRAINING to CLOSING and, when that has lasted long enough, to SETTLING.\n"
            "In SETTLING it leads to STABLE when max_ttl_s has passed, or with --settled.\n",
    .run = run_finish,
};

/* ---- announce ---------------------------------------------------------------------------- */

static int run_announce(const char *const *values, const char *const *operands) {
    fleet_t fleet;
    int result = fleet_open(&fleet, operands[0], values);
    if (result == ENDED_WELL) {
        result = fleet_announce(&fleet);
    }
    fleet_close(&fleet);
    return result;
}

const command_t migrate_announce_command = {
    .name = "migrate announce",
    .summary = "leave the count of steps on servers that missed it",
    .operands = "FILE",
    .options = journey_options,
    .text = "Every step does this. It is for servers that could not be reached then.\n",
    .run = run_announce,
};
