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

typedef struct {
    _Atomic uint64_t value[WR_PHASES][WR_COUNTERS];
} wr_counters_t;

static inline void wr_count(wr_counters_t *counters, warmring_phase_t phase, wr_counter_t counter) {
    atomic_fetch_add_explicit(&counters->value[phase][counter], 1, memory_order_relaxed);
}

#endif
