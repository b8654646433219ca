/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Monotonic time and what is left of it.
 */
#include "base/deadline.h"

enum { NS_PER_MS = 1000000 };
static const wr_time_t ns_per_second = 1000000000;

static wr_time_t read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (wr_time_t)now.tv_sec * ns_per_second + now.tv_nsec;
}

wr_time_t wr_now(void) {
    return read_clock(CLOCK_MONOTONIC);
}

wr_time_t wr_boot_now(void) {
    return read_clock(CLOCK_BOOTTIME);
}

wr_time_t wr_about_now(wr_deadline_t deadline) {
    wr_time_t now = read_clock(CLOCK_MONOTONIC_COARSE);
    return now > deadline.made ? now : deadline.made;
}

wr_deadline_t wr_deadline_in_ms(uint32_t milliseconds) {
    wr_time_t now = wr_now();
    return (wr_deadline_t){.at = now + (wr_time_t)milliseconds * NS_PER_MS, .made = now};
}

wr_deadline_t wr_deadline_share(wr_deadline_t deadline, size_t shares) {
    wr_time_t now = wr_about_now(deadline);
    wr_time_t left = deadline.at > now ? deadline.at - now : 0;
    return (wr_deadline_t){.at = now + left / (wr_time_t)shares, .made = now};
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

long long wr_ms_between(wr_time_t from, wr_time_t to) {
    return to > from ? (to - from + NS_PER_MS - 1) / NS_PER_MS : 0;
}

struct timespec wr_deadline_timespec(wr_deadline_t deadline) {
    return (struct timespec){.tv_sec = (time_t)(deadline.at / ns_per_second),
                             .tv_nsec = (long)(deadline.at % ns_per_second)};
}
