/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading reports.
 *
 * A deletion that failed on a new owner may have left a copy there that is
 * older than what was written to the old one. Fills under way at that moment
 * may put another one there, for as long as a stub lives. So the watermark is
 * raised only when the last failure is that long ago, which the rest of the
 * report's life tells. (A transport that cannot tell a life is believed: the
 * raise at the next commit, a hold later, makes up for it.)
 *
 * Reports stay: a second commit raises a watermark again that the first one
 * raised, which costs the copies made in between, and those only.
 */
#include "fleet/reports.h"

#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "client/sink.h"
#include "fleet/keys.h"

/* One question: whether `server` has a report about a new owner. */
typedef struct {
    wr_request_t request;
    wr_buffer_sink_t sink;
    char value[WR_REPORT_SIZE + 1];
} question_t;

typedef struct {
    const wr_crew_t *crew;
    const warmring_file_t *file;
    char expected[WR_REPORT_SIZE];
    question_t *questions; /* by endpoint */
    wr_request_t **queue;
    bool found;
    int64_t ttl; /* the longest rest of life of those found */
} inquiry_t;

static bool open_inquiry(inquiry_t *inquiry, const wr_crew_t *crew, const warmring_file_t *file) {
    *inquiry = (inquiry_t){.crew = crew, .file = file};
    inquiry->questions = wr_calloc(crew->count, sizeof *inquiry->questions);
    inquiry->queue = wr_calloc(crew->count, sizeof(wr_request_t *));
    wr_report_value(file->topology, inquiry->expected);
    return inquiry->questions != NULL && inquiry->queue != NULL;
}

static void close_inquiry(inquiry_t *inquiry) {
    wr_free(inquiry->questions);
    wr_free(inquiry->queue);
}

static bool is_ours(const inquiry_t *inquiry, const question_t *question) {
    return question->request.status == WARMRING_OK &&
           question->request.value_length == WR_REPORT_SIZE - 1 &&
           memcmp(question->value, inquiry->expected, WR_REPORT_SIZE - 1) == 0;
}

/* Asks all servers about the one at `address`. */
static warmring_status_t ask_all(inquiry_t *inquiry, const char *address) {
    char key[WR_FLEET_KEY_SIZE + 1];
    size_t length = wr_report_key(inquiry->file->id, address, key);
    const wr_crew_t *crew = inquiry->crew;
    for (uint32_t i = 0; i < crew->count; i++) {
        question_t *question = &inquiry->questions[i];
        question->sink = wr_buffer_sink(question->value, sizeof question->value);
        question->request = (wr_request_t){.server = crew->server[i],
                                           .verb = WR_GET,
                                           .key = {key, length},
                                           .wants_ttl = true,
                                           .sink = &question->sink.sink};
        inquiry->queue[i] = &question->request;
    }
    wr_run(inquiry->queue, crew->count, crew->deadline);
    inquiry->found = false;
    inquiry->ttl = 0;
    for (uint32_t i = 0; i < crew->count; i++) {
        const question_t *question = &inquiry->questions[i];
        if (!wr_is_answer(question->request.status)) {
            return question->request.status;
        }
        if (is_ours(inquiry, question)) {
            inquiry->found = true;
            inquiry->ttl =
                question->request.ttl > inquiry->ttl ? question->request.ttl : inquiry->ttl;
        }
    }
    return WARMRING_OK;
}

/* Whether fills begun before the last failure may still be under way. */
static warmring_status_t check_age(const inquiry_t *inquiry, const char *address) {
    int64_t life = wr_stub_lifetime_s(inquiry->file->max_deadline_ms);
    int64_t passed = WR_REPORT_LIFE_S - inquiry->ttl - 1; /* memcached rounds */
    if (inquiry->ttl > 0 && passed < life) {
        return wr_fail(WARMRING_TRY_AGAIN,
                       "%s missed deletions %lld s ago: another %lld s have to pass until old "
                       "copies on it can be told",
                       address, (long long)(passed < 0 ? 0 : passed), (long long)(life - passed));
    }
    return WARMRING_OK;
}

static warmring_status_t heed(inquiry_t *inquiry, warmring_file_t *parts, size_t index) {
    const warmring_topology_t *topology = parts->topology;
    const char *address = wr_cluster_server(topology->cluster[WARMRING_NEW_RING], index)->address;
    warmring_status_t status = ask_all(inquiry, address);
    if (status != WARMRING_OK || !inquiry->found) {
        return status;
    }
    status = check_age(inquiry, address);
    if (status == WARMRING_OK) {
        wr_probe_t probe = {0, -1};
        wr_server_t *server = inquiry->crew->server[topology->endpoints.of_new[index]];
        status = wr_server_probe_cas(server, inquiry->crew->deadline, &probe);
        parts->watermarks[index].cas = probe.cas;
        parts->watermarks[index].started = probe.started;
    }
    return status;
}

warmring_status_t wr_reports_heed(const wr_crew_t *crew, warmring_file_t *parts) {
    inquiry_t inquiry;
    warmring_status_t status = open_inquiry(&inquiry, crew, parts) ? WARMRING_OK : wr_fail_memory();
    for (size_t i = 0; i < parts->watermark_count && status == WARMRING_OK; i++) {
        status = heed(&inquiry, parts, i);
    }
    close_inquiry(&inquiry);
    return status;
}
