/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves a program over from libmemcached. With the dialect of its weighted
 * ketama warmring finds each key where libmemcached put it, and the other
 * way round, so that both may run at the same time. Then the cluster moves to
 * the v2 ring, warm; for that, all writers must have moved over.
 *
 * Servers: 4 unnamed
 * Output:
 *
 *   set by libmemcached, found by warmring: 1000 of 1000
 *   set by warmring, found by libmemcached: 1000 of 1000
 *   found while the v2 ring is warmed up:   1000 of 1000
 */
#include <libmemcached/memcached.h>
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

static memcached_st *open_before(const char *servers) {
    memcached_st *cache = memcached_create(NULL);
    memcached_server_st *list = memcached_servers_parse(servers);
    memcached_behavior_set(cache, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
    memcached_server_push(cache, list);
    memcached_server_list_free(list);
    return cache;
}

static int get_before(memcached_st *cache, const char *key, size_t length) {
    memcached_return_t result;
    size_t value_length;
    uint32_t flags;
    free(memcached_get(cache, key, length, &value_length, &flags, &result));
    return result == MEMCACHED_SUCCESS;
}

static warmring_t *open_after(const char *servers) {
    warmring_options_t *options = warmring_options_create();
    warmring_t *cache;
    must(warmring_options_set(options, "dialect", "libmemcached-weighted"));
    must(warmring_open(&cache, servers, options));
    warmring_options_free(options);
    return cache;
}

static int get_after(warmring_t *cache, const char *key, size_t length) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_status_t status = warmring_get(cache, key, length, &item, NULL);
    warmring_item_clear(&item);
    return status == WARMRING_OK;
}

/* warm_migration.c goes on from here to the end. */
static void warm(warmring_t *cache, const char *servers) {
    warmring_topology_t *v2, *at[4];
    must(warmring_acquire(cache, &at[0]));
    must(warmring_topology_parse(&v2, servers, "v2", 0));
    must(warmring_topology_migrate(at[0], v2, &at[1]));
    must(warmring_topology_step(at[1], WARMRING_WARM, &at[2]));
    must(warmring_topology_rollout(at[2], NULL, WARMRING_ROLLOUT_ALL, &at[3]));
    for (int i = 1; i < 4; i++)
        must(warmring_apply(cache, at[i], 0));
    for (int i = 0; i < 4; i++)
        warmring_topology_release(at[i]);
    warmring_topology_release(v2);
}

int main(int argc, char **argv) {
    const char *servers = argc > 1 ? argv[1] : "127.0.0.1:11211";
    memcached_st *before = open_before(servers);
    warmring_t *after = open_after(servers);
    int found[3] = {0, 0, 0};
    char key[32];
    for (int i = 0; i < KEYS; i++) {
        size_t length = (size_t)snprintf(key, sizeof(key), "user:%d", i);
        if (memcached_set(before, key, length, "1", 1, 0, 0) == MEMCACHED_SUCCESS)
            found[0] += get_after(after, key, length);
        if (warmring_set(after, key, length, "2", 1, 0, 0, NULL) == WARMRING_OK)
            found[1] += get_before(before, key, length);
    }
    printf("set by libmemcached, found by warmring: %d of %d\n", found[0], KEYS);
    printf("set by warmring, found by libmemcached: %d of %d\n", found[1], KEYS);
    warm(after, servers);
    for (int i = 0; i < KEYS; i++)
        found[2] += get_after(after, key, (size_t)snprintf(key, sizeof(key), "user:%d", i));
    printf("found while the v2 ring is warmed up:   %d of %d\n", found[2], KEYS);
    memcached_free(before);
    warmring_close(after);
}
