/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health without a lock: three atomics, one load for a server that is up.
 *
 *   retry_at  0 while the server is up; else the time its back-off ends
 *   prober    who tries after that time: taken by compare-and-swap, so there
 *             is one at a time
 *   failures  in a row; any sign of life sets it to 0
 *
 * A failing prober sets the new retry_at before it gives its role back, and
 * whoever takes the role looks at retry_at again: so a caller that saw the
 * old time cannot probe just after a probe has failed. The role carries the
 * fork generation, because a prober that another thread of the parent was
 * does not exist in the child.
 */
#include "net/health.h"

#include "base/fork.h"

static int64_t retry_at(const wr_health_t *health) {
    return atomic_load_explicit(&health->retry_at, memory_order_acquire);
}

static bool probe_is_under_way(const wr_health_t *health) {
    return atomic_load_explicit(&health->prober, memory_order_relaxed) == wr_fork_generation() + 1;
}

static bool become_prober(wr_health_t *health) {
    uint32_t mine = wr_fork_generation() + 1;
    uint32_t before = atomic_load_explicit(&health->prober, memory_order_relaxed);
    return before != mine &&
           atomic_compare_exchange_strong_explicit(&health->prober, &before, mine,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

static void resign(wr_health_t *health) {
    atomic_store_explicit(&health->prober, 0, memory_order_release);
}

wr_admission_t wr_health_enter_suspect(wr_health_t *health) {
    int64_t at = retry_at(health);
    if (at == 0) {
        return WR_PASS;
    }
    if (wr_now() < at || !become_prober(health)) {
        return WR_DOWN;
    }
    at = retry_at(health);
    if (at != 0 && wr_now() >= at) {
        return WR_PASS_AS_PROBER;
    }
    resign(health);
    return at == 0 ? WR_PASS : WR_DOWN;
}

static void note_life(wr_health_t *health) {
    if (atomic_load_explicit(&health->failures, memory_order_relaxed) != 0) {
        atomic_store_explicit(&health->failures, 0, memory_order_relaxed);
    }
    if (retry_at(health) != 0) {
        atomic_store_explicit(&health->retry_at, 0, memory_order_release);
    }
}

static void note_failure(wr_health_t *health, bool prober, uint32_t limit, uint32_t retry_ms) {
    uint32_t before = atomic_fetch_add_explicit(&health->failures, 1, memory_order_relaxed);
    if (prober || before + 1 >= limit) {
        atomic_store_explicit(&health->retry_at, wr_deadline_in_ms(retry_ms).at,
                              memory_order_release);
    }
}

void wr_health_change(wr_health_t *health, wr_admission_t admission, wr_verdict_t verdict,
                      uint32_t failure_limit, uint32_t retry_ms) {
    bool prober = admission == WR_PASS_AS_PROBER;
    if (verdict == WR_VERDICT_ALIVE) {
        note_life(health);
    } else if (verdict == WR_VERDICT_FAILED) {
        note_failure(health, prober, failure_limit, retry_ms);
    }
    if (prober) {
        resign(health);
    }
}

bool wr_health_is_down(const wr_health_t *health) {
    int64_t at = retry_at(health);
    return at != 0 && (wr_now() < at || probe_is_under_way(health));
}

bool wr_health_wants_probe(const wr_health_t *health) {
    return wr_health_is_suspect(health) && !wr_health_is_down(health);
}
