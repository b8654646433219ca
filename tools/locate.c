/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring locate: the owners of keys.
 *
 * Keys are read in blocks and answered in batches. What a block answers is
 * written out before the next one is waited for, so that a program may ask
 * one key at a time. Memory grows with the longest key alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "report.h"
#include "servers.h"

enum { BATCH = 1024, BLOCK = 1 << 18 };

enum { SERVERS, DIALECT, POINTS, HASH, HASH_TAG, MAX_POINTS };

static const option_t options[] = {
    [SERVERS] = {"--servers", "FILE", "the servers, one server string a line"},
    [DIALECT] = {"--dialect", "D", "how points are made and keys are hashed (v2)"},
    [POINTS] = {"--points", "P", "points per weight unit (1000)"},
    [HASH] = {"--hash", "H", "how keys are hashed (the dialect's way)"},
    [HASH_TAG] = {"--hash-tag", "AB", "hash only what stands between these two characters"},
    [MAX_POINTS] = {"--max-points", "N", "the most points a ring may have (16000000)"},
    {0},
};

typedef struct {
    const warmring_ring_t *ring;
    const char **labels;
    size_t *lengths;
    warmring_bytes_t keys[BATCH];
    size_t count;
} locator_t;

static void put(const char *data, size_t length) {
    fwrite_unlocked(data, 1, length, stdout);
}

static void answer(locator_t *locator) {
    uint32_t owners[BATCH];
    warmring_ring_locate_many(locator->ring, locator->keys, locator->count, owners);
    for (size_t i = 0; i < locator->count; i++) {
        put(locator->keys[i].data, locator->keys[i].length);
        put("\t", 1);
        put(locator->labels[owners[i]], locator->lengths[owners[i]]);
        put("\n", 1);
    }
    locator->count = 0;
}

static void add_key(locator_t *locator, const char *data, size_t length) {
    locator->keys[locator->count++] = (warmring_bytes_t){data, length};
    if (locator->count == BATCH) {
        answer(locator);
    }
}

/* Answers the whole lines of a block; returns how many bytes they have. */
static size_t answer_lines(locator_t *locator, const char *block, size_t length) {
    size_t start = 0;
    const char *end;
    while ((end = memchr(block + start, '\n', length - start)) != NULL) {
        add_key(locator, block + start, (size_t)(end - block) - start);
        start = (size_t)(end - block) + 1;
    }
    answer(locator);
    return start;
}

static bool make_room(char **block, size_t *capacity, size_t length) {
    if (length < *capacity) {
        return true;
    }
    char *larger = realloc(*block, 2 * *capacity);
    if (larger == NULL) {
        return false;
    }
    *block = larger;
    *capacity *= 2;
    return true;
}

static int answer_input(locator_t *locator, char **block, size_t capacity) {
    size_t length = 0;
    for (;;) {
        if (!make_room(block, &capacity, length)) {
            return fail("out of memory: a key of over %zu bytes", length);
        }
        ssize_t got = read(STDIN_FILENO, *block + length, capacity - length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail("cannot read standard input: %s", strerror(errno));
        }
        if (got == 0) {
            break;
        }
        /* What was there already had no line end. */
        bool ends = memchr(*block + length, '\n', (size_t)got) != NULL;
        length += (size_t)got;
        if (ends) {
            size_t done = answer_lines(locator, *block, length);
            memmove(*block, *block + done, length - done);
            length -= done;
            if (!flush_output()) {
                return FAILED;
            }
        }
    }
    if (length > 0) {
        add_key(locator, *block, length);
        answer(locator);
    }
    return ENDED_WELL;
}

static int locate(const warmring_topology_t *topology) {
    size_t count = warmring_ring_servers(ring_of(topology));
    char *block = malloc(BLOCK);
    locator_t locator = {.ring = ring_of(topology),
                         .labels = calloc(count, sizeof *locator.labels),
                         .lengths = calloc(count, sizeof *locator.lengths)};
    int result = FAILED;
    if (block == NULL || locator.labels == NULL || locator.lengths == NULL) {
        result = fail("out of memory");
        goto done;
    }
    for (size_t i = 0; i < count; i++) {
        locator.labels[i] = label_of(topology, i);
        locator.lengths[i] = strlen(locator.labels[i]);
    }
    result = answer_input(&locator, &block, BLOCK);
done:
    free(block);
    free(locator.labels);
    free(locator.lengths);
    return result;
}

static int run(const char *const *values, const char *const *operands) {
    (void)operands;
    warmring_topology_t *topology;
    ring_choice_t choice = {.dialect_option = "--dialect",
                            .dialect = values[DIALECT],
                            .points_option = "--points",
                            .points = values[POINTS],
                            .hash = values[HASH],
                            .hash_tag = values[HASH_TAG],
                            .max_points = values[MAX_POINTS]};
    if (strcmp(values[SERVERS], "-") == 0) {
        return misuse("--servers \"-\": standard input is for the keys");
    }
    int result = servers_load(values[SERVERS], &choice, &topology);
    if (result == ENDED_WELL) {
        result = locate(topology);
    }
    warmring_topology_release(topology);
    return result;
}

const command_t locate_command = {
    .name = "locate",
    .summary = "which server owns each key",
    .options = options,
    .needed = SERVERS + 1,
    .text = "Reads keys from standard input, one a line, and prints KEY<TAB>SERVER: the\n"
            "server's name, or host:port where it has none. A key may be any bytes but a\n"
            "line end; nothing is cut off.\n",
    .run = run,
};
