/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driving the processes of a race from step to step, for as long as one likes.
 */
#ifndef TESTS_RACE_DRIVE_H
#define TESTS_RACE_DRIVE_H

#include "tests/race/race.h"

/* What happens to servers meanwhile. */
typedef struct {
    void (*make)(void *context, int64_t now); /* often: begins and ends them as it likes */
    void (*rest)(void *context);              /* ends all: a step waits */
} faults_t;

typedef struct {
    race_t *race;
    const pid_t *children;
    const faults_t *faults;
    void *context;
    uint32_t longest_ms; /* of the rest between two steps, which is random */
    dice_t dice;

    driven_t driven; /* so far */
    warmring_phase_t phase;
    uint32_t ring; /* of STABLE, or the migration's old one */
    uint32_t target;
    int64_t next_step;
} drive_t;

/* Goes on from where it was; at the end no fault is under way. False: a process
 * has ended. */
bool race_drive_for(drive_t *drive, double seconds);

#endif
