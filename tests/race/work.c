/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker does to a key: one of the ways of its class, by chance, each
 * call recorded.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/race/race.h"

enum { LOG_RECORD = 9, LOG_LONGEST = 40 * LOG_RECORD };

/* ---- records and values ---------------------------------------------------- */

record_t *race_record(worker_t *worker, unsigned key, kind_t kind) {
    worker_log_t *log = worker->log;
    if (log->count == worker->race->capacity) {
        return NULL;
    }
    record_t *record = &log->records[log->count];
    *record = (record_t){.key = (uint8_t)key, .kind = (uint8_t)kind, .value = NO_VALUE};
    record->begin = race_now();
    log->count++;
    return record;
}

void race_return(record_t *record, warmring_status_t status) {
    record->status = (uint8_t)status;
    record->end = race_now();
}

uint64_t race_next_value(const worker_t *worker) {
    return (uint64_t)worker->number << 24 | worker->log->count;
}

size_t race_value_text(const char *key, uint64_t value, char *text) {
    int length = snprintf(text, VALUE_SIZE, "%s %" PRIx64 " ", key, value);
    memset(text + length, 'x', VALUE_SIZE - (size_t)length);
    return VALUE_SIZE;
}

/* The number in a text that race_value_text() made for this key. */
static uint64_t number_of(const char *key, const warmring_item_t *item) {
    char expected[VALUE_SIZE];
    size_t length = strlen(key);
    if (item->value.length != VALUE_SIZE) {
        return NO_VALUE;
    }
    uint64_t number = strtoull(item->value.data + length, NULL, 16);
    race_value_text(key, number, expected);
    return memcmp(expected, item->value.data, VALUE_SIZE) == 0 ? number : NO_VALUE;
}

static uint64_t count_of(const warmring_item_t *item) {
    char *end;
    uint64_t number = strtoull(item->value.data, &end, 10);
    return end != item->value.data ? number : NO_VALUE;
}

/* Keeps the text of a log; the number is that of its first record. */
static uint64_t keep_text(worker_t *worker, record_t *record, const warmring_item_t *item) {
    worker_log_t *log = worker->log;
    if (log->texts + item->value.length > worker->race->text_capacity ||
        item->value.length > UINT16_MAX) {
        record->length = 0;
        return NO_VALUE;
    }
    memcpy(log->text + log->texts, item->value.data, item->value.length);
    record->before = log->texts;
    record->length = (uint16_t)item->value.length;
    log->texts += record->length;
    return strtoull(item->value.data, NULL, 16);
}

/* Notes what a read of `key` brought. */
static void note_item(worker_t *worker, record_t *record, const char *key,
                      const warmring_item_t *item) {
    class_t class = class_of(record->key);
    if (item->status == WARMRING_OK) {
        record->value = class == COUNTER || class == BALANCE ? count_of(item)
                        : class == LOG                       ? keep_text(worker, record, item)
                                                             : number_of(key, item);
    }
    record->status = (uint8_t)item->status;
}

static void linger(worker_t *worker, uint32_t longest_us) {
    if (roll(&worker->dice, 3) == 0) {
        race_sleep_us(roll(&worker->dice, longest_us));
    }
}

/* All keys, or those that do not depend on a value that was read. */
static unsigned keys_of(const worker_t *worker) {
    return worker->race->shape.direct ? COUNTER * KEYS_OF_CLASS : KEYS;
}

/* ---- reads ------------------------------------------------------------------- */

/* Reads a key; the caller clears the item. */
static record_t *read_key(worker_t *worker, unsigned key, uint32_t mode, warmring_item_t *item) {
    char name[KEY_SIZE];
    warmring_call_t call = WARMRING_CALL_INIT;
    call.mode = mode;
    size_t length = race_key(worker->race->round, key, name);
    record_t *record = race_record(worker, key, GET);
    if (record != NULL) {
        warmring_status_t status = warmring_get(worker->client, name, length, item, &call);
        race_return(record, status);
        record->for_cas = (mode & WARMRING_FOR_CAS) != 0;
        note_item(worker, record, name, item);
    }
    return record;
}

static void just_read(worker_t *worker, unsigned key) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    uint32_t mode = roll(&worker->dice, 8) == 0    ? WARMRING_FOR_CAS
                    : roll(&worker->dice, 10) == 0 ? WARMRING_NO_FILL
                                                   : 0;
    read_key(worker, key, mode, &item);
    warmring_item_clear(&item);
}

static void touch(worker_t *worker, unsigned key) {
    char name[KEY_SIZE];
    warmring_item_t item = WARMRING_ITEM_INIT;
    size_t length = race_key(worker->race->round, key, name);
    if (roll(&worker->dice, 2) == 0) {
        (void)!warmring_touch(worker->client, name, length, 1000, NULL);
        return; /* it shows nothing to be judged, and must change nothing that is */
    }
    record_t *record = race_record(worker, key, GET);
    if (record != NULL) {
        race_return(record,
                    warmring_get_and_touch(worker->client, name, length, 1000, &item, NULL));
        note_item(worker, record, name, &item);
    }
    warmring_item_clear(&item);
}

static void read_many(worker_t *worker) {
    enum { MOST = 8 };
    char name[MOST][KEY_SIZE];
    warmring_bytes_t keys[MOST];
    record_t *record[MOST];
    size_t count = 2 + roll(&worker->dice, MOST - 1);
    for (size_t i = 0; i < count; i++) {
        unsigned key = roll(&worker->dice, keys_of(worker));
        keys[i] = (warmring_bytes_t){name[i], race_key(worker->race->round, key, name[i])};
        record[i] = race_record(worker, key, GET);
        if (record[i] == NULL) {
            return;
        }
    }
    (void)!warmring_get_multi(worker->client, keys, count, worker->results, NULL);
    for (size_t i = 0; i < count; i++) {
        const warmring_item_t *item = warmring_results_at(worker->results, i);
        race_return(record[i], item != NULL ? item->status : WARMRING_OUT_OF_MEMORY);
        if (item != NULL) {
            note_item(worker, record[i], name[i], item);
        }
    }
}

/* ---- REGISTER ------------------------------------------------------------------ */

typedef warmring_status_t store_function(warmring_t *, const char *, size_t, const void *, size_t,
                                         int64_t, uint32_t, const warmring_call_t *);

warmring_status_t race_store(worker_t *worker, unsigned key, kind_t kind) {
    static store_function *const stores[KINDS] = {
        [SET] = warmring_set, [ADD] = warmring_add, [REPLACE] = warmring_replace};
    char name[KEY_SIZE], text[VALUE_SIZE];
    size_t length = race_key(worker->race->round, key, name);
    uint64_t value = race_next_value(worker);
    size_t size = race_value_text(name, value, text);
    int64_t expiration = roll(&worker->dice, 4) == 0 ? 1000 : 0;
    record_t *record = race_record(worker, key, kind);
    if (record == NULL) {
        return WARMRING_OUT_OF_MEMORY;
    }
    record->value = value;
    warmring_status_t status =
        stores[kind](worker->client, name, length, text, size, expiration, 0, NULL);
    race_return(record, status);
    return status;
}

static void erase(worker_t *worker, unsigned key, uint64_t value) {
    char name[KEY_SIZE];
    size_t length = race_key(worker->race->round, key, name);
    record_t *record = race_record(worker, key, DELETE);
    if (record != NULL) {
        record->value = value;
        race_return(record, warmring_delete(worker->client, name, length, NULL));
    }
}

/* Stores or deletes neighbouring keys in one call. */
static void write_many(worker_t *worker) {
    enum { MOST = KEYS_OF_CLASS };
    char name[MOST][KEY_SIZE], text[MOST][VALUE_SIZE];
    warmring_bytes_t keys[MOST];
    warmring_entry_t entries[MOST];
    record_t *record[MOST];
    size_t count = 2 + roll(&worker->dice, MOST - 1);
    bool stores = roll(&worker->dice, 3) > 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned key = REGISTER * KEYS_OF_CLASS + i;
        uint64_t value = race_next_value(worker);
        keys[i] = (warmring_bytes_t){name[i], race_key(worker->race->round, key, name[i])};
        record[i] = race_record(worker, key, stores ? SET : DELETE);
        if (record[i] == NULL) {
            return;
        }
        record[i]->value = stores ? value : NO_VALUE;
        entries[i] =
            (warmring_entry_t){keys[i], {text[i], race_value_text(name[i], value, text[i])}, 0, 0};
    }
    (void)!(stores ? warmring_set_multi(worker->client, entries, count, worker->results, NULL)
                   : warmring_delete_multi(worker->client, keys, count, worker->results, NULL));
    for (size_t i = 0; i < count; i++) {
        const warmring_item_t *item = warmring_results_at(worker->results, i);
        race_return(record[i], item != NULL ? item->status : WARMRING_OUT_OF_MEMORY);
    }
}

static void work_register(worker_t *worker, unsigned key) {
    uint32_t way = roll(&worker->dice, 100);
    if (way < 45) {
        just_read(worker, key);
    } else if (way < 50) {
        touch(worker, key);
    } else if (way < 75) {
        race_store(worker, key, SET);
    } else if (way < 83) {
        erase(worker, key, NO_VALUE);
    } else if (way < 90) {
        erase(worker, key, NO_VALUE);
        race_store(worker, key, SET);
    } else {
        race_store(worker, key, way < 95 ? ADD : REPLACE);
    }
}

static void work_quiet(worker_t *worker, unsigned key) {
    if (roll(&worker->dice, 150) == 0) {
        work_register(worker, key);
    } else {
        just_read(worker, key);
    }
}

/* ---- LEASE ------------------------------------------------------------------------ */

/* The origin's present version, stored with the lease's token. */
static void load(worker_t *worker, unsigned key, const char *name, size_t length,
                 const warmring_token_t *token) {
    char text[VALUE_SIZE];
    linger(worker, 2000);
    uint64_t version = atomic_load(&worker->race->origin[key % KEYS_OF_CLASS]);
    linger(worker, 2000);
    size_t size = race_value_text(name, version, text);
    record_t *record = race_record(worker, key, CAS);
    if (record != NULL) {
        record->value = version;
        race_return(record,
                    warmring_cas(worker->client, name, length, text, size, 0, 0, token, NULL));
    }
}

static void work_lease(worker_t *worker, unsigned key) {
    if (roll(&worker->dice, 100) < 15) {
        uint64_t version = 1 + atomic_fetch_add(&worker->race->origin[key % KEYS_OF_CLASS], 1);
        erase(worker, key, version);
        return;
    }
    char name[KEY_SIZE];
    size_t length = race_key(worker->race->round, key, name);
    warmring_item_t item = WARMRING_ITEM_INIT;
    record_t *record = race_record(worker, key, GET);
    if (record == NULL) {
        return;
    }
    warmring_call_t call = WARMRING_CALL_INIT;
    call.mode = roll(&worker->dice, 6) == 0 ? WARMRING_WAIT : 0;
    call.deadline_ms = 100;
    warmring_status_t status =
        warmring_get_or_lease(worker->client, name, length, 1000, &item, &call);
    race_return(record, status);
    note_item(worker, record, name, &item);
    if (status == WARMRING_LEASED) {
        load(worker, key, name, length, &item.token);
    }
    warmring_item_clear(&item);
}

/* ---- COUNTER and BALANCE -------------------------------------------------------------- */

static void work_count(worker_t *worker, unsigned key) {
    char name[KEY_SIZE];
    size_t length = race_key(worker->race->round, key, name);
    if (roll(&worker->dice, 4) == 0) {
        just_read(worker, key);
        return;
    }
    bool down = class_of(key) == BALANCE && roll(&worker->dice, 2) == 0;
    uint64_t initial = race_next_value(worker) << 24 | COUNTER_BASE;
    uint64_t result = 0;
    record_t *record = race_record(worker, key, down ? COUNT_DOWN : COUNT_UP);
    if (record == NULL) {
        return;
    }
    warmring_status_t status = (down ? warmring_decrement : warmring_increment)(
        worker->client, name, length, 1, &initial, 0, &result, NULL);
    race_return(record, status);
    record->value = status == WARMRING_OK ? result : NO_VALUE;
}

/* ---- CHAIN ---------------------------------------------------------------------------- */

static void work_chain(worker_t *worker, unsigned key) {
    char name[KEY_SIZE], text[VALUE_SIZE];
    warmring_item_t item = WARMRING_ITEM_INIT;
    if (roll(&worker->dice, 3) == 0) {
        just_read(worker, key);
        return;
    }
    record_t *seen = read_key(worker, key, WARMRING_FOR_CAS, &item);
    if (seen != NULL && item.status == WARMRING_NOT_FOUND) {
        race_store(worker, key, ADD);
    } else if (seen != NULL && item.status == WARMRING_OK) {
        linger(worker, 1000);
        size_t length = race_key(worker->race->round, key, name);
        uint64_t value = race_next_value(worker);
        size_t size = race_value_text(name, value, text);
        record_t *record = race_record(worker, key, CAS);
        if (record != NULL) {
            record->value = value;
            record->before = seen->value;
            race_return(record, warmring_cas(worker->client, name, length, text, size, 0, 0,
                                             &item.token, NULL));
        }
    }
    warmring_item_clear(&item);
}

/* ---- LOG --------------------------------------------------------------------------------- */

/* Appends a record, or begins the log with one. */
static warmring_status_t write_log(worker_t *worker, unsigned key, kind_t kind) {
    char name[KEY_SIZE], text[32];
    size_t length = race_key(worker->race->round, key, name);
    uint64_t value = race_next_value(worker);
    size_t size = (size_t)snprintf(text, sizeof text, "%08" PRIx64 ";", value);
    record_t *record = race_record(worker, key, kind);
    if (record == NULL) {
        return WARMRING_OUT_OF_MEMORY;
    }
    record->value = value;
    warmring_status_t status =
        kind == ADD ? warmring_add(worker->client, name, length, text, size, 0, 0, NULL)
                    : warmring_append(worker->client, name, length, text, size, NULL);
    race_return(record, status);
    return status;
}

static void work_log(worker_t *worker, unsigned key) {
    if (roll(&worker->dice, 2) == 0) {
        if (write_log(worker, key, APPEND) == WARMRING_NOT_STORED) {
            write_log(worker, key, ADD);
        }
        return;
    }
    warmring_item_t item = WARMRING_ITEM_INIT;
    record_t *record = read_key(worker, key, 0, &item);
    if (record != NULL && record->length > LOG_LONGEST) {
        erase(worker, key, NO_VALUE);
    }
    warmring_item_clear(&item);
}

/* ---- any ------------------------------------------------------------------------------------ */

void race_work(worker_t *worker) {
    static void (*const ways[CLASSES])(worker_t *, unsigned) = {[REGISTER] = work_register,
                                                                [QUIET] = work_quiet,
                                                                [LEASE] = work_lease,
                                                                [COUNTER] = work_count,
                                                                [BALANCE] = work_count,
                                                                [CHAIN] = work_chain,
                                                                [LOG] = work_log};
    unsigned key = roll(&worker->dice, keys_of(worker));
    uint32_t many = roll(&worker->dice, 50);
    if (many < 4) {
        read_many(worker);
    } else if (many == 4) {
        write_many(worker);
    } else {
        ways[class_of(key)](worker, key);
    }
    uint32_t pause = roll(&worker->dice, 10);
    if (pause >= 5) {
        race_sleep_us(roll(&worker->dice, pause == 9 ? 3000 : 300));
    }
}
