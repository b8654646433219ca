/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Monotonic time and what is left of it.
 */
#include "base/deadline.h"

enum { NS_PER_MS = 1000000 };
static const wr_time_t ns_per_second = 1000000000;

wr_time_t wr_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (wr_time_t)now.tv_sec * ns_per_second + now.tv_nsec;
}

wr_deadline_t wr_deadline_in_ms(uint32_t milliseconds) {
    return (wr_deadline_t){wr_now() + (wr_time_t)milliseconds * NS_PER_MS};
}

wr_deadline_t wr_deadline_min(wr_deadline_t a, wr_deadline_t b) {
    return a.at < b.at ? a : b;
}

wr_time_t wr_deadline_left(wr_deadline_t deadline) {
    wr_time_t left = deadline.at - wr_now();
    return left > 0 ? left : 0;
}

int wr_deadline_left_ms(wr_deadline_t deadline) {
    wr_time_t left = (wr_deadline_left(deadline) + NS_PER_MS - 1) / NS_PER_MS;
    return left < INT32_MAX ? (int)left : INT32_MAX;
}

bool wr_deadline_passed(wr_deadline_t deadline) {
    return wr_deadline_left(deadline) == 0;
}

struct timespec wr_deadline_timespec(wr_deadline_t deadline) {
    return (struct timespec){.tv_sec = (time_t)(deadline.at / ns_per_second),
                             .tv_nsec = (long)(deadline.at % ns_per_second)};
}
