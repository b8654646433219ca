/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What moves between two rings, against a sweep over every piece of the hash
 * space, and against keys.
 */
#include <warmring/plan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/tap.h"
#include "ring/ring.h"
#include "sample.h"

enum { KEYS = 100000 };

static double moved_between(const warmring_ring_t *from, const warmring_ring_t *to) {
    double moved = -1;
    tap_status(warmring_plan_moved(from, to, &moved), WARMRING_OK, "moved");
    return moved;
}

/* ---- brute force ---- */

static bool same_endpoint(const warmring_ring_t *a, uint32_t i, const warmring_ring_t *b,
                          uint32_t j) {
    const wr_member_t *left = wr_ring_member(a, i), *right = wr_ring_member(b, j);
    return strcmp(left->host, right->host) == 0 && wr_member_port(left) == wr_member_port(right);
}

static int by_value(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static size_t put_hashes(const warmring_ring_t *ring, uint32_t *hashes) {
    wr_point_t point = wr_points_first(&ring->points);
    for (uint64_t i = 0; i < warmring_ring_points(ring); i++) {
        hashes[i] = point.hash;
        point = wr_points_next(&ring->points, point);
    }
    return (size_t)warmring_ring_points(ring);
}

/* Cuts the space behind each point of either ring and looks both owners of
 * every piece up. */
static double swept(const warmring_ring_t *from, const warmring_ring_t *to) {
    size_t most = (size_t)(warmring_ring_points(from) + warmring_ring_points(to) + 1);
    uint32_t *ends = calloc(most, sizeof *ends);
    if (ends == NULL) {
        tap_bail("no memory");
    }
    size_t count = put_hashes(from, ends);
    count += put_hashes(to, ends + count);
    ends[count++] = UINT32_MAX;
    qsort(ends, count, sizeof *ends, by_value);
    double moved = 0;
    uint64_t start = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t length = (uint64_t)ends[i] + 1 - start;
        bool same =
            same_endpoint(from, wr_ring_owner(from, ends[i]), to, wr_ring_owner(to, ends[i]));
        moved += same ? 0 : (double)length / 4294967296.0;
        start += length;
    }
    free(ends);
    return moved;
}

static double sampled(const warmring_ring_t *from, const warmring_ring_t *to) {
    unsigned moved = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        char key[SAMPLE_TEXT];
        size_t length = sample_key(key, i);
        moved += !same_endpoint(from, warmring_ring_locate(from, key, length), to,
                                warmring_ring_locate(to, key, length));
    }
    return (double)moved / KEYS;
}

/* Five standard deviations of a share counted over KEYS keys. */
static double noise(double share) {
    return 5 * sqrt(share * (1 - share) / KEYS) + 1e-9;
}

/* ---- the checks of any pair of rings ---- */

static void check_flows(const warmring_ring_t *from, const warmring_ring_t *to, double moved,
                        const char *what) {
    static double flows[SAMPLE_MAX * SAMPLE_MAX];
    uint32_t rows = (uint32_t)warmring_ring_servers(from);
    uint32_t columns = (uint32_t)warmring_ring_servers(to);
    double sum = 0, crossing = 0, worst = 0;
    double targets[SAMPLE_MAX] = {0};
    flows[0] = 99;
    tap_status(warmring_plan_flows(from, to, flows, (size_t)rows * columns), WARMRING_OK,
               "%s: flows", what);
    for (uint32_t i = 0; i < rows; i++) {
        double row = 0;
        for (uint32_t j = 0; j < columns; j++) {
            double cell = flows[i * columns + j];
            row += cell;
            targets[j] += cell;
            crossing += same_endpoint(from, i, to, j) ? 0 : cell;
        }
        worst = fmax(worst, fabs(row - warmring_ring_share(from, i)));
        sum += row;
    }
    for (uint32_t j = 0; j < columns; j++) {
        worst = fmax(worst, fabs(targets[j] - warmring_ring_share(to, j)));
    }
    tap_near(sum, 1, 1e-12, "%s: flows add up to 1", what);
    tap_near(worst, 0, 1e-12, "%s: rows and columns are the shares", what);
    tap_near(crossing, moved, 1e-12, "%s: what crosses is what moves", what);
}

static void check_pair(const warmring_ring_t *from, const warmring_ring_t *to, bool alike,
                       const char *what) {
    double moved = moved_between(from, to);
    if (alike) {
        tap_near(moved, swept(from, to), 0, "%s: exactly as swept (%.4f %%)", what, 100 * moved);
    }
    tap_near(moved, sampled(from, to), noise(moved), "%s: as keys move", what);
    tap_near(moved_between(to, from), moved, 1e-12, "%s: as much on the way back", what);
    check_flows(from, to, moved, what);
}

static void test_changes(void) {
    static const char *const dialects[] = {"v2", "nginx", "libmemcached-weighted"};
    for (size_t i = 0; i < (WR_WITH_LIBMEMCACHED ? 3 : 2); i++) {
        sample_t sample, changed;
        uint64_t state = 3 + i;
        char what[64];
        sample_fill(&sample, 12, 2);
        sample_shuffle(&changed, &sample, &state);
        changed.servers[4].weight = 5;
        changed.servers[6].weight = 0;
        warmring_ring_t *from = sample_ring(sample.servers, 12, dialects[i], 170);
        warmring_ring_t *to = sample_ring(changed.servers, 12, dialects[i], 170);
        snprintf(what, sizeof what, "%s, weights", dialects[i]);
        check_pair(from, to, true, what);
        warmring_ring_free(to);
        to = sample_ring(changed.servers, 9, dialects[i], 170);
        snprintf(what, sizeof what, "%s, three less", dialects[i]);
        check_pair(from, to, true, what);
        tap_near(moved_between(from, from), 0, 0, "%s: nothing moves to itself", dialects[i]);
        warmring_ring_free(to);
        warmring_ring_free(from);
    }
}

static void test_dialects(void) {
    sample_t sample;
    sample_fill(&sample, 7, 1);
    sample.servers[2].weight = 9;
    warmring_ring_t *v2 = sample_ring(sample.servers, 7, "v2", 100);
    warmring_ring_t *nginx = sample_ring(sample.servers, 7, "nginx", 0);
    check_pair(nginx, v2, true, "nginx to v2");
    warmring_ring_free(v2);
    warmring_ring_free(nginx);
}

static void test_hashes(void) {
    sample_t sample;
    sample_fill(&sample, 7, 1);
    sample.servers[2].weight = 9;
    warmring_ring_t *v2 = sample_ring(sample.servers, 7, "v2", 100);
    warmring_ring_t *ketama = sample_ring(sample.servers, 7, "libmemcached-weighted", 0);
    check_pair(ketama, v2, false, "libmemcached to v2");
    double stayed = 0;
    for (uint32_t i = 0; i < 7; i++) {
        stayed += warmring_ring_share(ketama, i) * warmring_ring_share(v2, i);
    }
    tap_near(moved_between(ketama, v2), 1 - stayed, 1e-12, "libmemcached to v2: the formula");
    warmring_ring_free(v2);
    warmring_ring_free(ketama);
}

static warmring_ring_t *pair(const char *name, const char *host, uint16_t port,
                             const char *other_name, const char *other_host) {
    warmring_server_t servers[] = {
        {.size = sizeof servers[0], .name = name, .host = host, .port = port, .weight = 1},
        {.size = sizeof servers[0], .name = other_name, .host = other_host, .weight = 1}};
    return sample_ring(servers, 2, "v2", 50);
}

static void check_moved(warmring_ring_t *from, warmring_ring_t *to, double expected,
                        const char *what) {
    tap_near(moved_between(from, to), expected, 0, "%s", what);
    tap_near(swept(from, to), expected, 0, "%s, swept", what);
    warmring_ring_free(from);
    warmring_ring_free(to);
}

static void test_endpoints(void) {
    warmring_ring_t *ring = pair("a", "x", 0, "b", "y");
    double share = warmring_ring_share(ring, 0);
    check_moved(ring, pair("a", "x", 11211, "b", "y"), 0, "the default port written is no move");
    check_moved(pair("a", "x", 0, "b", "y"), pair("a", "y", 0, "b", "x"), 1,
                "names swapped: every key moves");
    check_moved(pair("a", "x", 0, "b", "y"), pair("a", "z", 0, "b", "y"), share,
                "a new address: that server's keys move");
    check_moved(pair("a", "x", 0, "b", "y"), pair("a", "x", 5, "b", "y"), share,
                "a new port: that server's keys move");

    warmring_server_t one = {.size = sizeof one, .name = "old", .host = "h", .weight = 1};
    warmring_server_t renamed = one;
    renamed.name = "new";
    check_moved(sample_ring(&one, 1, "v2", 0), sample_ring(&renamed, 1, "v2", 0), 0,
                "renamed: nothing moves");
}

static void test_capacity(void) {
    double flows[4] = {0};
    warmring_ring_t *ring = pair("a", "x", 0, "b", "y");
    tap_status(warmring_plan_flows(ring, ring, flows, 3), WARMRING_BAD_ARGUMENT, "3 cells of 4");
    tap_contains(warmring_error_detail(), "capacity of 3", "text quotes the capacity");
    tap_status(warmring_plan_flows(ring, ring, flows, 4), WARMRING_OK, "4 cells of 4");
    tap_near(flows[0] + flows[3], 1, 0, "all on the diagonal");
    warmring_ring_free(ring);
}

int main(void) {
    test_changes();
    test_dialects();
    if (WR_WITH_LIBMEMCACHED) {
        test_hashes();
    }
    test_endpoints();
    test_capacity();
    return tap_done();
}
