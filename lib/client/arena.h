/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is taken piece by piece and given back all at once. Blocks stay
 * for the next use, so an arena that is reused stops allocating.
 */
#ifndef WR_CLIENT_ARENA_H
#define WR_CLIENT_ARENA_H

#include <stddef.h>

typedef struct wr_arena_block {
    struct wr_arena_block *next;
    size_t capacity;
    size_t used;
    _Alignas(max_align_t) char bytes[];
} wr_arena_block_t;

typedef struct {
    wr_arena_block_t *first;
    wr_arena_block_t *current; /* the blocks before it are full */
} wr_arena_t;                  /* zeroed: empty */

/* What wr_arena_take() does when the current block is full. */
void *wr_arena_take_more(wr_arena_t *arena, size_t length);

/* `length` bytes, aligned for any type; NULL when memory is out. They stay
 * where they are until the arena is emptied. */
static inline void *wr_arena_take(wr_arena_t *arena, size_t length) {
    wr_arena_block_t *block = arena->current;
    if (block == NULL || block->capacity - block->used < length) {
        return wr_arena_take_more(arena, length);
    }
    void *taken = block->bytes + block->used;
    block->used +=
        (length + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
    return taken;
}

/* Room for `count` elements of `size` bytes; and the same zeroed. */
void *wr_arena_room(wr_arena_t *arena, size_t count, size_t size);
void *wr_arena_array(wr_arena_t *arena, size_t count, size_t size);

/* Gives everything back to the arena; blocks far larger than usual are
 * freed. */
void wr_arena_empty(wr_arena_t *arena);

/* Gives everything back to the system. */
void wr_arena_free(wr_arena_t *arena);

#endif
