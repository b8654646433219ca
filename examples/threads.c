/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One handle for all threads: eight write and read at the same time, each its
 * own keys, while the main thread changes a weight.
 *
 * Servers: 3
 * Output:
 *
 *   8 threads read back 8000 of 8000 values
 *   server a: up, connections are shared
 *   server b: up, connections are shared
 *   server c: up, connections are shared
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warmring/warmring.h>

#define THREADS 8
#define KEYS 1000

static warmring_t *cache;
static int right[THREADS];

static void must(warmring_status_t status) {
    if (status != WARMRING_OK) {
        fprintf(stderr, "%s: %s\n", warmring_strerror(status), warmring_error_detail());
        exit(1);
    }
}

/* Writes each key until it reads its own value back. */
static void *work(void *argument) {
    warmring_item_t item = WARMRING_ITEM_INIT; /* one per thread */
    int *mine = argument;
    char key[32];

    for (int i = 0; i < KEYS; i++) {
        size_t length = (size_t)snprintf(key, sizeof(key), "%d:%d", (int)(mine - right), i);
        do /* a miss when the weight changes between the two */
            must(warmring_set(cache, key, length, key, length, 0, 0, NULL));
        while (warmring_get(cache, key, length, &item, NULL) == WARMRING_NOT_FOUND);
        must(item.status);
        *mine += strcmp(item.value.data, key) == 0;
    }
    warmring_item_clear(&item);
    return NULL;
}

static void reweight(const char *server, double weight) {
    warmring_topology_t *now, *next;

    must(warmring_acquire(cache, &now));
    must(warmring_topology_set_weight(now, server, weight, &next));
    must(warmring_apply(cache, next, 0));
    warmring_topology_release(next);
    warmring_topology_release(now);
}

/* Threads share connections: a server has at most one for each thread. */
static void print_servers(void) {
    warmring_server_counters_t server = {.size = sizeof(server)};
    warmring_snapshot_t *snapshot;

    must(warmring_snapshot_create(cache, &snapshot));
    for (size_t i = 0; warmring_snapshot_server(snapshot, i, &server) == WARMRING_OK; i++)
        printf("server %s: %s, %s\n", server.name, server.down ? "down" : "up",
               server.connections <= THREADS ? "connections are shared" : "too many connections");
    warmring_snapshot_free(snapshot);
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    int total = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: %s a=HOST:PORT,b=HOST:PORT,...\n", argv[0]);
        return 2;
    }
    must(warmring_open(&cache, argv[1], NULL));
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &right[i]) != 0)
            return 1;
    reweight("a", 2);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        total += right[i];
    }
    printf("%d threads read back %d of %d values\n", THREADS, total, THREADS * KEYS);
    print_servers();
    warmring_close(cache);
}
