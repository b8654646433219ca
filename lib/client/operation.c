/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning and the end of every operation: checks that cost no traffic,
 * the deadline, the view.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/fail.h"
#include "client/client.h"

/* What is wrong with a key. */
static warmring_status_t refuse_key(const char *what, warmring_bytes_t key, size_t prefix) {
    if (key.data == NULL || key.length == 0) {
        return wr_fail(WARMRING_BAD_KEY, "%s is empty", what);
    }
    if (key.length > WARMRING_MAX_KEY - prefix) {
        size_t shown = key.length < 40 ? key.length : 40;
        return wr_fail(WARMRING_BAD_KEY, "%s of %zu bytes is longer than %zu: '%.*s...'", what,
                       key.length, WARMRING_MAX_KEY - prefix, (int)shown, key.data);
    }
    size_t good = wr_count_good_bytes(key);
    return wr_fail(WARMRING_BAD_KEY, "%s '%.*s' has byte 0x%02x at offset %zu", what,
                   (int)key.length, key.data, (unsigned char)key.data[good], good);
}

static const warmring_call_t no_call = WARMRING_CALL_INIT;

static uint32_t limit_of(const _Atomic uint32_t *limit) {
    return atomic_load_explicit(limit, memory_order_relaxed);
}

static warmring_status_t check_call(const warmring_t *client, const warmring_call_t *call) {
    if (call->size != sizeof *call) {
        return wr_fail(WARMRING_BAD_ARGUMENT,
                       "warmring_call_t has size %zu: start from WARMRING_CALL_INIT", call->size);
    }
    uint32_t longest = limit_of(&client->limits.max_deadline_ms);
    if (call->deadline_ms > longest) {
        return wr_fail(WARMRING_BAD_ARGUMENT,
                       "deadline_ms %" PRIu32 " is above max_deadline_ms, %" PRIu32,
                       call->deadline_ms, longest);
    }
    if ((call->mode & ~(WARMRING_NOREPLY | WARMRING_NO_FILL | WARMRING_FOR_CAS | WARMRING_WAIT)) !=
        0) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "mode 0x%" PRIx32 " has unknown bits", call->mode);
    }
    bool good = call->group.data == NULL || wr_is_good_key(call->group, WARMRING_MAX_KEY);
    return good ? WARMRING_OK : refuse_key("group", call->group, 0);
}

/* What the client has in force; the deadline's `made` stays about the present. */
static inline warmring_status_t enter_view(wr_operation_t *operation) {
    warmring_t *client = operation->client;
    warmring_status_t status = wr_follow(client->follower, client, &operation->deadline);
    if (status != WARMRING_OK) {
        return status;
    }
    operation->view = wr_gate_enter(&client->gate, &operation->deadline, &operation->slot);
    if (operation->view == NULL) {
        return wr_fail(WARMRING_TIMEOUT,
                       "the topology was being changed for longer than %" PRId64 " ms",
                       (int64_t)(operation->deadline.at - operation->began) / 1000000);
    }
    return WARMRING_OK;
}

warmring_status_t wr_operation_begin(wr_operation_t *operation, warmring_t *client,
                                     const warmring_call_t *call) {
    if (WR_HAS_NULL(client)) {
        return WARMRING_BAD_ARGUMENT;
    }
    call = call != NULL ? call : &no_call;
    warmring_status_t status = check_call(client, call);
    if (status != WARMRING_OK) {
        return status;
    }
    uint32_t deadline_ms =
        call->deadline_ms != 0 ? call->deadline_ms : limit_of(&client->limits.deadline_ms);
    operation->client = client;
    operation->deadline = wr_deadline_in_ms(deadline_ms);
    operation->began = operation->deadline.made;
    operation->mode = call->mode;
    operation->group = call->group;
    return enter_view(operation);
}

warmring_status_t wr_operation_resume(wr_operation_t *operation) {
    operation->deadline = wr_deadline_seen(operation->deadline);
    return enter_view(operation);
}

void wr_operation_end(wr_operation_t *operation) {
    wr_gate_leave(&operation->client->gate, operation->slot);
}

warmring_status_t wr_key_refuse(const warmring_t *client, warmring_bytes_t key) {
    return refuse_key("key", key, client->options.prefix_length);
}

warmring_status_t wr_fail_no_cas(const wr_server_t *server) {
    return wr_fail(WARMRING_NOT_SUPPORTED, "%s: server runs without CAS (-C)",
                   wr_server_address(server));
}

/*
 * memcached takes up to 30 days as a time from now, more as a Unix time, and
 * times in 31 bits. A number that is a Unix time already stays what it is.
 */
static const int64_t first_absolute = 1000000000;

/* Cut to `longest` seconds from now, which 0 (never) is beyond. */
static int64_t cut(int64_t expiration, int64_t longest) {
    if (expiration >= first_absolute) {
        int64_t latest = (int64_t)time(NULL) + longest;
        return expiration < latest ? expiration : latest;
    }
    return expiration == 0 || expiration > longest ? longest : expiration;
}

warmring_status_t wr_expiration_make(const warmring_t *client, int64_t expiration, uint32_t *made) {
    static const int64_t longest_relative = INT64_C(30) * 24 * 3600;
    if (expiration < 0) {
        return wr_fail(WARMRING_BAD_ARGUMENT,
                       "expiration %" PRId64 ": it is 0 (never) or a positive number of seconds",
                       expiration);
    }
    uint64_t longest = atomic_load_explicit(&client->limits.max_ttl_s, memory_order_relaxed);
    if (longest != 0) {
        expiration = cut(expiration, (int64_t)longest);
    }
    if (expiration > longest_relative && expiration < first_absolute) {
        expiration += (int64_t)time(NULL);
    }
    *made = (uint32_t)(expiration < INT32_MAX ? expiration : INT32_MAX);
    return WARMRING_OK;
}
