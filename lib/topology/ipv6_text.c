/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IPv6 text: up to eight groups of hexadecimal digits between colons, one
 * "::" for groups of zeros left out, and a dotted IPv4 address that may stand
 * for the last two groups.
 */
#include "topology/ipv6_text.h"

#include <stdint.h>
#include <string.h>

#include "topology/server_text.h"

enum { GROUPS = 8, GROUP_DIGITS = 4, MAX_ZONE = 32 };

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Four numbers from 0 to 255 between dots, no leading zeros. */
static bool is_ipv4(const char *text, size_t length) {
    size_t i = 0;
    for (int part = 0; part < 4; part++) {
        unsigned value = 0;
        size_t first = i;
        for (; i < length && text[i] >= '0' && text[i] <= '9' && i - first < 3; i++) {
            value = value * 10 + (unsigned)(text[i] - '0');
        }
        if (i == first || value > UINT8_MAX || (i - first > 1 && text[first] == '0')) {
            return false;
        }
        if (part < 3 && (i == length || text[i++] != '.')) {
            return false;
        }
    }
    return i == length;
}

static size_t hex_run(const char *text, size_t length) {
    size_t run = 0;
    while (run < length && is_hex(text[run])) {
        run++;
    }
    return run;
}

/* How many groups the text between two ends of a "::" counts, which may be
 * none; above GROUPS when it is no such text. */
static int count_groups(const char *text, size_t length, bool is_last) {
    int groups = 0;
    size_t i = 0;
    while (i < length) {
        size_t run = hex_run(text + i, length - i);
        if (is_last && i + run < length && text[i + run] == '.') {
            return is_ipv4(text + i, length - i) ? groups + 2 : GROUPS + 1;
        }
        if (run == 0 || run > GROUP_DIGITS || ++groups > GROUPS) {
            return GROUPS + 1;
        }
        i += run;
        if (i < length && (text[i] != ':' || ++i == length)) {
            return GROUPS + 1;
        }
    }
    return groups;
}

static size_t find(const char *text, size_t length, const char *pair) {
    for (size_t i = 0; i + 1 < length; i++) {
        if (memcmp(text + i, pair, 2) == 0) {
            return i;
        }
    }
    return length;
}

static bool is_address(const char *text, size_t length) {
    size_t gap = find(text, length, "::");
    if (gap == length) {
        return count_groups(text, length, true) == GROUPS;
    }
    int left = count_groups(text, gap, false);
    int right = count_groups(text + gap + 2, length - gap - 2, true);
    return left + right < GROUPS;
}

bool wr_is_ipv6(const char *text, size_t length) {
    const char *zone = memchr(text, '%', length);
    if (zone == NULL) {
        return is_address(text, length);
    }
    size_t before = (size_t)(zone - text);
    return is_address(text, before) && wr_is_name(zone + 1, length - before - 1, MAX_ZONE);
}

bool wr_looks_like_ipv6(const char *text, size_t length) {
    size_t colons = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ':') {
            colons++;
        } else if (text[i] == '%') {
            break;
        } else if (!is_hex(text[i]) && (text[i] != '.' || colons == 0)) {
            return false;
        }
    }
    return colons > 2 || (colons == 2 && find(text, length, "::") < length);
}
