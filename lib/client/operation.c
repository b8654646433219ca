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

/* Bytes 0x21 to 0x7e and from 0x80 on. */
static bool is_good_byte(unsigned char byte) {
    return byte > 0x20 && byte != 0x7f;
}

/* Eight at a time. Each test sets the top bit of some byte exactly when a byte
 * is below 0x21, or is 0x7f. */
static bool are_good_bytes(const char *bytes) {
    static const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    uint64_t deletes = word ^ ones * 0x7f;
    uint64_t low = (word - ones * 0x21) & ~word;
    uint64_t none = (deletes - ones) & ~deletes;
    return ((low | none) & ones * 0x80) == 0;
}

static inline size_t count_good_bytes(warmring_bytes_t key) {
    size_t good = 0;
    while (good + 8 <= key.length && are_good_bytes(key.data + good)) {
        good += 8;
    }
    while (good < key.length && is_good_byte((unsigned char)key.data[good])) {
        good++;
    }
    return good;
}

/* What is wrong with a key, the first `good` bytes of which are none of it. */
static warmring_status_t refuse_key(const char *what, warmring_bytes_t key, size_t prefix,
                                    size_t good) {
    if (key.data == NULL || key.length == 0) {
        return wr_fail(WARMRING_BAD_KEY, "%s is empty", what);
    }
    if (key.length > WARMRING_MAX_KEY - prefix) {
        size_t shown = key.length < 40 ? key.length : 40;
        return wr_fail(WARMRING_BAD_KEY, "%s of %zu bytes is longer than %zu: '%.*s...'", what,
                       key.length, WARMRING_MAX_KEY - prefix, (int)shown, key.data);
    }
    return wr_fail(WARMRING_BAD_KEY, "%s '%.*s' has byte 0x%02x at offset %zu", what,
                   (int)key.length, key.data, (unsigned char)key.data[good], good);
}

static inline warmring_status_t check_key(const char *what, warmring_bytes_t key, size_t prefix) {
    bool fits = key.data != NULL && key.length - 1 < WARMRING_MAX_KEY - prefix;
    size_t good = fits ? count_good_bytes(key) : 0;
    return fits && good == key.length ? WARMRING_OK : refuse_key(what, key, prefix, good);
}

static const warmring_call_t no_call = WARMRING_CALL_INIT;

static warmring_status_t check_call(const warmring_t *client, const warmring_call_t *call) {
    if (call->size != sizeof *call) {
        return wr_fail(WARMRING_BAD_ARGUMENT,
                       "warmring_call_t has size %zu: start from WARMRING_CALL_INIT", call->size);
    }
    if (call->deadline_ms > client->options.max_deadline_ms) {
        return wr_fail(WARMRING_BAD_ARGUMENT,
                       "deadline_ms %" PRIu32 " is above the option max_deadline_ms, %" PRIu64,
                       call->deadline_ms, client->options.max_deadline_ms);
    }
    if ((call->mode & ~(WARMRING_NOREPLY | WARMRING_NO_FILL | WARMRING_FOR_CAS | WARMRING_WAIT)) !=
        0) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "mode 0x%" PRIx32 " has unknown bits", call->mode);
    }
    return call->group.data == NULL ? WARMRING_OK : check_key("group", call->group, 0);
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
        call->deadline_ms != 0 ? call->deadline_ms : (uint32_t)client->options.deadline_ms;
    operation->client = client;
    operation->deadline = wr_deadline_in_ms(deadline_ms);
    operation->mode = call->mode;
    operation->group = call->group;
    operation->view = wr_gate_enter(&client->gate, operation->deadline, &operation->slot);
    if (operation->view == NULL) {
        return wr_fail(WARMRING_TIMEOUT,
                       "the topology was being changed for longer than %" PRIu32 " ms",
                       deadline_ms);
    }
    return WARMRING_OK;
}

void wr_operation_end(wr_operation_t *operation) {
    wr_gate_leave(&operation->client->gate, operation->slot);
}

warmring_status_t wr_key_check(const warmring_t *client, warmring_bytes_t key) {
    return check_key("key", key, client->options.prefix_length);
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
    static const int64_t longest_relative = 30 * 24 * 3600;
    if (expiration < 0) {
        return wr_fail(WARMRING_BAD_ARGUMENT,
                       "expiration %" PRId64 ": it is 0 (never) or a positive number of seconds",
                       expiration);
    }
    if (client->options.max_ttl_s != 0) {
        expiration = cut(expiration, (int64_t)client->options.max_ttl_s);
    }
    if (expiration > longest_relative && expiration < first_absolute) {
        expiration += (int64_t)time(NULL);
    }
    *made = (uint32_t)(expiration < INT32_MAX ? expiration : INT32_MAX);
    return WARMRING_OK;
}
