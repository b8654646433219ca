/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random legal steps, one after another, and the faults of whoever drives in
 * between.
 */
#include "tests/race/drive.h"

#include <sys/wait.h>

#include "tests/lib/tap.h"

enum { TICK_US = 500, FAULTS_REST_MS = 400, STABLE_LONGER = 5 };
static const int64_t ms = 1000000;

/* ---- steps ------------------------------------------------------------------ */

/* Where one may go from each phase, with weights in per cent. */
typedef struct {
    uint8_t weight;
    uint8_t action;
    uint8_t step;
    warmring_phase_t to;
} choice_t;

enum { CHOICES = 3 };
static const choice_t choices[][CHOICES] = {
    [WARMRING_STABLE] = {{100, BEGIN_MIGRATION, 0, WARMRING_PREPARED}},
    [WARMRING_PREPARED] = {{85, TAKE_STEP, WARMRING_WARM, WARMRING_WARMING},
                           {15, TAKE_STEP, WARMRING_ROLLBACK, WARMRING_STABLE}},
    [WARMRING_WARMING] = {{60, SET_ROLLOUT, 0, WARMRING_WARMING},
                          {30, TAKE_STEP, WARMRING_COMMIT, WARMRING_HANDOVER},
                          {10, TAKE_STEP, WARMRING_ROLLBACK, WARMRING_PREPARED}},
    [WARMRING_HANDOVER] = {{80, TAKE_STEP, WARMRING_COMMIT, WARMRING_DRAINING},
                           {20, TAKE_STEP, WARMRING_ROLLBACK, WARMRING_PREPARED}},
    [WARMRING_DRAINING] = {{75, TAKE_STEP, WARMRING_FINISH, WARMRING_CLOSING},
                           {25, TAKE_STEP, WARMRING_ROLLBACK, WARMRING_HANDOVER}},
    [WARMRING_CLOSING] = {{75, TAKE_STEP, WARMRING_FINISH, WARMRING_SETTLING},
                          {25, TAKE_STEP, WARMRING_ROLLBACK, WARMRING_HANDOVER}},
    [WARMRING_SETTLING] = {{100, SWEEP, 0, WARMRING_SETTLING}},
};

static const choice_t directly = {100, TAKE_STEP, WARMRING_COMMIT_DIRECTLY, WARMRING_DRAINING};
static const choice_t settle = {100, TAKE_STEP, WARMRING_SETTLE, WARMRING_STABLE};

static const choice_t *choose(drive_t *drive) {
    uint32_t taken = atomic_load(&drive->race->announced);
    if (taken > 0 && drive->race->plan[taken - 1].action == SWEEP) {
        return &settle;
    }
    const choice_t *choice = choices[drive->phase];
    uint32_t dice = roll(&drive->dice, 100);
    while (dice >= choice->weight) {
        dice -= choice->weight;
        choice++;
    }
    bool commits = choice->action == TAKE_STEP && choice->to == WARMRING_HANDOVER &&
                   drive->phase == WARMRING_WARMING;
    if (commits && drive->race->shape.direct && roll(&drive->dice, 2) == 0) {
        return &directly;
    }
    return choice;
}

/* A right client beside the wrong one: to WARMING at 100 %, and no further. */
static const choice_t *choose_for_wrong(drive_t *drive) {
    static const choice_t *const way[] = {&choices[WARMRING_STABLE][0],
                                          &choices[WARMRING_PREPARED][0],
                                          &choices[WARMRING_WARMING][0]};
    uint32_t taken = atomic_load(&drive->race->announced);
    return taken < sizeof way / sizeof way[0] ? way[taken] : NULL;
}

static uint32_t argument_of(drive_t *drive, const choice_t *choice) {
    static const uint32_t rollouts[] = {0, 5000, 10000, 10000};
    switch ((action_t)choice->action) {
    case BEGIN_MIGRATION:
        drive->target = (drive->ring + 1 + roll(&drive->dice, RINGS - 1)) % RINGS;
        return drive->target;
    case SET_ROLLOUT:
        return drive->race->shape.wrong != NO_WRONG ? WARMRING_ROLLOUT_ALL
                                                    : rollouts[roll(&drive->dice, 4)];
    default:
        return choice->step;
    }
}

static void announce(drive_t *drive) {
    race_t *race = drive->race;
    uint32_t index = atomic_load(&race->announced);
    const choice_t *choice =
        race->shape.wrong != NO_WRONG ? choose_for_wrong(drive) : choose(drive);
    if (choice == NULL || index == STEPS_MAX) {
        return;
    }
    plan_step_t *step = &race->plan[index];
    step->action = choice->action;
    step->argument = argument_of(drive, choice);
    step->phase = choice->to;
    step->announced = race_now();
    drive->driven.steps += choice->action != SWEEP;
    if (choice == &settle) {
        drive->ring = drive->target;
        drive->driven.migrations++;
    }
    drive->driven.rollbacks += choice->action == TAKE_STEP && choice->step == WARMRING_ROLLBACK;
    drive->phase = choice->to;
    atomic_store(&race->announced, index + 1);
}

static bool all_have_taken_it(const race_t *race) {
    for (unsigned i = 0; i < PROCESSES; i++) {
        if (atomic_load(&race->acknowledged[i]) != atomic_load(&race->announced)) {
            return false;
        }
    }
    return true;
}

/* Whether a step takes long: some are refused for seconds after a fault, and
 * would be for ever if new faults came. */
static bool is_waited_for(const race_t *race, int64_t now) {
    uint32_t index = atomic_load(&race->announced);
    return index > 0 && !all_have_taken_it(race) &&
           now > race->plan[index - 1].announced + FAULTS_REST_MS * ms;
}

static void step_on(drive_t *drive, int64_t now) {
    race_t *race = drive->race;
    uint32_t index = atomic_load(&race->announced);
    if (!all_have_taken_it(race)) {
        return;
    }
    if (index > 0 && race->plan[index - 1].done == 0) {
        race->plan[index - 1].done = now;
        uint32_t longest =
            drive->longest_ms * (drive->phase == WARMRING_STABLE ? STABLE_LONGER : 1);
        drive->next_step = now + roll(&drive->dice, longest) * ms;
    }
    if (now >= drive->next_step) {
        announce(drive);
    }
}

/* ---- the drive --------------------------------------------------------------------- */

static bool any_has_ended(const drive_t *drive) {
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;
        if (waitpid(drive->children[i], &status, WNOHANG) == drive->children[i]) {
            tap_note("process %u ended with status %#x: %s", i, (unsigned)status,
                     drive->race->failure[i]);
            return true;
        }
    }
    return false;
}

bool race_drive_for(drive_t *drive, double seconds) {
    int64_t now = race_now();
    int64_t end = now + (int64_t)(seconds * 1e9);
    bool ended = false;
    while (!ended && now < end) {
        if (is_waited_for(drive->race, now)) {
            drive->faults->rest(drive->context);
        } else {
            drive->faults->make(drive->context, now);
        }
        step_on(drive, now);
        race_sleep_us(TICK_US);
        now = race_now();
        ended = any_has_ended(drive);
    }
    drive->faults->rest(drive->context);
    return !ended;
}
