/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases: 200 threads miss one key at once, and one of them loads it. Then 8
 * threads refill a key that is deleted with every change at the origin. With a
 * plain set a slow loader stores what has changed meanwhile; with a lease that
 * is refused. How often it happens without varies: a note on stderr says.
 *
 * Servers: 1
 * Output:
 *
 *   concurrent misses: 200, origin loads: 1
 *   stale reads with leases: 0
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <warmring/warmring.h>

enum { HERD = 200, READERS = 8, CHANGES = 500 };
static warmring_t *cache;
static atomic_uint origin = 1, changed = 1, loads, stale; /* values are versions */
static atomic_int leases = 1, over, ready, wanted;

static void must(int good) {
    if (!good) {
        fprintf(stderr, "%s\n", warmring_error_detail());
        exit(1);
    }
}

static unsigned read_through(warmring_item_t *item) {
    warmring_call_t call = {sizeof(call), 5000, WARMRING_WAIT, {NULL, 0}};
    warmring_status_t status = leases ? warmring_get_or_lease(cache, "k", 1, 60000, item, &call)
                                      : warmring_get(cache, "k", 1, item, &call);
    unsigned value;

    if (status == WARMRING_OK) {
        memcpy(&value, item->value.data, sizeof(value));
        return value;
    }
    must(status == (leases ? WARMRING_LEASED : WARMRING_NOT_FOUND));
    loads++;
    value = origin; /* and that takes a while */
    thrd_sleep(&(struct timespec){.tv_nsec = over ? 50000000 : 500000}, NULL);
    if (leases) /* refused when the key was deleted since: NOT_FOUND or EXISTS */
        status = warmring_cas(cache, "k", 1, &value, sizeof(value), 0, 0, &item->token, NULL);
    else
        status = warmring_set(cache, "k", 1, &value, sizeof(value), 0, 0, NULL);
    must(status <= WARMRING_EXISTS);
    return value;
}

static void *work(void *unused) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    for (ready++; ready < wanted;) /* all start together */
        thrd_yield();
    do {
        unsigned least = changed;
        if (read_through(&item) < least)
            stale++;
    } while (!over);
    warmring_item_clear(&item);
    return unused;
}

static void run(unsigned threads, int changes) {
    pthread_t ids[HERD];
    over = changes == 0;
    stale = loads = 0;
    ready = 0;
    wanted = (int)threads;
    for (unsigned i = 0; i < threads; i++)
        must(pthread_create(&ids[i], NULL, work, NULL) == 0);
    for (int i = 0; i < changes; i++) {
        unsigned value = ++origin;
        must(warmring_delete(cache, "k", 1, NULL) <= WARMRING_NOT_FOUND);
        changed = value; /* from here on older values are stale */
        thrd_sleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    over = 1;
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
}

int main(int argc, char **argv) {
    must(argc == 2 && warmring_open(&cache, argv[1], NULL) == WARMRING_OK);
    run(HERD, 0);
    printf("concurrent misses: %d, origin loads: %u\n", HERD, loads);
    run(READERS, CHANGES);
    printf("stale reads with leases: %u\n", stale);
    leases = 0;
    run(READERS, CHANGES);
    fprintf(stderr, "note: stale reads with a plain set: %u\n", stale);
    warmring_close(cache);
}
