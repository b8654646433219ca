/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The replaceable memory functions.
 */
#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tap.h"

static int allocations, resizes, releases;
static bool refuse;

static void *allocate(size_t size) {
    allocations++;
    void *block = refuse ? NULL : malloc(size);
    if (block != NULL) {
        memset(block, 0xa5, size);
    }
    return block;
}

static void *resize(void *block, size_t size) {
    resizes++;
    return refuse ? NULL : realloc(block, size);
}

static void release(void *block) {
    releases++;
    free(block);
}

static void reset(void) {
    allocations = resizes = releases = 0;
    refuse = false;
}

static void test_replaced(void) {
    warmring_set_memory_functions(allocate, resize, release);
    reset();
    char *block = wr_malloc(10);
    tap_int(allocations, 1, "wr_malloc takes from the replacement");
    block = wr_realloc(block, 20);
    tap_int(resizes, 1, "so does wr_realloc");
    wr_free(block);
    tap_int(releases, 1, "and wr_free gives back to it");
    wr_free(NULL);
    tap_int(releases, 1, "which never sees a NULL");
}

static void test_empty_blocks(void) {
    reset();
    void *block = wr_malloc(0);
    tap_ok(block != NULL, "an empty block is no failure");
    block = wr_realloc(block, 0);
    tap_ok(block != NULL, "nor is one that became empty");
    wr_free(block);
    tap_int(releases, 1, "which is still freed once");
}

static void test_calloc(void) {
    static const unsigned char zero[24];
    reset();
    unsigned char *block = wr_calloc(3, 8);
    tap_bytes(block, 24, zero, 24, "wr_calloc zeroes");
    wr_free(block);
    block = wr_calloc(0, 8);
    tap_ok(block != NULL, "no elements are no failure");
    wr_free(block);

    reset();
    tap_ok(wr_calloc(SIZE_MAX / 2, 3) == NULL, "a product that overflows");
    tap_ok(wr_calloc(3, SIZE_MAX / 2) == NULL, "the other way round");
    tap_ok(wr_calloc(SIZE_MAX, 2) == NULL, "the largest");
    tap_int(allocations, 0, "none of them was asked for");
    block = wr_calloc(5, 0);
    tap_ok(block != NULL, "elements of no bytes");
    wr_free(block);
}

static void test_copy(void) {
    reset();
    char *copy = wr_copy("a\0bc", 3);
    tap_bytes(copy, 4, "a\0b\0", 4, "a copy ends in NUL");
    wr_free(copy);
    copy = wr_copy("", 0);
    tap_string(copy, "", "an empty one too");
    wr_free(copy);
    tap_int(allocations, 2, "each is one block");
}

static void test_refused(void) {
    reset();
    char *kept = wr_copy("kept", 4);
    refuse = true;
    tap_ok(wr_malloc(1) == NULL, "wr_malloc fails");
    tap_ok(wr_calloc(1, 1) == NULL, "wr_calloc fails");
    tap_ok(wr_copy("x", 1) == NULL, "wr_copy fails");
    tap_ok(wr_realloc(kept, 100) == NULL, "wr_realloc fails");
    tap_string(kept, "kept", "and leaves the block alone");
    wr_free(kept);
}

static void test_restored(void) {
    warmring_set_memory_functions(NULL, NULL, NULL);
    reset();
    wr_free(wr_realloc(wr_malloc(1), 2));
    tap_int(allocations + resizes + releases, 0, "NULL restores the C library's");
}

int main(void) {
    test_replaced();
    test_empty_blocks();
    test_calloc();
    test_copy();
    test_refused();
    test_restored();
    return tap_done();
}
