/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds a server to a cluster in use without losing a hit: every key stays
 * readable in every phase, and what was read once is on the new ring at the
 * end. docs/migration.md says what each phase does and how long it takes.
 *
 * Servers: 4 + 1
 * Output:
 *
 *   phase    rollout  readable
 *   PREPARED      0%  1000 of 1000
 *   WARMING       0%  1000 of 1000
 *   WARMING      10%  1000 of 1000
 *   WARMING     100%  1000 of 1000
 *   HANDOVER    100%  1000 of 1000
 *   DRAINING    100%  1000 of 1000
 *   CLOSING     100%  1000 of 1000
 *   SETTLING    100%  1000 of 1000
 *   STABLE        0%  1000 of 1000
 */
#include <stdio.h>
#include <stdlib.h>
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

static int count_hits(warmring_t *cache) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    char key[32];
    int hits = 0;
    for (int i = 0; i < KEYS; i++)
        hits += warmring_get(cache, key, make_key(key, i), &item, NULL) == WARMRING_OK;
    warmring_item_clear(&item);
    return hits;
}

/* Puts `next` in force, and shows that all keys can still be read. */
static warmring_topology_t *enter(warmring_t *cache, warmring_topology_t *now,
                                  warmring_topology_t *next) {
    must(warmring_apply(cache, next, 0));
    warmring_topology_release(now);
    printf("%-9s %5.0f%%  %4d of %d\n", warmring_phase_name(warmring_topology_phase(next)),
           warmring_topology_get_rollout(next, NULL) / 100.0, count_hits(cache), KEYS);
    return next;
}

static warmring_topology_t *step(warmring_t *cache, warmring_topology_t *now,
                                 warmring_step_t which) {
    warmring_topology_t *next;
    must(warmring_topology_step(now, which, &next));
    return enter(cache, now, next);
}

static warmring_topology_t *roll_out(warmring_t *cache, warmring_topology_t *now, uint32_t share) {
    warmring_topology_t *next;
    must(warmring_topology_rollout(now, NULL, share, &next));
    return enter(cache, now, next);
}

int main(int argc, char **argv) {
    warmring_t *cache;
    warmring_topology_t *now, *target, *next;
    char key[32];

    if (argc != 3)
        return fprintf(stderr, "usage: %s a=HOST:PORT,b=HOST:PORT,... NEW=HOST:PORT\n", *argv), 2;
    must(warmring_open(&cache, argv[1], NULL));
    for (int i = 0; i < KEYS; i++)
        must(warmring_set(cache, key, make_key(key, i), "value", 5, 0, 0, NULL));

    must(warmring_acquire(cache, &now));
    must(warmring_topology_add_server(now, argv[2], &target));
    must(warmring_topology_migrate(now, target, &next));
    warmring_topology_release(target);

    printf("phase    rollout  readable\n");
    now = enter(cache, now, next); /* PREPARED */
    now = step(cache, now, WARMRING_WARM);
    now = roll_out(cache, now, 1000);
    now = roll_out(cache, now, WARMRING_ROLLOUT_ALL);
    now = step(cache, now, WARMRING_COMMIT); /* HANDOVER */
    now = step(cache, now, WARMRING_COMMIT); /* DRAINING */
    now = step(cache, now, WARMRING_FINISH); /* CLOSING */
    now = step(cache, now, WARMRING_FINISH); /* SETTLING */
    now = step(cache, now, WARMRING_SETTLE); /* STABLE, on the new ring */
    warmring_topology_release(now);
    warmring_close(cache);
}
