/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Previews, against keys located one by one and against sums that must hold.
 */
#include <math.h>
#include <stdlib.h>

#include <warmring/plan.h>

#include "support.h"

/* 200,000 keys: a share is off by less than 0.006 with five standard
 * deviations. */
enum { KEYS = 200000 };
static const double sampled = 0.006;

static warmring_preview_t *make(const warmring_topology_t *now, const warmring_topology_t *next) {
    warmring_preview_t *preview;
    if (warmring_topology_preview(now, next, &preview) != WARMRING_OK) {
        tap_bail("cannot preview: %s", warmring_error_detail());
    }
    return preview;
}

static warmring_preview_server_t row_of(const warmring_preview_t *preview, size_t index) {
    warmring_preview_server_t row = {.size = sizeof row};
    if (warmring_preview_server(preview, index, &row) != WARMRING_OK) {
        tap_bail("no row %zu: %s", index, warmring_error_detail());
    }
    return row;
}

/* What must hold in every preview, exactly but for rounding. */
static void check_sums(const warmring_preview_t *preview, const char *what) {
    double before = 0, after = 0, gained = 0, lost = 0, worst = 0;
    for (size_t i = 0; i < warmring_preview_servers(preview); i++) {
        warmring_preview_server_t row = row_of(preview, i);
        before += row.share_before;
        after += row.share_after;
        gained += row.gained;
        lost += row.lost;
        double balance = fabs(row.share_before - row.lost + row.gained - row.share_after);
        worst = balance > worst ? balance : worst;
    }
    tap_near(before, 1, 1e-12, "%s: shares before", what);
    tap_near(after, 1, 1e-12, "%s: shares after", what);
    tap_near(gained, warmring_preview_moved(preview), 1e-12, "%s: gained in all", what);
    tap_near(lost, warmring_preview_moved(preview), 1e-12, "%s: lost in all", what);
    tap_near(worst, 0, 1e-12, "%s: before - lost + gained = after", what);
}

/* The endpoint of a server as text, so as not to trust any numbering. */
static const char *endpoint_of(const warmring_topology_t *topology, const char *key, size_t length,
                               char *text, size_t size) {
    const warmring_ring_t *ring = warmring_topology_ring(topology, WARMRING_OLD_RING);
    const warmring_server_t *server = warmring_topology_server(
        topology, WARMRING_OLD_RING, warmring_ring_locate(ring, key, length));
    snprintf(text, size, "%s:%u", server->host, server->port != 0 ? server->port : 11211u);
    return text;
}

typedef struct {
    const char *endpoint;
    const char *label;
    int before, after, gained, lost;
} count_t;

static count_t *find(count_t *counts, const char *endpoint) {
    while (counts->endpoint != NULL && strcmp(counts->endpoint, endpoint) != 0) {
        counts++;
    }
    if (counts->endpoint == NULL) {
        tap_bail("endpoint %s is not expected", endpoint);
    }
    return counts;
}

/* `counts` are the endpoints in the order of the preview, ended by NULL. */
static void check_by_keys(const warmring_topology_t *from, const warmring_topology_t *to,
                          count_t *counts, const char *what) {
    warmring_preview_t *preview = make(from, to);
    int moved = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[24], a[64], b[64];
        size_t length = (size_t)snprintf(key, sizeof key, "user:%d", i);
        endpoint_of(from, key, length, a, sizeof a);
        endpoint_of(to, key, length, b, sizeof b);
        find(counts, a)->before++;
        find(counts, b)->after++;
        if (strcmp(a, b) != 0) {
            find(counts, a)->lost++;
            find(counts, b)->gained++;
            moved++;
        }
    }
    check_sums(preview, what);
    tap_near(warmring_preview_moved(preview), moved / (double)KEYS, sampled, "%s: moved", what);
    size_t index = 0;
    for (; counts[index].endpoint != NULL; index++) {
        const count_t *count = &counts[index];
        warmring_preview_server_t row = row_of(preview, index);
        tap_string(row.label, count->label, "%s: label %zu", what, index);
        tap_near(row.share_before, count->before / (double)KEYS, sampled, "%s: share of %s before",
                 what, row.label);
        tap_near(row.share_after, count->after / (double)KEYS, sampled, "%s: share of %s after",
                 what, row.label);
        tap_near(row.gained, count->gained / (double)KEYS, sampled, "%s: gained by %s", what,
                 row.label);
        tap_near(row.lost, count->lost / (double)KEYS, sampled, "%s: lost by %s", what, row.label);
    }
    tap_int((int64_t)warmring_preview_servers(preview), (int64_t)index, "%s: endpoints", what);
    warmring_preview_free(preview);
}

static void test_by_keys(void) {
    warmring_topology_t *from = parse_as("a=h1,b=h2:2:2,c=h3", NULL, 40);
    warmring_topology_t *to = parse_as("d=h4,x=h2:2,a=h1:11211:3,b=h5", NULL, 40);
    warmring_topology_t *other = parse_as("h3,h1:11211:2,h6:6", "libmemcached-weighted", 0);
    count_t changed[] = {
        {.endpoint = "h1:11211", .label = "a"},        {.endpoint = "h2:2", .label = "b"},
        {.endpoint = "h3:11211", .label = "c"},        {.endpoint = "h4:11211", .label = "d"},
        {.endpoint = "h5:11211", .label = "h5:11211"}, {0}};
    count_t imported[] = {{.endpoint = "h3:11211", .label = "h3:11211"},
                          {.endpoint = "h1:11211", .label = "h1:11211"},
                          {.endpoint = "h6:6", .label = "h6:6"},
                          {.endpoint = "h2:2", .label = "b"},
                          {0}};
    check_by_keys(from, to, changed, "one dialect");
    check_by_keys(other, from, imported, "two dialects");
    warmring_topology_release(from);
    warmring_topology_release(to);
    warmring_topology_release(other);
}

/* Against the planner's own number, which is exact. */
static void test_exact(void) {
    warmring_topology_t *from = parse("a=h1,b=h2,c=h3"), *to = parse("a=h1:1,b=h2,c=h3:11211:1.5");
    double moved;
    if (warmring_plan_moved(warmring_topology_ring(from, WARMRING_OLD_RING),
                            warmring_topology_ring(to, WARMRING_OLD_RING), &moved) != WARMRING_OK) {
        tap_bail("cannot plan: %s", warmring_error_detail());
    }
    warmring_preview_t *preview = make(from, to);
    tap_near(warmring_preview_moved(preview), moved, 0, "moved is what the planner says");
    for (uint32_t i = 0; i < 3; i++) {
        tap_near(row_of(preview, i).share_before,
                 warmring_ring_share(warmring_topology_ring(from, WARMRING_OLD_RING), i), 0,
                 "share %u", i);
    }
    warmring_preview_free(preview);
    warmring_topology_release(from);
    warmring_topology_release(to);
}

static void test_drained_and_unknown(void) {
    warmring_topology_t *from = parse("a=h1,b=h2"), *to;
    if (warmring_topology_set_weight(from, "b", 0, &to) != WARMRING_OK) {
        tap_bail("cannot drain: %s", warmring_error_detail());
    }
    warmring_preview_t *preview = make(from, to);
    warmring_preview_server_t b = row_of(preview, 1);
    tap_near(b.share_after, 0, 0, "a drained server has no share");
    tap_near(b.lost, b.share_before, 0, "and loses all it had");
    tap_near(warmring_preview_moved(preview), b.share_before, 0, "nothing else moves");
    tap_near(row_of(preview, 0).lost, 0, 0, "the other loses nothing");
    warmring_preview_server_t row = {.size = sizeof row};
    tap_status(warmring_preview_server(preview, 2, &row), WARMRING_BAD_ARGUMENT, "no endpoint 2");
    row.size = 8;
    tap_status(warmring_preview_server(preview, 0, &row), WARMRING_BAD_ARGUMENT, "a short struct");
    warmring_topology_release(from);
    warmring_topology_release(to);
    tap_string(row_of(preview, 1).label, "b", "labels outlive the topologies");
    warmring_preview_free(preview);
    warmring_preview_free(NULL);
}

/* Which two rings a preview is about, by phase. */
static void check_moves(const warmring_topology_t *now, const warmring_topology_t *next,
                        double moved, const char *what) {
    warmring_preview_t *preview = make(now, next);
    tap_near(warmring_preview_moved(preview), moved, 0, "%s", what);
    check_sums(preview, what);
    warmring_preview_free(preview);
}

static void test_phases(void) {
    warmring_topology_t *from = parse("a=h1"), *to = parse("b=h2"), *third = parse("a=h1");
    warmring_topology_t *prepared = in_phase(from, to, WARMRING_PREPARED);
    warmring_topology_t *warming = in_phase(from, to, WARMRING_WARMING);
    warmring_topology_t *settling = in_phase(from, to, WARMRING_SETTLING);
    warmring_topology_t *back = stepped(warmring_topology_retain(prepared), WARMRING_ROLLBACK);
    warmring_topology_t *end = stepped(warmring_topology_retain(settling), WARMRING_FINISH);
    check_moves(from, to, 1, "a cold flip moves all");
    check_moves(from, third, 0, "an equal ring moves nothing");
    check_moves(from, prepared, 1, "beginning a migration");
    check_moves(prepared, warming, 1, "inside a migration: from its old to its new ring");
    check_moves(warming, prepared, 1, "and back, the same");
    warmring_topology_t *draining = in_phase(from, to, WARMRING_DRAINING);
    warmring_topology_t *undone = stepped(warmring_topology_retain(draining), WARMRING_ROLLBACK);
    check_moves(draining, undone, 1, "and from DRAINING too");
    check_moves(draining, to, 0, "DRAINING serves from the new ring");
    warmring_topology_release(draining);
    warmring_topology_release(undone);
    check_moves(prepared, back, 0, "rolling back moves nothing");
    check_moves(settling, end, 0, "ending on the new ring moves nothing");
    check_moves(settling, from, 1, "from SETTLING to the old ring all would move");
    check_moves(warming, end, 1, "from WARMING to the new ring all would move");
    warmring_topology_t *const all[] = {from, to, third, prepared, warming, settling, back, end};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        warmring_topology_release(all[i]);
    }
}

/* Two thousand servers: no matrix of them all is built, and sums hold. */
static void test_many(void) {
    enum { SERVERS = 2000, LINE = 32 };
    char *text = malloc((size_t)SERVERS * LINE);
    size_t used = 0;
    for (int i = 0; i < SERVERS; i++) {
        used += (size_t)snprintf(text + used, LINE, "s%d=10.0.%d.%d ", i, i / 250, i % 250);
    }
    warmring_topology_t *from = parse_as(text, NULL, 100), *to;
    free(text);
    if (warmring_topology_set_weight(from, "s77", 3, &to) != WARMRING_OK) {
        tap_bail("cannot edit: %s", warmring_error_detail());
    }
    warmring_preview_t *preview = make(from, to);
    check_sums(preview, "2,000 servers");
    warmring_preview_server_t heavy = row_of(preview, 77);
    tap_string(heavy.label, "s77", "2,000 servers: label");
    tap_near(heavy.gained, warmring_preview_moved(preview), 0, "2,000 servers: one gains all");
    tap_near(heavy.lost, 0, 0, "2,000 servers: and loses nothing");
    warmring_preview_free(preview);
    warmring_topology_release(from);
    warmring_topology_release(to);
}

int main(void) {
    test_by_keys();
    test_exact();
    test_drained_and_unknown();
    test_phases();
    test_many();
    return tap_done();
}
