/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that follows a topology file.
 *
 * A look at the file confirms what is in force, or changes it, or finds a
 * fault. One thread looks at a time:
 *
 *   up to 0.5 s after the last look   operations go on: one load, one compare
 *   up to 1 s                         the first operation looks; others go on
 *   later                             all wait, within their deadlines, for one
 *                                     look: after sleep, a stop, an idle time
 *
 * So no operation begins with a topology that was not looked after for more
 * than a second. A look that finds a fault leaves the topology in force. Once
 * none has confirmed it for longer than the file's lag, or a server counts
 * more steps than a client may be behind (fence.c), every operation is
 * answered TOPOLOGY_STALE, and every half second one of them looks again.
 *
 * Locks. `mutex` guards who looks and what was found, for some instructions
 * at a time. What only the one who looks uses has no lock. A child of fork()
 * finds the mutex in any state and perhaps a look begun by a thread that it
 * does not have: whoever comes first there makes the mutex anew and forgets
 * what was seen, and the file is read again.
 */
#ifndef WR_FLEET_FOLLOWER_H
#define WR_FLEET_FOLLOWER_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/fail.h"
#include "client/client.h"
#include "topology/file.h"

/* What tells one content of a file from the next without reading it. */
typedef struct {
    int error; /* errno when it cannot be asked */
    dev_t device;
    ino_t number;
    off_t size;
    wr_time_t modified, changed;
} wr_stamp_t;

/* The counts of steps on the servers. */
typedef struct {
    wr_time_t asked_at;              /* CLOCK_BOOTTIME */
    uint64_t steps;                  /* the highest */
    char server[WR_DETAIL_SIZE / 2]; /* that has it */
    uint64_t epoch;                  /* of the view that the seats belong to */
    uint32_t seats;
    wr_time_t *ask_at; /* by seat: servers that hang are given a rest */
} wr_fence_t;

typedef struct {
    wr_follower_t base;
    char *path;
    uint32_t mode; /* of warmring_file_read() */

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    _Atomic uint32_t generation; /* see base/fork.h */
    bool looking;
    bool told; /* warmring_tick() has returned the fault */
    bool behind;
    wr_time_t looked_at, confirmed_at; /* CLOCK_BOOTTIME */
    wr_time_t lag;
    warmring_phase_t phase;
    warmring_status_t fault; /* of the last look; OK: it confirmed the topology */
    char reason[WR_DETAIL_SIZE];

    bool pending;           /* the last look found a ring too large to be built by it */
    bool building;          /* somebody builds it */
    warmring_file_t *built; /* here it is; the next look takes it */

    warmring_t *client; /* the thread's */
    bool has_thread;
    bool stop;
    pthread_cond_t wake; /* the thread, to stop */
    pthread_t thread;

    /* of the one who looks */
    warmring_file_t *file;  /* in force */
    warmring_file_t *ready; /* with rings that the next one may need; or NULL */
    bool found_large, found_text;
    wr_stamp_t seen;
    warmring_status_t seen_status;
    wr_stamp_t counted; /* of the file whose fault was counted last */
    wr_fence_t fence;
} wr_file_follower_t;

extern const wr_follower_kind_t wr_file_follower_kind;

/* ---- reload.c: for the one who looks ---------------------------------------- */

/*
 * Whether the file confirms what is in force; puts a newer one in force. OK,
 * or the fault, with its text. Does not build rings above 100,000 points, but
 * sets found_large: then OK says that what is in force may stay meanwhile.
 */
warmring_status_t wr_reload(wr_file_follower_t *follower, warmring_t *client,
                            wr_deadline_t deadline);

/* The stamp of the file at `path`, following links. */
wr_stamp_t wr_stamp(const char *path);

/* ---- fence.c: for the one who looks ------------------------------------------- */

/* Asks the servers, unless they were asked less than a second ago, and leaves
 * them reports of failed deletions. */
void wr_fence_ask(wr_file_follower_t *follower, warmring_t *client, wr_deadline_t deadline);

/* How many steps the file is behind the servers. */
uint64_t wr_fence_distance(const wr_file_follower_t *follower);

/* ---- thread.c ------------------------------------------------------------------ */

/* Starts a thread that looks. OK or OUT_OF_MEMORY. */
warmring_status_t wr_thread_start(wr_file_follower_t *follower);
/* Ends it, if there is one. */
void wr_thread_stop(wr_file_follower_t *follower);

/* ---- follow.c ------------------------------------------------------------------ */

warmring_status_t wr_file_follower_create(wr_file_follower_t **follower, const char *path,
                                          uint32_t mode);
/* Frees it, and the file. NULL is fine. */
void wr_file_follower_free(wr_file_follower_t *follower);

/* Looks, unless somebody does, and builds what is too large for a look. */
void wr_file_follower_work(wr_file_follower_t *follower, warmring_t *client,
                           wr_deadline_t deadline);

#endif
