/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to look at the file, who does, and what operations are told; the rules
 * are in follower.h.
 */
#include "fleet/follower.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/memory.h"
#include "fleet/file.h"
#include "fleet/read.h"

static const wr_time_t ns_per_second = 1000000000;
static const wr_time_t period = 500000000;
enum { ADOPT_MS = 1000 };

static wr_file_follower_t *mine(wr_follower_t *base) {
    return (wr_file_follower_t *)base;
}

/* ---- locks ------------------------------------------------------------------ */

static bool make_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return made;
}

static bool make_locks(wr_file_follower_t *follower) {
    if (pthread_mutex_init(&follower->mutex, NULL) != 0) {
        return false;
    }
    if (make_condition(&follower->changed)) {
        if (make_condition(&follower->wake)) {
            return true;
        }
        pthread_cond_destroy(&follower->changed);
    }
    pthread_mutex_destroy(&follower->mutex);
    return false;
}

static void renew(wr_file_follower_t *follower) {
    make_locks(follower);
    follower->looking = false;
    follower->building = false;
    follower->has_thread = false;
    follower->seen = (wr_stamp_t){.error = -1};
    follower->fence.ask_at = NULL; /* may be half made; it is small */
    follower->fence.seats = 0;
}

/* Locks, after seeing to it that the lock is this process's own. */
static void lock(wr_file_follower_t *follower) {
    if (atomic_load(&follower->generation) != wr_fork_generation()) {
        wr_fork_lock();
        if (atomic_load(&follower->generation) != wr_fork_generation()) {
            renew(follower);
            atomic_store(&follower->generation, wr_fork_generation());
        }
        wr_fork_unlock();
    }
    pthread_mutex_lock(&follower->mutex);
}

static void unlock(wr_file_follower_t *follower) {
    pthread_mutex_unlock(&follower->mutex);
}

/* ---- what holds now ----------------------------------------------------------- */

static bool is_stale(const wr_file_follower_t *follower, wr_time_t now) {
    return follower->behind || now - follower->confirmed_at > follower->lag;
}

/* What operations do without asking: until when. */
static void schedule(wr_file_follower_t *follower, wr_time_t now, wr_time_t rest) {
    wr_time_t look_at = follower->looked_at + rest;
    wr_time_t stale_at = follower->confirmed_at + follower->lag;
    if (is_stale(follower, now)) {
        look_at = 0;
    } else if (stale_at < look_at) {
        look_at = stale_at;
    }
    atomic_store_explicit(&follower->base.look_at, look_at, memory_order_relaxed);
}

static warmring_status_t judge(const wr_file_follower_t *follower, wr_time_t now) {
    if (!is_stale(follower, now)) {
        return WARMRING_OK;
    }
    long long since = (long long)((now - follower->confirmed_at) / ns_per_second);
    if (follower->behind) {
        return wr_fail(WARMRING_TOPOLOGY_STALE, "%s", follower->reason);
    }
    return wr_fail(WARMRING_TOPOLOGY_STALE, "%.150s: not confirmed for %lld s (lag_s %lld): %s",
                   follower->path, since, (long long)(follower->lag / ns_per_second),
                   follower->reason[0] != '\0' ? follower->reason : "nobody looked");
}

/* ---- looking -------------------------------------------------------------------- */

/* What a look found, before the others know. */
typedef struct {
    warmring_status_t status;
    bool behind;
    char reason[WR_DETAIL_SIZE];
} finding_t;

static void keep_reason(finding_t *finding) {
    snprintf(finding->reason, sizeof finding->reason, "%s", warmring_error_detail());
}

/* A look leaves no trace in the thread's detail text: the call it was made for
 * may well succeed. */
static finding_t find(wr_file_follower_t *follower, warmring_t *client, wr_deadline_t deadline) {
    char detail[WR_DETAIL_SIZE];
    finding_t finding = {.status = WARMRING_OK};
    snprintf(detail, sizeof detail, "%s", warmring_error_detail());
    finding.status = wr_reload(follower, client, deadline);
    wr_fence_ask(follower, client, deadline);
    if (wr_fence_distance(follower) != 0) { /* it may have come just now */
        finding.status = wr_reload(follower, client, deadline);
    }
    if (finding.status != WARMRING_OK) {
        keep_reason(&finding);
    }
    wr_client_ramp(client, follower->file);
    if (wr_fence_distance(follower) >= 2) {
        finding.behind = true;
        snprintf(finding.reason, sizeof finding.reason,
                 "%.150s: %" PRIu64 " steps, but %.100s knows of %" PRIu64
                 ": the file is not updated here",
                 follower->path, follower->file->steps, follower->fence.server,
                 follower->fence.steps);
    }
    wr_fail(WARMRING_OK, "%s", detail);
    return finding;
}

static void note_finding(wr_file_follower_t *follower, const finding_t *finding, wr_time_t began) {
    bool same = follower->fault == finding->status && follower->behind == finding->behind &&
                strcmp(follower->reason, finding->reason) == 0;
    follower->told = follower->told && same;
    follower->fault = finding->status;
    follower->behind = finding->behind;
    memcpy(follower->reason, finding->reason, sizeof follower->reason);
    follower->looked_at = finding->status == WARMRING_OK ? began : wr_boot_now();
    if (finding->status == WARMRING_OK) {
        follower->confirmed_at = began;
    }
    follower->lag = (wr_time_t)follower->file->lag_s * ns_per_second;
    follower->pending = follower->found_large;
    follower->phase = warmring_topology_phase(follower->file->topology);
}

static void take_built(wr_file_follower_t *follower) {
    if (follower->built != NULL) {
        warmring_file_free(follower->ready);
        follower->ready = follower->built;
        follower->built = NULL;
    }
}

/* With the lock, which is let go meanwhile. */
static void look_locked(wr_file_follower_t *follower, warmring_t *client, wr_deadline_t deadline) {
    wr_time_t began = wr_boot_now();
    follower->looking = true;
    schedule(follower, began, ns_per_second);
    take_built(follower);
    unlock(follower);
    finding_t finding = find(follower, client, deadline);
    lock(follower);
    note_finding(follower, &finding, began);
    follower->looking = false;
    schedule(follower, wr_boot_now(), period);
    pthread_cond_broadcast(&follower->changed);
}

/* ---- operations ------------------------------------------------------------------- */

static warmring_status_t fail_wait(const wr_file_follower_t *follower) {
    return wr_fail(WARMRING_TIMEOUT, "%.150s was being looked at until the deadline",
                   follower->path);
}

static warmring_status_t confirm(wr_follower_t *base, warmring_t *client, wr_deadline_t deadline) {
    wr_file_follower_t *follower = mine(base);
    struct timespec until = wr_deadline_timespec(deadline);
    bool in_time = true;
    lock(follower);
    wr_time_t now = wr_boot_now();
    while (now >= follower->looked_at + period) {
        if (!follower->looking) {
            look_locked(follower, client, deadline);
            now = wr_boot_now();
            break;
        }
        if (now < follower->looked_at + ns_per_second || !in_time) {
            break;
        }
        in_time = pthread_cond_timedwait(&follower->changed, &follower->mutex, &until) == 0;
        now = wr_boot_now();
    }
    warmring_status_t status = in_time ? judge(follower, now) : fail_wait(follower);
    if (status == WARMRING_TOPOLOGY_STALE) {
        wr_count(&client->counters, follower->phase, WR_COUNT_stale);
    }
    unlock(follower);
    return status;
}

/* A fault is told once; a new one, or the same after a better time, again. */
static warmring_status_t tell(wr_file_follower_t *follower) {
    warmring_status_t fault = follower->behind ? WARMRING_TOPOLOGY_STALE : follower->fault;
    if (fault == WARMRING_OK || follower->told) {
        return WARMRING_OK;
    }
    follower->told = true;
    return wr_fail(fault, "%s", follower->reason);
}

/* With the lock, which is let go meanwhile: looks go on. */
static void build_locked(wr_file_follower_t *follower) {
    warmring_file_t *built;
    wr_file_rings_t rings = {.like = warmring_topology_retain(follower->file->topology)};
    follower->building = true;
    unlock(follower);
    (void)!wr_file_read(&built, follower->path, follower->mode, &rings);
    warmring_topology_release(rings.like);
    lock(follower);
    warmring_file_free(follower->built);
    follower->built = built;
    follower->building = false;
}

void wr_file_follower_work(wr_file_follower_t *follower, warmring_t *client,
                           wr_deadline_t deadline) {
    lock(follower);
    if (!follower->looking) {
        look_locked(follower, client, deadline);
    }
    if (follower->pending && !follower->building && !follower->looking) {
        build_locked(follower);
        if (!follower->looking) {
            look_locked(follower, client, wr_deadline_in_ms(ADOPT_MS));
        }
    }
    unlock(follower);
}

static warmring_status_t tick(wr_follower_t *base, warmring_t *client, wr_deadline_t deadline) {
    wr_file_follower_t *follower = mine(base);
    wr_file_follower_work(follower, client, deadline);
    lock(follower);
    warmring_status_t status = tell(follower);
    unlock(follower);
    return status;
}

/* ---- life -------------------------------------------------------------------------- */

/* The path from the root, since the program may go to another directory. Links
 * stay in it: what they lead to may change. */
static warmring_status_t make_path(char **made, const char *path) {
    enum { LONGEST = 4096 };
    size_t length = strlen(path);
    char *place = path[0] != '/' ? wr_malloc(LONGEST + 1 + length + 1) : wr_copy(path, length);
    *made = place;
    if (place == NULL) {
        return wr_fail_memory();
    }
    if (path[0] == '/' || path[0] == '\0') {
        place[length] = '\0';
        return WARMRING_OK;
    }
    if (getcwd(place, LONGEST) == NULL) {
        wr_free(place);
        *made = NULL;
        return wr_fail_file(path, "cannot tell the present directory", errno);
    }
    size_t before = strlen(place);
    place[before] = '/';
    memcpy(place + before + 1, path, length + 1);
    return WARMRING_OK;
}

warmring_status_t wr_file_follower_create(wr_file_follower_t **follower, const char *path,
                                          uint32_t mode) {
    char *copy;
    *follower = NULL;
    warmring_status_t status = make_path(&copy, path);
    if (status != WARMRING_OK) {
        return status;
    }
    wr_file_follower_t *made = wr_calloc(1, sizeof *made);
    if (made == NULL || !make_locks(made)) {
        wr_free(copy);
        wr_free(made);
        return wr_fail_memory();
    }
    made->base.kind = &wr_file_follower_kind;
    made->path = copy;
    made->mode = mode;
    atomic_store(&made->generation, wr_fork_generation());
    *follower = made;
    return WARMRING_OK;
}

void wr_file_follower_free(wr_file_follower_t *follower) {
    if (follower == NULL) {
        return;
    }
    pthread_cond_destroy(&follower->wake);
    pthread_cond_destroy(&follower->changed);
    pthread_mutex_destroy(&follower->mutex);
    warmring_file_free(follower->file);
    warmring_file_free(follower->ready);
    warmring_file_free(follower->built);
    wr_free(follower->fence.ask_at);
    wr_free(follower->path);
    wr_free(follower);
}

static void close_follower(wr_follower_t *base, warmring_t *client) {
    (void)client;
    lock(mine(base)); /* after a fork the locks must be ones that can be destroyed */
    unlock(mine(base));
    wr_thread_stop(mine(base));
    wr_file_follower_free(mine(base));
}

const wr_follower_kind_t wr_file_follower_kind = {confirm, tick, close_follower};
