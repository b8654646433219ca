/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a migration back, from WARMING and from DRAINING. No old value ever
 * comes back. From WARMING nothing is lost; from DRAINING, moved keys that
 * were written since start as misses.
 *
 * Servers: 4 + 1
 * Output:
 *
 *   WARMING at 50 %, 500 written  found 1000  missing   0  stale 0
 *   rolled back                   found 1000  missing   0  stale 0
 *   DRAINING, 500 written         found 1000  missing   0  stale 0
 *   rolled back                   found  899  missing 101  stale 0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warmring/warmring.h>

#define KEYS 1000

static void must(warmring_status_t status) {
    if (status != WARMRING_OK) {
        fprintf(stderr, "%s: %s\n", warmring_strerror(status), warmring_error_detail());
        exit(1);
    }
}

static size_t make_key(char key[32], int number) {
    return (size_t)snprintf(key, 32, "user:%d", number);
}

static void store(warmring_t *cache, int count, const char *value) {
    char key[32];
    for (int i = 0; i < count; i++)
        must(warmring_set(cache, key, make_key(key, i), value, strlen(value), 0, 0, NULL));
}

/* The first 500 keys were written again since. */
static void report(warmring_t *cache, const char *when) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    int found = 0, stale = 0;
    char key[32];
    for (int i = 0; i < KEYS; i++)
        if (warmring_get(cache, key, make_key(key, i), &item, NULL) == WARMRING_OK) {
            found++;
            stale += strcmp(item.value.data, i < 500 ? "new" : "old") != 0;
        }
    warmring_item_clear(&item);
    printf("%-28s  found %4d  missing %3d  stale %d\n", when, found, KEYS - found, stale);
}

static void step(warmring_t *cache, warmring_step_t which) {
    warmring_topology_t *now, *next;
    must(warmring_acquire(cache, &now));
    must(warmring_topology_step(now, which, &next));
    must(warmring_apply(cache, next, 0));
    warmring_topology_release(next);
    warmring_topology_release(now);
}

static void warm(warmring_t *cache, const char *server, uint32_t rollout) {
    warmring_topology_t *target, *at[4];
    must(warmring_acquire(cache, &at[0]));
    must(warmring_topology_add_server(at[0], server, &target));
    must(warmring_topology_migrate(at[0], target, &at[1]));
    must(warmring_topology_step(at[1], WARMRING_WARM, &at[2]));
    must(warmring_topology_rollout(at[2], NULL, rollout, &at[3]));
    for (int i = 1; i < 4; i++)
        must(warmring_apply(cache, at[i], 0));
    for (int i = 0; i < 4; i++)
        warmring_topology_release(at[i]);
    warmring_topology_release(target);
}

int main(int argc, char **argv) {
    warmring_t *cache;
    if (argc != 3)
        return fprintf(stderr, "usage: rollback a=HOST:PORT,b=HOST:PORT,... NEW=HOST:PORT\n"), 2;
    must(warmring_open(&cache, argv[1], NULL));
    store(cache, KEYS, "old");
    warm(cache, argv[2], WARMRING_ROLLOUT_ALL / 2);
    store(cache, 500, "new");
    report(cache, "WARMING at 50 %, 500 written");
    step(cache, WARMRING_ROLLBACK); /* PREPARED */
    step(cache, WARMRING_ROLLBACK); /* STABLE */
    report(cache, "rolled back");

    store(cache, KEYS, "old");
    warm(cache, argv[2], WARMRING_ROLLOUT_ALL);
    step(cache, WARMRING_COMMIT); /* HANDOVER */
    step(cache, WARMRING_COMMIT); /* DRAINING */
    store(cache, 500, "new");
    report(cache, "DRAINING, 500 written");
    for (int i = 0; i < 3; i++) /* HANDOVER, PREPARED, STABLE */
        step(cache, WARMRING_ROLLBACK);
    report(cache, "rolled back");
    warmring_close(cache);
}
