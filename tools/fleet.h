/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands that change a topology file share: reading it, asking
 * before a step, waiting until it may be taken, writing the next file and
 * telling the servers.
 */
#ifndef TOOLS_FLEET_H
#define TOOLS_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include <warmring/admin.h>
#include <warmring/fleet.h>

#include "command.h"
#include "report.h"
#include "topology.h"

/* What every such command can be told; in the order of FLEET_OPTIONS. */
enum { FLEET_YES, FLEET_FORCE, FLEET_DEADLINE, FLEET_ANY_WRITER, FLEET_OPTION_COUNT };
#define FLEET_OPTIONS                                                             \
    [FLEET_YES] = {"--yes", NULL, "do not ask"},                                  \
    [FLEET_FORCE] = {"--force", NULL, "go on though a server does not answer"},   \
    [FLEET_DEADLINE] = {"--deadline", "MS", "how long a server may take (5000)"}, \
    [FLEET_ANY_WRITER] = {"--any-writer", NULL, "take a file that others may write to"}

typedef struct {
    const char *path;
    warmring_file_t *file; /* as it is on disk */
    uint32_t deadline_ms;
    uint32_t mode; /* of warmring_file_read() */
    bool yes, force;
    int64_t seen_ms, seen_at; /* when `file` was read or put, on two clocks */
} fleet_t;

/* Reads the file; `values` begin with FLEET_OPTIONS. Close it whatever it
 * returns. */
int fleet_open(fleet_t *fleet, const char *path, const char *const *values);
void fleet_close(fleet_t *fleet);

const warmring_topology_t *fleet_topology(const fleet_t *fleet);
warmring_phase_t fleet_phase(const fleet_t *fleet);

/* "3 h 20 min", "2 min 5 s", "8 s"; rounded up. */
const char *duration(text_t *text, int64_t ms);

/*
 * Asks a question that ends in '?', for "yes" or "y" on the terminal; with --yes
 * it is not asked. FAILED when the answer is another, MISUSED where there is
 * no terminal to ask on.
 */
int fleet_confirm(const fleet_t *fleet, const char *question);

/* Whether the servers of the new ring answer (or of the only one): a complaint
 * for each that does not, and FAILED unless --force. Those of the old ring
 * alone are complained of. */
int fleet_reach(const fleet_t *fleet);

/* FAILED, with a complaint, when the file on disk is another by now. */
int fleet_unchanged(const fleet_t *fleet);

/*
 * Waits until `step` may be taken, telling on standard error how long yet.
 * FAILED when somebody else changes the file meanwhile, or no time will do.
 */
int fleet_wait(const fleet_t *fleet, warmring_step_t step);

/* Writes `next`, which it takes over, in the place of the present file, and
 * announces it. Servers that were not reached are told, no failure. From here on
 * signals that end the command wait until it waits or asks again. */
int fleet_put(fleet_t *fleet, warmring_file_t *next);

/* Announces the file that is there. */
int fleet_announce(const fleet_t *fleet);

/* Waits, takes the step, puts the file. Prints the phase it leads to. */
int fleet_step(fleet_t *fleet, warmring_step_t step);

/* Begins a migration of a file to the ring of `target`; in migrate_begin.c. */
int migrate_to(fleet_t *fleet, const warmring_topology_t *target);

/* Complains of the library's last failure. */
int fleet_fail(void);

#endif
