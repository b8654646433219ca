/* SPDX-License-Identifier: Apache-2.0 */
#include "ways.h"

#include <libmemcached/memcached.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char names[KEYS][16];
size_t lengths[KEYS];
char value[VALUE_SIZE];

/* ---- what is measured ---- */

static void make_keys(void) {
    for (int i = 0; i < KEYS; i++)
        lengths[i] = (size_t)snprintf(names[i], sizeof(names[i]), "user:%d", i);
    memset(value, 'v', sizeof(value));
}

static bool read_ports(setup_t *setup) {
    const char *server = setup->servers;

    while (server != NULL && setup->server_count < MAX_SERVERS) {
        const char *port = strrchr(server, ':');
        const char *comma = strchr(server, ',');
        if (comma != NULL)
            for (port = comma; port > server && *port != ':'; port--)
                ;
        if (port == NULL || *port != ':')
            return false;
        setup->ports[setup->server_count++] = atoi(port + 1);
        server = comma != NULL ? comma + 1 : NULL;
    }
    return server == NULL;
}

/* On the ring that the handle makes of the same servers. */
static bool find_owners(setup_t *setup) {
    warmring_server_t servers[MAX_SERVERS] = {0};
    char address[64], owner[64];

    for (unsigned i = 0; i < setup->server_count; i++)
        servers[i] = (warmring_server_t){.size = sizeof(servers[i]),
                                         .host = "127.0.0.1",
                                         .port = (uint16_t)setup->ports[i],
                                         .weight = 1};
    if (warmring_ring_create(servers, setup->server_count, NULL, &setup->ring) != WARMRING_OK)
        return false;
    for (int i = 0; i < KEYS; i++) {
        setup->owners[i] = (unsigned char)warmring_ring_locate(setup->ring, names[i], lengths[i]);
        snprintf(owner, sizeof(owner), "127.0.0.1:%d", setup->ports[setup->owners[i]]);
        if (warmring_locate(setup->cache, names[i], lengths[i], address, sizeof(address), NULL) !=
                WARMRING_OK ||
            strcmp(address, owner) != 0)
            return false;
    }
    return true;
}

/* A connection for each thread, as the other ways have. */
static bool open_cache(setup_t *setup) {
    warmring_options_t *options = warmring_options_create();
    bool good = options != NULL && warmring_options_set(options, "pool_max", "64") == WARMRING_OK &&
                warmring_open(&setup->cache, setup->servers, options) == WARMRING_OK;

    warmring_options_free(options);
    return good;
}

bool set_up(setup_t *setup, const char *servers, const char **why) {
    *setup = (setup_t){.servers = servers};
    make_keys();
    *why = "servers are HOST:PORT,HOST:PORT,... on loopback";
    if (!read_ports(setup))
        return false;
    *why = warmring_error_detail();
    return open_cache(setup) && find_owners(setup);
}

void tear_down(setup_t *setup) {
    warmring_ring_free(setup->ring);
    warmring_close(setup->cache);
}

/* ---- warmring ---- */

typedef struct {
    warmring_t *cache;
    warmring_item_t item;
    warmring_results_t *results;
    warmring_bytes_t batch[BATCH_KEYS];
    unsigned next;
} ours_t;

void *open_ours(const void *setup, unsigned thread) {
    ours_t *ours = calloc(1, sizeof(*ours));

    if (ours == NULL)
        return NULL;
    ours->cache = ((const setup_t *)setup)->cache;
    ours->item = (warmring_item_t)WARMRING_ITEM_INIT;
    ours->results = warmring_results_create();
    ours->next = thread * 97;
    return ours;
}

void close_ours(void *state) {
    ours_t *ours = state;

    warmring_item_clear(&ours->item);
    warmring_results_free(ours->results);
    free(ours);
}

bool get_ours(void *state) {
    ours_t *ours = state;
    unsigned key = ours->next++ % KEYS;

    return warmring_get(ours->cache, names[key], lengths[key], &ours->item, NULL) == WARMRING_OK &&
           ours->item.value.length == VALUE_SIZE;
}

bool set_ours(void *state) {
    ours_t *ours = state;
    unsigned key = ours->next++ % KEYS;

    return warmring_set(ours->cache, names[key], lengths[key], value, VALUE_SIZE, 0, 0, NULL) ==
           WARMRING_OK;
}

bool get_many_ours(void *state) {
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

void *open_theirs(const void *setup, unsigned thread) {
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

void close_theirs(void *state) {
    theirs_t *theirs = state;

    memcached_result_free(&theirs->result);
    memcached_free(theirs->cache);
    free(theirs);
}

bool get_theirs(void *state) {
    theirs_t *theirs = state;
    unsigned key = theirs->next++ % KEYS;
    memcached_return_t status;
    size_t length = 0;
    uint32_t flags;

    free(memcached_get(theirs->cache, names[key], lengths[key], &length, &flags, &status));
    return status == MEMCACHED_SUCCESS && length == VALUE_SIZE;
}

bool set_theirs(void *state) {
    theirs_t *theirs = state;
    unsigned key = theirs->next++ % KEYS;

    return memcached_set(theirs->cache, names[key], lengths[key], value, VALUE_SIZE, 0, 0) ==
           MEMCACHED_SUCCESS;
}

bool get_many_theirs(void *state) {
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
