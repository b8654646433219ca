/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines: absolute points of monotonic time, passed by value from the
 * operation down to the last poll, so that no layer adds a wait of its own.
 */
#ifndef WR_BASE_DEADLINE_H
#define WR_BASE_DEADLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef int64_t wr_time_t; /* nanoseconds of CLOCK_MONOTONIC */

typedef struct {
    wr_time_t at;
    wr_time_t made; /* when it was set, or last seen; 0: not known */
} wr_deadline_t;

wr_time_t wr_now(void);

/* The same of CLOCK_BOOTTIME, which goes on while the machine sleeps: for what
 * must not grow old unnoticed. Not to be compared with the other. */
wr_time_t wr_boot_now(void);

/* The present for a quarter of what wr_now() costs: never ahead of it, at most
 * a tick of the kernel (some milliseconds) behind, and not before `deadline`
 * was made. */
wr_time_t wr_about_now(wr_deadline_t deadline);

wr_deadline_t wr_deadline_in_ms(uint32_t milliseconds);

/* The same with `made` set to about now: what follows at once may take that for
 * the present. */
static inline wr_deadline_t wr_deadline_seen(wr_deadline_t deadline) {
    deadline.made = wr_about_now(deadline);
    return deadline;
}

/* An equal share of what is left of a deadline. */
wr_deadline_t wr_deadline_share(wr_deadline_t deadline, size_t shares);

/* Half of one whose `made` is the present. */
static inline wr_deadline_t wr_deadline_half(wr_deadline_t deadline) {
    return (wr_deadline_t){.at = deadline.made + (deadline.at - deadline.made) / 2,
                           .made = deadline.made};
}

/* The earlier of two. */
wr_deadline_t wr_deadline_min(wr_deadline_t a, wr_deadline_t b);

/* What is left: 0 once passed. Milliseconds are rounded up, and never above
 * INT32_MAX, so that a poll of that length does not spin or end early. */
wr_time_t wr_deadline_left(wr_deadline_t deadline);
int wr_deadline_left_ms(wr_deadline_t deadline);
bool wr_deadline_passed(wr_deadline_t deadline);

/* Milliseconds from one time to a later one, rounded up; 0 if it is not later.
 * For texts. */
long long wr_ms_between(wr_time_t from, wr_time_t to);

/* For pthread_cond_clockwait() and condition variables set to
 * CLOCK_MONOTONIC. */
struct timespec wr_deadline_timespec(wr_deadline_t deadline);

#endif
