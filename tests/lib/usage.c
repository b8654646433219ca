/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks by memory functions of the test's own, which are exact; the rest as
 * the kernel says. Of memory only what is private and written counts: what
 * processes share for their records is no leak.
 */
#include "tests/lib/usage.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <warmring/memory.h>

#include "tests/lib/child.h"
#include "tests/lib/tap.h"

static _Atomic long blocks;

static void *allocate(size_t size) {
    void *block = malloc(size);
    atomic_fetch_add(&blocks, block != NULL);
    return block;
}

static void *resize(void *block, size_t size) {
    void *changed = realloc(block, size);
    atomic_fetch_add(&blocks, block == NULL && changed != NULL);
    return changed;
}

static void release(void *block) {
    atomic_fetch_sub(&blocks, block != NULL);
    free(block);
}

void usage_count_blocks(void) {
    warmring_set_memory_functions(allocate, resize, release);
}

static long resident_kb(void) {
    char line[256];
    long kb = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status != NULL && fgets(line, sizeof line, status) != NULL &&
           sscanf(line, "RssAnon: %ld kB", &kb) != 1) {
    }
    if (status != NULL) {
        fclose(status);
    }
    return kb;
}

static long descriptors(void) {
    long count = 0;
    DIR *all = opendir("/proc/self/fd");
    while (all != NULL && readdir(all) != NULL) {
        count++;
    }
    if (all == NULL) {
        tap_bail("/proc/self/fd: %m");
    }
    closedir(all);
    return count - 3; /* ".", ".." and that of the directory itself */
}

usage_t usage_now(void) {
    return (usage_t){atomic_load(&blocks), resident_kb(), descriptors()};
}

bool usage_sees_memory(void) {
#if defined(__SANITIZE_THREAD__) || CHILD_HAS_FEATURE(thread_sanitizer)
    return false;
#else
    return child_may_allocate();
#endif
}

bool usage_is_flat(const usage_t *warm, const usage_t *later) {
    return later->blocks <= warm->blocks + USAGE_BLOCKS &&
           later->descriptors <= warm->descriptors + USAGE_DESCRIPTORS &&
           (!usage_sees_memory() || later->resident_kb <= warm->resident_kb + USAGE_KB);
}

bool usage_check(const char *file, int line, const usage_t *warm, const usage_t *later,
                 const char *what) {
    return tap_check(file, line, usage_is_flat(warm, later),
                     "%s: flat, %ld and %ld blocks, %ld and %ld KB%s, %ld and %ld descriptors",
                     what, warm->blocks, later->blocks, warm->resident_kb, later->resident_kb,
                     usage_sees_memory() ? "" : " (a sanitizer's)", warm->descriptors,
                     later->descriptors);
}
