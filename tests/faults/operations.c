/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations that faults are tried on.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "faults.h"

enum { MAX_DESCRIPTORS = 1024 };

const char *const operation_names[OPERATIONS] = {"get", "set", "increment", "multi get"};

/* Only what is wrong is told: some tests make many calls. */
static void check_value(const warmring_item_t *item) {
    size_t length = sizeof FAKE_VALUE - 1;
    if (item->value.length == length && memcmp(item->value.data, FAKE_VALUE, length) == 0) {
        return;
    }
    tap_bytes(item->value.data, item->value.length, FAKE_VALUE, sizeof FAKE_VALUE - 1,
              "a hit has its value");
}

static warmring_status_t get(warmring_t *client, const char *key, const warmring_call_t *call) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_status_t status = warmring_get(client, key, strlen(key), &item, call);
    if (status == WARMRING_OK) {
        check_value(&item);
    }
    warmring_item_clear(&item);
    return status;
}

static warmring_status_t increment(warmring_t *client, const char *key,
                                   const warmring_call_t *call) {
    uint64_t number = 0;
    warmring_status_t status =
        warmring_increment(client, key, strlen(key), 1, NULL, 0, &number, call);
    if (status == WARMRING_OK && number != 7) {
        tap_int((int64_t)number, 7, "a counter has its number");
    }
    return status;
}

void operate_on_all(warmring_t *client, const char *const keys[KEYS], uint32_t ms,
                    warmring_status_t status[KEYS]) {
    warmring_call_t call = {.size = sizeof call, .deadline_ms = ms};
    warmring_results_t *results = warmring_results_create();
    warmring_bytes_t names[KEYS];
    for (size_t i = 0; i < KEYS; i++) {
        names[i] = (warmring_bytes_t){keys[i], strlen(keys[i])};
    }
    if (results == NULL) {
        tap_bail("no results");
    }
    (void)!warmring_get_multi(client, names, KEYS, results, &call);
    for (size_t i = 0; i < KEYS; i++) {
        const warmring_item_t *item = warmring_results_at(results, i);
        status[i] = item->status;
        if (item->status == WARMRING_OK) {
            check_value(item);
        }
    }
    warmring_results_free(results);
}

warmring_status_t operate(warmring_t *client, operation_t operation, const char *key, uint32_t ms) {
    warmring_call_t call = {.size = sizeof call, .deadline_ms = ms};
    const char *const same[KEYS] = {key, key, key};
    warmring_status_t status[KEYS];
    switch (operation) {
    case GET:
        return get(client, key, &call);
    case SET:
        return warmring_set(client, key, strlen(key), FAKE_VALUE, sizeof FAKE_VALUE - 1, 0, 0,
                            &call);
    case INCREMENT:
        return increment(client, key, &call);
    default:
        operate_on_all(client, same, ms, status);
        if (status[0] != status[1] || status[0] != status[2]) {
            tap_int(status[0], status[1], "all keys of a server share its fault");
        }
        return status[0];
    }
}

void key_of(warmring_t *client, const char *address, unsigned *next, char *key) {
    char owner[128];
    do {
        snprintf(key, KEY_SIZE, "key%u", (*next)++);
        if (warmring_locate(client, key, strlen(key), owner, sizeof owner, NULL) != WARMRING_OK) {
            tap_bail("cannot locate %s", key);
        }
    } while (strcmp(owner, address) != 0);
}

warmring_t *faults_open(const char *servers, const char *const *more) {
    warmring_options_t *options = test_options();
    warmring_t *client = NULL;
    char limit[16];
    snprintf(limit, sizeof limit, "%d", VALUE_LIMIT);
    bool good = warmring_options_set(options, "failure_limit", "1000000") == WARMRING_OK &&
                warmring_options_set(options, "max_value_bytes", limit) == WARMRING_OK;
    for (size_t i = 0; more != NULL && more[i] != NULL; i += 2) {
        good = good && warmring_options_set(options, more[i], more[i + 1]) == WARMRING_OK;
    }
    if (!good || warmring_open(&client, servers, options) != WARMRING_OK) {
        tap_bail("cannot open %s: %s", servers, warmring_error_detail());
    }
    warmring_options_free(options);
    return client;
}

warmring_server_counters_t server_counters(warmring_t *client, const char *address) {
    warmring_snapshot_t *snapshot = NULL;
    warmring_server_counters_t counters = {.size = sizeof counters};
    if (warmring_snapshot_create(client, &snapshot) != WARMRING_OK) {
        tap_bail("no snapshot");
    }
    size_t index = 0;
    while (warmring_snapshot_server(snapshot, index++, &counters) == WARMRING_OK) {
        if (strcmp(counters.address, address) == 0) {
            counters.address = address;
            counters.name = NULL;
            warmring_snapshot_free(snapshot);
            return counters;
        }
    }
    tap_bail("no server %s", address);
}

size_t sockets_to(uint16_t port) {
    size_t count = 0;
    for (int descriptor = 0; descriptor < MAX_DESCRIPTORS; descriptor++) {
        struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
        socklen_t length = sizeof peer;
        if (getpeername(descriptor, (struct sockaddr *)&peer, &length) == 0 &&
            peer.ss_family == AF_INET) {
            count += ntohs(((struct sockaddr_in *)&peer)->sin_port) == port;
        }
    }
    return count;
}

int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool in_time(int64_t begun, uint32_t ms, bool whole, const char *what) {
    int64_t took = now_ms() - begun;
    return tap_ok(took <= (int64_t)ms + tap_slack_ms() && (!whole || took >= (int64_t)ms - 1),
                  "%s: after %d of %u ms", what, (int)took, ms);
}
