/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict numbers: what is one, and all the things that are none.
 */
#include "base/number.h"

#include <string.h>

#include "tests/lib/tap.h"

static void test_whole(void) {
    static const struct {
        const char *text;
        uint64_t most, number;
    } good[] = {
        {"0", 0, 0},
        {"7", 9, 7},
        {"007", 9, 7},
        {"65535", 65535, 65535},
        {"18446744073709551615", UINT64_MAX, UINT64_MAX},
        {"18446744073709551614", UINT64_MAX - 1, UINT64_MAX - 1},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint64_t number = 99;
        tap_ok(wr_parse_uint(good[i].text, strlen(good[i].text), good[i].most, &number),
               "\"%s\" is one", good[i].text);
        tap_ok(number == good[i].number, "and read right");
    }
}

static void test_not_whole(void) {
    static const struct {
        const char *text;
        uint64_t most;
    } bad[] = {
        {"", 9},
        {"-1", 9},
        {"+1", 9},
        {" 1", 9},
        {"1 ", 9},
        {"1x", 99},
        {"0x1", 99},
        {"1e1", 99},
        {"1.0", 99},
        {"1", 0},
        {"9", 8},
        {"10", 9},
        {"65536", 65535},
        {"70000", 65535},
        {"18446744073709551616", UINT64_MAX},
        {"18446744073709551615", UINT64_MAX - 1},
        {"99999999999999999999999", UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t number = 99;
        tap_ok(!wr_parse_uint(bad[i].text, strlen(bad[i].text), bad[i].most, &number),
               "\"%s\" is none up to %llu", bad[i].text, (unsigned long long)bad[i].most);
        tap_ok(number == 99, "and leaves the number alone");
    }
}

static void test_length_counts(void) {
    uint64_t whole = 0;
    double real = 0;
    tap_ok(wr_parse_uint("123", 2, 99, &whole) && whole == 12, "two digits of three");
    tap_ok(!wr_parse_uint("1\0002", 3, 999, &whole), "a NUL is no digit");
    tap_ok(wr_parse_real("1.25", 3, &real), "three bytes of four");
    tap_near(real, 1.2, 0, "are 1.2");
}

static void test_real(void) {
    static const struct {
        const char *text;
        double number;
    } good[] = {
        {"0", 0.0},         {"1", 1.0},
        {"0.5", 0.5},       {"160", 160.0},
        {"0.1", 0.1},       {"123456.789", 123456.789},
        {"1.000", 1.0},     {"999999999999999", 999999999999999.0},
        {"3.1415", 3.1415},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double number = -1;
        tap_ok(wr_parse_real(good[i].text, strlen(good[i].text), &number), "\"%s\" is one",
               good[i].text);
        tap_near(number, good[i].number, 0, "and read right to the last bit");
    }
}

static void test_not_real(void) {
    static const char *const bad[] = {"",    ".",   ".5", "5.", "-1",   "+1",    "1,5", "1e3",
                                      "nan", "inf", " 1", "1 ", "1..2", "1.2.3", "0x1", "1f"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double number = -1;
        tap_ok(!wr_parse_real(bad[i], strlen(bad[i]), &number), "\"%s\" is none", bad[i]);
        tap_near(number, -1, 0, "and leaves the number alone");
    }
    char digits[500];
    memset(digits, '9', sizeof digits);
    double number = -1;
    tap_ok(!wr_parse_real(digits, sizeof digits, &number), "500 digits are none: not finite");
}

int main(void) {
    test_whole();
    test_not_whole();
    test_length_counts();
    test_real();
    test_not_real();
    return tap_done();
}
