/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a server is worth trying: failures in a row, the back-off after
 * them, and the one caller who may try when it has ended.
 */
#ifndef WR_NET_HEALTH_H
#define WR_NET_HEALTH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/deadline.h"

typedef struct {
    _Atomic uint32_t failures;
    _Atomic int64_t retry_at; /* 0: up */
    _Atomic uint32_t prober;  /* 0: nobody, else its fork generation + 1 */
} wr_health_t;

typedef enum { WR_PASS, WR_PASS_AS_PROBER, WR_DOWN } wr_admission_t;

/* In back-off or waiting for a probe to succeed. */
static inline bool wr_health_is_suspect(const wr_health_t *health) {
    return atomic_load_explicit(&health->retry_at, memory_order_acquire) != 0;
}

/* Asks to send. WR_PASS_AS_PROBER must be given back with wr_health_leave(). */
wr_admission_t wr_health_enter_suspect(wr_health_t *health);
static inline wr_admission_t wr_health_enter(wr_health_t *health) {
    return wr_health_is_suspect(health) ? wr_health_enter_suspect(health) : WR_PASS;
}

/* What the server's behaviour says about it; NEUTRAL when it was not asked. */
typedef enum { WR_VERDICT_NEUTRAL, WR_VERDICT_ALIVE, WR_VERDICT_FAILED } wr_verdict_t;

void wr_health_change(wr_health_t *health, wr_admission_t admission, wr_verdict_t verdict,
                      uint32_t failure_limit, uint32_t retry_ms);
static inline void wr_health_leave(wr_health_t *health, wr_admission_t admission,
                                   wr_verdict_t verdict, uint32_t failure_limit,
                                   uint32_t retry_ms) {
    bool is_well = atomic_load_explicit(&health->failures, memory_order_relaxed) == 0 &&
                   !wr_health_is_suspect(health);
    if (admission != WR_PASS || verdict == WR_VERDICT_FAILED || !is_well) {
        wr_health_change(health, admission, verdict, failure_limit, retry_ms);
    }
}

/* Whether wr_health_enter() would answer WR_DOWN. */
bool wr_health_is_down(const wr_health_t *health);

/* Whether the server is down and may be probed now. */
bool wr_health_wants_probe(const wr_health_t *health);

#endif
