/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process uses, and whether that grows: for tests that run for long.
 */
#ifndef TESTS_USAGE_H
#define TESTS_USAGE_H

#include <stdbool.h>

typedef struct {
    long blocks;      /* of the library, not yet freed; 0 unless they are counted */
    long resident_kb; /* of memory that is this process's own */
    long descriptors; /* that are open */
} usage_t;

/* How much more a process may use later than once it is warm, without that
 * being a leak: which connections are open, and how a heap is cut up, depends
 * on what happened last. */
enum { USAGE_BLOCKS = 200, USAGE_KB = 2048, USAGE_DESCRIPTORS = 24 };

/* Counts the library's blocks from now on; before its first use. */
void usage_count_blocks(void);

usage_t usage_now(void);

/* Whether memory means something here: not where a sanitizer keeps what was
 * freed, and its own. */
bool usage_sees_memory(void);

/* Whether `later` is no more than `warm` and the growth above. */
bool usage_is_flat(const usage_t *warm, const usage_t *later);

/* A check of that, with the numbers of both in the text. */
bool usage_check(const char *file, int line, const usage_t *warm, const usage_t *later,
                 const char *what);
#define usage_flat(warm, later, what) usage_check(__FILE__, __LINE__, warm, later, what)

#endif
