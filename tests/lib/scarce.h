/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out: functions for warmring_set_memory_functions() that
 * fail the allocation at which `countdown` has come to 0, and count what is not
 * freed. For tests of one file, which set and read the three.
 */
#ifndef TESTS_SCARCE_H
#define TESTS_SCARCE_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static long live;      /* blocks that are not freed */
static long countdown; /* allocations until one fails; negative: none does */
static bool failed;

static bool refuse(void) {
    if (countdown == 0) {
        failed = true;
        errno = ENOMEM; /* as malloc() does */
        return true;
    }
    countdown -= countdown > 0;
    return false;
}

static void *allocate(size_t size) {
    void *block = refuse() ? NULL : malloc(size);
    live += block != NULL;
    return block;
}

static void *resize(void *block, size_t size) {
    void *moved = refuse() ? NULL : realloc(block, size);
    live += block == NULL && moved != NULL;
    return moved;
}

static void release(void *block) {
    live -= block != NULL;
    free(block);
}

#endif
