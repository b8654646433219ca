/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the library takes its memory from.
 */
#ifndef WARMRING_MEMORY_H
#define WARMRING_MEMORY_H

#include <stddef.h>

#include <warmring/common.h>

WARMRING_BEGIN_DECLS

/*
 * Replaces malloc, realloc and free for everything this library allocates
 * itself (not for what libmemcached, jansson and libc allocate on its behalf).
 *
 * All three or none: NULL for each restores the C library's. The functions
 * must behave as their namesakes; `allocate` and `resize` may return NULL,
 * which the library answers with WARMRING_OUT_OF_MEMORY, nothing lost.
 *
 * Threads: call it before any other call of the library; afterwards blocks
 * from the old functions would be freed with the new ones. Since 0.1.
 */
WARMRING_API void warmring_set_memory_functions(void *(*allocate)(size_t size),
                                                void *(*resize)(void *block, size_t size),
                                                void (*release)(void *block));

WARMRING_END_DECLS

#endif
