/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict numbers.
 */
#include "base/number.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool wr_parse_uint(const char *text, size_t length, uint64_t most, uint64_t *number) {
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(text[i])) {
            return false;
        }
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (digit > most || value > (most - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    if (length == 0) {
        return false;
    }
    *number = value;
    return true;
}

bool wr_parse_real(const char *text, size_t length, double *number) {
    double value = 0;
    double scale = 1;
    bool fraction = false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.' && !fraction && i > 0 && i + 1 < length) {
            fraction = true;
        } else if (is_digit(text[i])) {
            value = value * 10 + (text[i] - '0');
            scale *= fraction ? 10 : 1;
        } else {
            return false;
        }
    }
    if (length == 0 || value > DBL_MAX || scale > DBL_MAX) {
        return false;
    }
    *number = value / scale;
    return true;
}

/* The decimal point of the locale may be several bytes. */
static void put_dot(char *text) {
    char *out = text;
    for (const char *in = text; *in != '\0'; in++) {
        if (strchr("0123456789+-e", *in) != NULL) {
            *out++ = *in;
        } else if (out == text || out[-1] != '.') {
            *out++ = '.';
        }
    }
    *out = '\0';
}

const char *wr_write_real(char *text, double number) {
    for (int digits = DBL_DIG; digits <= DBL_DIG + 2; digits++) {
        snprintf(text, WR_REAL_SIZE, "%.*g", digits, number);
        double back = strtod(text, NULL); /* by the locale that wrote it */
        if (back >= number && back <= number) {
            break;
        }
    }
    put_dot(text);
    return text;
}
