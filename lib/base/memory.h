/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All memory of the library comes through here (see warmring/memory.h), so
 * that a program can replace it and a test can make any allocation fail.
 */
#ifndef WR_BASE_MEMORY_H
#define WR_BASE_MEMORY_H

#include <stddef.h>

#include <warmring/memory.h>

void *wr_malloc(size_t size);
void *wr_realloc(void *block, size_t size);
void wr_free(void *block);

/* Overwrites what nobody may find in memory that is given back. */
void wr_wipe(void *secret, size_t length);

/* `count` zeroed elements of `size` bytes; NULL also when the product
 * overflows. */
void *wr_calloc(size_t count, size_t size);

/* A block that is read here and there, for which the system is asked to use
 * large pages where that helps; otherwise as wr_malloc(). */
void *wr_malloc_large(size_t size);

/* A copy of `length` bytes with a NUL behind them. */
char *wr_copy(const char *bytes, size_t length);

#endif
