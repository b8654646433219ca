/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: the first, second, third ... allocation fails, until none does; and
 * nothing is ever left behind. Each block carries its size in front.
 */
#include <stdlib.h>
#include <string.h>

#include <warmring/memory.h>
#include <warmring/plan.h>

#include "../lib/tap.h"
#include "sample.h"

enum { HEADER = 16 };

static size_t live_bytes, live_blocks;
static long until_failure; /* allocations that still succeed; below 0: all */

static void *take(size_t size) {
    if (until_failure == 0) {
        return NULL;
    }
    until_failure -= until_failure > 0;
    char *block = malloc(size + HEADER);
    if (block == NULL) {
        return NULL;
    }
    memcpy(block, &size, sizeof size);
    live_bytes += size;
    live_blocks++;
    return block + HEADER;
}

static void give_back(void *block) {
    if (block != NULL) {
        char *start = (char *)block - HEADER;
        size_t size;
        memcpy(&size, start, sizeof size);
        live_bytes -= size;
        live_blocks--;
        free(start);
    }
}

static void *resize(void *block, size_t size) {
    void *other = take(size);
    if (other != NULL && block != NULL) {
        size_t old;
        memcpy(&old, (char *)block - HEADER, sizeof old);
        memcpy(other, block, old < size ? old : size);
        give_back(block);
    }
    return other;
}

static void test_create(const char *dialect) {
    sample_t sample;
    sample_fill(&sample, 9, 2);
    sample.servers[4].name = "name";
    warmring_ring_options_t options = {.size = sizeof options, .dialect = dialect};
    warmring_ring_t *ring = NULL;
    long failures = 0;
    for (bool done = false; !done && failures < 100;) {
        until_failure = failures;
        warmring_status_t status = warmring_ring_create(sample.servers, 9, &options, &ring);
        done = status == WARMRING_OK;
        if (!done) {
            failures++;
            tap_status(status, WARMRING_OUT_OF_MEMORY, "%s: allocation %ld fails", dialect,
                       failures);
            tap_ok(ring == NULL && live_blocks == 0, "%s: nothing is left", dialect);
        }
    }
    tap_ok(ring != NULL && failures >= 6, "%s: a ring after %ld failures", dialect, failures);
    tap_int((int64_t)warmring_ring_bytes(ring), (int64_t)live_bytes,
            "%s: a ring tells what it takes", dialect);
    warmring_ring_free(ring);
    tap_int((int64_t)live_blocks, 0, "%s: a freed ring leaves nothing", dialect);
}

static void test_plan(void) {
    sample_t sample;
    sample_fill(&sample, 9, 1);
    until_failure = -1;
    warmring_ring_t *from = sample_ring(sample.servers, 9, "v2", 10);
    warmring_ring_t *to = sample_ring(sample.servers, 8, "v2", 10);
    size_t before = live_blocks;
    double moved = 5;
    for (long i = 0; i < 2; i++) {
        until_failure = i;
        tap_status(warmring_plan_moved(from, to, &moved), WARMRING_OUT_OF_MEMORY,
                   "moved: allocation %ld fails", i + 1);
        tap_ok(moved <= 0 && live_blocks == before, "moved: nothing is left");
    }
    until_failure = 2;
    tap_status(warmring_plan_moved(from, to, &moved), WARMRING_OK, "moved: two are enough");
    tap_ok(moved > 0 && live_blocks == before, "moved: nothing is left behind");
    until_failure = 0;
    double flows[72];
    tap_status(warmring_plan_flows(from, to, flows, 72), WARMRING_OK, "flows take no memory");
    warmring_ring_free(from);
    warmring_ring_free(to);
    tap_int((int64_t)live_blocks, 0, "all is given back");
}

/* Asking a ring takes no memory. */
static void test_asking(void) {
    sample_t sample;
    sample_fill(&sample, 9, 1);
    until_failure = -1;
    warmring_ring_t *ring = sample_ring(sample.servers, 9, "v2", 10);
    until_failure = 0;
    uint32_t walk[9], owner;
    warmring_bytes_t key = {"k", 1};
    warmring_ring_locate_many(ring, &key, 1, &owner);
    tap_int((int64_t)warmring_ring_walk(ring, "k", 1, walk, 9), 9, "a walk takes no memory");
    tap_int(owner, walk[0], "nor does a lookup");
    warmring_ring_free(ring);
}

static void test_refusals(void) {
    sample_t sample;
    warmring_ring_t *ring;
    sample_fill(&sample, 9, 1);
    until_failure = 0;
    sample.servers[3].weight = -1;
    tap_status(warmring_ring_create(sample.servers, 9, NULL, &ring), WARMRING_BAD_SERVER,
               "a bad weight is found without memory");
    until_failure = -1;
    sample.servers[3] = sample.servers[2];
    tap_status(warmring_ring_create(sample.servers, 9, NULL, &ring), WARMRING_BAD_SERVER,
               "an endpoint used twice");
    tap_int((int64_t)live_blocks, 0, "leaves nothing");
    sample_fill(&sample, 9, 1e9);
    tap_status(warmring_ring_create(sample.servers, 9, NULL, &ring), WARMRING_LIMIT_EXCEEDED,
               "too many points");
    tap_int((int64_t)live_blocks, 0, "leave nothing");
}

int main(void) {
    warmring_set_memory_functions(take, resize, give_back);
    for (size_t i = 0; warmring_dialect_name(i) != NULL; i++) {
        test_create(warmring_dialect_name(i));
    }
    test_plan();
    test_asking();
    test_refusals();
    return tap_done();
}
