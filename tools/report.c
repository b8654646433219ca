/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command says.
 */
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *reporter = "warmring";

void report_as(const char *command) {
    reporter = command;
}

__attribute__((format(printf, 1, 0))) static void complain(const char *format, va_list arguments) {
    fprintf(stderr, "%s: ", reporter);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

int fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    va_end(arguments);
    return FAILED;
}

int misuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    va_end(arguments);
    fprintf(stderr, "Try '%s --help'.\n", reporter);
    return MISUSED;
}

void warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    va_end(arguments);
}

bool flush_output(void) {
    static bool complained = false;
    errno = 0;
    bool lost = ferror(stdout) != 0;
    lost = fflush(stdout) != 0 || lost;
    if (lost && !complained) {
        fail("cannot write standard output%s%s", errno != 0 ? ": " : "",
             errno != 0 ? strerror(errno) : "");
    }
    complained = complained || lost;
    return !lost;
}

int finish_output(int result) {
    return flush_output() ? result : FAILED;
}

/* Why there may be no JSON, when it was told already. */
static bool told_why = false;

int print_json(json_t *value) {
    if (value == NULL) {
        return told_why ? FAILED : fail("out of memory");
    }
    int lost = json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_decref(value);
    return lost == 0 && putchar('\n') != EOF ? ENDED_WELL : FAILED;
}

json_t *json_number(double value) {
    if (!isfinite(value)) {
        return json_null();
    }
    bool whole =
        fabs(value) < 9007199254740992.0 && !(value < floor(value) || value > floor(value));
    return whole ? json_integer((json_int_t)value) : json_real(value);
}

static bool is_ascii(const char *text) {
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text > 0x7f) {
            return false;
        }
    }
    return true;
}

/* What is ASCII fails for want of memory alone. */
json_t *json_text(const char *text) {
    json_t *value = json_string(text);
    if (value == NULL && !is_ascii(text) && !told_why) {
        fail("\"%s\" is not UTF-8, and JSON has no other text", text);
        told_why = true;
    }
    return value;
}

void json_add(json_t **list, json_t *element) {
    if (json_array_append_new(*list, element) != 0) {
        json_decref(*list);
        *list = NULL;
    }
}

int wider(int width, const char *text) {
    int length = (int)strlen(text);
    return length > width ? length : width;
}

const char *percent(text_t *text, double share) {
    if (share > 0 && share < 1e-7) {
        snprintf(text->text, sizeof text->text, "%.1e %%", 100 * share);
        return text->text;
    }
    int decimals = share >= 1 ? 1 : share >= 0.1 ? 2 : share >= 0.00001 ? 3 : share > 0 ? 6 : 0;
    snprintf(text->text, sizeof text->text, "%.*f %%", decimals, 100 * share);
    return text->text;
}

const char *plain_percent(text_t *text, double share) {
    snprintf(text->text, sizeof text->text, "%.6g %%", 100 * share);
    return text->text;
}

const char *bytes(text_t *text, double count) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; count >= 1000 && unit < 4; unit++) {
        count /= 1024;
    }
    snprintf(text->text, sizeof text->text, "%.*f %s", unit == 0 || count >= 100 ? 0 : 1, count,
             units[unit]);
    return text->text;
}

/* Without an exponent, which options and server strings do not take; but for
 * numbers that nobody would write. */
const char *number(text_t *text, double value) {
    snprintf(text->text, sizeof text->text, "%.9g", value);
    if (value >= 1e9 && value < 1e20) {
        snprintf(text->text, sizeof text->text, "%.0f", value);
    } else if (value > 1e-20 && value < 1e-4) {
        int length =
            snprintf(text->text, sizeof text->text, "%.*f", 8 - (int)floor(log10(value)), value);
        while (text->text[length - 1] == '0') {
            text->text[--length] = '\0';
        }
    }
    return text->text;
}
