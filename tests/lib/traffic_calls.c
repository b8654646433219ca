/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of traffic, and the judge of what they return.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tap.h"
#include "traffic_internal.h"

enum { VALUE_SIZE = 512, STORY_LINES = 12 };

uint64_t traffic_mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static size_t draw(worker_t *worker, size_t below) {
    worker->random += UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(traffic_mix(worker->random) % below);
}

static void count(worker_t *worker, size_t counter, uint64_t number) {
    atomic_fetch_add_explicit(&worker->counter[counter], number, memory_order_relaxed);
}

size_t traffic_key(size_t index, char *key) {
    return (size_t)snprintf(key, TRAFFIC_KEY_SIZE, "traffic:%zu", index);
}

/* ---- values ------------------------------------------------------------------ */

typedef struct {
    uint64_t key, version;
} value_head_t;

static uint32_t flags_of(size_t key, uint64_t version) {
    return (uint32_t)traffic_mix(key ^ traffic_mix(version));
}

/* Writes the value of a version; returns its length. */
static size_t make_value(size_t key, uint64_t version, char *value) {
    value_head_t head = {key, version};
    uint64_t noise = traffic_mix(traffic_mix(key) + version);
    size_t length = sizeof head + (size_t)(noise % (VALUE_SIZE - sizeof head));
    memcpy(value, &head, sizeof head);
    memset(value + sizeof head, (int)(noise >> 56), length - sizeof head);
    return length;
}

/* The version of a value, or 0 when it is no value of this key. */
static uint64_t version_of(size_t key, warmring_bytes_t value, uint32_t flags) {
    value_head_t head;
    char expected[VALUE_SIZE];
    if (value.data == NULL || value.length < sizeof head) {
        return 0;
    }
    memcpy(&head, value.data, sizeof head);
    size_t length = make_value(key, head.version, expected);
    bool same = length == value.length && memcmp(value.data, expected, length) == 0 &&
                flags == flags_of(key, head.version);
    return same ? head.version : 0;
}

bool traffic_recognises(size_t index, const warmring_item_t *item) {
    return version_of(index, item->value, item->flags) != 0;
}

/* ---- calls ------------------------------------------------------------------- */

uint64_t traffic_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static warmring_call_t call_of(const traffic_t *traffic) {
    warmring_call_t call = WARMRING_CALL_INIT;
    call.deadline_ms = traffic->options.deadline_ms;
    return call;
}

static void note_time(worker_t *worker, uint64_t started) {
    const traffic_options_t *options = &worker->traffic->options;
    uint64_t took = traffic_now_ms() - started;
    uint64_t most = options->deadline_ms + options->slack_ms + traffic_stall_ms(worker->traffic);
    if (options->deadline_ms != 0 && took > most) {
        count(worker, COUNTER(late), 1);
    }
    if (took > atomic_load_explicit(&worker->counter[COUNTER(longest_ms)], memory_order_relaxed)) {
        atomic_store_explicit(&worker->counter[COUNTER(longest_ms)], took, memory_order_relaxed);
    }
}

static bool is_plain(warmring_status_t status) {
    return status == WARMRING_OK || status == WARMRING_NOT_FOUND;
}

/* Faults of class 0 are told: no test expects them. */
static void tell_fault(worker_t *worker, const row_t *row, warmring_status_t status) {
    if (row->class == 0 && atomic_fetch_add(&worker->traffic->stories, 1) < STORY_LINES) {
        tap_note("key %zu: %s: %s", (size_t)(row - worker->traffic->rows),
                 warmring_status_name(status), warmring_error_detail());
    }
}

static void note_status(worker_t *worker, const row_t *row, warmring_status_t status) {
    count(worker, COUNTER(status) + (size_t)status, 1);
    count(worker, COUNTER(class_calls) + row->class, 1);
    if (!is_plain(status)) {
        count(worker, COUNTER(errors), 1);
        count(worker, COUNTER(class_errors) + row->class, 1);
        tell_fault(worker, row, status);
    }
}

/* ---- the judge ---------------------------------------------------------------- */

static void tell(worker_t *worker, const char *what, size_t key, uint64_t got, uint64_t expected) {
    traffic_t *traffic = worker->traffic;
    warmring_topology_t *topology = NULL;
    if (atomic_fetch_add(&traffic->stories, 1) >= STORY_LINES ||
        warmring_acquire(worker->client, &topology) != WARMRING_OK) {
        return;
    }
    char text[TRAFFIC_KEY_SIZE];
    bool moved = warmring_topology_moved(topology, text, traffic_key(key, text));
    tap_note("%s: key %zu (%s) has version %llu, acknowledged was %llu, origin %llu, phase %s",
             what, key, moved ? "moved" : "unmoved", (unsigned long long)got,
             (unsigned long long)expected,
             (unsigned long long)atomic_load(&traffic->rows[key].version),
             warmring_phase_name(warmring_topology_phase(topology)));
    warmring_topology_release(topology);
}

/* Item `index` of a multi call that returned `status`: one that failed before
 * its start has no items, and its status is that of each key. */
static warmring_item_t item_at(const worker_t *worker, size_t index, warmring_status_t status) {
    const warmring_item_t *item = warmring_results_at(worker->results, index);
    warmring_item_t none = WARMRING_ITEM_INIT;
    none.status = status;
    return item != NULL ? *item : none;
}

/* A read of `key` that began when `acknowledged` was the newest version. */
static void judge(worker_t *worker, size_t key, uint64_t acknowledged,
                  const warmring_item_t *item) {
    row_t *row = &worker->traffic->rows[key];
    note_status(worker, row, item->status);
    count(worker, COUNTER(reads), 1);
    if (item->status != WARMRING_OK) {
        count(worker, COUNTER(misses), item->status == WARMRING_NOT_FOUND);
        return;
    }
    count(worker, COUNTER(hits), 1);
    uint64_t version = version_of(key, item->value, item->flags);
    if (version == 0 || version > atomic_load(&row->version)) {
        count(worker, COUNTER(unwritten), 1);
        tell(worker, "unwritten", key, version, acknowledged);
    } else if (version < acknowledged && atomic_load(&row->in_doubt)) {
        count(worker, COUNTER(stale_in_doubt), 1);
    } else if (version < acknowledged) {
        count(worker, COUNTER(stale), 1);
        tell(worker, "stale", key, version, acknowledged);
    }
}

/* What a write of `version` returned; its lock is held. */
static void acknowledge(worker_t *worker, row_t *row, uint64_t version, warmring_status_t status) {
    note_status(worker, row, status);
    if (is_plain(status)) {
        atomic_store(&row->acknowledged, version);
    } else if (status != WARMRING_SERVER_DOWN && status != WARMRING_CONNECT_FAILED) {
        atomic_store(&row->in_doubt, true);
    }
}

/* ---- single keys --------------------------------------------------------------- */

/* The lock of the key is held. */
static void store(worker_t *worker, size_t key, uint64_t version) {
    traffic_t *traffic = worker->traffic;
    char text[TRAFFIC_KEY_SIZE], value[VALUE_SIZE];
    size_t length = make_value(key, version, value);
    size_t key_length = traffic_key(key, text);
    warmring_call_t call = call_of(traffic);
    uint64_t started = traffic_now_ms();
    warmring_status_t status =
        warmring_set(worker->client, text, key_length, value, length, traffic->options.expiration,
                     flags_of(key, version), &call);
    note_time(worker, started);
    acknowledge(worker, &traffic->rows[key], version, status);
}

static void load(worker_t *worker, size_t key) {
    row_t *row = &worker->traffic->rows[key];
    pthread_mutex_lock(&row->mutex);
    count(worker, COUNTER(origin_loads), 1);
    store(worker, key, atomic_load(&row->version));
    pthread_mutex_unlock(&row->mutex);
}

static bool read_one(worker_t *worker, size_t key, bool into) {
    traffic_t *traffic = worker->traffic;
    char text[TRAFFIC_KEY_SIZE], buffer[VALUE_SIZE];
    size_t length = traffic_key(key, text);
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_call_t call = call_of(traffic);
    uint64_t acknowledged = atomic_load(&traffic->rows[key].acknowledged);
    uint64_t started = traffic_now_ms();
    warmring_status_t status =
        into ? warmring_get_into(worker->client, text, length, buffer, sizeof buffer, &item, &call)
             : warmring_get(worker->client, text, length, &item, &call);
    note_time(worker, started);
    judge(worker, key, acknowledged, &item);
    warmring_item_clear(&item);
    return status == WARMRING_NOT_FOUND;
}

static void do_read(worker_t *worker) {
    size_t key = draw(worker, worker->traffic->options.keys);
    if (read_one(worker, key, draw(worker, 8) == 0)) {
        load(worker, key);
    }
}

static void do_set(worker_t *worker) {
    size_t key = draw(worker, worker->traffic->options.keys);
    row_t *row = &worker->traffic->rows[key];
    pthread_mutex_lock(&row->mutex);
    store(worker, key, atomic_fetch_add(&row->version, 1) + 1);
    pthread_mutex_unlock(&row->mutex);
    count(worker, COUNTER(sets), 1);
}

static void do_delete(worker_t *worker) {
    traffic_t *traffic = worker->traffic;
    char text[TRAFFIC_KEY_SIZE];
    size_t key = draw(worker, traffic->options.keys);
    row_t *row = &traffic->rows[key];
    size_t length = traffic_key(key, text);
    warmring_call_t call = call_of(traffic);
    pthread_mutex_lock(&row->mutex);
    uint64_t version = atomic_fetch_add(&row->version, 1) + 1;
    uint64_t started = traffic_now_ms();
    warmring_status_t status = warmring_delete(worker->client, text, length, &call);
    note_time(worker, started);
    acknowledge(worker, row, version, status);
    pthread_mutex_unlock(&row->mutex);
    count(worker, COUNTER(deletes), 1);
}

/* ---- several keys --------------------------------------------------------------- */

void traffic_name_batch(batch_t *batch, size_t first, size_t stride, size_t number) {
    batch->count = number;
    for (size_t i = 0; i < number; i++) {
        batch->key[i] = first + i * stride;
        size_t length = traffic_key(batch->key[i], batch->text[i]);
        batch->name[i] = (warmring_bytes_t){batch->text[i], length};
    }
}

static void choose_batch(worker_t *worker, batch_t *batch) {
    size_t stride = worker->traffic->options.keys / TRAFFIC_BATCH;
    traffic_name_batch(batch, draw(worker, stride), stride, TRAFFIC_BATCH);
}

void traffic_read_batch(worker_t *worker, const batch_t *batch, bool may_load) {
    traffic_t *traffic = worker->traffic;
    uint64_t acknowledged[TRAFFIC_SWEEP];
    warmring_call_t call = call_of(traffic);
    for (size_t i = 0; i < batch->count; i++) {
        acknowledged[i] = atomic_load(&traffic->rows[batch->key[i]].acknowledged);
    }
    uint64_t started = traffic_now_ms();
    warmring_status_t status =
        warmring_get_multi(worker->client, batch->name, batch->count, worker->results, &call);
    note_time(worker, started);
    bool missing[TRAFFIC_SWEEP] = {false};
    for (size_t i = 0; i < batch->count; i++) {
        warmring_item_t item = item_at(worker, i, status);
        judge(worker, batch->key[i], acknowledged[i], &item);
        missing[i] = may_load && item.status == WARMRING_NOT_FOUND;
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (missing[i]) {
            load(worker, batch->key[i]);
        }
    }
}

static void lock_batch(worker_t *worker, batch_t *batch, uint64_t raise) {
    for (size_t i = 0; i < batch->count; i++) {
        row_t *row = &worker->traffic->rows[batch->key[i]];
        pthread_mutex_lock(&row->mutex);
        batch->version[i] = atomic_fetch_add(&row->version, raise) + raise;
    }
}

/* After a multi call that returned `status`. */
static void unlock_batch(worker_t *worker, const batch_t *batch, warmring_status_t status) {
    for (size_t i = 0; i < batch->count; i++) {
        row_t *row = &worker->traffic->rows[batch->key[i]];
        acknowledge(worker, row, batch->version[i], item_at(worker, i, status).status);
        pthread_mutex_unlock(&row->mutex);
    }
}

void traffic_store_batch(worker_t *worker, batch_t *batch, uint64_t raise) {
    traffic_t *traffic = worker->traffic;
    char value[TRAFFIC_SWEEP][VALUE_SIZE];
    warmring_entry_t entry[TRAFFIC_SWEEP];
    warmring_call_t call = call_of(traffic);
    lock_batch(worker, batch, raise);
    for (size_t i = 0; i < batch->count; i++) {
        size_t length = make_value(batch->key[i], batch->version[i], value[i]);
        entry[i] = (warmring_entry_t){batch->name[i],
                                      {value[i], length},
                                      traffic->options.expiration,
                                      flags_of(batch->key[i], batch->version[i])};
    }
    uint64_t started = traffic_now_ms();
    warmring_status_t status =
        warmring_set_multi(worker->client, entry, batch->count, worker->results, &call);
    note_time(worker, started);
    unlock_batch(worker, batch, status);
    count(worker, COUNTER(sets), batch->count);
}

static void delete_batch(worker_t *worker, batch_t *batch) {
    traffic_t *traffic = worker->traffic;
    warmring_call_t call = call_of(traffic);
    lock_batch(worker, batch, 1);
    uint64_t started = traffic_now_ms();
    warmring_status_t status =
        warmring_delete_multi(worker->client, batch->name, batch->count, worker->results, &call);
    note_time(worker, started);
    unlock_batch(worker, batch, status);
    count(worker, COUNTER(deletes), batch->count);
}

/* ---- any ------------------------------------------------------------------------- */

void traffic_do_one(worker_t *worker) {
    const traffic_options_t *options = &worker->traffic->options;
    size_t dice = draw(worker, 100);
    bool multi = draw(worker, 100) < options->multi;
    batch_t batch;
    if (multi) {
        choose_batch(worker, &batch);
    }
    if (dice < options->sets) {
        multi ? traffic_store_batch(worker, &batch, 1) : do_set(worker);
    } else if (dice < options->sets + options->deletes) {
        multi ? delete_batch(worker, &batch) : do_delete(worker);
    } else {
        multi ? traffic_read_batch(worker, &batch, true) : do_read(worker);
    }
    count(worker, COUNTER(operations), 1);
}
