/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printf() writes the decimal point of the program's locale, which may be
 * several bytes long; here it is always a dot.
 */
#include "ring/decimal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_dot(char *text) {
    char *out = text;
    for (const char *in = text; *in != '\0'; in++) {
        if (strchr("0123456789+-einfa", *in) != NULL) {
            *out++ = *in;
        } else if (out == text || out[-1] != '.') {
            *out++ = '.';
        }
    }
    *out = '\0';
}

/* Decimals after the point that show 15 digits of a number below 1. */
static int decimals_of(double magnitude) {
    int decimals = 14;
    for (; magnitude < 1; magnitude *= 10) {
        decimals++;
    }
    return decimals;
}

static void strip_zeros(char *text) {
    char *end = text + strlen(text);
    while (end[-1] == '0') {
        *--end = '\0';
    }
}

const char *wr_decimal(wr_decimal_t *decimal, double value) {
    char *text = decimal->text;
    double magnitude = fabs(value);
    if (magnitude >= 1e15 && magnitude < 1e22) {
        snprintf(text, sizeof decimal->text, "%.0f", value);
    } else if (magnitude > 1e-30 && magnitude < 1e-4) {
        snprintf(text, sizeof decimal->text, "%.*f", decimals_of(magnitude), value);
        strip_zeros(text);
    } else {
        snprintf(text, sizeof decimal->text, "%.15g", value);
    }
    put_dot(text);
    return text;
}
