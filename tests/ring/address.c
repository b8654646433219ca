/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of addresses that pingora settles ties by: that of Rust's
 * SocketAddr, which is IPv4 before IPv6, then the number, then the port. What
 * is no address has no place there; ours comes last, and is alike.
 */
#include "ring/address.h"

#include "tests/lib/tap.h"

/* Each before the next; those in one row are alike. */
static const struct {
    const char *host[3];
    uint16_t port;
} ordered[] = {
    {{"0.0.0.0"}, 1},
    {{"9.255.255.255"}, 65535},
    {{"10.0.0.1"}, 1},
    {{"10.0.0.1"}, 2},
    {{"10.0.0.1"}, 11211},
    {{"10.0.0.2"}, 1},
    {{"100.0.0.1"}, 1},
    {{"255.255.255.255"}, 1},
    {{"::", "0::0", "0:0:0:0:0:0:0:0"}, 9},
    {{"::1", "0:0:0:0:0:0:0:1", "::0.0.0.1"}, 1},
    {{"::1"}, 2},
    {{"::ffff:10.0.0.1", "::ffff:a00:1", "0:0:0:0:0:FFFF:0a00:0001"}, 1},
    {{"1::", "1::0:0", "1:0:0:0:0:0:0:0"}, 1},
    {{"1::2", "0001:0000::0002", "1:0:0:0::2"}, 1},
    {{"1:0:0:1::", "1:0:0:1:0:0:0:0"}, 1},
    {{"2:3:4:5:6:7:8:9"}, 1},
    {{"2:3:4:5:6:7:8:a", "2:3:4:5:6:7:8:A", "2:3:4:5:6:7:0.8.0.10"}, 1},
    {{"10::", "10:0::"}, 1},
    {{"fd00::7"}, 1},
    {{"fd00::10"}, 1},
    {{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}, 1},
    {{"a.example", "b.example", "/run/c.sock"}, 1},
};

enum { COUNT = sizeof ordered / sizeof ordered[0] };

static wr_member_t member(size_t index, size_t form) {
    return (wr_member_t){.host = ordered[index].host[form], .port = ordered[index].port};
}

static void check_pair(size_t i, size_t j) {
    wr_member_t a = member(i, 0), b = member(j, 0);
    int order = wr_address_compare(&a, &b);
    int expected = i < j ? -1 : i > j;
    tap_int((order > 0) - (order < 0), expected, "%s port %u and %s port %u", a.host, a.port,
            b.host, b.port);
}

int main(void) {
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < COUNT; j++) {
            check_pair(i, j);
        }
        for (size_t form = 1; form < 3 && ordered[i].host[form] != NULL; form++) {
            wr_member_t usual = member(i, 0), other = member(i, form);
            tap_int(wr_address_compare(&usual, &other), 0, "%s is %s", other.host, usual.host);
        }
    }
    return tap_done();
}
