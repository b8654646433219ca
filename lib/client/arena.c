/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of blocks, filled from the front.
 */
#include "client/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"

enum { USUAL = 64 * 1024, LARGE = 16 * USUAL, ALIGNMENT = _Alignof(max_align_t) };

static wr_arena_block_t *add_block(wr_arena_t *arena, size_t length) {
    size_t capacity = length > USUAL ? length : USUAL;
    if (capacity > SIZE_MAX - sizeof(wr_arena_block_t) - ALIGNMENT) {
        return NULL;
    }
    capacity = (capacity + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    wr_arena_block_t *block = wr_malloc(sizeof *block + capacity);
    if (block == NULL) {
        return NULL;
    }
    block->capacity = capacity;
    block->used = 0;
    wr_arena_block_t **link = arena->current != NULL ? &arena->current->next : &arena->first;
    block->next = *link;
    *link = block;
    arena->current = block;
    return block;
}

static wr_arena_block_t *find_block(wr_arena_t *arena, size_t length) {
    wr_arena_block_t *block = arena->current;
    while (block != NULL && block->capacity - block->used < length) {
        block = block->next;
        if (block != NULL) {
            arena->current = block;
        }
    }
    return block != NULL ? block : add_block(arena, length);
}

void *wr_arena_take_more(wr_arena_t *arena, size_t length) {
    wr_arena_block_t *block = find_block(arena, length);
    return block != NULL ? wr_arena_take(arena, length) : NULL;
}

void *wr_arena_room(wr_arena_t *arena, size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / size) {
        return NULL;
    }
    return wr_arena_take(arena, count * size);
}

void *wr_arena_array(wr_arena_t *arena, size_t count, size_t size) {
    void *array = wr_arena_room(arena, count, size);
    if (array != NULL) {
        memset(array, 0, count * size);
    }
    return array;
}

void wr_arena_empty(wr_arena_t *arena) {
    wr_arena_block_t **link = &arena->first;
    while (*link != NULL) {
        wr_arena_block_t *block = *link;
        block->used = 0;
        if (block->capacity > LARGE) {
            *link = block->next;
            wr_free(block);
        } else {
            link = &block->next;
        }
    }
    arena->current = arena->first;
}

void wr_arena_free(wr_arena_t *arena) {
    while (arena->first != NULL) {
        wr_arena_block_t *next = arena->first->next;
        wr_free(arena->first);
        arena->first = next;
    }
    arena->current = NULL;
}
