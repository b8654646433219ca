/* SPDX-License-Identifier: Apache-2.0 */
#include "origin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool origin_open(origin_t *origin, size_t count) {
    origin->count = count;
    origin->keys = calloc(count, sizeof(*origin->keys));
    if (origin->keys == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        pthread_mutex_init(&origin->keys[i].lock, NULL);
        origin->keys[i].version = 1;
        origin->keys[i].acknowledged = 1;
    }
    return true;
}

void origin_close(origin_t *origin) {
    for (size_t i = 0; i < origin->count; i++)
        pthread_mutex_destroy(&origin->keys[i].lock);
    free(origin->keys);
}

size_t origin_name(char name[ORIGIN_KEY_SIZE], size_t key) {
    return (size_t)snprintf(name, ORIGIN_KEY_SIZE, "user:%zu", key);
}

/* "KEY VERSION", filled up with dots. */
size_t origin_value(char value[ORIGIN_VALUE_SIZE], size_t key, uint64_t version) {
    memset(value, '.', ORIGIN_VALUE_SIZE);
    int length = snprintf(value, ORIGIN_VALUE_SIZE, "%zu %" PRIu64 " ", key, version);
    value[length] = '.';
    return ORIGIN_VALUE_SIZE;
}

uint64_t origin_version(const char *value, size_t length, size_t key) {
    char *end;

    if (length != ORIGIN_VALUE_SIZE || strtoull(value, &end, 10) != key || *end != ' ')
        return 0;
    return strtoull(end + 1, &end, 10);
}
