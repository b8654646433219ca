/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many keys in one call: each has its own status, in input order, and so has
 * each server. A key with a blank is refused; the others are served, and so
 * are those of healthy servers when one is down: port 1, where nobody listens.
 *
 * Servers: 3
 * Output:
 *
 *   four keys
 *     user:7     OK
 *     two words  BAD_KEY
 *     user:none  NOT_FOUND
 *     user:3     OK
 *   100 keys
 *     success: 100 hits; servers: 3 healthy, 0 faulty
 *   100 keys, with a server that is down
 *     cannot connect: nothing was sent: 78 hits; servers: 3 healthy, 1 faulty
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warmring/warmring.h>

#define KEYS 100

static char names[KEYS][16];
static warmring_bytes_t keys[KEYS];
static warmring_entry_t entries[KEYS];

static void must(warmring_status_t status) {
    if (status != WARMRING_OK) {
        fprintf(stderr, "%s: %s\n", warmring_strerror(status), warmring_error_detail());
        exit(1);
    }
}

static void make_entries(void) {
    for (int i = 0; i < KEYS; i++) {
        int length = snprintf(names[i], sizeof(names[i]), "user:%d", i);
        keys[i] = (warmring_bytes_t){names[i], (size_t)length};
        entries[i] = (warmring_entry_t){.key = keys[i], .value = {"value", 5}};
    }
}

static void read_some(warmring_t *cache, warmring_results_t *results) {
    warmring_bytes_t wanted[] = {keys[7], {"two words", 9}, {"user:none", 9}, keys[3]};
    const warmring_item_t *item;

    (void)!warmring_get_multi(cache, wanted, 4, results, NULL); /* each key tells */
    for (size_t i = 0; (item = warmring_results_at(results, i)) != NULL; i++)
        printf("  %-9s  %s\n", item->key.data, warmring_status_name(item->status));
}

static void read_all(warmring_t *cache, warmring_results_t *results) {
    warmring_status_t status = warmring_get_multi(cache, keys, KEYS, results, NULL);
    int hits = 0, healthy = 0, faulty = 0;
    const char *name;

    for (size_t i = SIZE_MAX; warmring_results_next_hit(results, &i);)
        hits++;
    for (size_t i = 0;; i++) {
        warmring_status_t server = warmring_results_server(results, i, &name);
        if (name == NULL)
            break;
        server == WARMRING_OK ? healthy++ : faulty++;
    }
    printf("  %s: %d hits; servers: %d healthy, %d faulty\n", warmring_strerror(status), hits,
           healthy, faulty);
}

int main(int argc, char **argv) {
    warmring_t *cache;
    warmring_results_t *results = warmring_results_create(); /* one per thread */
    warmring_topology_t *now, *next;

    if (argc != 2 || results == NULL)
        return fprintf(stderr, "usage: %s a=HOST:PORT,b=HOST:PORT,...\n", argv[0]), 2;
    must(warmring_open(&cache, argv[1], NULL));
    make_entries();
    must(warmring_set_multi(cache, entries, KEYS, results, NULL));
    printf("four keys\n");
    read_some(cache, results);
    printf("%d keys\n", KEYS);
    read_all(cache, results);

    must(warmring_acquire(cache, &now));
    must(warmring_topology_add_server(now, "gone=127.0.0.1:1", &next));
    must(warmring_apply(cache, next, 0));
    warmring_topology_release(next);
    warmring_topology_release(now);
    printf("%d keys, with a server that is down\n", KEYS);
    read_all(cache, results);
    warmring_results_free(results);
    warmring_close(cache);
}
