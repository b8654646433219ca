/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a migration back, from WARMING and from DRAINING. No old value ever
 * comes back. From WARMING nothing is lost; from DRAINING, moved keys that
 * were written since start as misses.
 *
 * Servers: 4 + 1
 * Output:
 *
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

static void store(warmring_t *cache, int count, const char *value) {
    char key[32];

    for (int i = 0; i < count; i++) {
        size_t length = (size_t)snprintf(key, sizeof(key), "user:%d", i);
        must(warmring_set(cache, key, length, value, strlen(value), 0, 0, NULL));
    }
}

/* The first 500 keys were written again since. */
static void report(warmring_t *cache, const char *when) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    int current = 0, stale = 0;
    char key[32];

    for (int i = 0; i < KEYS; i++) {
        size_t length = (size_t)snprintf(key, sizeof(key), "user:%d", i);
        if (warmring_get(cache, key, length, &item, NULL) != WARMRING_OK)
            continue;
        if (strcmp(item.value.data, i < 500 ? "new" : "old") == 0)
            current++;
        else
            stale++;
    }
    warmring_item_clear(&item);
    printf("%-28s  current %4d  missing %3d  stale %d\n", when, current, KEYS - current - stale,
           stale);
}

static void enter(warmring_t *cache, warmring_topology_t *next) {
    must(warmring_apply(cache, next, 0));
    warmring_topology_release(next);
}

static void step(warmring_t *cache, warmring_step_t which) {
    warmring_topology_t *now, *next;

    must(warmring_acquire(cache, &now));
    must(warmring_topology_step(now, which, &next));
    warmring_topology_release(now);
    enter(cache, next);
}

static void begin(warmring_t *cache, const char *server, uint32_t rollout) {
    warmring_topology_t *now, *target, *next;

    must(warmring_acquire(cache, &now));
    must(warmring_topology_add_server(now, server, &target));
    must(warmring_topology_migrate(now, target, &next));
    enter(cache, next);
    step(cache, WARMRING_WARM);
    warmring_topology_release(target);
    warmring_topology_release(now);
    must(warmring_acquire(cache, &now));
    must(warmring_topology_rollout(now, NULL, rollout, &next));
    enter(cache, next);
    warmring_topology_release(now);
}

int main(int argc, char **argv) {
    warmring_t *cache;

    if (argc != 3) {
        fprintf(stderr, "usage: %s a=HOST:PORT,b=HOST:PORT,... NEW=HOST:PORT\n", argv[0]);
        return 2;
    }
    must(warmring_open(&cache, argv[1], NULL));
    store(cache, KEYS, "old");
    begin(cache, argv[2], WARMRING_ROLLOUT_ALL / 2);
    store(cache, 500, "new");
    report(cache, "WARMING at 50 %, 500 written");
    step(cache, WARMRING_ROLLBACK); /* PREPARED */
    step(cache, WARMRING_ROLLBACK); /* STABLE */
    report(cache, "rolled back");

    store(cache, KEYS, "old");
    begin(cache, argv[2], WARMRING_ROLLOUT_ALL);
    step(cache, WARMRING_COMMIT); /* HANDOVER */
    step(cache, WARMRING_COMMIT); /* DRAINING */
    store(cache, 500, "new");
    report(cache, "DRAINING, 500 written");
    for (int i = 0; i < 3; i++) /* HANDOVER, PREPARED, STABLE */
        step(cache, WARMRING_ROLLBACK);
    report(cache, "rolled back");
    warmring_close(cache);
}
