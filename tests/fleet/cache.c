/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache before an origin.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fleet/fleet.h"
#include "tests/lib/tap.h"

enum { LEASE_MS = 1000, WRITES_OF = 200 }; /* one call of so many writes */

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

void cache_fill(cache_t *cache, warmring_t *client) {
    for (unsigned i = 0; i < CACHED; i++) {
        entry_t entry = make_entry(i, 1);
        if (warmring_set(client, entry.key, entry.key_length, entry.value, entry.value_length, 0, 0,
                         NULL) != WARMRING_OK) {
            tap_bail("fill: %s", warmring_error_detail());
        }
        atomic_store(&cache->version[i], 1);
        atomic_store(&cache->acknowledged[i], 1);
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
    warmring_status_t status =
        warmring_get_or_lease(client, entry.key, entry.key_length, LEASE_MS, &item, NULL);
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

void cache_call(cache_t *cache, warmring_t *client, dice_t *dice) {
    unsigned index = roll(dice, CACHED);
    if (roll(dice, WRITES_OF) == 0) {
        write_key(cache, client, index);
    } else {
        read_cached(cache, client, index);
    }
}
