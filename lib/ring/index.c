/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table with open addressing. It stores member numbers alone and makes
 * their bytes again when it compares, and stays at most half full.
 */
#include "ring/index.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

bool wr_index_create(wr_index_t *index, const wr_members_t *members, wr_member_bytes_t bytes) {
    size_t slots = 2;
    while (slots < 2 * (size_t)members->count) {
        slots *= 2;
    }
    *index = (wr_index_t){.members = members, .bytes = bytes, .mask = slots - 1};
    index->slots = wr_calloc(slots, sizeof *index->slots);
    if (index->slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < slots; i++) {
        index->slots[i] = WR_NO_MEMBER;
    }
    return true;
}

void wr_index_free(wr_index_t *index) {
    wr_free(index->slots);
    index->slots = NULL;
}

static bool has_bytes(const wr_index_t *index, uint32_t member, const char *bytes, size_t length) {
    char own[WR_IDENTITY_SIZE];
    return index->bytes(&index->members->list[member], own) == length &&
           memcmp(own, bytes, length) == 0;
}

/* The slot that holds these bytes, or the empty one where they belong. */
static uint32_t *slot_of(const wr_index_t *index, const char *bytes, size_t length) {
    size_t slot = (size_t)wr_xxh64(bytes, length, 0) & index->mask;
    while (index->slots[slot] != WR_NO_MEMBER &&
           !has_bytes(index, index->slots[slot], bytes, length)) {
        slot = (slot + 1) & index->mask;
    }
    return &index->slots[slot];
}

uint32_t wr_index_add(wr_index_t *index, uint32_t member) {
    char bytes[WR_IDENTITY_SIZE];
    size_t length = index->bytes(&index->members->list[member], bytes);
    if (length == 0) {
        return member;
    }
    uint32_t *slot = slot_of(index, bytes, length);
    if (*slot == WR_NO_MEMBER) {
        *slot = member;
    }
    return *slot;
}

uint32_t wr_index_find(const wr_index_t *index, const char *bytes, size_t length) {
    return *slot_of(index, bytes, length);
}
