/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines: what is left of them, rounded and cut as poll() needs it.
 */
#include "base/deadline.h"

#include "tests/lib/tap.h"

static const wr_time_t second = 1000000000;

static void test_clock(void) {
    struct timespec clock;
    wr_time_t before = wr_now();
    clock_gettime(CLOCK_MONOTONIC, &clock);
    wr_time_t after = wr_now();
    wr_time_t between = (wr_time_t)clock.tv_sec * second + clock.tv_nsec;
    tap_ok(before <= between && between <= after, "wr_now() is CLOCK_MONOTONIC");
}

/* Behind, never ahead; no more than a slow kernel's tick; and for a deadline
 * just made, no earlier than that. */
static void test_about_now(void) {
    static const wr_time_t tick = 10000000;
    wr_time_t least = wr_now() - tick;
    wr_time_t about = wr_about_now((wr_deadline_t){.at = 0});
    tap_ok(least <= about && about <= wr_now(), "about now is a little before now");
    int wrong = 0;
    for (int i = 0; i < 1000; i++) {
        wr_deadline_t deadline = wr_deadline_in_ms(1000);
        about = wr_about_now(deadline);
        wrong += about < deadline.made || about > wr_now();
    }
    tap_int(wrong, 0, "and not before the deadline was made");
}

static void test_ahead(void) {
    wr_time_t before = wr_now();
    wr_deadline_t deadline = wr_deadline_in_ms(3600000);
    wr_time_t after = wr_now();
    tap_ok(before + 3600 * second <= deadline.at && deadline.at <= after + 3600 * second,
           "an hour from now");
    tap_ok(!wr_deadline_passed(deadline), "has not passed");
    wr_time_t left = wr_deadline_left(deadline);
    tap_ok(left > 0 && left <= 3600 * second, "an hour or less is left");
    int left_ms = wr_deadline_left_ms(deadline);
    tap_ok(left_ms > 0 && left_ms <= 3600000, "in milliseconds too");
}

static void test_passed(void) {
    static const wr_time_t ago[] = {0, 1, 1000000, 5000000000};
    for (size_t i = 0; i < sizeof ago / sizeof ago[0]; i++) {
        wr_deadline_t deadline = {.at = wr_now() - ago[i]};
        tap_ok(wr_deadline_passed(deadline), "%lld ns ago has passed", (long long)ago[i]);
        tap_int(wr_deadline_left(deadline), 0, "nothing is left");
        tap_int(wr_deadline_left_ms(deadline), 0, "not a millisecond");
    }
    tap_ok(wr_deadline_passed(wr_deadline_in_ms(0)), "no time at all has passed");
}

/* A wait of the milliseconds left ends after the deadline, not just before
 * it, where a loop would spin. */
static void test_rounding(void) {
    for (int i = 0; i < 100; i++) {
        wr_deadline_t deadline = {.at = wr_now() + 50 * second + i * 12345};
        wr_time_t most = wr_deadline_left(deadline);
        int left = wr_deadline_left_ms(deadline);
        wr_time_t least = wr_deadline_left(deadline);
        wr_time_t rounded = (wr_time_t)left * 1000000;
        if (rounded < least || rounded >= most + 1000000) {
            tap_ok(false, "%d ms for %lld to %lld ns", left, (long long)least, (long long)most);
            return;
        }
    }
    tap_ok(true, "milliseconds are rounded up");
}

static void test_far(void) {
    tap_int(wr_deadline_left_ms(wr_deadline_in_ms(UINT32_MAX)), INT32_MAX, "far: INT32_MAX");
    tap_ok(wr_deadline_left(wr_deadline_in_ms(UINT32_MAX)) > INT64_C(4294967) * second,
           "the longest is 49 days");
    tap_int(wr_deadline_left_ms((wr_deadline_t){.at = INT64_MAX}), INT32_MAX, "never: INT32_MAX");
}

static void test_min(void) {
    wr_deadline_t early = {.at = 5};
    wr_deadline_t late = {.at = 6};
    tap_int(wr_deadline_min(early, late).at, 5, "the earlier of two");
    tap_int(wr_deadline_min(late, early).at, 5, "whatever their order");
    tap_int(wr_deadline_min(late, late).at, 6, "or the one");
}

static void test_between(void) {
    tap_int(wr_ms_between(5, 5), 0, "no time");
    tap_int(wr_ms_between(second, second + 1), 1, "rounded up");
    tap_int(wr_ms_between(0, second), 1000, "a second");
    tap_int(wr_ms_between(2 * second, second), 0, "never negative");
}

static void test_timespec(void) {
    struct timespec time = wr_deadline_timespec((wr_deadline_t){.at = 12 * second + 345});
    tap_int(time.tv_sec, 12, "seconds");
    tap_int(time.tv_nsec, 345, "nanoseconds");
    time = wr_deadline_timespec((wr_deadline_t){.at = second - 1});
    tap_int(time.tv_sec, 0, "below a second");
    tap_int(time.tv_nsec, 999999999, "all nanoseconds");
}

int main(void) {
    test_clock();
    test_about_now();
    test_ahead();
    test_passed();
    test_rounding();
    test_far();
    test_min();
    test_between();
    test_timespec();
    return tap_done();
}
