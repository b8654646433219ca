/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers of a topology, to be asked a few things and let go: a client
 * that no operation runs on.
 */
#ifndef WR_FLEET_CREW_H
#define WR_FLEET_CREW_H

#include <warmring/fleet.h>

#include "client/client.h"

typedef struct {
    warmring_t *client;
    wr_server_t *const *server; /* by endpoint */
    uint32_t count;
    wr_deadline_t deadline;
    uint32_t deadline_ms;
} wr_crew_t;

/* OK, BAD_OPTION, OUT_OF_MEMORY. `options` NULL: defaults; `deadline_ms` 0:
 * theirs. The topology must live as long. */
warmring_status_t wr_crew_open(wr_crew_t *crew, const warmring_topology_t *topology,
                               const warmring_options_t *options, uint32_t deadline_ms);
/* The same for one server of a file, which has to be there: BAD_ARGUMENT. */
warmring_status_t wr_crew_choose(wr_crew_t *crew, const warmring_file_t *file, size_t index,
                                 const warmring_options_t *options, uint32_t deadline_ms);
/* An empty one is fine. */
void wr_crew_close(wr_crew_t *crew);

/* Milliseconds since 1970. */
int64_t wr_wall_clock_ms(void);

/*
 * OK when the present phase of `file` has lasted long enough for `step`;
 * TRY_AGAIN with the seconds that are left; ILLEGAL_STEP where nothing but
 * SETTLE can end it.
 */
warmring_status_t wr_hold_check(const warmring_file_t *file, warmring_step_t step, int64_t now_ms);

#endif
