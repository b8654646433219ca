/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes a weight while the client is in use. Only keys that now belong to
 * that server move, and they start as misses: this is the cold way, good for
 * a small change. warm_migration.c does the same without misses.
 *
 * On the way back the moved keys are found where they were before, as they
 * were then: right here, where nobody wrote them meanwhile, but an old value
 * otherwise. Only the warm way filters those; or empty the server first.
 *
 * Servers: 4
 * Output:
 *
 *   stored                1000 keys
 *   found                 1000
 *   a: weight 1 -> 1.2     4.4% of all keys move
 *   found                  955
 *   a: weight 1.2 -> 1     4.4% move back
 *   found                 1000
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

static size_t make_key(char *key, size_t capacity, int number) {
    return (size_t)snprintf(key, capacity, "user:%d", number);
}

static void store_all(warmring_t *cache) {
    char key[32];

    for (int i = 0; i < KEYS; i++) {
        size_t length = make_key(key, sizeof(key), i);
        must(warmring_set(cache, key, length, key, length, 0, 0, NULL));
    }
}

static int count_hits(warmring_t *cache) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    char key[32];
    int hits = 0;

    for (int i = 0; i < KEYS; i++) {
        size_t length = make_key(key, sizeof(key), i);
        warmring_status_t status = warmring_get(cache, key, length, &item, NULL);
        if (status == WARMRING_OK)
            hits++;
        else if (status != WARMRING_NOT_FOUND)
            must(status);
    }
    warmring_item_clear(&item);
    return hits;
}

/* Returns how many percent of all keys moved. */
static double reweight(warmring_t *cache, const char *server, double weight) {
    warmring_topology_t *now, *next;
    warmring_preview_t *preview;
    double moved;

    must(warmring_acquire(cache, &now));
    must(warmring_topology_set_weight(now, server, weight, &next));
    must(warmring_topology_preview(now, next, &preview));
    moved = 100 * warmring_preview_moved(preview);
    must(warmring_apply(cache, next, 0));
    warmring_preview_free(preview);
    warmring_topology_release(next);
    warmring_topology_release(now);
    return moved;
}

int main(int argc, char **argv) {
    warmring_t *cache;

    if (argc != 2) {
        fprintf(stderr, "usage: %s a=HOST:PORT,b=HOST:PORT,...\n", argv[0]);
        return 2;
    }
    must(warmring_open(&cache, argv[1], NULL));
    store_all(cache);
    printf("stored                %4d keys\n", KEYS);
    printf("found                 %4d\n", count_hits(cache));
    printf("a: weight 1 -> 1.2    %4.1f%% of all keys move\n", reweight(cache, "a", 1.2));
    printf("found                 %4d\n", count_hits(cache));
    printf("a: weight 1.2 -> 1    %4.1f%% move back\n", reweight(cache, "a", 1));
    printf("found                 %4d\n", count_hits(cache));
    warmring_close(cache);
}
