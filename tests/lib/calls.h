/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's calls on short text values, single and multi behind one face,
 * so that a test can go through all ways to do a thing.
 */
#ifndef TESTS_CALLS_H
#define TESTS_CALLS_H

#include <warmring/client.h>

enum { CALLS_VALUE_SIZE = 128, CALLS_KEY_SIZE = 48 };

typedef struct {
    warmring_status_t status;
    char value[CALLS_VALUE_SIZE]; /* "" unless status is OK */
    uint32_t flags;
    warmring_token_t token;
} answer_t;

/* Each way has a name; a multi call has one other key beside ours. */
typedef struct {
    const char *name;
    answer_t (*call)(warmring_t *client, const char *key, uint32_t mode);
} read_way_t;
typedef struct {
    const char *name;
    warmring_status_t (*call)(warmring_t *client, const char *key, const char *value,
                              uint32_t flags, uint32_t mode);
} store_way_t;
typedef struct {
    const char *name;
    warmring_status_t (*call)(warmring_t *client, const char *key, uint32_t mode);
} erase_way_t;

enum { READ_WAYS = 3, STORE_WAYS = 2, ERASE_WAYS = 2 };
extern const read_way_t read_ways[READ_WAYS];
extern const store_way_t store_ways[STORE_WAYS];
extern const erase_way_t erase_ways[ERASE_WAYS];

/* By the first way, without a mode. */
answer_t read_key(warmring_t *client, const char *key);
warmring_status_t store_key(warmring_t *client, const char *key, const char *value);
warmring_status_t erase_key(warmring_t *client, const char *key);

/* What an answer shows: the value of a hit, NULL for a miss, the name of any
 * other status. For tap_string(). */
const char *shown(const answer_t *answer);

/* The next key, from number *next on, that is moved by the migration in force
 * in `client` (or is not); names start with `name`. */
void choose_key(warmring_t *client, const char *name, bool moved, unsigned *next, char *key);

/* The counters of one of a client's servers; bails when there are none. Their
 * texts are not kept. */
warmring_server_counters_t counters_of_seat(warmring_t *client, size_t seat);

#endif
