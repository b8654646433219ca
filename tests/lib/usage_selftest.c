/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounds of usage.h tested: what leaks more is found, by each of them.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <warmring/topology.h>

#include "tap.h"
#include "usage.h"

static void leak_descriptors(size_t number) {
    for (size_t i = 0; i < number; i++) {
        if (fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0) < 0) {
            tap_bail("no descriptor: %m");
        }
    }
}

static warmring_topology_t *leak_topology(void) {
    warmring_topology_t *topology = NULL;
    if (warmring_topology_parse(&topology, "a,b,c", NULL, 1) != WARMRING_OK) {
        tap_bail("parse: %s", warmring_error_detail());
    }
    return topology;
}

/* Where leak checkers see that they are still reachable. */
static warmring_topology_t *leaked[USAGE_BLOCKS + 1];
static char *large;

static void test_descriptors(void) {
    usage_t before = usage_now();
    leak_descriptors(USAGE_DESCRIPTORS);
    usage_t after = usage_now();
    tap_int(after.descriptors - before.descriptors, USAGE_DESCRIPTORS, "descriptors are counted");
    tap_ok(usage_is_flat(&before, &after), "as many may be connections");
    leak_descriptors(1);
    after = usage_now();
    tap_ok(!usage_is_flat(&before, &after), "one more is a leak");
}

static void test_blocks(void) {
    usage_t before = usage_now();
    leaked[0] = leak_topology();
    usage_t after = usage_now();
    long each = after.blocks - before.blocks;
    tap_ok(each > 0, "a topology has %ld blocks", each);
    tap_ok(usage_is_flat(&before, &after), "one is no leak");
    for (long i = 1; i * each <= USAGE_BLOCKS; i++) {
        leaked[i] = leak_topology();
    }
    after = usage_now();
    tap_ok(!usage_is_flat(&before, &after), "many are");
    for (size_t i = 0; i <= USAGE_BLOCKS; i++) {
        warmring_topology_release(leaked[i]);
        leaked[i] = NULL;
    }
    after = usage_now();
    tap_int(after.blocks, before.blocks, "released, no block is left");
}

static void test_memory(void) {
    if (!usage_sees_memory()) {
        tap_skip("a sanitizer has memory of its own");
        return;
    }
    usage_t before = usage_now();
    size_t size = (size_t)USAGE_KB * 1024 * 3 / 2;
    large = malloc(size);
    if (large == NULL) {
        tap_bail("no memory");
    }
    memset(large, 1, size);
    usage_t after = usage_now();
    tap_ok(!usage_is_flat(&before, &after), "%ld KB more are a leak",
           after.resident_kb - before.resident_kb);
    free(large);
    after = usage_now();
    tap_ok(usage_is_flat(&before, &after), "given back, they are none");
}

int main(void) {
    usage_count_blocks();
    test_descriptors();
    test_blocks();
    test_memory();
    return tap_done();
}
