/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fence: the count of steps on every server.
 *
 * It only grows there. Two operators may announce at the same time, and the
 * later count must stay; so each server is read first, and written bound to
 * what was read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <warmring/admin.h>

#include "base/fail.h"
#include "base/memory.h"
#include "base/number.h"
#include "client/sink.h"
#include "fleet/crew.h"
#include "fleet/keys.h"

enum { ROUNDS = 8, NUMBER_SIZE = 24 };

typedef struct {
    wr_request_t request;
    wr_buffer_sink_t sink;
    char number[NUMBER_SIZE];
    bool done;
} fence_t;

typedef struct {
    wr_crew_t crew;
    fence_t *fences; /* by endpoint */
    wr_request_t **queue;
    char key[WR_FLEET_KEY_SIZE + 1];
    size_t key_length;
    char text[NUMBER_SIZE];
    uint64_t steps;
} announcement_t;

static wr_request_t read_of(wr_server_t *server, const char *key, size_t length, wr_sink_t *sink) {
    return (wr_request_t){.server = server, .verb = WR_GET, .key = {key, length}, .sink = sink};
}

/* Whether an answer has a count. */
static bool read_count(const fence_t *fence, uint64_t *steps) {
    return fence->request.status == WARMRING_OK &&
           wr_parse_uint(fence->number, fence->request.value_length, UINT64_MAX, steps);
}

/* Runs the requests of those that are not done. */
static void run_open(const announcement_t *announcement, wr_deadline_t deadline) {
    size_t count = 0;
    for (uint32_t i = 0; i < announcement->crew.count; i++) {
        if (!announcement->fences[i].done) {
            announcement->queue[count++] = &announcement->fences[i].request;
        }
    }
    if (count > 0) {
        wr_run(announcement->queue, count, deadline);
    }
}

/* With half of what is left of the deadline: a server that hangs must not keep
 * the others from being told. */
static void look(announcement_t *announcement) {
    for (uint32_t i = 0; i < announcement->crew.count; i++) {
        fence_t *fence = &announcement->fences[i];
        if (!fence->done) {
            fence->sink = wr_buffer_sink(fence->number, sizeof fence->number);
            fence->request = read_of(announcement->crew.server[i], announcement->key,
                                     announcement->key_length, &fence->sink.sink);
        }
    }
    run_open(announcement, wr_deadline_share(announcement->crew.deadline, 2));
}

/* From what was read to what has to be written. */
static void answer(const announcement_t *announcement, fence_t *fence, uint32_t index) {
    warmring_status_t status = fence->request.status;
    bool there = status == WARMRING_OK || status == WARMRING_BUFFER_TOO_SMALL;
    uint64_t cas = fence->request.cas_out;
    uint64_t steps;
    bool is_late = read_count(fence, &steps) && steps >= announcement->steps;
    if (is_late || (!there && status != WARMRING_NOT_FOUND)) {
        fence->done = true;
        return;
    }
    fence->request = (wr_request_t){
        .server = announcement->crew.server[index],
        .verb = there ? (cas != 0 ? WR_CAS : WR_SET) : WR_ADD,
        .key = {announcement->key, announcement->key_length},
        .value = {announcement->text, strlen(announcement->text)},
        .cas = cas,
    };
}

/* Whether somebody came between. */
static bool is_contended(const fence_t *fence) {
    warmring_status_t status = fence->request.status;
    return status == WARMRING_EXISTS || status == WARMRING_NOT_FOUND ||
           status == WARMRING_NOT_STORED;
}

/* One round; whether another one is due. */
static bool leave(announcement_t *announcement) {
    bool open = false;
    look(announcement);
    for (uint32_t i = 0; i < announcement->crew.count; i++) {
        if (!announcement->fences[i].done) {
            answer(announcement, &announcement->fences[i], i);
        }
    }
    run_open(announcement, announcement->crew.deadline);
    for (uint32_t i = 0; i < announcement->crew.count; i++) {
        fence_t *fence = &announcement->fences[i];
        fence->done = fence->done || !is_contended(fence);
        open |= !fence->done;
    }
    return open;
}

static warmring_status_t leave_all(announcement_t *announcement) {
    for (int i = 0; i < ROUNDS && leave(announcement); i++) {
    }
    for (uint32_t i = 0; i < announcement->crew.count; i++) {
        const fence_t *fence = &announcement->fences[i];
        if (fence->request.status != WARMRING_OK) {
            return fence->done ? fence->request.status
                               : wr_fail(WARMRING_TRY_AGAIN, "%s: others change the fence",
                                         wr_server_address(announcement->crew.server[i]));
        }
    }
    return WARMRING_OK;
}

warmring_status_t warmring_fleet_announce(const warmring_file_t *file,
                                          const warmring_options_t *options, uint32_t deadline_ms) {
    if (WR_HAS_NULL(file)) {
        return WARMRING_BAD_ARGUMENT;
    }
    announcement_t announcement = {.steps = file->steps};
    announcement.key_length = wr_fence_key(file->id, announcement.key);
    snprintf(announcement.text, sizeof announcement.text, "%" PRIu64, file->steps);
    warmring_status_t status =
        wr_crew_open(&announcement.crew, file->topology, options, deadline_ms);
    if (status != WARMRING_OK) {
        return status;
    }
    announcement.fences = wr_calloc(announcement.crew.count, sizeof *announcement.fences);
    announcement.queue = wr_calloc(announcement.crew.count, sizeof(wr_request_t *));
    status = announcement.fences != NULL && announcement.queue != NULL ? leave_all(&announcement)
                                                                       : wr_fail_memory();
    wr_free(announcement.fences);
    wr_free(announcement.queue);
    wr_crew_close(&announcement.crew);
    return status;
}

warmring_status_t warmring_fleet_fence(const warmring_file_t *file, size_t index,
                                       const warmring_options_t *options, uint32_t deadline_ms,
                                       uint64_t *steps) {
    wr_crew_t crew;
    if (WR_EMPTY_OR_NULL(steps, file)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_status_t status = wr_crew_choose(&crew, file, index, options, deadline_ms);
    if (status != WARMRING_OK) {
        return status;
    }
    char key[WR_FLEET_KEY_SIZE + 1];
    size_t length = wr_fence_key(file->id, key);
    fence_t fence = {.done = false};
    fence.sink = wr_buffer_sink(fence.number, sizeof fence.number);
    fence.request = read_of(crew.server[index], key, length, &fence.sink.sink);
    wr_run_one(&fence.request, crew.deadline);
    wr_crew_close(&crew);
    status = fence.request.status;
    bool is_none = (status == WARMRING_OK && !read_count(&fence, steps)) ||
                   status == WARMRING_BUFFER_TOO_SMALL;
    return is_none ? WARMRING_NOT_FOUND : status;
}
