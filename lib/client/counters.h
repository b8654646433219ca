/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's counters, a set for each phase.
 */
#ifndef WR_CLIENT_COUNTERS_H
#define WR_CLIENT_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include <warmring/client.h>

typedef enum {
#define WR_COUNTER_ENUM(name) WR_COUNT_##name,
    WARMRING_CLIENT_COUNTER_LIST(WR_COUNTER_ENUM)
#undef WR_COUNTER_ENUM
        WR_COUNTERS
} wr_counter_t;

enum { WR_PHASES = WARMRING_SETTLING + 1 };

/* Of reads, which nearly always end as one of four other counters says, only
 * those are counted that do not: what a read adds to is shared by all threads. */
typedef struct {
    _Atomic uint64_t value[WR_PHASES][WR_COUNTERS];
} wr_counters_t;

static inline uint64_t wr_counters_look(const wr_counters_t *counters, int phase, int counter) {
    return atomic_load_explicit(&counters->value[phase][counter], memory_order_relaxed);
}

static inline void wr_count(wr_counters_t *counters, warmring_phase_t phase, wr_counter_t counter) {
    atomic_fetch_add_explicit(&counters->value[phase][counter], 1, memory_order_relaxed);
}

/* What one operation counts, to be added at its end: the counters are shared
 * by all threads, and many keys cost no more than one. */
typedef struct {
    uint32_t counted; /* a bit for each counter that has a value */
    uint32_t value[WR_COUNTERS];
} wr_counts_t;

_Static_assert(WR_COUNTERS <= 32, "a bit for each counter");

static inline void wr_counts_note_many(wr_counts_t *counts, wr_counter_t counter, size_t number) {
    counts->counted |= (uint32_t)1 << counter;
    counts->value[counter] += (uint32_t)number;
}

static inline void wr_counts_note(wr_counts_t *counts, wr_counter_t counter) {
    wr_counts_note_many(counts, counter, 1);
}

static inline void wr_counts_add(const wr_counts_t *counts, wr_counters_t *counters,
                                 warmring_phase_t phase) {
    for (uint32_t left = counts->counted; left != 0; left &= left - 1) {
        int counter = __builtin_ctz(left);
        atomic_fetch_add_explicit(&counters->value[phase][counter], counts->value[counter],
                                  memory_order_relaxed);
    }
}

#endif
