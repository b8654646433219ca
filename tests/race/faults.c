/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent's side of a round of the race: steps, and the faults of servers
 * that its shape asks for.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/race/drive.h"

enum { BURST = 400, LONGEST_MS = 40 };
static const int64_t ms = 1000000;

typedef struct {
    const race_t *race;
    fixture_t *fixture;
    driven_t *driven;
    dice_t dice;
    int64_t next_burst, next_restart, next_stop, next_go;
    size_t stopped; /* SERVERS: none */
    int filler[SERVERS];
    uint32_t filled;
} trouble_t;

/* ---- faults -------------------------------------------------------------------- */

/* Many small values of the sizes that the race uses, unanswered. */
static void fill(trouble_t *trouble, size_t server) {
    static const unsigned sizes[] = {1, 12, VALUE_SIZE, 150, 250, 400};
    static char block[BURST * 512];
    size_t used = 0;
    for (unsigned i = 0; i < BURST; i++) {
        unsigned size = sizes[roll(&trouble->dice, sizeof sizes / sizeof sizes[0])];
        used += (size_t)sprintf(block + used, "set fill:%u 0 0 %u noreply\r\n%0*d\r\n",
                                trouble->filled++ % 1000000, size, (int)size, 0);
    }
    int *fd = &trouble->filler[server];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(fixture_port(trouble->fixture, server)),
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

static void end_stop(void *context) {
    trouble_t *trouble = context;
    if (trouble->stopped != SERVERS) {
        fixture_continue(trouble->fixture, trouble->stopped);
        trouble->stopped = SERVERS;
    }
}

static void make_faults(void *context, int64_t now) {
    trouble_t *trouble = context;
    const shape_t *shape = &trouble->race->shape;
    size_t server = roll(&trouble->dice, SERVERS);
    if (shape->evicts && now >= trouble->next_burst && server != trouble->stopped) {
        fill(trouble, server);
        trouble->next_burst = now + 2 * ms;
    }
    if (trouble->stopped != SERVERS && now >= trouble->next_go) {
        end_stop(trouble);
        trouble->next_stop = now + (100 + roll(&trouble->dice, 400)) * ms;
    }
    if (shape->restarts && now >= trouble->next_restart && trouble->stopped == SERVERS) {
        fixture_restart(trouble->fixture, server);
        trouble->driven->restarts++;
        trouble->next_restart = now + (150 + roll(&trouble->dice, 800)) * ms;
    }
    if (shape->stops && now >= trouble->next_stop && trouble->stopped == SERVERS) {
        fixture_stop(trouble->fixture, server);
        trouble->driven->stops++;
        trouble->stopped = server;
        trouble->next_go = now + (20 + roll(&trouble->dice, 300)) * ms;
    }
}

/* ---- the round --------------------------------------------------------------------- */

static void count_evictions(trouble_t *trouble) {
    char reply[8192];
    for (size_t i = 0; i < SERVERS; i++) {
        fixture_raw(trouble->fixture, i, "stats\r\n", "END\r\n", reply, sizeof reply);
        const char *found = strstr(reply, "STAT evictions ");
        unsigned evictions = 0;
        if (found != NULL && sscanf(found, "STAT evictions %u", &evictions) == 1) {
            trouble->driven->evictions += evictions;
        }
    }
}

static void wind_up(trouble_t *trouble) {
    for (size_t i = 0; i < SERVERS; i++) {
        if (trouble->filler[i] >= 0) {
            close(trouble->filler[i]);
        }
    }
    count_evictions(trouble);
}

bool race_drive(race_t *race, fixture_t *fixture, double seconds, const pid_t *children,
                driven_t *driven) {
    static const faults_t faults = {make_faults, end_stop};
    drive_t drive = {.race = race,
                     .children = children,
                     .faults = &faults,
                     .longest_ms = LONGEST_MS,
                     .dice = {race->seed}};
    trouble_t trouble = {.race = race,
                         .fixture = fixture,
                         .driven = &drive.driven,
                         .dice = {race->seed * 31 + 7},
                         .stopped = SERVERS,
                         .filler = {-1, -1, -1, -1}};
    int64_t now = race_now();
    drive.context = &trouble;
    drive.next_step = trouble.next_restart = trouble.next_stop = now + 50 * ms;
    bool well = race_drive_for(&drive, seconds);
    atomic_store(&race->stop, true);
    wind_up(&trouble);
    *driven = drive.driven;
    return well;
}
