/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases for applications: one loader per missing key, and no store of what
 * was loaded before somebody wrote or deleted the key.
 *
 * The lease is the same stub that a fill uses, on the server whose answer
 * counts (the authority), with a life of the caller's choice. Its CAS value
 * is the token; warmring_cas() stores over the stub if it is still there.
 */
#include <time.h>

#include "base/fail.h"
#include "client/bind.h"
#include "client/read.h"
#include "client/sink.h"

enum { LONGEST_MS = 3600000, LONGEST_PAUSE_MS = 16 };

/* memcached counts whole seconds and may end an item one early. */
static uint32_t lifetime(uint32_t lease_ms) {
    return (lease_ms + 999) / 1000 + 1;
}

static warmring_status_t read_value(const wr_operation_t *operation, wr_read_t *read,
                                    warmring_item_t *item) {
    wr_item_sink_t sink = wr_item_sink(item);
    warmring_bytes_t key = read->key;
    *read = (wr_read_t){.key = key};
    wr_read_one(operation, read, &sink.sink);
    return read->answer.status;
}

/* Puts the stub on the authority: LEASED, LEASE_BUSY, or a fault. */
static warmring_status_t take_lease(const wr_operation_t *operation, warmring_bytes_t key,
                                    uint32_t lease_ms, warmring_token_t *token) {
    const wr_view_t *view = operation->view;
    wr_place_t place = wr_key_place(operation, key);
    wr_route_t route = wr_route(view->topology, &place, WR_KIND_MODIFY, view->rollout);
    const wr_step_t *steps = route.steps->step;
    if (steps[0].action == WR_STEP_REFUSE) {
        return wr_fail(WARMRING_TRY_AGAIN, "the key is being handed over in phase %s",
                       warmring_phase_name(view->phase));
    }
    uint8_t side = wr_is_bound(&route) ? WARMRING_NEW_RING : steps[0].side;
    wr_request_t request = {.server = view->server[route.owner[side]],
                            .verb = WR_LEASE,
                            .key = key,
                            .expiration = lifetime(lease_ms)};
    wr_run_one(&request, operation->deadline);
    if (request.status == WARMRING_NOT_STORED) {
        return WARMRING_LEASE_BUSY;
    }
    if (request.status == WARMRING_OK && request.cas_out == 0) {
        wr_ask(&request, request.server, WR_DELETE, key);
        wr_run_one(&request, operation->deadline);
        return wr_fail_no_cas(request.server);
    }
    *token = (warmring_token_t){
        {request.cas_out, wr_token_place(operation, request.server), (uint64_t)request.opened_at}};
    return request.status == WARMRING_OK ? WARMRING_LEASED : request.status;
}

static void rest(unsigned *pause_ms) {
    struct timespec pause = {0, (long)*pause_ms * 1000000};
    nanosleep(&pause, NULL);
    *pause_ms = *pause_ms < LONGEST_PAUSE_MS ? 2 * *pause_ms : LONGEST_PAUSE_MS;
}

static warmring_status_t read_or_lease(const wr_operation_t *operation, uint32_t lease_ms,
                                       warmring_bytes_t key, warmring_item_t *item) {
    wr_read_t read = {.key = key};
    warmring_status_t status = read_value(operation, &read, item);
    if (status == WARMRING_OK) {
        item->value = (warmring_bytes_t){read.answer.value_out, read.answer.value_length};
        item->flags = read.answer.flags_out;
        item->token = wr_read_token(operation, &read);
    }
    return status == WARMRING_NOT_FOUND ? take_lease(operation, key, lease_ms, &item->token)
                                        : status;
}

/* Who waits for another's lease is in no view meanwhile: a step of a migration
 * does not wait for it, nor the loader for that step. */
static warmring_status_t read_until(wr_operation_t *operation, uint32_t lease_ms,
                                    warmring_bytes_t key, warmring_item_t *item) {
    bool waits = (operation->mode & WARMRING_WAIT) != 0;
    unsigned pause_ms = 1;
    for (;;) {
        warmring_status_t status = read_or_lease(operation, lease_ms, key, item);
        wr_operation_end(operation);
        if (status != WARMRING_LEASE_BUSY || !waits || wr_deadline_passed(operation->deadline)) {
            return status;
        }
        rest(&pause_ms);
        status = wr_operation_resume(operation);
        if (status != WARMRING_OK) {
            return status == WARMRING_TIMEOUT ? WARMRING_LEASE_BUSY : status;
        }
    }
}

warmring_status_t warmring_get_or_lease(warmring_t *client, const char *key, size_t key_length,
                                        uint32_t lease_ms, warmring_item_t *item,
                                        const warmring_call_t *call) {
    wr_operation_t operation;
    warmring_status_t status = wr_item_start(item, key, key_length);
    if (status == WARMRING_OK && (lease_ms == 0 || lease_ms > LONGEST_MS)) {
        status =
            wr_fail(WARMRING_BAD_ARGUMENT, "lease_ms %u is not from 1 to %d", lease_ms, LONGEST_MS);
    }
    if (status != WARMRING_OK) {
        return status;
    }
    item->status = wr_operation_begin(&operation, client, call);
    if (item->status != WARMRING_OK) {
        return item->status;
    }
    item->status = wr_key_check(client, item->key);
    if (item->status == WARMRING_OK) {
        char buffer[WARMRING_MAX_KEY];
        warmring_bytes_t wire = wr_key_prefixed(client, item->key, buffer);
        item->status = read_until(&operation, lease_ms, wire, item);
    } else {
        wr_operation_end(&operation);
    }
    if (item->status != WARMRING_OK) {
        wr_item_release(item);
    }
    return item->status;
}
