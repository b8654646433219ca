/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a ring refuses: the status, and the piece that the text quotes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <warmring/ring.h>

#include "../lib/tap.h"
#include "sample.h"

/* A ring of these must fail so. */
static void refuse(const warmring_server_t *servers, size_t count,
                   const warmring_ring_options_t *options, warmring_status_t status,
                   const char *piece) {
    warmring_ring_t *ring = (void *)&ring;
    tap_status(warmring_ring_create(servers, count, options, &ring), status, "refused: %s", piece);
    tap_ok(ring == NULL, "no ring: %s", piece);
    tap_contains(warmring_error_detail(), piece, "text quotes %s", piece);
}

static warmring_server_t server(const char *host, uint16_t port, double weight) {
    return (warmring_server_t){
        .size = sizeof(warmring_server_t), .host = host, .port = port, .weight = weight};
}

static warmring_server_t named(const char *name, const char *host) {
    warmring_server_t result = server(host, 0, 1);
    result.name = name;
    return result;
}

/* One bad server behind a good one. */
static void refuse_second(warmring_server_t bad, const char *dialect, const char *piece) {
    warmring_server_t servers[] = {server("good", 0, 1), bad};
    warmring_ring_options_t options = {.size = sizeof options, .dialect = dialect};
    refuse(servers, 2, &options, WARMRING_BAD_SERVER, piece);
    tap_contains(warmring_error_detail(), "server 1", "text tells which server");
}

static void test_lists(void) {
    warmring_server_t one = server("a", 0, 1);
    refuse(NULL, 0, NULL, WARMRING_BAD_SERVER, "no servers");
    refuse(&one, 0, NULL, WARMRING_BAD_SERVER, "no servers");
    one.weight = 0;
    refuse(&one, 1, NULL, WARMRING_BAD_SERVER, "none of 1 servers has a weight above 0");
    one.size = 8;
    refuse(&one, 1, NULL, WARMRING_BAD_SERVER, "size 8 of server 0");
    one = server("a", 0, 1);
    tap_status(warmring_ring_create(&one, 1, NULL, NULL), WARMRING_BAD_ARGUMENT, "no place");
}

static void test_weights(void) {
    static const char *const whole[] = {"nginx", "libmemcached-weighted"};
    refuse_second(server("b", 0, NAN), NULL, "weight nan");
    refuse_second(server("b", 0, -1), NULL, "weight -1 ");
    refuse_second(server("b", 7, -1), NULL, "\"b:7\"");
    refuse_second(server("b", 0, -1), NULL, "\"b:11211\"");
    refuse_second(server("::1", 7, -1), NULL, "\"[::1]:7\"");
    refuse_second(server("b", 7, 1.5), "nginx", "\"b:7\"");
    refuse_second(server("b", 0, -0.25), NULL, "weight -0.25 ");
    refuse_second(server("b", 0, INFINITY), NULL, "weight inf");
    refuse_second(server("b", 0, -INFINITY), NULL, "weight -inf");
    for (size_t i = 0; i < (WR_WITH_LIBMEMCACHED ? 2 : 1); i++) {
        refuse_second(server("b", 0, 1.5), whole[i], "weight 1.5");
        tap_contains(warmring_error_detail(), whole[i], "text names the dialect %s", whole[i]);
        refuse_second(server("b", 0, 0.5), whole[i], "weight 0.5");
        refuse_second(server("b", 0, 4294967296.0), whole[i], "weight 4294967296");
    }
}

static void test_texts(void) {
    char longest[252];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    refuse_second(server("", 0, 1), NULL, "host is empty");
    refuse_second(server(NULL, 0, 1), NULL, "host is empty");
    refuse_second(server(longest, 0, 1), NULL, "host \"xxxxxxxxxx");
    refuse_second(named(longest, "b"), NULL, "name \"xxxxxxxxxx");
    refuse_second(server("a b", 0, 1), NULL, "host \"a b\"");
    refuse_second(server("a\tb", 0, 1), NULL, "0x09 in host \"a?b\"");
    refuse_second(server("a\x7f", 0, 1), NULL, "0x7f in host");
    refuse_second(named("x y", "b"), NULL, "name \"x y\"");
    refuse_second(named("x\n", "b"), NULL, "0x0a in name \"x?\"");
    refuse_second(server("[::1]", 0, 1), NULL, "\"[::1]\"");
    refuse_second(server("/run/m.sock", 11211, 1), NULL, "port 11211 with unix socket");

    warmring_ring_t *ring;
    warmring_server_t fits = named(longest + 1, longest + 1);
    tap_status(warmring_ring_create(&fits, 1, NULL, &ring), WARMRING_OK, "250 bytes are fine");
    warmring_ring_free(ring);
    fits = named("", "h");
    tap_status(warmring_ring_create(&fits, 1, NULL, &ring), WARMRING_OK, "\"\" is no name");
    warmring_ring_free(ring);
}

/* `a` and `b` may not be on one ring; a good one stands between them. */
static void refuse_both(warmring_server_t a, warmring_server_t b, const char *dialect,
                        const char *piece) {
    warmring_server_t servers[] = {a, server("between", 7, 1), b};
    warmring_ring_options_t options = {.size = sizeof options, .dialect = dialect};
    refuse(servers, 3, &options, WARMRING_BAD_SERVER, piece);
    tap_contains(warmring_error_detail(), "server 0 and server 2", "text tells both");
}

static void test_twice(void) {
    warmring_server_t drained = server("a", 0, 0);
    refuse_both(named("n", "a"), named("n", "b"), NULL, "name \"n\"");
    refuse_both(named("n", "a"), named("n", "b"), "nginx", "name \"n\"");
    refuse_both(server("a", 0, 1), server("a", 11211, 1), NULL, "endpoint \"a:11211\"");
    refuse_both(server("a", 0, 1), server("a", 11211, 1), "nginx", "endpoint \"a:11211\"");
    refuse_both(server("a", 5, 1), server("a", 5, 2), NULL, "endpoint \"a:5\"");
    refuse_both(server("a", 0, 1), drained, NULL, "endpoint \"a:11211\"");
    refuse_both(named("m", "a"), named("n", "a"), NULL, "endpoint \"a:11211\"");
    refuse_both(server("::1", 9, 1), server("::1", 9, 1), NULL, "endpoint \"[::1]:9\"");
    refuse_both(server("/s", 0, 1), server("/s", 0, 1), NULL, "endpoint \"unix:/s\"");
    refuse_both(named("/s", "a"), server("/s", 0, 1), NULL, "identity \"unix:/s\"");
    if (WR_WITH_LIBMEMCACHED) {
        refuse_both(server("::1", 9, 1), server("::1:9", 0, 1), "libmemcached-weighted",
                    "identity");
    }
}

static void refuse_options(const char *dialect, double points_per_weight, uint64_t max_points,
                           const char *piece) {
    warmring_server_t one = server("a", 0, 1);
    warmring_ring_options_t options = {.size = sizeof options,
                                       .dialect = dialect,
                                       .points_per_weight = points_per_weight,
                                       .max_points = max_points};
    refuse(&one, 1, &options, WARMRING_BAD_OPTION, piece);
}

static void test_options(void) {
    refuse_options("v3", 0, 0, "dialect \"v3\"");
    refuse_options("", 0, 0, "dialect \"\"");
    refuse_options(NULL, NAN, 0, "points_per_weight nan");
    refuse_options("nginx", NAN, 0, "points_per_weight nan");
    refuse_options(NULL, -1, 0, "points_per_weight -1");
    refuse_options(NULL, INFINITY, 0, "points_per_weight inf");
    refuse_options(NULL, 1e300, 0, "points_per_weight 1e+300");
    refuse_options(NULL, 4294967296.0, 0, "points_per_weight 4294967296");
    refuse_options(NULL, 0, (uint64_t)1 << 32, "max_points 4294967296");
    refuse_options(NULL, 0, UINT64_MAX, "max_points 18446744073709551615");

    warmring_server_t one = server("a", 0, 1);
    warmring_ring_options_t options = {.size = 8};
    refuse(&one, 1, &options, WARMRING_BAD_OPTION, "size 8 of the options");
}

/* The number behind "points_per_weight " in the detail text. */
static double suggestion(void) {
    const char *at = strstr(warmring_error_detail(), "points_per_weight ");
    return at != NULL ? strtod(at + strlen("points_per_weight "), NULL) : 0;
}

/* Refused, and the suggested number is taken, and is not far too small. */
static void refuse_points(const warmring_server_t *servers, size_t count, double density,
                          uint64_t most, const char *piece) {
    warmring_ring_options_t options = {
        .size = sizeof options, .points_per_weight = density, .max_points = most};
    refuse(servers, count, &options, WARMRING_LIMIT_EXCEEDED, piece);
    options.points_per_weight = suggestion();
    warmring_ring_t *ring;
    tap_status(warmring_ring_create(servers, count, &options, &ring), WARMRING_OK,
               "points_per_weight %.9g fits", options.points_per_weight);
    uint64_t points = 0;
    for (uint32_t i = 0; ring != NULL && i < count; i++) {
        points += warmring_ring_server_points(ring, i);
    }
    tap_ok((double)points >= 0.9 * (double)most, "and makes %llu points of %llu",
           (unsigned long long)points, (unsigned long long)most);
    warmring_ring_free(ring);
}

static void test_points(void) {
    sample_t sample;
    sample_fill(&sample, 10, 1);
    refuse_points(sample.servers, 10, 1001, 10000, "10010 points, at most 10000");
    refuse_points(sample.servers, 10, 0, 9999, "10000 points, at most 9999");
    refuse_points(sample.servers, 10, 4e9, 10000, "40000000000 points");
    refuse_points(sample.servers, 1, 4294967295.0, 12345, "4294967295 points, at most 12345");
    sample.servers[0].weight = 1e6;
    refuse_points(sample.servers, 10, 0, 20000, "1000009000 points, at most 20000");
    sample.servers[3].weight = 1e308;
    refuse_points(sample.servers, 10, 0, 20000, "inf points, at most 20000");
    sample.servers[4].weight = 1e308;
    refuse_points(sample.servers, 10, 1, 20000, "inf points, at most 20000");
    sample_fill(&sample, 10, 1e-9);
    sample.servers[2].weight = 1e9;
    refuse_points(sample.servers, 10, 0, 5000, "points, at most 5000");
    sample_fill(&sample, 10, 1e12);
    refuse_points(sample.servers, 10, 0, 100000, "points_per_weight 0.00000001,");
}

static void test_points_without_advice(void) {
    sample_t sample;
    sample_fill(&sample, 10, 1);
    warmring_ring_options_t options = {.size = sizeof options, .max_points = 9};
    refuse(sample.servers, 10, &options, WARMRING_LIMIT_EXCEEDED,
           "10 servers have a point each, at most 9: raise max_points");
    sample.servers[0].weight = 1e6;
    options = (warmring_ring_options_t){.size = sizeof options, .dialect = "nginx"};
    refuse(sample.servers, 10, &options, WARMRING_LIMIT_EXCEEDED,
           "160001440 points, at most 16000000: dialect nginx has fixed points");
    if (WR_WITH_LIBMEMCACHED) {
        options.dialect = "libmemcached-weighted";
        options.max_points = 1000;
        refuse(sample.servers, 10, &options, WARMRING_LIMIT_EXCEEDED,
               "1596 points, at most 1000: dialect libmemcached-weighted");
    }
}

/* The largest list there may be, one more, and a duplicate at its far end. */
static void test_many_servers(void) {
    enum { MOST = 65536 };
    static char hosts[MOST + 1][12];
    static warmring_server_t servers[MOST + 1];
    for (unsigned i = 0; i <= MOST; i++) {
        snprintf(hosts[i], sizeof hosts[i], "h%u", i);
        servers[i] = server(hosts[i], 0, 1);
    }
    warmring_ring_options_t options = {.size = sizeof options, .points_per_weight = 1};
    refuse(servers, MOST + 1, &options, WARMRING_LIMIT_EXCEEDED, "65537 servers: at most 65536");
    warmring_ring_t *ring;
    tap_status(warmring_ring_create(servers, MOST, &options, &ring), WARMRING_OK,
               "65536 servers are fine");
    tap_ok(ring != NULL && warmring_ring_share(ring, MOST - 1) > 0, "the last one has keys");
    warmring_ring_free(ring);
    servers[MOST - 1] = servers[0];
    refuse(servers, MOST, &options, WARMRING_BAD_SERVER, "server 0 and server 65535");
}

int main(void) {
    test_lists();
    test_weights();
    test_texts();
    test_twice();
    test_options();
    test_points();
    test_points_without_advice();
    test_many_servers();
    return tap_done();
}
