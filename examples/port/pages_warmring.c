/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page service with a cache before it: moved over, on warmring.
 *
 *   pages_warmring SERVERS DIRECTORY
 *
 * GET /NAME answers the file NAME, from the cache where it is there; PUT and
 * DELETE change it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warmring/warmring.h>

#include "http.h"
#include "origin.h"

enum { THREADS = 8, TTL = 300, LEASE_MS = 1000 };

typedef struct {
    warmring_t *cache;
    const char *directory;
} pages_t;

static void get_page(pages_t *pages, const char *key, const char *name, http_response_t *response) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_status_t result =
        warmring_get_or_lease(pages->cache, key, strlen(key), LEASE_MS, &item, NULL);
    response->status = 200;
    if (result == WARMRING_OK) {
        response->cache = "hit";
        response->body_length = item.value.length;
        response->body = malloc(item.value.length + 1);
        if (response->body != NULL) {
            memcpy(response->body, item.value.data, item.value.length + 1);
        }
    } else {
        response->cache =
            result == WARMRING_LEASED || result == WARMRING_LEASE_BUSY ? "miss" : "down";
        response->body = origin_load(pages->directory, name, &response->body_length);
        if (response->body == NULL) {
            response->status = 404;
        } else if (result == WARMRING_LEASED) {
            /* Refused if the page was changed since the miss. */
            result = warmring_cas(pages->cache, key, strlen(key), response->body,
                                  response->body_length, TTL, 0, &item.token, NULL);
        }
    }
    warmring_item_clear(&item);
}

static void change_page(pages_t *pages, const char *key, const http_request_t *request,
                        http_response_t *response) {
    int done =
        strcmp(request->method, "PUT") == 0
            ? origin_store(pages->directory, request->name, request->body, request->body_length)
            : origin_remove(pages->directory, request->name);
    warmring_status_t result = warmring_delete(pages->cache, key, strlen(key), NULL);
    response->status = done == 0 ? 204 : 404;
    response->cache = result == WARMRING_OK || result == WARMRING_NOT_FOUND ? "deleted" : "unknown";
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

static warmring_status_t open_cache(warmring_t **cache, const char *servers) {
    /* Keys stay where they are: a pool hands out clones, which keep the hash of
     * KETAMA_WEIGHTED, but not its ring. */
    static const char *const settings[][2] = {
        {"dialect", "libmemcached"}, {"hash", "md5"}, {"deadline_ms", "500"}, /* of a whole call */
    };
    warmring_options_t *options = warmring_options_create();
    warmring_status_t status = options != NULL ? WARMRING_OK : WARMRING_OUT_OF_MEMORY;
    for (size_t i = 0; status == WARMRING_OK && i < sizeof settings / sizeof settings[0]; i++) {
        status = warmring_options_set(options, settings[i][0], settings[i][1]);
    }
    if (status == WARMRING_OK) {
        status = warmring_open(cache, servers, options);
    }
    warmring_options_free(options);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: pages_warmring SERVERS DIRECTORY\n");
        return 2;
    }
    pages_t pages = {NULL, argv[2]};
    if (open_cache(&pages.cache, argv[1]) != WARMRING_OK) {
        fprintf(stderr, "%s\n", warmring_error_detail());
        return 1;
    }
    int status = http_serve(THREADS, handle, &pages);
    warmring_close(pages.cache);
    return status;
}
