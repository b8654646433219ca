/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bare connections for the tests of the native transport: without a server
 * object, pool or health.
 */
#include "meta_support.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "../lib/tap.h"

static const wr_transport_t bare = {
    .name = "bare meta",
    .close = wr_meta_close,
    .abandon = wr_meta_close,
    .send = wr_meta_send,
    .receive = wr_meta_receive,
    .descriptor = wr_meta_descriptor,
    .start = wr_meta_start,
    .step = wr_meta_step,
    .await = wr_meta_await,
    .expire = wr_meta_expire,
};

static char *reserve(wr_sink_t *sink, size_t length) {
    buffer_sink_t *own = (buffer_sink_t *)sink;
    return length <= own->capacity ? own->room : NULL;
}

buffer_sink_t buffer_sink(char *room, size_t capacity) {
    return (buffer_sink_t){{reserve, WARMRING_BUFFER_TOO_SMALL}, room, capacity};
}

static wr_address_t parse_address(const char *text) {
    wr_address_t address = {.length = 0};
    if (strncmp(text, "unix:", 5) == 0) {
        struct sockaddr_un *local = (struct sockaddr_un *)&address.storage;
        local->sun_family = AF_UNIX;
        snprintf(local->sun_path, sizeof local->sun_path, "%s", text + 5);
        address.length = sizeof *local;
        return address;
    }
    struct sockaddr_in *internet = (struct sockaddr_in *)&address.storage;
    internet->sin_family = AF_INET;
    internet->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    internet->sin_port = htons((uint16_t)atoi(strrchr(text, ':') + 1));
    address.length = sizeof *internet;
    return address;
}

static warmring_status_t step_until_open(wr_meta_connection_t *connection, wr_deadline_t deadline) {
    wr_wait_t wait;
    short ready = 0;
    for (;;) {
        warmring_status_t status = wr_meta_open_step(&connection->base, ready, &wait);
        if (status != WARMRING_OK || (wait.events == 0 && wait.wake == 0)) {
            return status;
        }
        int left = wr_deadline_left_ms(deadline);
        struct pollfd one = {.fd = wait.events != 0 ? connection->stream.descriptor : -1,
                             .events = wait.events};
        int count = poll(&one, 1, wait.wake == 0 || left < 5 ? left : 5);
        if (count <= 0 && left == 0) {
            return wr_meta_open_expire(&connection->base);
        }
        ready = count > 0 ? one.revents : 0;
    }
}

static warmring_status_t open_within(const char *address, uint32_t ms, bool ask,
                                     wr_meta_connection_t **connection) {
    wr_meta_options_t options = {
        .limits = wr_meta_default_limits, .stub = {STUB_FLAGS, STUB_LIFETIME}, .keepalive = true};
    wr_address_t parsed = parse_address(address);
    warmring_status_t status = wr_meta_open(&options, NULL, address, &parsed, ask, connection);
    if (status == WARMRING_OK) {
        (*connection)->base.transport = &bare;
        status = step_until_open(*connection, wr_deadline_in_ms(ms));
        if (status != WARMRING_OK) {
            must_close(*connection);
        }
    }
    return status;
}

warmring_status_t try_open(const char *address, uint32_t ms, wr_meta_connection_t **connection) {
    return open_within(address, ms, false, connection);
}

warmring_status_t try_probe(const char *address, uint32_t ms, wr_meta_connection_t **connection) {
    return open_within(address, ms, true, connection);
}

wr_meta_connection_t *must_open(const char *address) {
    wr_meta_connection_t *connection;
    if (try_open(address, 2000, &connection) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    return connection;
}

void must_close(wr_meta_connection_t *connection) {
    wr_meta_close(&connection->base);
}

warmring_bytes_t bytes_of(const char *text) {
    return (warmring_bytes_t){text, strlen(text)};
}

wr_request_t request_of(wr_verb_t verb, const char *key, const char *value) {
    wr_request_t request = {.verb = verb, .ttl = WR_TTL_UNKNOWN};
    request.key = bytes_of(key);
    request.value = bytes_of(value != NULL ? value : "");
    return request;
}

warmring_status_t run(wr_meta_connection_t *connection, wr_request_t *request, uint32_t ms) {
    run_many(connection, &request, 1, ms);
    return request->status;
}

void run_many(wr_meta_connection_t *connection, wr_request_t **requests, size_t count,
              uint32_t ms) {
    wr_deadline_t deadline = wr_deadline_in_ms(ms);
    wr_meta_send(&connection->base, requests, count, deadline);
    wr_meta_receive(&connection->base, requests, count, deadline);
}

int64_t ms_since(wr_time_t begun) {
    return (wr_now() - begun) / 1000000;
}
