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

/* ---- before ---- */

static memcached_st *open_before(const char *servers) {
    memcached_st *cache = memcached_create(NULL);
    memcached_server_st *list = memcached_servers_parse(servers);

    memcached_behavior_set(cache, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
    memcached_server_push(cache, list);
    memcached_server_list_free(list);
    return cache;
}

static int set_before(memcached_st *cache, const char *key, size_t length) {
    return memcached_set(cache, key, length, "before", 6, 0, 0) == MEMCACHED_SUCCESS;
}

static int get_before(memcached_st *cache, const char *key, size_t length) {
    memcached_return_t result;
    size_t value_length;
    uint32_t flags;
    free(memcached_get(cache, key, length, &value_length, &flags, &result));
    return result == MEMCACHED_SUCCESS;
}

/* ---- after ---- */

static warmring_t *open_after(const char *servers) {
    warmring_options_t *options = warmring_options_create();
    warmring_t *cache;

    must(warmring_options_set(options, "dialect", "libmemcached-weighted"));
    must(warmring_open(&cache, servers, options));
    warmring_options_free(options);
    return cache;
}

static int set_after(warmring_t *cache, const char *key, size_t length) {
    return warmring_set(cache, key, length, "after", 5, 0, 0, NULL) == WARMRING_OK;
}

static int get_after(warmring_t *cache, const char *key, size_t length) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_status_t status = warmring_get(cache, key, length, &item, NULL);

    warmring_item_clear(&item);
    return status == WARMRING_OK;
}

/* ---- to the v2 ring ---- */

static void enter(warmring_t *cache, warmring_topology_t **now, warmring_topology_t *next) {
    must(warmring_apply(cache, next, 0));
    warmring_topology_release(*now);
    *now = next;
}

static void warm(warmring_t *cache, const char *servers) {
    warmring_topology_t *now, *target, *next;

    must(warmring_acquire(cache, &now));
    must(warmring_topology_parse(&target, servers, "v2", 0));
    must(warmring_topology_migrate(now, target, &next));
    enter(cache, &now, next);
    must(warmring_topology_step(now, WARMRING_WARM, &next));
    enter(cache, &now, next);
    must(warmring_topology_rollout(now, NULL, WARMRING_ROLLOUT_ALL, &next));
    enter(cache, &now, next);
    warmring_topology_release(now);
    warmring_topology_release(target);
}

int main(int argc, char **argv) {
    int found[3] = {0, 0, 0};
    char key[32];

    memcached_st *before = open_before(argc > 1 ? argv[1] : "127.0.0.1:11211");
    warmring_t *after = open_after(argc > 1 ? argv[1] : "127.0.0.1:11211");
    for (int i = 0; i < KEYS; i++) {
        size_t length = (size_t)snprintf(key, sizeof(key), "user:%d", i);
        if (set_before(before, key, length))
            found[0] += get_after(after, key, length);
        if (set_after(after, key, length))
            found[1] += get_before(before, key, length);
    }
    printf("set by libmemcached, found by warmring: %d of %d\n", found[0], KEYS);
    printf("set by warmring, found by libmemcached: %d of %d\n", found[1], KEYS);
    warm(after, argc > 1 ? argv[1] : "127.0.0.1:11211");
    for (int i = 0; i < KEYS; i++)
        found[2] += get_after(after, key, (size_t)snprintf(key, sizeof(key), "user:%d", i));
    printf("found while the v2 ring is warmed up:   %d of %d\n", found[2], KEYS);
    memcached_free(before);
    warmring_close(after);
}
