/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items of a test server, looked at and put there behind the library's back.
 */
#ifndef TESTS_RAW_H
#define TESTS_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fixture.h"

enum { RAW_VALUE_SIZE = 256 };

typedef struct {
    bool present;
    uint32_t flags;
    int64_t ttl; /* seconds; -1 never */
    uint64_t cas;
    size_t length;
    char value[RAW_VALUE_SIZE]; /* NUL-terminated */
} raw_item_t;

/* Looks without touching; values of up to 255 bytes. */
raw_item_t raw_look(const fixture_t *fixture, size_t server, const char *key);
/* Whether the item is there and somebody, raw_look() included, has read it
 * since it was stored. Asking does not count. */
bool raw_was_read(const fixture_t *fixture, size_t server, const char *key);
void raw_store(const fixture_t *fixture, size_t server, const char *key, uint32_t flags,
               int64_t expiration, const char *value);
void raw_delete(const fixture_t *fixture, size_t server, const char *key);
/* What a fill that died has left: an empty item with the reserved flags. */
void raw_stub(const fixture_t *fixture, size_t server, const char *key, int64_t expiration);

/* Checks, with the server and the key in the text: the item is there with this
 * value, or (NULL) is not there. */
bool raw_check(const char *file, int line, const fixture_t *fixture, size_t server, const char *key,
               const char *value, const char *what);
#define raw_holds(fixture, server, key, value, what) \
    raw_check(__FILE__, __LINE__, fixture, server, key, value, what)

#endif
