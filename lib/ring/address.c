/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the numbers of IPv4 and IPv6 addresses. inet_pton() would do it, but
 * this layer knows nothing of networks.
 */
#include "ring/address.h"

#include <string.h>

enum { V4, V6, NEITHER };
enum { V4_BYTES = 4, V6_BYTES = 16 };

typedef struct {
    int kind;
    unsigned char bytes[V6_BYTES];
} address_t;

/* The value of a digit, or -1. */
static int digit(char c, int base) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return base == 16 && lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* A number of up to `most`; returns what stands behind it, or NULL. */
static const char *read_number(const char *text, int base, unsigned most, unsigned *number) {
    const char *end = text;
    *number = 0;
    for (; digit(*end, base) >= 0 && *number <= most; end++) {
        *number = *number * (unsigned)base + (unsigned)digit(*end, base);
    }
    return end > text && *number <= most ? end : NULL;
}

static bool read_v4(const char *text, unsigned char *bytes) {
    for (int i = 0; i < V4_BYTES; i++) {
        unsigned number;
        text = read_number(text, 10, 255, &number);
        if (text == NULL || *text != (i + 1 < V4_BYTES ? '.' : '\0')) {
            return false;
        }
        bytes[i] = (unsigned char)number;
        text++;
    }
    return true;
}

/* The groups up to "::" or the end, the last two perhaps as an IPv4 address;
 * returns how many bytes they are, and what stands behind them, or -1. */
static int read_groups(const char **text, unsigned char *bytes) {
    const char *at = *text;
    int size = 0;
    while (*at != '\0' && *at != ':' && size < V6_BYTES) {
        unsigned group;
        if (size + V4_BYTES <= V6_BYTES && read_v4(at, bytes + size)) {
            *text = at + strlen(at);
            return size + V4_BYTES;
        }
        at = read_number(at, 16, 0xffff, &group);
        if (at == NULL || (*at != '\0' && *at != ':')) {
            return -1;
        }
        bytes[size++] = (unsigned char)(group >> 8);
        bytes[size++] = (unsigned char)group;
        at += at[0] == ':' && at[1] != ':' && at[1] != '\0';
    }
    *text = at;
    return size;
}

static bool read_v6(const char *text, unsigned char *bytes) {
    unsigned char tail[V6_BYTES];
    int head_size = read_groups(&text, bytes);
    if (head_size == V6_BYTES && *text == '\0') {
        return true;
    }
    if (head_size < 0 || strncmp(text, "::", 2) != 0) {
        return false;
    }
    text += 2;
    int tail_size = read_groups(&text, tail);
    if (tail_size < 0 || *text != '\0' || head_size + tail_size > V6_BYTES - 2) {
        return false;
    }
    memset(bytes + head_size, 0, (size_t)(V6_BYTES - head_size));
    memcpy(bytes + V6_BYTES - tail_size, tail, (size_t)tail_size);
    return true;
}

static address_t address_of(const wr_member_t *member) {
    address_t address = {.kind = NEITHER};
    if (read_v4(member->host, address.bytes)) {
        address.kind = V4;
    } else if (wr_host_is_v6(member->host) && read_v6(member->host, address.bytes)) {
        address.kind = V6;
    } else {
        memset(address.bytes, 0, sizeof address.bytes);
    }
    return address;
}

int wr_address_compare(const wr_member_t *a, const wr_member_t *b) {
    address_t left = address_of(a), right = address_of(b);
    if (left.kind != right.kind) {
        return left.kind < right.kind ? -1 : 1;
    }
    int order = memcmp(left.bytes, right.bytes, sizeof left.bytes);
    if (order != 0 || left.kind == NEITHER) {
        return order;
    }
    return (int)wr_member_port(a) - (int)wr_member_port(b);
}
