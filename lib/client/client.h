/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client is made of, and one operation on it.
 */
#ifndef WR_CLIENT_CLIENT_H
#define WR_CLIENT_CLIENT_H

#include <string.h>

#include <warmring/client.h>
#include <warmring/metrics.h>

#include "client/counters.h"
#include "client/follow.h"
#include "client/gate.h"
#include "client/key.h"
#include "client/options.h"
#include "client/view.h"
#include "net/server.h"
#include "topology/file.h"
#include "topology/route.h"

/* Limits of single calls: those of the options, lowered by a topology file
 * that may change them while calls run. */
typedef struct {
    _Atomic uint32_t deadline_ms;
    _Atomic uint32_t max_deadline_ms;
    _Atomic uint64_t max_ttl_s; /* 0: not declared */
} wr_limits_t;

struct warmring {
    warmring_options_t options;
    wr_net_config_t net;
    wr_gate_t gate;
    wr_counters_t counters;
    wr_limits_t limits;
    wr_follower_t *follower; /* NULL: warmring_apply() decides */
    warmring_observer_t *observer;
    void *observer_context;
};

/* Makes a client that serves `topology`, with connections after `memc` (a
 * memcached_st; NULL: none). */
warmring_status_t wr_client_create(warmring_t **client, const warmring_topology_t *topology,
                                   const warmring_options_t *options, const void *memc);

/* The same for a list of servers, on the ring that the options describe. */
warmring_status_t wr_client_open(warmring_t **client, const char *servers,
                                 const warmring_options_t *options, const void *memc);

/*
 * Puts the topology of a file in force, whatever the one before was: at once
 * where both may be in use together, else once all operations begun before
 * have ended. Takes over its watermarks, raises them, and its limits. A file
 * with the epoch in force changes these alone.
 *
 * OK; TIMEOUT when operations did not end in time, OUT_OF_MEMORY: nothing has
 * changed. For one caller at a time.
 */
warmring_status_t wr_client_adopt(warmring_t *client, const warmring_file_t *file,
                                  wr_deadline_t deadline);

/* The rollout of a file at this moment, which a ramp changes. */
void wr_client_ramp(warmring_t *client, const warmring_file_t *file);

/* A copy of the caller's options, or the defaults, checked. */
warmring_status_t wr_options_take(const warmring_options_t *options, warmring_options_t *taken);

/* One call on a client, from its checked arguments to its end. */
typedef struct {
    warmring_t *client;
    wr_view_t *view; /* stays in force for this operation */
    unsigned slot;
    wr_deadline_t deadline;
    wr_time_t began;
    uint32_t mode;
    warmring_bytes_t group; /* data NULL: the key chooses */
} wr_operation_t;

/*
 * Checks `call`, sets the deadline and enters the view in force. OK, or
 * BAD_ARGUMENT, BAD_KEY (the group), TIMEOUT; after OK wr_operation_end() is
 * due.
 */
warmring_status_t wr_operation_begin(wr_operation_t *operation, warmring_t *client,
                                     const warmring_call_t *call);
void wr_operation_end(wr_operation_t *operation);

/* After wr_operation_end(): enters the view in force by now, with what is left
 * of the deadline. TIMEOUT or TOPOLOGY_STALE; wr_operation_end() is not due
 * then. */
warmring_status_t wr_operation_resume(wr_operation_t *operation);

/* BAD_KEY, and why. */
warmring_status_t wr_key_refuse(const warmring_t *client, warmring_bytes_t key);

/* OK or BAD_KEY: the caller's key, with the prefix in mind. */
static inline warmring_status_t wr_key_check(const warmring_t *client, warmring_bytes_t key) {
    return wr_is_good_key(key, WARMRING_MAX_KEY - client->options.prefix_length)
               ? WARMRING_OK
               : wr_key_refuse(client, key);
}

/* A checked key as it is sent: with the prefix before it, in `buffer` (room
 * for WARMRING_MAX_KEY bytes), or, without a prefix, the key itself. */
static inline warmring_bytes_t wr_key_prefixed(const warmring_t *client, warmring_bytes_t key,
                                               char *buffer) {
    size_t prefix = client->options.prefix_length;
    if (prefix == 0) {
        return key;
    }
    memcpy(buffer, client->options.prefix, prefix);
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): wr_key_check() refuses NULL */
    memcpy(buffer + prefix, key.data, key.length);
    return (warmring_bytes_t){buffer, prefix + key.length};
}

/* What chooses the server: the group as it is, else the key as sent. */
static inline wr_place_t wr_key_place(const wr_operation_t *operation, warmring_bytes_t wire) {
    if (operation->group.data != NULL) {
        return (wr_place_t){operation->group.data, operation->group.length, 0};
    }
    return (wr_place_t){wire.data, wire.length, operation->client->options.prefix_length};
}

/* The second word of a token: the server it was taken from, and the epoch. */
static inline uint64_t wr_token_place(const wr_operation_t *operation, const wr_server_t *server) {
    return wr_server_id(server) << 32 | operation->view->epoch;
}

/* Whether what was read is a lease, a miss for everybody; also one that
 * somebody appended to, and there is no room for that. */
static inline bool wr_is_lease(const wr_request_t *answer) {
    return answer->flags_out == WARMRING_RESERVED_FLAGS &&
           (answer->status == WARMRING_OK || answer->status == WARMRING_BUFFER_TOO_SMALL);
}

/* NOT_SUPPORTED: a server that gives no CAS values was asked for one. */
warmring_status_t wr_fail_no_cas(const wr_server_t *server);

/* From the caller's expiration to the one that is sent, at most the declared
 * max_ttl_s from now; BAD_ARGUMENT when negative. */
warmring_status_t wr_expiration_make(const warmring_t *client, int64_t expiration, uint32_t *made);

#endif
