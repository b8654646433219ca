/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table with open addressing, at most half full.
 */
#include "plan/pairs.h"

#include "base/memory.h"

enum { FIRST_SLOTS = 256 };

bool wr_pairs_create(wr_pairs_t *pairs) {
    *pairs = (wr_pairs_t){.mask = FIRST_SLOTS - 1};
    pairs->slots = wr_calloc(FIRST_SLOTS, sizeof *pairs->slots);
    pairs->failed = pairs->slots == NULL;
    return !pairs->failed;
}

void wr_pairs_free(wr_pairs_t *pairs) {
    wr_free(pairs->slots);
    *pairs = (wr_pairs_t){0};
}

static bool is_empty(const warmring_plan_flow_t *slot) {
    return !(slot->part > 0);
}

/* The pair's slot, or the empty one where it belongs. */
static warmring_plan_flow_t *slot_of(const wr_pairs_t *pairs, uint32_t from, uint32_t to) {
    uint64_t key = (uint64_t)from << 32 | to;
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & pairs->mask;
    while (!is_empty(&pairs->slots[at]) &&
           (pairs->slots[at].from != from || pairs->slots[at].to != to)) {
        at = (at + 1) & pairs->mask;
    }
    return &pairs->slots[at];
}

static bool grow(wr_pairs_t *pairs) {
    size_t slots = 2 * (pairs->mask + 1);
    wr_pairs_t larger = {.mask = slots - 1, .used = pairs->used};
    larger.slots = wr_calloc(slots, sizeof *larger.slots);
    if (larger.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i <= pairs->mask; i++) {
        const warmring_plan_flow_t *slot = &pairs->slots[i];
        if (!is_empty(slot)) {
            *slot_of(&larger, slot->from, slot->to) = *slot;
        }
    }
    wr_free(pairs->slots);
    *pairs = larger;
    return true;
}

void wr_pairs_add(wr_pairs_t *pairs, uint32_t from, uint32_t to, double part) {
    if (pairs->failed) {
        return;
    }
    warmring_plan_flow_t *slot = slot_of(pairs, from, to);
    if (!is_empty(slot)) {
        slot->part += part;
        return;
    }
    if (2 * (pairs->used + 1) > pairs->mask + 1) {
        pairs->failed = !grow(pairs);
        wr_pairs_add(pairs, from, to, part);
        return;
    }
    *slot = (warmring_plan_flow_t){from, to, part};
    pairs->used++;
}
