/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the file to the topology in force. Most looks are one stat(): the same
 * stamp as before confirms what is in force, or repeats the fault.
 *
 * The stamp is taken before the file is read. Should the file change between
 * the two, the next look finds another stamp and reads it again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "base/memory.h"
#include "fleet/file.h"
#include "fleet/follower.h"
#include "fleet/read.h"

static wr_time_t from_timespec(struct timespec time) {
    return (wr_time_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

wr_stamp_t wr_stamp(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) {
        return (wr_stamp_t){.error = errno};
    }
    return (wr_stamp_t){.device = status.st_dev,
                        .number = status.st_ino,
                        .size = status.st_size,
                        .modified = from_timespec(status.st_mtim),
                        .changed = from_timespec(status.st_ctim)};
}

static bool same_stamp(const wr_stamp_t *a, const wr_stamp_t *b) {
    return a->error == b->error && a->device == b->device && a->number == b->number &&
           a->size == b->size && a->modified == b->modified && a->changed == b->changed;
}

/* Whether `next` may take the place of the file in force. */
static warmring_status_t check_next(const wr_file_follower_t *follower,
                                    const warmring_file_t *next) {
    const warmring_file_t *now = follower->file;
    uint64_t epoch = warmring_topology_epoch(now->topology);
    uint64_t next_epoch = warmring_topology_epoch(next->topology);
    if (next->id != now->id) {
        return wr_fail(WARMRING_BAD_FILE,
                       "%.150s: is of another fleet, %016" PRIx64 " and not %016" PRIx64
                       ": open a new client for it",
                       follower->path, next->id, now->id);
    }
    if (next_epoch < epoch) {
        return wr_fail(WARMRING_BAD_FILE,
                       "%.150s: goes back to epoch %" PRIu64 ", epoch %" PRIu64 " is in force",
                       follower->path, next_epoch, epoch);
    }
    if (next_epoch == epoch && strcmp(next->text, now->text) != 0) {
        return wr_fail(WARMRING_BAD_FILE,
                       "%.150s: is another than before, but still of epoch %" PRIu64,
                       follower->path, epoch);
    }
    return WARMRING_OK;
}

/* A ring takes too long to build. Meanwhile the topology in force may stay,
 * for as long as need be, if clients may be in both phases at the same time;
 * else no longer than a client may be late. */
static warmring_status_t put_off(wr_file_follower_t *follower) {
    wr_glance_t glance;
    const warmring_file_t *now = follower->file;
    warmring_status_t status = wr_file_glance(&glance, follower->path, follower->mode);
    if (status != WARMRING_OK) {
        return status;
    }
    bool same = glance.steps == now->steps && glance.phase == now->topology->phase;
    bool next = glance.steps == now->steps + 1 &&
                wr_phases_coexist(now->topology->phase, glance.phase) &&
                glance.phase != now->topology->phase;
    follower->found_large = true;
    return glance.id == now->id && (same || next)
               ? WARMRING_OK
               : wr_fail(WARMRING_TRY_AGAIN,
                         "%.150s: has a ring that waits for warmring_tick() to build it",
                         follower->path);
}

static warmring_status_t read_next(wr_file_follower_t *follower, warmring_file_t **next) {
    enum { MOST_POINTS = 100000 };
    wr_content_t content;
    const warmring_file_t *like = follower->ready != NULL ? follower->ready : follower->file;
    wr_file_rings_t rings = {.like = like->topology, .most_points = MOST_POINTS};
    *next = NULL;
    warmring_status_t status = wr_content_read(&content, follower->path, follower->mode);
    if (status != WARMRING_OK) {
        return status;
    }
    follower->found_text = true;
    status = wr_file_parse(next, content.bytes, content.length, follower->path, &rings);
    wr_free(content.bytes);
    return status;
}

static void take_over(wr_file_follower_t *follower, warmring_file_t *next) {
    warmring_file_t *past = follower->file;
    warmring_file_t *ready = follower->ready;
    follower->file = next;
    follower->ready = NULL;
    warmring_file_free(past);
    warmring_file_free(ready);
}

static warmring_status_t take_file(wr_file_follower_t *follower, warmring_t *client,
                                   wr_deadline_t deadline) {
    warmring_file_t *next;
    warmring_status_t status = read_next(follower, &next);
    if (status == WARMRING_TRY_AGAIN) {
        return put_off(follower);
    }
    if (status == WARMRING_OK) {
        status = check_next(follower, next);
    }
    if (status == WARMRING_OK) {
        status = wr_client_adopt(client, next, deadline);
    }
    if (status == WARMRING_OK) {
        take_over(follower, next);
    } else {
        warmring_file_free(next);
    }
    return status;
}

/* What is final for this stamp: no other look changes it. A file that cannot be
 * read may well be readable a moment later, with the stamp that it has now: the
 * process had no descriptor left, or a disk came back. */
static bool is_final(const wr_file_follower_t *follower, const wr_stamp_t *stamp,
                     warmring_status_t status) {
    return !follower->found_large &&
           (status == WARMRING_OK ||
            (status == WARMRING_BAD_FILE && (follower->found_text || stamp->error != 0)));
}

static void count_fault(wr_file_follower_t *follower, warmring_t *client, const wr_stamp_t *stamp) {
    if (!same_stamp(stamp, &follower->counted)) {
        wr_count(&client->counters, warmring_topology_phase(follower->file->topology),
                 WR_COUNT_file_errors);
        follower->counted = *stamp;
    }
}

warmring_status_t wr_reload(wr_file_follower_t *follower, warmring_t *client,
                            wr_deadline_t deadline) {
    wr_stamp_t stamp = wr_stamp(follower->path);
    follower->found_large = false;
    follower->found_text = false;
    if (same_stamp(&stamp, &follower->seen)) {
        return follower->seen_status == WARMRING_OK
                   ? WARMRING_OK
                   : wr_fail(follower->seen_status, "%s", follower->reason);
    }
    warmring_status_t status = stamp.error != 0
                                   ? wr_fail_file(follower->path, "cannot read", stamp.error)
                                   : take_file(follower, client, deadline);
    if (status == WARMRING_BAD_FILE) {
        count_fault(follower, client, &stamp);
    } else if (status == WARMRING_OK) {
        follower->counted = (wr_stamp_t){.error = -1};
    }
    if (is_final(follower, &stamp, status)) {
        follower->seen = stamp;
        follower->seen_status = status;
    }
    return status;
}
