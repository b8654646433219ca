/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sweeping one server.
 *
 * A list that is not read holds up the server's crawler, so the list is read
 * to its end first, and what is to be deleted is remembered: up to MOST copies.
 * If there were more, another pass follows. All that a sweep knows is on the
 * server, so it may be stopped anywhere and run again.
 */
#include <string.h>
#include <time.h>

#include <warmring/admin.h>

#include "base/fail.h"
#include "base/memory.h"
#include "fleet/crew.h"
#include "fleet/sweep_rule.h"
#include "net/dump.h"

enum { MOST = 500000, BATCH = 100, KEYS_A_REPORT = 10000 };

typedef struct {
    uint64_t cas;
    uint32_t offset;
    uint32_t length;
} victim_t;

typedef struct {
    const warmring_sweep_t *how;
    warmring_sweep_counts_t *counts;
    wr_server_t *server;
    wr_crew_t crew;
    wr_sweep_rule_t rule;
    victim_t *victims;
    size_t count, capacity;
    char *bytes; /* their keys */
    size_t used, room;
    bool more;   /* than could be remembered */
    bool failed; /* out of memory, or a server without CAS */
    warmring_status_t failure;
    wr_time_t begun; /* of the deletions, for the rate */
    uint64_t asked;
} sweep_t;

/* ---- listing --------------------------------------------------------------- */

static bool grow(void **block, size_t *capacity, size_t needed, size_t size) {
    if (needed <= *capacity) {
        return true;
    }
    size_t larger = 2 * *capacity > needed ? 2 * *capacity : needed;
    void *grown = wr_realloc(*block, larger * size);
    if (grown != NULL) {
        *block = grown;
        *capacity = larger;
    }
    return grown != NULL;
}

static bool remember(sweep_t *sweep, const wr_dump_item_t *item) {
    void *victims = sweep->victims;
    void *bytes = sweep->bytes;
    bool has_room = grow(&victims, &sweep->capacity, sweep->count + 1, sizeof(victim_t)) &&
                    grow(&bytes, &sweep->room, sweep->used + item->key.length, 1);
    sweep->victims = victims;
    sweep->bytes = bytes;
    if (!has_room) {
        return false;
    }
    memcpy(sweep->bytes + sweep->used, item->key.data, item->key.length);
    sweep->victims[sweep->count++] =
        (victim_t){item->cas, (uint32_t)sweep->used, (uint32_t)item->key.length};
    sweep->used += item->key.length;
    return true;
}

static bool report(const sweep_t *sweep) {
    return sweep->how->progress == NULL || sweep->how->progress(sweep->how->context, sweep->counts);
}

static bool give_up(sweep_t *sweep, warmring_status_t status) {
    sweep->failed = true;
    sweep->failure = status;
    return false;
}

static bool take_item(void *context, const wr_dump_item_t *item) {
    sweep_t *sweep = context;
    wr_sweep_verdict_t verdict = wr_sweep_judge(&sweep->rule, item->key, item->cas);
    if (verdict == WR_SWEEP_OWN) {
        return true;
    }
    sweep->counts->keys++;
    sweep->counts->strange += verdict == WR_SWEEP_STRANGE;
    if (verdict == WR_SWEEP_REMOVE) {
        sweep->counts->found++;
        if (item->cas == 0) {
            return give_up(sweep, wr_fail(WARMRING_NOT_SUPPORTED,
                                          "%s: server runs without CAS (-C), so that a copy "
                                          "cannot be deleted safely",
                                          wr_server_address(sweep->server)));
        }
        sweep->more |= sweep->count == MOST;
        if (sweep->how->remove && sweep->count < MOST && !remember(sweep, item)) {
            return give_up(sweep, wr_fail_memory());
        }
    }
    return sweep->counts->keys % KEYS_A_REPORT != 0 || report(sweep);
}

static warmring_status_t list(sweep_t *sweep) {
    sweep->count = sweep->used = 0;
    sweep->more = false;
    sweep->counts->keys = sweep->counts->strange = 0;
    sweep->counts->found = sweep->counts->removed + sweep->counts->changed;
    warmring_status_t status =
        wr_server_dump(sweep->server, take_item, sweep, sweep->crew.deadline_ms);
    return sweep->failed ? sweep->failure : status;
}

/* ---- deleting ---------------------------------------------------------------- */

/* Waits until as many deletions may have been asked for as were. */
static void keep_rate(const sweep_t *sweep) {
    if (sweep->how->rate == 0) {
        return;
    }
    wr_time_t due =
        sweep->begun + (wr_time_t)((double)sweep->asked / (double)sweep->how->rate * 1000000000.0);
    wr_time_t wait = due - wr_now();
    if (wait > 0) {
        struct timespec pause = {(time_t)(wait / 1000000000), (long)(wait % 1000000000)};
        nanosleep(&pause, NULL);
    }
}

static warmring_status_t count_answers(sweep_t *sweep, const wr_request_t *requests, size_t count) {
    for (size_t i = 0; i < count; i++) {
        warmring_status_t status = requests[i].status;
        if (!wr_is_answer(status)) {
            return status;
        }
        sweep->counts->removed += status == WARMRING_OK;
        sweep->counts->changed += status != WARMRING_OK;
    }
    return WARMRING_OK;
}

static warmring_status_t delete_batch(sweep_t *sweep, size_t first, size_t count) {
    wr_request_t requests[BATCH];
    wr_request_t *queue[BATCH];
    for (size_t i = 0; i < count; i++) {
        const victim_t *victim = &sweep->victims[first + i];
        requests[i] = (wr_request_t){.server = sweep->server,
                                     .verb = WR_UNLEASE,
                                     .key = {sweep->bytes + victim->offset, victim->length},
                                     .cas = victim->cas};
        queue[i] = &requests[i];
    }
    wr_run(queue, count, wr_deadline_in_ms(sweep->crew.deadline_ms));
    sweep->asked += count;
    return count_answers(sweep, requests, count);
}

static warmring_status_t delete_all(sweep_t *sweep) {
    /* A tenth of a second's worth at a time, so that the rate is even. */
    size_t most = sweep->how->rate == 0 || sweep->how->rate > 10 * BATCH ? BATCH
                  : sweep->how->rate < 10                                ? 1
                                                                         : sweep->how->rate / 10;
    for (size_t first = 0; first < sweep->count; first += most) {
        size_t left = sweep->count - first;
        warmring_status_t status = delete_batch(sweep, first, left < most ? left : most);
        if (status != WARMRING_OK) {
            return status;
        }
        if (!report(sweep)) {
            return wr_fail(WARMRING_TRY_AGAIN, "%s: stopped", wr_server_address(sweep->server));
        }
        keep_rate(sweep);
    }
    return WARMRING_OK;
}

static warmring_status_t run(sweep_t *sweep) {
    warmring_status_t status;
    sweep->begun = wr_now();
    do {
        status = list(sweep);
        if (status == WARMRING_OK && sweep->how->remove) {
            status = delete_all(sweep);
        }
    } while (status == WARMRING_OK && sweep->how->remove && sweep->more);
    return status;
}

/* ---- the rule ------------------------------------------------------------------ */

/* In STABLE: what is there now. */
static warmring_status_t mark_now(const warmring_file_t *file, sweep_t *sweep) {
    wr_probe_t probe = {0, -1};
    warmring_status_t status = wr_hold_check(file, WARMRING_WARM, wr_wall_clock_ms());
    if (status == WARMRING_OK) {
        status = wr_server_probe_cas(sweep->server, sweep->crew.deadline, &probe);
    }
    sweep->rule.watermark = probe.cas;
    return status;
}

/* In a migration: the file's, which is void when the server was started since. */
static warmring_status_t mark_of_file(const warmring_file_server_t *server, sweep_t *sweep) {
    wr_probe_t probe = {0, -1};
    if (!server->marked) {
        return wr_fail(WARMRING_ILLEGAL_STEP,
                       "%s: on the old ring alone, whose copies can be told in STABLE",
                       server->label);
    }
    warmring_status_t status = wr_server_probe_cas(sweep->server, sweep->crew.deadline, &probe);
    bool restarted = probe.started > server->started || probe.cas < server->watermark;
    sweep->rule.watermark = restarted ? 0 : server->watermark;
    return status;
}

static warmring_status_t set_rule(const warmring_file_t *file, size_t index, sweep_t *sweep) {
    const warmring_sweep_t *how = sweep->how;
    warmring_file_server_t server = {.size = sizeof server};
    warmring_status_t status = warmring_file_server(file, index, &server);
    sweep->rule = (wr_sweep_rule_t){
        .topology = file->topology,
        .seat = (uint32_t)index,
        .prefix = how->prefix != NULL ? how->prefix : "",
        .prefix_length = how->prefix != NULL ? strlen(how->prefix) : 0,
        .unhashed = how->unhashed != NULL ? how->unhashed : "",
        .unhashed_length = how->unhashed != NULL ? strlen(how->unhashed) : 0,
    };
    if (status != WARMRING_OK) {
        return status;
    }
    return warmring_topology_phase(file->topology) == WARMRING_STABLE
               ? mark_now(file, sweep)
               : mark_of_file(&server, sweep);
}

warmring_status_t warmring_fleet_sweep(const warmring_file_t *file, size_t index,
                                       const warmring_sweep_t *sweep,
                                       const warmring_options_t *options, uint32_t deadline_ms,
                                       warmring_sweep_counts_t *counts) {
    if (WR_HAS_NULL(file, sweep, counts)) {
        return WARMRING_BAD_ARGUMENT;
    }
    *counts = (warmring_sweep_counts_t){0};
    if (sweep->size != sizeof *sweep) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "sweep has size %zu", sweep->size);
    }
    sweep_t work = {.how = sweep, .counts = counts};
    warmring_status_t status = wr_crew_choose(&work.crew, file, index, options, deadline_ms);
    if (status != WARMRING_OK) {
        return status;
    }
    work.server = work.crew.server[index];
    status = set_rule(file, index, &work);
    if (status == WARMRING_OK) {
        status = run(&work);
    }
    wr_free(work.victims);
    wr_free(work.bytes);
    wr_crew_close(&work.crew);
    return status;
}
