/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One face for calls on one key and on many.
 */
#include "calls.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

static warmring_call_t with_mode(uint32_t mode) {
    warmring_call_t call = WARMRING_CALL_INIT;
    call.mode = mode;
    return call;
}

static warmring_bytes_t bytes(const char *text) {
    return (warmring_bytes_t){text, strlen(text)};
}

void choose_key(warmring_t *client, const char *name, bool moved, unsigned *next, char *key) {
    warmring_topology_t *topology = NULL;
    if (warmring_acquire(client, &topology) != WARMRING_OK) {
        tap_bail("acquire: %s", warmring_error_detail());
    }
    do {
        snprintf(key, CALLS_KEY_SIZE, "%s:%u", name, (*next)++);
        if (*next > 100000) {
            tap_bail("no key %s:N is %s", name, moved ? "moved" : "unmoved");
        }
    } while (warmring_topology_moved(topology, key, strlen(key)) != moved);
    warmring_topology_release(topology);
}

/* A key to stand beside ours in a multi call, moved if ours is, so that both
 * go the same way. */
static void choose_beside(warmring_t *client, const char *key, const char *name, char *beside) {
    warmring_topology_t *topology = NULL;
    unsigned next = 0;
    if (warmring_acquire(client, &topology) != WARMRING_OK) {
        tap_bail("acquire: %s", warmring_error_detail());
    }
    choose_key(client, name, warmring_topology_moved(topology, key, strlen(key)), &next, beside);
    warmring_topology_release(topology);
}

/* ---- reads ---- */

static answer_t answer_of(const warmring_item_t *item) {
    answer_t answer = {.status = item->status, .flags = item->flags, .token = item->token};
    if (item->status == WARMRING_OK && item->value.data != NULL) {
        size_t length =
            item->value.length < CALLS_VALUE_SIZE ? item->value.length : CALLS_VALUE_SIZE - 1;
        memcpy(answer.value, item->value.data, length);
    }
    return answer;
}

static answer_t by_get(warmring_t *client, const char *key, uint32_t mode) {
    warmring_call_t call = with_mode(mode);
    warmring_item_t item = WARMRING_ITEM_INIT;
    item.status = warmring_get(client, key, strlen(key), &item, &call);
    answer_t answer = answer_of(&item);
    warmring_item_clear(&item);
    return answer;
}

static answer_t by_get_into(warmring_t *client, const char *key, uint32_t mode) {
    char buffer[CALLS_VALUE_SIZE];
    warmring_call_t call = with_mode(mode);
    warmring_item_t item = WARMRING_ITEM_INIT;
    item.status = warmring_get_into(client, key, strlen(key), buffer, sizeof buffer, &item, &call);
    return answer_of(&item);
}

static warmring_results_t *make_results(void) {
    warmring_results_t *results = warmring_results_create();
    if (results == NULL) {
        tap_bail("no memory for results");
    }
    return results;
}

/* Frees `results`; what it says of our key, or `status` when it says nothing. */
static answer_t take(warmring_results_t *results, warmring_status_t status) {
    const warmring_item_t *item = warmring_results_at(results, 1);
    answer_t answer = {.status = status};
    if (item != NULL) {
        answer = answer_of(item);
    }
    warmring_results_free(results);
    return answer;
}

static answer_t by_get_multi(warmring_t *client, const char *key, uint32_t mode) {
    char beside[CALLS_KEY_SIZE];
    choose_beside(client, key, "beside", beside);
    const warmring_bytes_t keys[] = {bytes(beside), bytes(key)};
    warmring_call_t call = with_mode(mode);
    warmring_results_t *results = make_results();
    return take(results, warmring_get_multi(client, keys, 2, results, &call));
}

const read_way_t read_ways[READ_WAYS] = {
    {"get", by_get}, {"get_into", by_get_into}, {"get_multi", by_get_multi}};

/* ---- stores ---- */

static warmring_status_t by_set(warmring_t *client, const char *key, const char *value,
                                uint32_t flags, uint32_t mode) {
    warmring_call_t call = with_mode(mode);
    return warmring_set(client, key, strlen(key), value, strlen(value), 0, flags, &call);
}

static warmring_status_t by_set_multi(warmring_t *client, const char *key, const char *value,
                                      uint32_t flags, uint32_t mode) {
    char beside[CALLS_KEY_SIZE];
    choose_beside(client, key, "beside-stored", beside);
    const warmring_entry_t entries[] = {{bytes(beside), bytes("x"), 0, 0},
                                        {bytes(key), bytes(value), 0, flags}};
    warmring_call_t call = with_mode(mode);
    warmring_results_t *results = make_results();
    return take(results, warmring_set_multi(client, entries, 2, results, &call)).status;
}

const store_way_t store_ways[STORE_WAYS] = {{"set", by_set}, {"set_multi", by_set_multi}};

/* ---- deletions ---- */

static warmring_status_t by_delete(warmring_t *client, const char *key, uint32_t mode) {
    warmring_call_t call = with_mode(mode);
    return warmring_delete(client, key, strlen(key), &call);
}

static warmring_status_t by_delete_multi(warmring_t *client, const char *key, uint32_t mode) {
    char beside[CALLS_KEY_SIZE];
    choose_beside(client, key, "beside", beside);
    const warmring_bytes_t keys[] = {bytes(beside), bytes(key)};
    warmring_call_t call = with_mode(mode);
    warmring_results_t *results = make_results();
    return take(results, warmring_delete_multi(client, keys, 2, results, &call)).status;
}

const erase_way_t erase_ways[ERASE_WAYS] = {{"delete", by_delete},
                                            {"delete_multi", by_delete_multi}};

/* ---- by the first way ---- */

answer_t read_key(warmring_t *client, const char *key) {
    return by_get(client, key, 0);
}

warmring_status_t store_key(warmring_t *client, const char *key, const char *value) {
    return by_set(client, key, value, 0, 0);
}

warmring_status_t erase_key(warmring_t *client, const char *key) {
    return by_delete(client, key, 0);
}

const char *shown(const answer_t *answer) {
    return answer->status == WARMRING_OK          ? answer->value
           : answer->status == WARMRING_NOT_FOUND ? NULL
                                                  : warmring_status_name(answer->status);
}

warmring_server_counters_t counters_of_seat(warmring_t *client, size_t seat) {
    warmring_snapshot_t *snapshot = NULL;
    warmring_server_counters_t counters = {.size = sizeof counters};
    if (warmring_snapshot_create(client, &snapshot) != WARMRING_OK ||
        warmring_snapshot_server(snapshot, seat, &counters) != WARMRING_OK) {
        tap_bail("no counters: %s", warmring_error_detail());
    }
    warmring_snapshot_free(snapshot);
    counters.address = counters.name = NULL;
    return counters;
}
