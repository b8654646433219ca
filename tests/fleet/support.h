/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet for a test: real servers, a topology file in a directory of its own
 * that goes away with it, and the operator's hand on that file, without the
 * waits of a real one. Everything bails when it fails.
 */
#ifndef TESTS_FLEET_SUPPORT_H
#define TESTS_FLEET_SUPPORT_H

#include <warmring/fleet.h>

#include "tests/lib/fixture.h"
#include "topology/file.h"

typedef struct {
    fixture_t *fixture;
    size_t count; /* of servers */
    char directory[64];
    char path[128];
    warmring_file_t *file; /* the newest, which `path` has */
} fleet_t;

/* Starts `count` servers; the file's ring has the first `used` of them. */
fleet_t *fleet_start(size_t count, size_t used, uint32_t lag_s);
void fleet_free(fleet_t *fleet);

/* A client of it, or of another copy of its file, with the transport in force
 * (transports.h) and a deadline of two seconds. `options` is a NULL-terminated list of
 * names and values, or NULL. */
warmring_t *fleet_open(const fleet_t *fleet, const char *const *options);
warmring_t *fleet_open_copy(const char *path, const char *const *options);

/* Takes over `next`: the file is replaced by it. */
void fleet_put(fleet_t *fleet, warmring_file_t *next);
/* Puts `text` there, which need not be any file. */
void fleet_put_text(const char *path, const char *text);

/* The next files. */
void fleet_flip(fleet_t *fleet, const char *servers);  /* a cold edit */
void fleet_begin(fleet_t *fleet, const char *servers); /* with the servers' watermarks */
void fleet_begin_to(fleet_t *fleet, const warmring_topology_t *target);
void fleet_step(fleet_t *fleet, warmring_step_t step);
void fleet_rollout(fleet_t *fleet, uint32_t basis_points, uint32_t ramp_s);
/* The watermark of a server as it is now, without a step. */
void fleet_raise(fleet_t *fleet, size_t server);

/* Leaves the file's count of steps on all servers. */
void fleet_announce(const fleet_t *fleet);

/* What a server says of itself. */
uint64_t fleet_stat(const fleet_t *fleet, size_t server, const char *name);

/* Waits, reading a key now and then, until the client has that epoch in
 * force; the milliseconds it took. Bails after ten seconds. */
unsigned fleet_await(warmring_t *client, uint64_t epoch);
uint64_t fleet_epoch(warmring_t *client);
warmring_counters_t fleet_counters(warmring_t *client);

void fleet_sleep_ms(unsigned milliseconds);
int64_t fleet_now_ms(void);    /* since 1970 */
unsigned fleet_clock_ms(void); /* monotonic */

#endif
