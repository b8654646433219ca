/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring beside plain libmemcached on the same servers: single get and set,
 * and a get of 100 keys over all servers, from one thread and from eight.
 *
 *   client HOST:PORT,HOST:PORT,...        `make bench` starts four of its own
 *
 * warmring is one handle that all threads share. A memcached_st is for one
 * thread, so each thread has its own, with weighted ketama and TCP_NODELAY.
 * Both read the same keys of the same size. Prints tab-separated values.
 */
#include <libmemcached/memcached.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warmring/warmring.h>

#include "rounds.h"

#define KEYS 1000
#define BATCH_KEYS 100
#define VALUE_SIZE 100

static char names[KEYS][16];
static size_t lengths[KEYS];
static char value[VALUE_SIZE];

typedef struct {
    const char *servers;
    warmring_t *cache;
} setup_t;

static void make_keys(void) {
    for (int i = 0; i < KEYS; i++)
        lengths[i] = (size_t)snprintf(names[i], sizeof(names[i]), "user:%d", i);
    memset(value, 'v', sizeof(value));
}

/* ---- warmring ---- */

typedef struct {
    warmring_t *cache;
    warmring_item_t item;
    warmring_results_t *results;
    warmring_bytes_t batch[BATCH_KEYS];
    unsigned next;
} ours_t;

static void *open_ours(const void *setup, unsigned thread) {
    ours_t *ours = calloc(1, sizeof(*ours));

    if (ours == NULL)
        return NULL;
    ours->cache = ((const setup_t *)setup)->cache;
    ours->item = (warmring_item_t)WARMRING_ITEM_INIT;
    ours->results = warmring_results_create();
    ours->next = thread * 97;
    return ours;
}

static void close_ours(void *state) {
    ours_t *ours = state;

    warmring_item_clear(&ours->item);
    warmring_results_free(ours->results);
    free(ours);
}

static bool get_ours(void *state) {
    ours_t *ours = state;
    unsigned key = ours->next++ % KEYS;

    return warmring_get(ours->cache, names[key], lengths[key], &ours->item, NULL) == WARMRING_OK &&
           ours->item.value.length == VALUE_SIZE;
}

static bool set_ours(void *state) {
    ours_t *ours = state;
    unsigned key = ours->next++ % KEYS;

    return warmring_set(ours->cache, names[key], lengths[key], value, VALUE_SIZE, 0, 0, NULL) ==
           WARMRING_OK;
}

static bool get_many_ours(void *state) {
    ours_t *ours = state;
    size_t hits = 0;

    for (unsigned i = 0; i < BATCH_KEYS; i++) {
        unsigned key = ours->next++ % KEYS;
        ours->batch[i] = (warmring_bytes_t){names[key], lengths[key]};
    }
    if (warmring_get_multi(ours->cache, ours->batch, BATCH_KEYS, ours->results, NULL) !=
        WARMRING_OK)
        return false;
    for (size_t i = SIZE_MAX; warmring_results_next_hit(ours->results, &i);)
        hits++;
    return hits == BATCH_KEYS;
}

/* ---- libmemcached ---- */

typedef struct {
    memcached_st *cache;
    memcached_result_st result;
    const char *batch[BATCH_KEYS];
    size_t batch_lengths[BATCH_KEYS];
    unsigned next;
} theirs_t;

static void *open_theirs(const void *setup, unsigned thread) {
    theirs_t *theirs = calloc(1, sizeof(*theirs));
    memcached_server_st *list = memcached_servers_parse(((const setup_t *)setup)->servers);

    if (theirs == NULL || list == NULL)
        return NULL;
    theirs->cache = memcached_create(NULL);
    memcached_behavior_set(theirs->cache, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
    memcached_behavior_set(theirs->cache, MEMCACHED_BEHAVIOR_TCP_NODELAY, 1);
    memcached_server_push(theirs->cache, list);
    memcached_server_list_free(list);
    memcached_result_create(theirs->cache, &theirs->result);
    theirs->next = thread * 97;
    return theirs;
}

static void close_theirs(void *state) {
    theirs_t *theirs = state;

    memcached_result_free(&theirs->result);
    memcached_free(theirs->cache);
    free(theirs);
}

static bool get_theirs(void *state) {
    theirs_t *theirs = state;
    unsigned key = theirs->next++ % KEYS;
    memcached_return_t status;
    size_t length = 0;
    uint32_t flags;

    free(memcached_get(theirs->cache, names[key], lengths[key], &length, &flags, &status));
    return status == MEMCACHED_SUCCESS && length == VALUE_SIZE;
}

static bool set_theirs(void *state) {
    theirs_t *theirs = state;
    unsigned key = theirs->next++ % KEYS;

    return memcached_set(theirs->cache, names[key], lengths[key], value, VALUE_SIZE, 0, 0) ==
           MEMCACHED_SUCCESS;
}

static bool get_many_theirs(void *state) {
    theirs_t *theirs = state;
    memcached_return_t status;
    size_t hits = 0;

    for (unsigned i = 0; i < BATCH_KEYS; i++) {
        unsigned key = theirs->next++ % KEYS;
        theirs->batch[i] = names[key];
        theirs->batch_lengths[i] = lengths[key];
    }
    if (memcached_mget(theirs->cache, theirs->batch, theirs->batch_lengths, BATCH_KEYS) !=
        MEMCACHED_SUCCESS)
        return false;
    while (memcached_fetch_result(theirs->cache, &theirs->result, &status) != NULL)
        hits++;
    return hits == BATCH_KEYS;
}

/* ---- the benches ---- */

static const struct {
    const char *name;
    operation_t ours, theirs;
} benches[] = {
    /* sets come first: what they store is read */
    {"set", set_ours, set_theirs},
    {"get", get_ours, get_theirs},
    {"get of 100 keys", get_many_ours, get_many_theirs},
};

static const unsigned thread_counts[] = {1, 8};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Each of the two rings must know all keys, wherever it puts them. */
static bool store_all(const setup_t *setup) {
    ours_t *ours = open_ours(setup, 0);
    theirs_t *theirs = open_theirs(setup, 0);
    bool good = ours != NULL && theirs != NULL;

    for (int i = 0; i < KEYS && good; i++)
        good = set_ours(ours) && set_theirs(theirs);
    if (ours != NULL)
        close_ours(ours);
    if (theirs != NULL)
        close_theirs(theirs);
    return good;
}

int main(int argc, char **argv) {
    setup_t setup = {.servers = argc == 2 ? argv[1] : ""};
    char name[64];
    bool good;

    if (argc != 2) {
        fprintf(stderr, "usage: client HOST:PORT,HOST:PORT,...\n");
        return 2;
    }
    make_keys();
    good = warmring_open(&setup.cache, setup.servers, NULL) == WARMRING_OK && store_all(&setup);
    printf("bench\tmetric\twarmring\tlibmemcached\tratio\n");
    for (size_t i = 0; good && i < COUNT_OF(benches); i++)
        for (size_t j = 0; good && j < COUNT_OF(thread_counts); j++) {
            way_t ours = {open_ours, benches[i].ours, close_ours};
            way_t theirs = {open_theirs, benches[i].theirs, close_theirs};
            snprintf(name, sizeof(name), "%s, %u thread%s", benches[i].name, thread_counts[j],
                     thread_counts[j] == 1 ? "" : "s");
            good = compare_ways(name, thread_counts[j], &ours, &theirs, &setup);
        }
    if (!good)
        fprintf(stderr, "an operation failed: %s\n", warmring_error_detail());
    warmring_close(setup.cache);
    return good ? 0 : 1;
}
