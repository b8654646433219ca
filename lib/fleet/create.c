/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New topology files, and the identity that tells their keys on the servers
 * from those of other fleets.
 */
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <warmring/fleet.h>

#include "base/fail.h"
#include "base/hash.h"
#include "topology/file.h"

/* Random; where the system has no such thing, what hardly happens twice. */
static uint64_t make_id(void) {
    struct {
        uint64_t random;
        struct timespec now;
        intptr_t process, place;
    } seed = {.process = getpid(), .place = (intptr_t)&seed};
    clock_gettime(CLOCK_REALTIME, &seed.now);
    if (getrandom(&seed.random, sizeof seed.random, GRND_NONBLOCK) != sizeof seed.random) {
        seed.random = 0;
    }
    return wr_xxh64(&seed, sizeof seed, 0);
}

warmring_status_t warmring_file_create(warmring_file_t **file, const warmring_topology_t *topology,
                                       const warmring_file_settings_t *settings, int64_t now_ms) {
    if (WR_EMPTY_OR_NULL(file, topology)) {
        return WARMRING_BAD_ARGUMENT;
    }
    return wr_file_create(file, topology, settings, make_id(), now_ms);
}
