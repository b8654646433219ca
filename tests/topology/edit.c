/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edits: what each changes, what it leaves alone, and what it refuses.
 */
#include <math.h>

#include "support.h"

static const char *const servers = "a=h1:1:2,h2,unix:/p:3,b=[::4]:4";

/* The list in one line: LABEL HOST PORT WEIGHT; ... */
static const char *describe(const warmring_topology_t *topology, warmring_side_t side) {
    static char text[1024];
    size_t used = 0;
    const warmring_server_t *server;
    text[0] = '\0';
    for (size_t i = 0; (server = warmring_topology_server(topology, side, i)) != NULL; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s %u %g",
                                 i > 0 ? "; " : "", warmring_topology_label(topology, side, i),
                                 server->host, (unsigned)server->port, server->weight);
    }
    return text;
}

static void check_result(warmring_topology_t *before, warmring_topology_t *after,
                         const char *expected, const char *what) {
    if (!tap_ok(after != NULL, "%s: %s", what, warmring_error_detail())) {
        return;
    }
    tap_string(describe(after, WARMRING_OLD_RING), expected, "%s: list", what);
    tap_int((int64_t)warmring_topology_epoch(after), (int64_t)warmring_topology_epoch(before) + 1,
            "%s: epoch", what);
    tap_int(warmring_topology_phase(after), WARMRING_STABLE, "%s: phase", what);
    tap_string(describe(before, WARMRING_OLD_RING),
               "a h1 1 2; h2:11211 h2 0 1; unix:/p /p 0 3; b ::4 4 1", "%s: argument", what);
    warmring_topology_release(after);
}

static void test_edits(warmring_topology_t *topology) {
    warmring_topology_t *after;
    tap_status(warmring_topology_set_weight(topology, "a", 0.5, &after), WARMRING_OK, "weight");
    check_result(topology, after, "a h1 1 0.5; h2:11211 h2 0 1; unix:/p /p 0 3; b ::4 4 1",
                 "set_weight by name");
    tap_status(warmring_topology_set_weight(topology, "h2:11211", 0, &after), WARMRING_OK,
               "weight 0");
    check_result(topology, after, "a h1 1 2; h2:11211 h2 0 0; unix:/p /p 0 3; b ::4 4 1",
                 "set_weight by label");
    tap_status(warmring_topology_add_server(topology, "c=h5:5:5", &after), WARMRING_OK, "add");
    check_result(topology, after, "a h1 1 2; h2:11211 h2 0 1; unix:/p /p 0 3; b ::4 4 1; c h5 5 5",
                 "add_server");
    tap_status(warmring_topology_remove_server(topology, "a", &after), WARMRING_OK, "remove");
    check_result(topology, after, "h2:11211 h2 0 1; unix:/p /p 0 3; b ::4 4 1",
                 "remove_server, the first");
    tap_status(warmring_topology_remove_server(topology, "unix:/p", &after), WARMRING_OK, "remove");
    check_result(topology, after, "a h1 1 2; h2:11211 h2 0 1; b ::4 4 1",
                 "remove_server, in the middle");
    tap_status(warmring_topology_remove_server(topology, "b", &after), WARMRING_OK, "remove");
    check_result(topology, after, "a h1 1 2; h2:11211 h2 0 1; unix:/p /p 0 3",
                 "remove_server, the last");
    tap_status(warmring_topology_set_address(topology, "a", "[::9]:9", &after), WARMRING_OK,
               "address");
    check_result(topology, after, "a ::9 9 2; h2:11211 h2 0 1; unix:/p /p 0 3; b ::4 4 1",
                 "set_address of a named server");
    tap_status(warmring_topology_set_address(topology, "h2:11211", "unix:/q", &after), WARMRING_OK,
               "address");
    check_result(topology, after, "a h1 1 2; unix:/q /q 0 1; unix:/p /p 0 3; b ::4 4 1",
                 "set_address of an unnamed server");
    tap_status(warmring_topology_set_address(topology, "unix:/p", "h3", &after), WARMRING_OK,
               "address");
    check_result(topology, after, "a h1 1 2; h2:11211 h2 0 1; h3:11211 h3 0 3; b ::4 4 1",
                 "set_address to a host without a port");
    warmring_topology_t *target = parse_as("x=h7,y=h8:8", "nginx", 0);
    tap_status(warmring_topology_replace(topology, target, &after), WARMRING_OK, "replace");
    warmring_topology_release(target);
    tap_string(warmring_ring_dialect(warmring_topology_ring(after, WARMRING_OLD_RING)), "nginx",
               "replace takes the ring as it is");
    check_result(topology, after, "x h7 0 1; y h8 8 1", "replace");
}

/* An edit keeps dialect, density and the limit of points. */
static void test_options_stay(void) {
    warmring_server_t list[] = {{.size = sizeof list[0], .name = "a", .host = "h", .weight = 1},
                                {.size = sizeof list[0], .name = "b", .host = "i", .weight = 1}};
    warmring_ring_options_t options = {
        .size = sizeof options, .points_per_weight = 30, .max_points = 100};
    warmring_topology_t *topology, *after;
    if (warmring_topology_create(&topology, list, 2, &options) != WARMRING_OK) {
        tap_bail("cannot create: %s", warmring_error_detail());
    }
    tap_status(warmring_topology_set_weight(topology, "a", 2, &after), WARMRING_OK, "90 points");
    const warmring_ring_t *ring = warmring_topology_ring(after, WARMRING_OLD_RING);
    tap_int((int64_t)warmring_ring_server_points(ring, 0), 60, "density stays");
    warmring_topology_release(after);
    tap_status(warmring_topology_set_weight(topology, "a", 3, &after), WARMRING_LIMIT_EXCEEDED,
               "120 points are too many");
    tap_ok(after == NULL, "120 points: no topology");
    warmring_topology_release(topology);

    topology = parse_as("a=h1,b=h2", "nginx", 0);
    tap_status(warmring_topology_add_server(topology, "c=h3:1:2", &after), WARMRING_OK, "nginx");
    ring = warmring_topology_ring(after, WARMRING_OLD_RING);
    tap_string(warmring_ring_dialect(ring), "nginx", "dialect stays");
    tap_int((int64_t)warmring_ring_server_points(ring, 2), 320, "and its number of points");
    warmring_topology_release(after);
    warmring_topology_release(topology);
}

/* Only the server whose weight changes gains or loses keys, and a named
 * server takes its keys along to another address. */
static void test_what_moves(void) {
    enum { KEYS = 20000 };
    warmring_topology_t *topology = parse("a=h1,b=h2,c=h3");
    warmring_topology_t *heavier, *elsewhere;
    if (warmring_topology_set_weight(topology, "b", 1.5, &heavier) != WARMRING_OK ||
        warmring_topology_set_address(topology, "b", "h9:9", &elsewhere) != WARMRING_OK) {
        tap_bail("cannot edit: %s", warmring_error_detail());
    }
    int others = 0, gained = 0, renumbered = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        size_t length = (size_t)snprintf(key, sizeof key, "key:%d", i);
        uint32_t before =
            warmring_ring_locate(warmring_topology_ring(topology, WARMRING_OLD_RING), key, length);
        uint32_t after =
            warmring_ring_locate(warmring_topology_ring(heavier, WARMRING_OLD_RING), key, length);
        uint32_t there =
            warmring_ring_locate(warmring_topology_ring(elsewhere, WARMRING_OLD_RING), key, length);
        gained += before != after && after == 1;
        others += before != after && after != 1;
        renumbered += before != there;
    }
    tap_int(others, 0, "no key moves between the other servers");
    tap_near(gained / (double)KEYS, 1.5 / 3.5 - 1.0 / 3, 0.03, "the heavier server gains");
    tap_int(renumbered, 0, "a new address of a named server moves no position");
    warmring_topology_release(topology);
    warmring_topology_release(heavier);
    warmring_topology_release(elsewhere);
}

typedef warmring_status_t (*edit_t)(const warmring_topology_t *topology, const char *argument,
                                    warmring_topology_t **result);

static warmring_status_t weigh(const warmring_topology_t *topology, const char *name,
                               warmring_topology_t **result) {
    return warmring_topology_set_weight(topology, name, 2, result);
}

static warmring_status_t weigh_a(const warmring_topology_t *topology, const char *weight,
                                 warmring_topology_t **result) {
    double number = strcmp(weight, "nan") == 0   ? (double)NAN
                    : strcmp(weight, "inf") == 0 ? (double)INFINITY
                                                 : -1;
    return warmring_topology_set_weight(topology, "a", number, result);
}

static warmring_status_t move(const warmring_topology_t *topology, const char *name,
                              warmring_topology_t **result) {
    return warmring_topology_set_address(topology, name, "h99", result);
}

static warmring_status_t move_a(const warmring_topology_t *topology, const char *address,
                                warmring_topology_t **result) {
    return warmring_topology_set_address(topology, "a", address, result);
}

static const struct {
    edit_t edit;
    const char *argument;
    warmring_status_t status;
    const char *text[2]; /* pieces of the detail text */
} refusals[] = {
    {weigh, "nobody", WARMRING_BAD_ARGUMENT, {"\"nobody\"", "a, h2:11211, unix:/p, b"}},
    {weigh, "h1:1", WARMRING_BAD_ARGUMENT, {"\"h1:1\"", "a, h2:11211"}},
    {weigh, "h2", WARMRING_BAD_ARGUMENT, {"\"h2\"", "h2:11211"}},
    {weigh, "", WARMRING_BAD_ARGUMENT, {"\"\"", "there are"}},
    {weigh_a, "-1", WARMRING_BAD_SERVER, {"weight -1", "\"h1:1\""}},
    {weigh_a, "nan", WARMRING_BAD_SERVER, {"nan", "weight"}},
    {weigh_a, "inf", WARMRING_BAD_SERVER, {"inf", "weight"}},
    {warmring_topology_remove_server, "c", WARMRING_BAD_ARGUMENT, {"\"c\"", "b"}},
    {move, "c", WARMRING_BAD_ARGUMENT, {"\"c\"", "b"}},
    {move_a, "h2", WARMRING_BAD_SERVER, {"\"h2:11211\"", "twice"}},
    {move_a, "h5:5:5", WARMRING_BAD_SERVER, {"\":5\"", "unexpected"}},
    {move_a, "[::5]:5:5", WARMRING_BAD_SERVER, {"\":5\"", "unexpected"}},
    {move_a, "unix:/p:5", WARMRING_BAD_SERVER, {"\":5\"", "unexpected"}},
    {move_a, "x=h5", WARMRING_BAD_SERVER, {"\"x=h5\"", "host"}},
    {move_a, "h5 ", WARMRING_BAD_SERVER, {"\"h5 \"", "host"}},
    {move_a, "h5,h6", WARMRING_BAD_SERVER, {"\"h5,h6\"", "host"}},
    {move_a, "--SERVER=h5", WARMRING_BAD_SERVER, {"\"--SERVER=h5\"", "host"}},
    {move_a, "", WARMRING_BAD_SERVER, {"\"\"", "empty"}},
    {move_a, "unix:/p q", WARMRING_BAD_SERVER, {"/p q", "blank"}},
    {warmring_topology_add_server, "a=h9", WARMRING_BAD_SERVER, {"\"a\"", "twice"}},
    {warmring_topology_add_server, "h1:1", WARMRING_BAD_SERVER, {"\"h1:1\"", "twice"}},
    {warmring_topology_add_server, "h2:11211", WARMRING_BAD_SERVER, {"\"h2:11211\"", "twice"}},
    {warmring_topology_add_server, "h8,h9", WARMRING_BAD_SERVER, {"\"h8,h9\"", "more than one"}},
    {warmring_topology_add_server, "h9:70000", WARMRING_BAD_SERVER, {"\"70000\"", "port"}},
    {warmring_topology_add_server, "", WARMRING_BAD_SERVER, {"empty", "servers"}},
};

static void test_refusals(const warmring_topology_t *topology) {
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        warmring_topology_t *after = (void *)&after;
        tap_status(refusals[i].edit(topology, refusals[i].argument, &after), refusals[i].status,
                   "refusal %zu", i);
        tap_ok(after == NULL, "refusal %zu: no topology", i);
        for (size_t k = 0; k < 2; k++) {
            tap_contains(warmring_error_detail(), refusals[i].text[k], "refusal %zu: text", i);
        }
    }
}

static void test_long_texts(void) {
    char text[4096], name[301];
    size_t used = 0;
    for (int i = 0; i < 200; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "host-%d,", i);
    }
    warmring_topology_t *topology = parse_as(text, NULL, 1), *after;
    memset(name, 'x', 300);
    name[300] = '\0';
    tap_status(warmring_topology_remove_server(topology, name, &after), WARMRING_BAD_ARGUMENT,
               "a name of 300 bytes in a list of 200");
    tap_ok(strstr(warmring_error_detail(), "there are") == NULL, "a long list is not listed");
    memset(name, 'x', 100);
    strcpy(name + 100, "...");
    tap_contains(warmring_error_detail(), name, "a long name is cut");
    warmring_topology_release(topology);

    topology = parse("only=h");
    tap_status(warmring_topology_remove_server(topology, "only", &after), WARMRING_BAD_SERVER,
               "the only server stays");
    tap_status(warmring_topology_set_weight(topology, "only", 0, &after), WARMRING_BAD_SERVER,
               "the only server cannot be drained");
    warmring_topology_release(topology);
}

static void test_during_a_migration(void) {
    static const warmring_phase_t phases[] = {WARMRING_PREPARED, WARMRING_WARMING,
                                              WARMRING_HANDOVER, WARMRING_DRAINING,
                                              WARMRING_CLOSING,  WARMRING_SETTLING};
    warmring_topology_t *from = parse("a=h1,b=h2"), *to = parse("a=h1,b=h2,c=h3"), *after;
    for (size_t i = 0; i < 6; i++) {
        char phase[32];
        warmring_topology_t *busy = in_phase(from, to, phases[i]);
        snprintf(phase, sizeof phase, "phase %s", warmring_phase_name(phases[i]));
        const warmring_status_t statuses[] = {
            warmring_topology_set_weight(busy, "a", 2, &after),
            warmring_topology_add_server(busy, "d=h4", &after),
            warmring_topology_remove_server(busy, "a", &after),
            warmring_topology_set_address(busy, "a", "h9", &after),
            warmring_topology_replace(busy, to, &after),
            warmring_topology_replace(from, busy, &after),
            warmring_topology_migrate(busy, to, &after),
            warmring_topology_migrate(from, busy, &after),
        };
        for (size_t k = 0; k < sizeof statuses / sizeof statuses[0]; k++) {
            tap_status(statuses[k], WARMRING_ILLEGAL_STEP, "%s: edit %zu", phase, k);
        }
        tap_ok(after == NULL, "%s: no topology", phase);
        tap_contains(warmring_error_detail(), phase, "%s: named", phase);
        tap_contains(warmring_error_detail(), "finish it or roll it back first", "%s: advice",
                     phase);
        warmring_topology_release(busy);
    }
    warmring_topology_release(from);
    warmring_topology_release(to);
}

int main(void) {
    warmring_topology_t *topology = parse(servers);
    test_edits(topology);
    test_refusals(topology);
    warmring_topology_release(topology);
    test_options_stay();
    test_what_moves();
    test_long_texts();
    test_during_a_migration();
    return tap_done();
}
