/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The replaceable memory functions.
 */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct {
    void *(*allocate)(size_t size);
    void *(*resize)(void *block, size_t size);
    void (*release)(void *block);
} functions = {malloc, realloc, free};

void warmring_set_memory_functions(void *(*allocate)(size_t size),
                                   void *(*resize)(void *block, size_t size),
                                   void (*release)(void *block)) {
    functions.allocate = allocate != NULL ? allocate : malloc;
    functions.resize = resize != NULL ? resize : realloc;
    functions.release = release != NULL ? release : free;
}

void *wr_malloc(size_t size) {
    return functions.allocate(size != 0 ? size : 1);
}

void *wr_realloc(void *block, size_t size) {
    return functions.resize(block, size != 0 ? size : 1);
}

void wr_free(void *block) {
    if (block != NULL) {
        functions.release(block);
    }
}

void *wr_calloc(size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size) {
        return NULL;
    }
    void *block = wr_malloc(count * size);
    if (block != NULL) {
        memset(block, 0, count * size);
    }
    return block;
}

/* With pages of 4 KiB, each read of a large block also waits for the page's
 * own entry in memory. It is only advice: a failure changes nothing. */
static void advise_large_pages(void *block, size_t size) {
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)2 << 20;
    uintptr_t start = ((uintptr_t)block + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)block + size) & ~(page - 1);
    if (start < end) {
        (void)madvise((void *)start, end - start, MADV_HUGEPAGE);
    }
#else
    (void)block;
    (void)size;
#endif
}

void *wr_malloc_large(size_t size) {
    void *block = wr_malloc(size);
    if (block != NULL) {
        advise_large_pages(block, size);
    }
    return block;
}

char *wr_copy(const char *bytes, size_t length) {
    char *copy = wr_malloc(length + 1);
    if (copy != NULL) {
        memcpy(copy, bytes, length);
        copy[length] = '\0';
    }
    return copy;
}

void wr_wipe(void *secret, size_t length) {
    explicit_bzero(secret, length);
}
