/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache before an origin.
 *
 * Reads are as many as the machine does. Writes come at a rate of their own:
 * a key that is set in HANDOVER is a miss for the rest of it, so their number
 * decides how many loads a migration costs, and that must not depend on the
 * machine.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warmring/metrics.h>

#include "tests/fleet/fleet.h"
#include "tests/lib/tap.h"

enum { LEASE_MS = 1000, WRITE_EVERY_MS = 1000 }; /* of each thread, on average */

typedef struct {
    char key[24], value[48];
    size_t key_length, value_length;
} entry_t;

static entry_t make_entry(unsigned index, uint64_t version) {
    entry_t entry;
    entry.key_length = (size_t)snprintf(entry.key, sizeof entry.key, "cached:%u", index);
    entry.value_length =
        (size_t)snprintf(entry.value, sizeof entry.value, "%" PRIu64 " of %u", version, index);
    return entry;
}

static cache_counts_t *counts_of(cache_t *cache) {
    return &cache->counts[atomic_load(&cache->migrating) ? 1 : 0];
}

static void note_owner(cache_t *cache, unsigned index, warmring_t *client, warmring_t *after) {
    char before[ADDRESS_LENGTH];
    char *owner = cache->new_owner[index];
    entry_t entry = make_entry(index, 0);
    if (warmring_locate(client, entry.key, entry.key_length, before, sizeof before, NULL) !=
            WARMRING_OK ||
        warmring_locate(after, entry.key, entry.key_length, owner, ADDRESS_LENGTH, NULL) !=
            WARMRING_OK) {
        tap_bail("locate: %s", warmring_error_detail());
    }
    if (strcmp(before, owner) == 0) {
        owner[0] = '\0';
    }
}

/* A busy machine may make a server late. */
static void fill_one(warmring_t *client, const entry_t *entry) {
    enum { TRIES = 50 };
    int tries = 0;
    while (warmring_set(client, entry->key, entry->key_length, entry->value, entry->value_length, 0,
                        0, NULL) != WARMRING_OK) {
        if (++tries == TRIES) {
            tap_bail("fill: %s", warmring_error_detail());
        }
        race_sleep_us(100000);
    }
}

void cache_fill(cache_t *cache, warmring_t *client, warmring_t *after) {
    for (unsigned i = 0; i < CACHED; i++) {
        entry_t entry = make_entry(i, 1);
        note_owner(cache, i, client, after);
        fill_one(client, &entry);
        atomic_store(&cache->version[i], 1);
        atomic_store(&cache->acknowledged[i], 1);
    }
}

/* The key that this thread reads through the cache, or CACHED. */
static _Thread_local unsigned reading = CACHED;

static void count_hit(void *context, const warmring_event_t *event) {
    cache_t *cache = context;
    if (reading < CACHED && event->status == WARMRING_OK) {
        bool is_new = strcmp(event->server, cache->new_owner[reading]) == 0;
        atomic_fetch_add(&cache->hits[is_new], 1);
    }
}

void cache_watch(cache_t *cache, warmring_t *client) {
    if (warmring_set_observer(client, count_hit, cache) != WARMRING_OK) {
        tap_bail("observer: %s", warmring_error_detail());
    }
}

/* Whether a status says that nothing was stored. */
static bool was_refused(warmring_status_t status) {
    return status == WARMRING_TOPOLOGY_STALE || status == WARMRING_SERVER_DOWN ||
           status == WARMRING_CONNECT_FAILED;
}

static void write_key(cache_t *cache, warmring_t *client, unsigned index) {
    if (atomic_exchange(&cache->writing[index], true)) {
        return;
    }
    uint64_t version = atomic_fetch_add(&cache->version[index], 1) + 1;
    entry_t entry = make_entry(index, version);
    warmring_status_t status = warmring_set(client, entry.key, entry.key_length, entry.value,
                                            entry.value_length, 0, 0, NULL);
    atomic_fetch_add(&counts_of(cache)->writes, 1);
    if (status == WARMRING_OK) {
        atomic_store(&cache->acknowledged[index], version);
    } else if (!was_refused(status)) {
        atomic_store(&cache->doubtful[index], true);
    }
    atomic_store(&cache->writing[index], false);
}

static void load_key(cache_t *cache, warmring_t *client, unsigned index,
                     const warmring_item_t *item) {
    entry_t entry = make_entry(index, atomic_load(&cache->version[index]));
    (void)!warmring_cas(client, entry.key, entry.key_length, entry.value, entry.value_length, 0, 0,
                        &item->token, NULL);
}

/* What an application loads from its origin. Faults of a machine under load
 * are counted apart: they are none of the migration's. */
static bool is_miss(warmring_status_t status) {
    return status == WARMRING_LEASED || status == WARMRING_LEASE_BUSY ||
           status == WARMRING_NOT_FOUND || status == WARMRING_TRY_AGAIN;
}

static void read_cached(cache_t *cache, warmring_t *client, unsigned index) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    cache_counts_t *counts = counts_of(cache);
    uint64_t newest = atomic_load(&cache->acknowledged[index]);
    entry_t entry = make_entry(index, 0);
    reading = index;
    warmring_status_t status =
        warmring_get_or_lease(client, entry.key, entry.key_length, LEASE_MS, &item, NULL);
    reading = CACHED;
    atomic_fetch_add(&counts->reads, 1);
    if (status == WARMRING_OK) {
        atomic_fetch_add(&counts->stale, strtoull(item.value.data, NULL, 10) < newest &&
                                             !atomic_load(&cache->doubtful[index]));
    } else if (is_miss(status)) {
        atomic_fetch_add(&counts->loads, 1);
    } else {
        atomic_fetch_add(&counts->faults[status], 1);
    }
    if (status == WARMRING_LEASED) {
        load_key(cache, client, index, &item);
    }
    warmring_item_clear(&item);
}

static bool is_to_write(dice_t *dice) {
    static _Thread_local int64_t next;
    int64_t now = race_now();
    bool due = next != 0 && now >= next;
    if (due || next == 0) {
        next = now + (int64_t)roll(dice, 2 * WRITE_EVERY_MS) * 1000000;
    }
    return due;
}

void cache_call(cache_t *cache, warmring_t *client, dice_t *dice) {
    unsigned index = roll(dice, CACHED);
    if (is_to_write(dice)) {
        write_key(cache, client, index);
    } else {
        read_cached(cache, client, index);
    }
}
