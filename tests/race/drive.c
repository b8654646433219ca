/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent's side of a round: random legal steps, one after another, and
 * faults of the servers in between.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/race/race.h"

enum { TICK_US = 500, BURST = 400, FAULTS_REST_MS = 400 };
static const int64_t ms = 1000000;

typedef struct {
    race_t *race;
    fixture_t *fixture;
    const pid_t *children;
    driven_t *driven;
    dice_t dice;
    warmring_phase_t phase;
    uint32_t ring; /* of STABLE, or the migration's old one */
    uint32_t target;
    int64_t next_step, next_burst, next_restart, next_stop, next_go;
    size_t stopped; /* SERVERS: none */
    int filler[SERVERS];
    uint32_t filled;
    bool broken;
} drive_t;

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
    drive->driven->steps += choice->action != SWEEP;
    if (choice == &settle) {
        drive->ring = drive->target;
        drive->driven->migrations++;
    }
    drive->driven->rollbacks += choice->action == TAKE_STEP && choice->step == WARMRING_ROLLBACK;
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
        uint32_t longest = drive->phase == WARMRING_STABLE ? 200 : 40;
        drive->next_step = now + roll(&drive->dice, longest) * ms;
    }
    if (now >= drive->next_step) {
        announce(drive);
    }
}

/* ---- faults -------------------------------------------------------------------- */

/* Many small values of the sizes that the race uses, unanswered. */
static void fill(drive_t *drive, size_t server) {
    static const unsigned sizes[] = {1, 12, VALUE_SIZE, 150, 250, 400};
    static char block[BURST * 512];
    size_t used = 0;
    for (unsigned i = 0; i < BURST; i++) {
        unsigned size = sizes[roll(&drive->dice, sizeof sizes / sizeof sizes[0])];
        used += (size_t)sprintf(block + used, "set fill:%u 0 0 %u noreply\r\n%0*d\r\n",
                                drive->filled++ % 1000000, size, (int)size, 0);
    }
    int *fd = &drive->filler[server];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(fixture_port(drive->fixture, server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_usec = 50000};
    if (*fd < 0) {
        *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        if (connect(*fd, (struct sockaddr *)&address, sizeof address) != 0) {
            used = SIZE_MAX;
        }
    }
    if (used == SIZE_MAX || send(*fd, block, used, MSG_NOSIGNAL) != (ssize_t)used) {
        close(*fd);
        *fd = -1;
    }
}

static void end_stop(drive_t *drive) {
    if (drive->stopped != SERVERS) {
        fixture_continue(drive->fixture, drive->stopped);
        drive->stopped = SERVERS;
    }
}

static void make_faults(drive_t *drive, int64_t now) {
    const shape_t *shape = &drive->race->shape;
    size_t server = roll(&drive->dice, SERVERS);
    if (shape->evicts && now >= drive->next_burst && server != drive->stopped) {
        fill(drive, server);
        drive->next_burst = now + 2 * ms;
    }
    if (drive->stopped != SERVERS && now >= drive->next_go) {
        end_stop(drive);
        drive->next_stop = now + (100 + roll(&drive->dice, 400)) * ms;
    }
    if (shape->restarts && now >= drive->next_restart && drive->stopped == SERVERS) {
        fixture_restart(drive->fixture, server);
        drive->driven->restarts++;
        drive->next_restart = now + (150 + roll(&drive->dice, 800)) * ms;
    }
    if (shape->stops && now >= drive->next_stop && drive->stopped == SERVERS) {
        fixture_stop(drive->fixture, server);
        drive->driven->stops++;
        drive->stopped = server;
        drive->next_go = now + (20 + roll(&drive->dice, 300)) * ms;
    }
}

/* ---- the round --------------------------------------------------------------------- */

static bool any_has_ended(drive_t *drive) {
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

static void count_evictions(drive_t *drive) {
    char reply[8192];
    for (size_t i = 0; i < SERVERS; i++) {
        fixture_raw(drive->fixture, i, "stats\r\n", "END\r\n", reply, sizeof reply);
        const char *found = strstr(reply, "STAT evictions ");
        unsigned evictions = 0;
        if (found != NULL && sscanf(found, "STAT evictions %u", &evictions) == 1) {
            drive->driven->evictions += evictions;
        }
    }
}

static void wind_up(drive_t *drive) {
    end_stop(drive);
    for (size_t i = 0; i < SERVERS; i++) {
        if (drive->filler[i] >= 0) {
            close(drive->filler[i]);
        }
    }
    atomic_store(&drive->race->stop, true);
    count_evictions(drive);
}

bool race_drive(race_t *race, fixture_t *fixture, double seconds, const pid_t *children,
                driven_t *driven) {
    drive_t drive = {.race = race,
                     .fixture = fixture,
                     .children = children,
                     .driven = driven,
                     .dice = {race->seed},
                     .stopped = SERVERS,
                     .filler = {-1, -1, -1, -1}};
    int64_t now = race_now();
    int64_t end = now + (int64_t)(seconds * 1e9);
    drive.next_step = drive.next_restart = drive.next_stop = now + 50 * ms;
    bool ended = false;
    while (!ended && now < end) {
        if (is_waited_for(race, now)) {
            end_stop(&drive);
        } else {
            make_faults(&drive, now);
        }
        step_on(&drive, now);
        race_sleep_us(TICK_US);
        now = race_now();
        ended = any_has_ended(&drive);
    }
    wind_up(&drive);
    return !ended;
}
