/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printf() writes the decimal point of the program's locale, which may be
 * several bytes long; here it is always a dot.
 */
#include "ring/number.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *wr_number(wr_number_t *number, double value) {
    static const char own[] = "0123456789+-einfa";
    snprintf(number->text, sizeof number->text, "%.15g", value);
    char *out = number->text;
    for (const char *in = number->text; *in != '\0'; in++) {
        bool keep = strchr(own, *in) != NULL;
        if (keep) {
            *out++ = *in;
        } else if (out == number->text || out[-1] != '.') {
            *out++ = '.';
        }
    }
    *out = '\0';
    return number->text;
}
