/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits: large values, long keys, many keys; ascii and binary.
 */
#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEGABYTE = 1 << 20, MANY = 1000 };

static const char *kind;
static wr_server_t *server;

static void check_value(size_t length, warmring_status_t expected) {
    char *value = malloc(length + 1);
    char *room = malloc(length + 1);
    net_call_t call;
    for (size_t i = 0; i < length; i++) {
        value[i] = (char)(i * 7 + i / 251);
    }
    net_call(&call, server, WR_SET, "v", NULL);
    call.request.value = (warmring_bytes_t){value, length};
    tap_status(net_run(&call, 10000), expected, "%s: set of %zu bytes", kind, length);
    net_call(&call, server, WR_GET, "v", NULL);
    call.room = room;
    call.capacity = length + 1;
    if (expected == WARMRING_OK) {
        tap_status(net_run(&call, 10000), WARMRING_OK, "%s: get", kind);
        tap_ok(call.request.value_length == length && memcmp(room, value, length) == 0,
               "%s: all %zu bytes", kind, length);
    } else {
        tap_contains(warmring_error_detail(), "too large", "%s: says so", kind);
        tap_status(net_run(&call, 10000), WARMRING_NOT_FOUND, "%s: the old value is gone", kind);
        tap_status(net_do(&call, server, WR_SET, "w", "x"), WARMRING_OK, "%s: and on", kind);
        net_call(&call, server, WR_SET, "v", NULL);
        call.request.value = (warmring_bytes_t){value, length};
        call.request.noreply = true;
        warmring_status_t status = net_run(&call, 10000);
        tap_ok(status == WARMRING_OK || status == WARMRING_TOO_LARGE, "%s: quietly", kind);
        tap_status(net_do(&call, server, WR_GET, "w", NULL), WARMRING_OK, "%s: and on", kind);
        tap_bytes(call.request.value_out, 1, "x", 1, "%s: in step", kind);
    }
    free(value);
    free(room);
}

static void check_key(void) {
    char key[251];
    net_call_t call;
    memset(key, 'k', 250);
    key[250] = '\0';
    memcpy(key, "\xc3\xbc", 2);
    tap_status(net_do(&call, server, WR_SET, key, "long"), WARMRING_OK, "%s: 250 bytes", kind);
    tap_status(net_do(&call, server, WR_GET, key, NULL), WARMRING_OK, "%s: are found", kind);
    key[249] = 'x';
    tap_status(net_do(&call, server, WR_GET, key, NULL), WARMRING_NOT_FOUND, "%s: to the last",
               kind);
    tap_status(net_do(&call, server, WR_LEASE, key, NULL), WARMRING_OK, "%s: lease", kind);
}

/* `size` bytes a value: binary answers come while keys are still sent. */
static void check_many(size_t size) {
    net_call_t *calls = calloc(MANY, sizeof *calls);
    wr_request_t **requests = calloc(MANY, sizeof *requests);
    char(*keys)[251] = calloc(MANY, sizeof *keys);
    char *rooms = calloc(MANY, size);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < MANY; i++) {
            memset(keys[i], 'k', 250);
            snprintf(keys[i], 8, "%07zu", i);
            keys[i][7] = '-';
            char *room = rooms + i * size;
            if (round == 0) {
                memset(room, 'a' + (int)(i % 26), size);
            }
            net_call(&calls[i], server, round == 0 ? WR_SET : WR_GET, keys[i], NULL);
            calls[i].request.value = (warmring_bytes_t){room, size};
            calls[i].room = room;
            calls[i].capacity = size;
            requests[i] = &calls[i].request;
        }
        wr_run(requests, MANY, wr_deadline_in_ms(20000));
        memset(rooms, 0, round == 0 ? MANY * size : 0);
    }
    size_t right = 0;
    for (size_t i = 0; i < MANY; i++) {
        right += calls[i].request.status == WARMRING_OK && calls[i].request.value_length == size &&
                 rooms[i * size] == 'a' + (int)(i % 26) &&
                 rooms[i * size + size - 1] == 'a' + (int)(i % 26);
    }
    tap_int((int64_t)right, MANY, "%s: %d keys with %zu bytes each", kind, MANY, size);
    free(calls);
    free(requests);
    free(keys);
    free(rooms);
}

static void check_all(const char *name, const fixture_t *fixture, size_t index,
                      wr_net_config_t *config) {
    kind = name;
    server = net_server(fixture, index, config);
    check_value(0, WARMRING_OK);
    check_value(1, WARMRING_OK);
    check_value(8191, WARMRING_OK);
    check_value(8192, WARMRING_OK);
    check_value(MEGABYTE - 1024, WARMRING_OK);
    check_value(MEGABYTE + 1, WARMRING_TOO_LARGE);
    check_value(5 * MEGABYTE, WARMRING_TOO_LARGE);
    check_key();
    check_many(10);
    check_many(10000);
    wr_server_release(server);
}

int main(void) {
    fixture_t *fixture = fixture_start(2, NULL);
    size_t local = fixture_add_unix(fixture);
    memcached_st *memc = memcached_create(NULL);
    memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, 1);
    wr_net_config_t meta = net_config(NULL);
    test_use_transport("libmemcached");
    wr_net_config_t ascii = net_config(NULL);
    wr_net_config_t binary = net_config(memc);
    memcached_free(memc);
    check_all("meta", fixture, 0, &meta);
    fixture_flush(fixture);
    check_all("ascii", fixture, 0, &ascii);
    check_all("binary", fixture, 1, &binary);
    check_all("unix", fixture, local, &ascii);
    fixture_flush(fixture);
    check_all("unix meta", fixture, local, &meta);
    fixture_free(fixture);
    net_free(&meta);
    net_free(&ascii);
    net_free(&binary);
    return tap_done();
}
