/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest flows against the whole matrix; large rings of dialects that
 * hash keys differently; and memory that runs out at any moment.
 */
#include <warmring/memory.h>
#include <warmring/plan.h>

#include <stdlib.h>
#include <string.h>

#include "../lib/tap.h"
#include "../ring/sample.h"
#include "ring/ring.h"

enum { LARGE = 2000 };

/* ---- against the matrix ---- */

static int by_size(const void *a, const void *b) {
    double left = ((const warmring_plan_flow_t *)a)->part;
    double right = ((const warmring_plan_flow_t *)b)->part;
    return (left < right) - (left > right);
}

/* Every cell whose keys move, sorted. In these tests both lists number one
 * server alike, and those of `to` are the first of `from`. */
static size_t all_flows(const warmring_ring_t *from, const warmring_ring_t *to,
                        warmring_plan_flow_t *all) {
    static double cells[SAMPLE_MAX * SAMPLE_MAX];
    uint32_t rows = (uint32_t)warmring_ring_servers(from);
    uint32_t columns = (uint32_t)warmring_ring_servers(to);
    size_t count = 0;
    if (warmring_plan_flows(from, to, cells, SAMPLE_MAX * SAMPLE_MAX) != WARMRING_OK) {
        tap_bail("no flows: %s", warmring_error_detail());
    }
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t j = 0; j < columns; j++) {
            if (i != j && cells[i * columns + j] > 0) {
                all[count++] = (warmring_plan_flow_t){i, j, cells[i * columns + j]};
            }
        }
    }
    qsort(all, count, sizeof *all, by_size);
    return count;
}

static void check_largest(const warmring_ring_t *from, const warmring_ring_t *to, size_t capacity,
                          const char *what) {
    static warmring_plan_flow_t all[SAMPLE_MAX * SAMPLE_MAX], top[SAMPLE_MAX * SAMPLE_MAX];
    size_t count = 77, exist = all_flows(from, to, all), wrong = 0;
    size_t expected = capacity < exist ? capacity : exist;
    top[capacity].part = -5;
    tap_status(warmring_plan_largest_flows(from, to, top, capacity, &count), WARMRING_OK,
               "%s: the %zu largest flows", what, capacity);
    tap_int((int64_t)count, (int64_t)expected, "%s: of %zu", what, exist);
    for (size_t i = 0; i < count; i++) {
        wrong += top[i].from != all[i].from || top[i].to != all[i].to ||
                 top[i].part > all[i].part || top[i].part < all[i].part;
    }
    tap_int((int64_t)wrong, 0, "%s: those of the matrix, in order", what);
    tap_ok(top[capacity].part < -4, "%s: nothing is written behind them", what);
}

static void check_all(const warmring_ring_t *from, const warmring_ring_t *to, const char *what) {
    static warmring_plan_flow_t top[SAMPLE_MAX * SAMPLE_MAX];
    static const size_t capacities[] = {0, 1, 2, 10, 63, SAMPLE_MAX * SAMPLE_MAX - 1};
    double sum = 0, moved = -1;
    size_t count = 0;
    for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
        check_largest(from, to, capacities[i], what);
    }
    tap_status(warmring_plan_largest_flows(from, to, top, SAMPLE_MAX * SAMPLE_MAX, &count),
               WARMRING_OK, "%s: all flows", what);
    for (size_t i = 0; i < count; i++) {
        sum += top[i].part;
    }
    tap_status(warmring_plan_moved(from, to, &moved), WARMRING_OK, "%s: moved", what);
    tap_near(sum, moved, 1e-12, "%s: all flows together are what moves", what);
}

static void test_against_matrix(void) {
    sample_t sample;
    sample_fill(&sample, 40, 1);
    warmring_ring_t *from = sample_ring(sample.servers, 40, "v2", 90);
    warmring_ring_t *less = sample_ring(sample.servers, 33, "v2", 90);
    warmring_ring_t *other = sample_ring(
        sample.servers, 37, WR_WITH_LIBMEMCACHED ? "libmemcached-weighted" : "nginx", 0);
    sample.servers[5].weight = 4;
    sample.servers[6].weight = 0;
    warmring_ring_t *to = sample_ring(sample.servers, 40, "v2", 90);
    check_all(from, to, "weights");
    check_all(from, less, "seven less");
    check_all(from, from, "nothing");
    check_all(from, other, "another dialect");
    warmring_ring_free(from);
    warmring_ring_free(less);
    warmring_ring_free(other);
    warmring_ring_free(to);
}

/* Flows are told by endpoint, whatever the servers are called and wherever
 * they stand. */
static void test_endpoints(void) {
    warmring_server_t servers[] = {
        {.size = sizeof servers[0], .name = "a", .host = "x", .weight = 1},
        {.size = sizeof servers[0], .name = "b", .host = "y", .weight = 1}};
    warmring_server_t swapped[] = {servers[1], servers[0]};
    warmring_plan_flow_t flows[4];
    size_t count = 9;
    warmring_ring_t *from = sample_ring(servers, 2, "v2", 50);
    warmring_ring_t *to = sample_ring(swapped, 2, "v2", 50);
    tap_status(warmring_plan_largest_flows(from, to, flows, 4, &count), WARMRING_OK,
               "another order");
    tap_int((int64_t)count, 0, "is no flow");
    warmring_ring_free(to);
    swapped[0].host = "x";
    swapped[1].host = "y";
    to = sample_ring(swapped, 2, "v2", 50);
    tap_status(warmring_plan_largest_flows(from, to, flows, 4, &count), WARMRING_OK,
               "names that changed places");
    tap_int((int64_t)count, 2, "are two flows");
    tap_ok(flows[0].from == 1 - flows[0].to || flows[0].from == flows[0].to, "between them");
    tap_near(flows[0].part + flows[1].part, 1, 0, "of all keys");
    warmring_ring_free(from);
    warmring_ring_free(to);
}

/* ---- rings without points ---- */

static uint32_t owner_by_rest(const warmring_ring_t *ring, uint32_t hash) {
    return hash % ring->members.count;
}

/* A ring of the first `count` servers whose owner is hash mod count, told by
 * what plan/ asks of a ring. */
static void make_modular(warmring_ring_t *ring, wr_dialect_t *dialect, const sample_t *sample,
                         uint32_t count) {
    *dialect = *wr_dialect_find("v2");
    dialect->owner = owner_by_rest;
    *ring = (warmring_ring_t){.dialect = dialect, .owners = count};
    if (!wr_members_copy(&ring->members, sample->servers, count)) {
        tap_bail("no memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        ring->members.list[i].arc = (UINT32_MAX - i) / count + 1;
    }
}

/* Both rests of every hash of one period, which here divides 2^32 but for a
 * rest too small to see. */
static void check_rests(const sample_t *sample, uint32_t before, uint32_t after) {
    static double cells[SAMPLE_MAX * SAMPLE_MAX];
    static unsigned seen[SAMPLE_MAX * SAMPLE_MAX];
    wr_dialect_t dialects[2];
    warmring_ring_t from, to;
    double moved = -1, sum = 0, worst = 0, stayed = 0;
    make_modular(&from, &dialects[0], sample, before);
    make_modular(&to, &dialects[1], sample, after);
    for (uint32_t i = 0; i < before * after; i++) {
        seen[i] = 0;
    }
    for (uint32_t hash = 0; hash < before * after; hash++) {
        seen[hash % before * after + hash % after]++;
        stayed += hash % before == hash % after;
    }
    tap_status(warmring_plan_flows(&from, &to, cells, (size_t)before * after), WARMRING_OK,
               "hash mod %u to mod %u: flows", before, after);
    for (uint32_t i = 0; i < before * after; i++) {
        double error = cells[i] - (double)seen[i] / (before * after);
        sum += cells[i];
        worst = error > worst ? error : -error > worst ? -error : worst;
    }
    tap_near(sum, 1, 1e-15, "they add up to 1");
    tap_near(worst, 0, 2e-9, "they are the rests of all hashes");
    tap_status(warmring_plan_moved(&from, &to, &moved), WARMRING_OK, "moved");
    tap_near(moved, 1 - stayed / (before * after), before * 1e-9, "%.2f %% move", 100 * moved);
    wr_members_free(&from.members);
    wr_members_free(&to.members);
}

static void test_without_points(void) {
    sample_t sample;
    sample_fill(&sample, 40, 1);
    check_rests(&sample, 10, 11);
    check_rests(&sample, 20, 40);
    check_rests(&sample, 12, 8);
    check_rests(&sample, 7, 7);
    check_rests(&sample, 1, 3);

    wr_dialect_t dialect;
    warmring_ring_t modular;
    warmring_plan_flow_t top[3];
    double moved = 0, stayed = 0;
    size_t count = 0;
    make_modular(&modular, &dialect, &sample, 40);
    warmring_ring_t *ring = sample_ring(sample.servers, 40, "v2", 100);
    tap_status(warmring_plan_moved(&modular, ring, &moved), WARMRING_OK, "to a ring with points");
    for (uint32_t hash = 0; hash < 4000000; hash++) {
        uint32_t far_apart = hash * 2654435769u;
        stayed += wr_ring_owner(&modular, far_apart) == wr_ring_owner(ring, far_apart);
    }
    tap_near(moved, 1 - stayed / 4000000, 5 * 0.16 / 2000, "as hashes move");
    tap_status(warmring_plan_largest_flows(ring, &modular, top, 3, &count), WARMRING_OK,
               "and back");
    tap_int((int64_t)count, 3, "with flows");
    wr_members_free(&modular.members);
    warmring_ring_free(ring);
}

/* ---- many servers ---- */

static warmring_ring_t *large_ring(const char *dialect, size_t count, double density) {
    static warmring_server_t servers[LARGE];
    static char hosts[LARGE][SAMPLE_TEXT];
    for (size_t i = 0; i < count; i++) {
        snprintf(hosts[i], SAMPLE_TEXT, "10.1.%zu.%zu", i / 200, i % 200);
        servers[i] = (warmring_server_t){
            .size = sizeof servers[i], .host = hosts[i], .weight = (double)(1 + i % 3)};
    }
    return sample_ring(servers, count, dialect, density);
}

static void check_large(const char *from_dialect, const char *to_dialect, const char *what) {
    warmring_plan_flow_t top[50];
    warmring_ring_t *from = large_ring(from_dialect, LARGE, 40);
    warmring_ring_t *to = large_ring(to_dialect, LARGE - 1, 40);
    double moved = 0, stayed = 0, sum = 0;
    size_t count = 0;
    tap_status(warmring_plan_moved(from, to, &moved), WARMRING_OK, "%s: moved", what);
    if (strcmp(from_dialect, to_dialect) != 0) {
        for (uint32_t i = 0; i < LARGE - 1; i++) {
            stayed += warmring_ring_share(from, i) * warmring_ring_share(to, i);
        }
        tap_near(moved, 1 - stayed, 1e-12, "%s: sum of products", what);
    } else {
        tap_near(moved, warmring_ring_share(from, LARGE - 1), 1e-12, "%s: what the last had", what);
    }
    tap_status(warmring_plan_largest_flows(from, to, top, 50, &count), WARMRING_OK, "%s: flows",
               what);
    tap_int((int64_t)count, 50, "%s: 50 of them", what);
    for (size_t i = 0; i + 1 < count; i++) {
        sum += top[i].part < top[i + 1].part;
    }
    tap_near(sum, 0, 0, "%s: largest first", what);
    warmring_ring_free(from);
    warmring_ring_free(to);
}

/* ---- memory ---- */

static long until_failure, live;

static void *take(size_t size) {
    if (until_failure == 0) {
        return NULL;
    }
    until_failure -= until_failure > 0;
    void *block = malloc(size);
    live += block != NULL;
    return block;
}

static void *retake(void *block, size_t size) {
    if (until_failure == 0) {
        return NULL;
    }
    until_failure -= until_failure > 0;
    live += block == NULL;
    return realloc(block, size);
}

static void give_back(void *block) {
    live -= block != NULL;
    free(block);
}

/* So many pairs that the table grows a few times. */
static void test_memory(void) {
    warmring_plan_flow_t top[5];
    warmring_set_memory_functions(take, retake, give_back);
    until_failure = -1;
    warmring_ring_t *from = large_ring("v2", 300, 20);
    warmring_ring_t *to = large_ring("nginx", 300, 0);
    long before = live, failures = 0;
    warmring_status_t status = WARMRING_OUT_OF_MEMORY;
    for (; status != WARMRING_OK && failures < 100; failures++) {
        size_t count = 3;
        until_failure = failures;
        status = warmring_plan_largest_flows(from, to, top, 5, &count);
        tap_ok(status == WARMRING_OK ? count == 5 : count == 0, "allocation %ld fails", failures);
        tap_ok(status == WARMRING_OK || status == WARMRING_OUT_OF_MEMORY, "with its status");
        tap_int(live, before, "nothing is left");
    }
    tap_ok(failures > 6 && failures < 100, "it works after %ld failures", failures);
    warmring_ring_free(from);
    warmring_ring_free(to);
    tap_int(live, 0, "all is given back");
    warmring_set_memory_functions(NULL, NULL, NULL);
}

int main(void) {
    test_against_matrix();
    test_endpoints();
    test_without_points();
    check_large("v2", "v2", "2,000 servers");
    if (WR_WITH_LIBMEMCACHED) {
        check_large("libmemcached-weighted", "v2", "2,000 servers of two dialects");
    }
    test_memory();
    return tap_done();
}
