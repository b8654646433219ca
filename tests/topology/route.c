/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routing: the steps of every phase, kind, and sort of key, against a table
 * written down here on its own; which keys are moved, and which rolled in.
 */
#include "topology/route.h"

#include <stdlib.h>

#include "support.h"

enum { PHASES = WARMRING_SETTLING + 1 };

/* As words: "run O, erase N". Columns: store, erase, modify, read of a key
 * that is not rolled in, read of one that is. */
static const char *const expected[PHASES][5] = {
    [WARMRING_STABLE] = {"run O", "run O", "run O", "run O", "run O"},
    [WARMRING_PREPARED] = {"run O, erase N", "run O, run N", "run O, erase N", "run O", "run O"},
    [WARMRING_WARMING] = {"run O, erase N", "run O, run N", "run O, erase N", "run O",
                          "filter N, fill O"},
    [WARMRING_HANDOVER] = {"erase O, erase N", "run O, run N", "refuse", "filter N, fill O",
                           "filter N, fill O"},
    [WARMRING_DRAINING] = {"erase O, run N", "run O, run N", "promote O, bind N",
                           "filter N, fill O", "filter N, fill O"},
    [WARMRING_CLOSING] = {"erase O, run N", "run O, run N", "erase O, bind N", "filter N",
                          "filter N"},
    [WARMRING_SETTLING] = {"run N", "run N", "bind N", "filter N", "filter N"},
};

static const struct {
    wr_kind_t kind;
    const char *name;
    size_t column;    /* of keys that are not rolled in */
    size_t rolled_in; /* of those that are */
} kinds[WR_KINDS] = {
    {WR_KIND_STORE, "store", 0, 0},
    {WR_KIND_ERASE, "erase", 1, 1},
    {WR_KIND_MODIFY, "modify", 2, 2},
    {WR_KIND_READ, "read", 3, 4},
};

static const char *words(const wr_steps_t *steps) {
    static const char *const actions[] = {"",     "run",     "erase", "filter",
                                          "fill", "promote", "bind",  "refuse"};
    static char text[64];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < WR_STEPS && steps->step[i].action != WR_STEP_NONE; i++) {
        const char *side = steps->step[i].action == WR_STEP_REFUSE             ? ""
                           : steps->step[i].side == (uint8_t)WARMRING_OLD_RING ? " O"
                                                                               : " N";
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s", i > 0 ? ", " : "",
                                 actions[steps->step[i].action], side);
    }
    return text;
}

static wr_place_t place_of(const char *key) {
    return (wr_place_t){.bytes = key, .length = strlen(key)};
}

static wr_route_t route_of(const warmring_topology_t *topology, const char *key, wr_kind_t kind,
                           uint32_t rollout) {
    wr_place_t place = place_of(key);
    return wr_route(topology, &place, kind, rollout);
}

/* The first key with that property. */
static const char *find_key(const warmring_topology_t *topology, bool moved) {
    static char keys[2][16];
    char *key = keys[moved];
    for (int i = 0;; i++) {
        int length = snprintf(key, sizeof keys[0], "key:%d", i);
        if (warmring_topology_moved(topology, key, (size_t)length) == moved) {
            return key;
        }
    }
}

static void check_cells(const warmring_topology_t *topology, const char *key, bool moved) {
    warmring_phase_t phase = warmring_topology_phase(topology);
    for (size_t i = 0; i < WR_KINDS; i++) {
        for (uint32_t rollout = 0; rollout <= WARMRING_ROLLOUT_ALL;
             rollout += WARMRING_ROLLOUT_ALL) {
            wr_route_t route = route_of(topology, key, kinds[i].kind, rollout);
            size_t column = rollout > 0 ? kinds[i].rolled_in : kinds[i].column;
            tap_string(words(route.steps), moved ? expected[phase][column] : "run O",
                       "%s: %s of a key %s, rollout %u", warmring_phase_name(phase), kinds[i].name,
                       moved ? "that moves" : "that stays", (unsigned)rollout);
            tap_int(route.moved, moved, "moved");
        }
    }
}

/* The bare rule, whatever the table says: a mutation touches O before N. */
static void check_order(const wr_steps_t *steps, const char *what) {
    bool second_is_old =
        steps->step[1].action != WR_STEP_NONE && steps->step[1].side == (uint8_t)WARMRING_OLD_RING;
    tap_ok(!second_is_old, "%s: O before N", what);
}

static void test_table(void) {
    warmring_topology_t *from = parse("a=h1,b=h2,c=h3"), *to = parse("a=h1,b=h2,c=h3,d=h4");
    for (int phase = WARMRING_STABLE; phase < PHASES; phase++) {
        warmring_topology_t *topology = phase == WARMRING_STABLE
                                            ? warmring_topology_retain(from)
                                            : in_phase(from, to, (warmring_phase_t)phase);
        if (phase != WARMRING_STABLE) {
            const char *key = find_key(topology, true);
            check_cells(topology, key, true);
            for (size_t i = 0; i < 3; i++) { /* all but reads */
                check_order(route_of(topology, key, kinds[i].kind, 0).steps, kinds[i].name);
            }
        }
        check_cells(topology, find_key(topology, false), false);
        warmring_topology_release(topology);
    }
    warmring_topology_release(from);
    warmring_topology_release(to);
}

/* Owners against the public rings, key by key, on rings that hash alike and
 * on rings that do not. */
static void check_owners_of(warmring_topology_t *from, warmring_topology_t *to, const char *what) {
    enum { KEYS = 5000 };
    warmring_topology_t *topology = begin(from, to);
    int wrong = 0, moved = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        size_t length = (size_t)snprintf(key, sizeof key, "key:%d", i);
        wr_route_t route = route_of(topology, key, WR_KIND_READ, 0);
        uint32_t owner[2];
        const wr_endpoint_t *endpoint[2];
        bool right = true;
        for (int side = 0; side < 2; side++) {
            const warmring_ring_t *ring = warmring_topology_ring(topology, (warmring_side_t)side);
            owner[side] = warmring_ring_locate(ring, key, length);
            endpoint[side] = wr_topology_endpoint(topology, route.owner[side]);
            const warmring_server_t *server =
                warmring_topology_server(topology, (warmring_side_t)side, owner[side]);
            right = right && strcmp(endpoint[side]->host, server->host) == 0 &&
                    endpoint[side]->on_side[side];
        }
        bool differ = strcmp(endpoint[0]->host, endpoint[1]->host) != 0;
        wrong += !right || route.moved != differ ||
                 warmring_topology_moved(topology, key, length) != differ;
        moved += differ;
    }
    tap_int(wrong, 0, "%s: owners and moved keys", what);
    tap_ok(moved > 0 && moved < KEYS, "%s: some keys move, some do not", what);
    warmring_topology_release(topology);
    warmring_topology_release(from);
    warmring_topology_release(to);
}

static void check_owners(const char *before, const char *after, const char *dialect) {
    check_owners_of(parse(before), parse_as(after, dialect, 0), dialect != NULL ? dialect : "v2");
}

/* `count` servers from number `first` on, all of them on other hosts than those
 * of other numbers. */
static warmring_topology_t *many(unsigned first, unsigned count, double points) {
    char *text = malloc(count * 16 + 1);
    if (text == NULL) {
        tap_bail("no memory");
    }
    for (unsigned i = 0, used = 0; i < count; i++) {
        used += (unsigned)snprintf(text + used, 16, "%sh%u", i > 0 ? "," : "", first + i);
    }
    warmring_topology_t *topology = parse_as(text, NULL, points);
    free(text);
    return topology;
}

/* Where both rings are asked by one search, and where that would take more
 * pairs of servers, or more points, than it is worth. */
static void test_sizes(void) {
    check_owners_of(many(0, 100, 100), many(50, 100, 100), "all but some pairs");
    check_owners_of(many(0, 500, 300), many(1, 600, 250), "more pairs than servers may be");
    check_owners_of(many(0, 3, 400000), many(1, 3, 400000), "2.4 million points");
}

/* Moved is about endpoints: names and the way a port is written are not. */
static void test_renamed(void) {
    enum { KEYS = 2000 };
    warmring_topology_t *from = parse("a=h1,b=h2:11211"), *to = parse("b=h2,a=h1:11211");
    warmring_topology_t *same = begin(from, to);
    int moved = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        moved += warmring_topology_moved(same, key, (size_t)snprintf(key, sizeof key, "key:%d", i));
    }
    tap_int(moved, 0, "another order and a port written out move nothing");
    tap_int(wr_topology_endpoints(same), 2, "two endpoints");
    warmring_topology_release(same);
    warmring_topology_release(to);

    to = parse("a=h2,b=h1"); /* the names change places: all keys do */
    same = begin(from, to);
    for (int i = moved = 0; i < KEYS; i++) {
        char key[16];
        moved += warmring_topology_moved(same, key, (size_t)snprintf(key, sizeof key, "key:%d", i));
    }
    tap_int(moved, KEYS, "names that change endpoints move everything");
    warmring_topology_release(same);
    warmring_topology_release(from);
    warmring_topology_release(to);
}

static void check_endpoint(const warmring_topology_t *topology, uint32_t index, const char *host,
                           uint16_t port, const char *label, bool on_old, bool on_new) {
    const wr_endpoint_t *endpoint = wr_topology_endpoint(topology, index);
    tap_string(endpoint->host, host, "endpoint %u: host", index);
    tap_int(endpoint->port, port, "endpoint %u: port", index);
    tap_string(endpoint->label, label, "endpoint %u: label", index);
    tap_int(endpoint->on_side[WARMRING_OLD_RING], on_old, "endpoint %u: on the old ring", index);
    tap_int(endpoint->on_side[WARMRING_NEW_RING], on_new, "endpoint %u: on the new ring", index);
}

static void test_endpoints(void) {
    warmring_topology_t *from = parse("a=h1,h2,unix:/p,gone=h4:4");
    warmring_topology_t *to = parse("x=unix:/p,new=[::5],renamed=h2:11211,a=h6:6");
    warmring_topology_t *topology = begin(from, to);
    tap_int(wr_topology_endpoints(from), 4, "endpoints of one ring");
    tap_int(wr_topology_endpoints(topology), 6, "endpoints of both");
    check_endpoint(topology, 0, "h1", 11211, "a", true, false);
    check_endpoint(topology, 1, "h2", 11211, "h2:11211", true, true);
    check_endpoint(topology, 2, "/p", 0, "unix:/p", true, true);
    check_endpoint(topology, 3, "h4", 4, "gone", true, false);
    check_endpoint(topology, 4, "::5", 11211, "new", false, true);
    check_endpoint(topology, 5, "h6", 6, "h6:6", false, true);
    check_endpoint(from, 3, "h4", 4, "gone", true, false);
    warmring_topology_release(topology);
    warmring_topology_release(from);
    warmring_topology_release(to);
}

/* Monotone in the rollout, and as many as it says. */
static void test_rollout(void) {
    enum { KEYS = 40000 };
    static const uint32_t rollouts[] = {0, 1, 100, 1000, 5000, 9999, 10000};
    warmring_topology_t *from = parse("a=h1"), *to = parse("a=h2");
    warmring_topology_t *topology = in_phase(from, to, WARMRING_WARMING);
    int in[7] = {0}, backwards = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        snprintf(key, sizeof key, "key:%d", i);
        bool before = false;
        for (size_t k = 0; k < 7; k++) {
            wr_route_t route = route_of(topology, key, WR_KIND_READ, rollouts[k]);
            bool now = route.steps->step[0].side == (uint8_t)WARMRING_NEW_RING;
            in[k] += now;
            backwards += before && !now;
            before = now;
        }
    }
    tap_int(backwards, 0, "a key that is in stays in when the rollout rises");
    tap_int(in[0], 0, "none at 0");
    tap_int(in[6], KEYS, "all at 10,000");
    for (size_t k = 1; k < 6; k++) {
        double share = rollouts[k] / 10000.0;
        /* five standard deviations of a binomial share */
        double tolerance = 5 * 0.5 / 200 * (share * (1 - share) > 0.01 ? 1 : 0.25);
        tap_near(in[k] / (double)KEYS, share, tolerance, "share at %u", (unsigned)rollouts[k]);
    }
    warmring_topology_release(topology);
    warmring_topology_release(from);
    warmring_topology_release(to);
}

/* Which keys are in depends on the migration: the same in two processes that
 * begin it alike, drawn anew by the next attempt. */
static void test_seed(void) {
    enum { KEYS = 1000 };
    warmring_topology_t *from = parse("a=h1"), *to = parse("a=h2"), *from_again = parse("a=h1");
    warmring_topology_t *first = in_phase(from, to, WARMRING_WARMING);
    warmring_topology_t *twin = in_phase(from_again, to, WARMRING_WARMING);
    warmring_topology_t *rolled_back =
        stepped(stepped(warmring_topology_retain(first), WARMRING_ROLLBACK), WARMRING_ROLLBACK);
    warmring_topology_t *second = in_phase(rolled_back, to, WARMRING_WARMING);
    int twins_differ = 0, attempts_differ = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        snprintf(key, sizeof key, "key:%d", i);
        wr_place_t place = place_of(key);
        const wr_steps_t *steps = wr_route(first, &place, WR_KIND_READ, 5000).steps;
        twins_differ += steps != wr_route(twin, &place, WR_KIND_READ, 5000).steps;
        attempts_differ += steps != wr_route(second, &place, WR_KIND_READ, 5000).steps;
    }
    tap_int(twins_differ, 0, "two processes roll the same keys in");
    tap_ok(wr_topology_same_migration(first, twin), "and are in the same migration");
    tap_near(attempts_differ / (double)KEYS, 0.5, 0.1, "another attempt rolls other keys in");
    tap_ok(!wr_topology_same_migration(first, second), "and is another migration");
    warmring_topology_release(first);
    warmring_topology_release(twin);
    warmring_topology_release(rolled_back);
    warmring_topology_release(second);
    warmring_topology_release(from);
    warmring_topology_release(from_again);
    warmring_topology_release(to);
}

/* The hash of the rollout is not the ring's: keys of one arc are not in or
 * out together. Of all keys that one server takes over, half are in. */
static void test_rollout_is_independent(void) {
    enum { KEYS = 40000 };
    warmring_topology_t *from = parse_as("a=h1,b=h2,c=h3", NULL, 4);
    warmring_topology_t *to = parse_as("a=h1,b=h2,c=h3,d=h4", NULL, 4);
    warmring_topology_t *topology = in_phase(from, to, WARMRING_WARMING);
    int moved = 0, in = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        snprintf(key, sizeof key, "key:%d", i);
        wr_route_t route = route_of(topology, key, WR_KIND_READ, 5000);
        moved += route.moved;
        in += route.moved && route.steps->step[0].side == (uint8_t)WARMRING_NEW_RING;
    }
    tap_ok(moved > 1000, "%d keys move", moved);
    tap_near(in / (double)moved, 0.5, 0.06, "half of them are in at 5,000");
    warmring_topology_release(topology);
    warmring_topology_release(from);
    warmring_topology_release(to);
}

/* The prefix is part of what v2 hashes and of what the rollout hashes; a
 * group goes where a key of that text would. */
static void test_prefix(void) {
    warmring_topology_t *from = parse("a=h1,b=h2,c=h3"), *to = parse("a=h1,b=h2,c=h3,d=h4");
    warmring_topology_t *topology = in_phase(from, to, WARMRING_WARMING);
    int differ = 0;
    for (int i = 0; i < 1000; i++) {
        char key[24];
        snprintf(key, sizeof key, "site:key:%d", i);
        wr_place_t plain = place_of(key), prefixed = plain;
        prefixed.prefix_length = 5;
        wr_route_t a = wr_route(topology, &plain, WR_KIND_READ, 5000);
        wr_route_t b = wr_route(topology, &prefixed, WR_KIND_READ, 5000);
        differ += a.steps != b.steps || a.owner[0] != b.owner[0] || a.owner[1] != b.owner[1];
    }
    tap_int(differ, 0, "v2 hashes the prefix with the key");
    warmring_topology_release(topology);
    warmring_topology_release(from);
    warmring_topology_release(to);
}

int main(void) {
    test_table();
    check_owners("h1,h2,h3", "h2,h3,h4", NULL);
    check_owners("h1,h2,h3", "h4,h3,h1:11211", "nginx");
    check_owners("h1,h2,h3", "h2,h3,h4", "libmemcached-weighted");
    test_sizes();
    test_renamed();
    test_endpoints();
    test_rollout();
    test_seed();
    test_rollout_is_independent();
    test_prefix();
    return tap_done();
}
