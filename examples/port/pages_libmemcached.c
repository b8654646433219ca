/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page service with a cache before it: as it was, on libmemcached.
 *
 *   pages_libmemcached SERVERS DIRECTORY
 *
 * GET /NAME answers the file NAME, from the cache where it is there; PUT and
 * DELETE change it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libmemcached-1.0/memcached.h>
#include <libmemcachedutil-1.0/util.h>

#include "http.h"
#include "origin.h"

enum { THREADS = 8, TTL = 300 };

typedef struct {
    memcached_pool_st *pool;
    const char *directory;
} pages_t;

/* A memcached_st is for one thread at a time. */
static memcached_st *acquire(pages_t *pages) {
    memcached_return_t result;
    struct timespec patience = {.tv_sec = 1};
    return memcached_pool_fetch(pages->pool, &patience, &result);
}

static void get_page(pages_t *pages, const char *key, const char *name, http_response_t *response) {
    memcached_st *cache = acquire(pages);
    memcached_return_t result = MEMCACHED_FAILURE;
    uint32_t flags;
    response->status = 200;
    if (cache != NULL) {
        response->body =
            memcached_get(cache, key, strlen(key), &response->body_length, &flags, &result);
    }
    if (result == MEMCACHED_SUCCESS) {
        response->cache = "hit";
    } else {
        response->cache = result == MEMCACHED_NOTFOUND ? "miss" : "down";
        response->body = origin_load(pages->directory, name, &response->body_length);
        if (response->body == NULL) {
            response->status = 404;
        } else if (result == MEMCACHED_NOTFOUND) {
            memcached_set(cache, key, strlen(key), response->body, response->body_length, TTL, 0);
        }
    }
    if (cache != NULL) {
        memcached_pool_release(pages->pool, cache);
    }
}

static void change_page(pages_t *pages, const char *key, const http_request_t *request,
                        http_response_t *response) {
    int done =
        strcmp(request->method, "PUT") == 0
            ? origin_store(pages->directory, request->name, request->body, request->body_length)
            : origin_remove(pages->directory, request->name);
    memcached_st *cache = acquire(pages);
    memcached_return_t result = MEMCACHED_FAILURE;
    if (cache != NULL) {
        result = memcached_delete(cache, key, strlen(key), 0);
        memcached_pool_release(pages->pool, cache);
    }
    response->status = done == 0 ? 204 : 404;
    response->cache =
        result == MEMCACHED_SUCCESS || result == MEMCACHED_NOTFOUND ? "deleted" : "unknown";
}

static void handle(void *context, const http_request_t *request, http_response_t *response) {
    char key[sizeof request->name + 8];
    snprintf(key, sizeof key, "page:%s", request->name);
    if (strcmp(request->method, "GET") == 0) {
        get_page(context, key, request->name, response);
    } else if (strcmp(request->method, "PUT") == 0 || strcmp(request->method, "DELETE") == 0) {
        change_page(context, key, request, response);
    }
}

static memcached_st *make_cache(const char *servers) {
    memcached_st *cache = memcached_create(NULL);
    memcached_server_st *list = memcached_servers_parse(servers);
    if (cache == NULL || list == NULL || memcached_server_push(cache, list) != MEMCACHED_SUCCESS) {
        return NULL;
    }
    memcached_server_list_free(list);
    memcached_behavior_set(cache, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
    memcached_behavior_set(cache, MEMCACHED_BEHAVIOR_TCP_NODELAY, 1);
    memcached_behavior_set(cache, MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT, 500);
    memcached_behavior_set(cache, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, 500);
    memcached_behavior_set(cache, MEMCACHED_BEHAVIOR_SERVER_FAILURE_LIMIT, 2);
    memcached_behavior_set(cache, MEMCACHED_BEHAVIOR_RETRY_TIMEOUT, 1);
    return cache;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: pages_libmemcached SERVERS DIRECTORY\n");
        return 2;
    }
    memcached_st *cache = make_cache(argv[1]);
    pages_t pages = {cache != NULL ? memcached_pool_create(cache, THREADS, THREADS) : NULL,
                     argv[2]};
    if (pages.pool == NULL) {
        fprintf(stderr, "cannot use the servers %s\n", argv[1]);
        return 1;
    }
    int status = http_serve(THREADS, handle, &pages);
    memcached_pool_destroy(pages.pool);
    memcached_free(cache);
    return status;
}
