/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public reports about memcached clients, as cases of our own: lists of
 * servers and their rings. docs/reports.md lists all cases; numbers are those
 * of issues on GitHub.
 */
#include <string.h>

#include <warmring/fleet.h>
#include <warmring/plan.h>
#include <warmring/warmring.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { LIST_SIZE = 8192, SAMPLE = 20000, TEN = 10, MANY = 101 };

static warmring_topology_t *parse(const char *servers, const char *dialect) {
    warmring_topology_t *topology = NULL;
    tap_status(warmring_topology_parse(&topology, servers, dialect, 0), WARMRING_OK, "%.40s...",
               servers);
    if (topology == NULL) {
        tap_bail("no topology of %s", servers);
    }
    return topology;
}

static const warmring_ring_t *ring_of(const warmring_topology_t *topology) {
    return warmring_topology_ring(topology, WARMRING_OLD_RING);
}

/* The label of the owner of sample key `number`. */
static const char *owner(const warmring_topology_t *topology, unsigned number) {
    char key[CALLS_KEY_SIZE];
    int length = snprintf(key, sizeof key, "user:%u", number);
    uint32_t index = warmring_ring_locate(ring_of(topology), key, (size_t)length);
    return warmring_topology_label(topology, WARMRING_OLD_RING, index);
}

/* ---- weights ---------------------------------------------------------------- */

/* Symptom: raising one server's weight, or adding a server beside unequal ones,
 * moves keys between servers that nobody touched, since each server's points
 * are a share of all weights (ketama, RJ/ketama #13; the proxy of memcached left
 * weights out for that, memcached #873). Here a server's points follow from its
 * own weight alone: each moved key comes to the server that was raised. */
static void weights_move_only_their_own(void) {
    char list[LIST_SIZE];
    size_t used = 0;
    for (unsigned i = 0; i < TEN; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "c%u=10.0.0.%u:11211:%u,", i,
                                 i + 1, i % 3 + 1);
    }
    warmring_topology_t *before = parse(list, NULL), *after = NULL, *grown = NULL;
    tap_status(warmring_topology_set_weight(before, "c4", 4, &after), WARMRING_OK, "c4: 2 to 4");
    tap_status(warmring_topology_add_server(after, "c10=10.0.0.11:11211:3", &grown), WARMRING_OK,
               "c10 is added");
    int moved = 0, strangers = 0, came = 0, others = 0;
    for (unsigned i = 0; i < SAMPLE; i++) {
        const char *first = owner(before, i), *then = owner(after, i), *last = owner(grown, i);
        moved += strcmp(first, then) != 0;
        strangers += strcmp(first, then) != 0 && strcmp(then, "c4") != 0;
        came += strcmp(then, last) != 0;
        others += strcmp(then, last) != 0 && strcmp(last, "c10") != 0;
    }
    double gain = 4.0 / 21 - 2.0 / 19; /* of all keys, by the weights */
    tap_near((double)moved / SAMPLE, gain, 0.03, "c4 gains what its weight says");
    tap_int(strangers, 0, "and no key moves between servers that were not touched");
    tap_near((double)came / SAMPLE, 3.0 / 24, 0.03, "c10 gains its share");
    tap_int(others, 0, "and no key moves between the ten");
    warmring_topology_release(grown);
    warmring_topology_release(after);
    warmring_topology_release(before);
}

/* Symptom: a weight of 1,000,000 beside 1 takes gigabytes and the process is
 * killed (nginx #191); where shares are rounded down, the small server gets no
 * point at all (ketama). Here it is refused before any memory is taken, with a
 * density that fits; with that density the ring is small, and the server of
 * weight 1 has a point. */
static void a_million_beside_one(void) {
    static const char *const servers = "big=10.0.10.31:8080:1000000,small=10.0.10.32:8080:1";
    warmring_topology_t *topology = NULL;
    static const char *const dialects[] = {"v2", "nginx"};
    for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++) {
        tap_status(warmring_topology_parse(&topology, servers, dialects[i], 0),
                   WARMRING_LIMIT_EXCEEDED, "%s: a million beside one", dialects[i]);
        tap_ok(topology == NULL, "%s: nothing is built", dialects[i]);
        tap_contains(warmring_error_detail(), i == 0 ? "1000001000" : "160000160",
                     "%s: the text tells how many points that were", dialects[i]);
    }
    (void)!warmring_topology_parse(&topology, servers, "v2", 0);
    tap_contains(warmring_error_detail(), "points_per_weight", "v2: and what to lower");
    tap_status(warmring_topology_parse(&topology, servers, "v2", 0.01), WARMRING_OK,
               "with 0.01 points per weight");
    const warmring_ring_t *ring = ring_of(topology);
    tap_int((int64_t)warmring_ring_server_points(ring, 0), 10000, "the large one has 10,000");
    tap_int((int64_t)warmring_ring_server_points(ring, 1), 1, "the small one has one");
    tap_ok(warmring_ring_share(ring, 1) > 0 && warmring_ring_share(ring, 1) < 0.01,
           "and some keys, few: %g", warmring_ring_share(ring, 1));
    tap_ok(warmring_ring_bytes(ring) < 100000, "in %zu bytes", warmring_ring_bytes(ring));
    warmring_topology_release(topology);
}

/* ---- lists ------------------------------------------------------------------ */

/* Symptom: two clients with the same servers in another order find the same key
 * on different servers (node-hashring #11); so do two whose sorts leave equal
 * points in another order (libmemcached #41). Here identity alone decides, also
 * of equal points, of which a ring this dense has hundreds. */
static void the_order_of_the_list(void) {
    char forward[LIST_SIZE], backward[LIST_SIZE], shuffled[LIST_SIZE];
    char *const lists[] = {forward, backward, shuffled};
    size_t used[3] = {0};
    for (unsigned i = 0; i < MANY; i++) {
        const unsigned picks[] = {i, MANY - 1 - i, i * 37 % MANY};
        for (size_t j = 0; j < 3; j++) {
            used[j] += (size_t)snprintf(lists[j] + used[j], LIST_SIZE - used[j], "10.1.0.%u:%u,",
                                        picks[j], 11211 + picks[j] % 3);
        }
    }
    warmring_topology_t *topologies[3] = {NULL};
    for (size_t j = 0; j < 3; j++) {
        if (warmring_topology_parse(&topologies[j], lists[j], NULL, 20000) != WARMRING_OK) {
            tap_bail("list %zu: %s", j, warmring_error_detail());
        }
    }
    int differ = 0;
    for (unsigned i = 0; i < SAMPLE; i++) {
        differ += strcmp(owner(topologies[0], i), owner(topologies[1], i)) != 0 ||
                  strcmp(owner(topologies[0], i), owner(topologies[2], i)) != 0;
    }
    tap_int(differ, 0, "three orders of %d servers: one owner for each key", MANY);
    double moved = 1;
    uint64_t points = warmring_ring_points(ring_of(topologies[0]));
    tap_status(warmring_plan_moved(ring_of(topologies[0]), ring_of(topologies[1]), &moved),
               WARMRING_OK, "compared as wholes");
    tap_ok(moved <= 0, "no arc has another owner");
    tap_ok(points < 20000u * MANY - 100, "though %llu points lost a tie",
           (unsigned long long)(20000u * MANY - points));
    for (size_t j = 0; j < 3; j++) {
        warmring_topology_release(topologies[j]);
    }
}

/* Symptom: with consistent hashing, one server too many ends the process
 * (php-memcached #407; libmemcached's continuum aborts at the 101st). Here rings
 * of both dialects give each of 101 servers its share, and a client of 101 works
 * with the last one. */
static void the_101st_server(void) {
    char servers[LIST_SIZE], key[CALLS_KEY_SIZE];
    fixture_t *fixture = fixture_start(1, NULL);
    for (int legacy = 0; legacy <= WR_WITH_LIBMEMCACHED; legacy++) {
        const char *const options[] = {"dialect", legacy ? "libmemcached" : "v2", NULL};
        size_t used = 0;
        for (unsigned i = 1; i < MANY; i++) {
            used += (size_t)snprintf(servers + used, sizeof servers - used, "10.2.0.%u,", i);
        }
        snprintf(servers + used, sizeof servers - used, "%s", fixture_address(fixture, 0));
        warmring_t *client = steps_open(servers, options);
        warmring_topology_t *topology = steps_present(client);
        double total = 0, least = 1;
        for (uint32_t i = 0; i < MANY; i++) {
            double share = warmring_ring_share(ring_of(topology), i);
            total += share;
            least = share < least ? share : least;
        }
        tap_near(total, 1, 1e-9, "%s: 101 servers share all keys", options[1]);
        tap_ok(least > 0.2 / MANY, "%s: the least has %.2f of its share", options[1], least * MANY);
        unsigned next = 0;
        do {
            snprintf(key, sizeof key, "of-the-last:%u", next++);
        } while (steps_owner(topology, WARMRING_OLD_RING, key) != MANY - 1);
        tap_status(store_key(client, key, "there"), WARMRING_OK, "%s, %s: a key of the 101st",
                   test_transport(), options[1]);
        raw_holds(fixture, 0, key, "there", "on that server");
        warmring_topology_release(topology);
        warmring_close(client);
    }
    fixture_free(fixture);
}

/* ---- IPv6 ------------------------------------------------------------------- */

static const struct {
    const char *text, *host, *label;
    uint16_t port;
    double weight;
} six[] = {
    {"[::1]", "::1", "[::1]:11211", 0, 1},
    {"[::1]:11212", "::1", "[::1]:11212", 11212, 1},
    {"[fd00::7]:11211:4", "fd00::7", "[fd00::7]:11211", 11211, 4},
    {"near=[fe80::1%eth0]:7:0.5", "fe80::1%eth0", "near", 7, 0.5},
    {"[2001:db8:0:0:0:0:0:9]", "2001:db8:0:0:0:0:0:9", "[2001:db8:0:0:0:0:0:9]:11211", 0, 1},
    {"[::ffff:10.0.0.7]:11211", "::ffff:10.0.0.7", "[::ffff:10.0.0.7]:11211", 11211, 1},
    {"--SERVER=[::1]:11213/?2", "::1", "[::1]:11213", 11213, 2},
};

/* Without brackets the last part could be a port: refused, not guessed. */
static const char *const bare[] = {"::1", "::1:11211", "fd00::7", "name=fd00::7:11211:1"};

/* What an address in brackets is in each string that servers are written in
 * (values.c has the symptom, and talks to such a server). */
static void strings_with_ipv6(void) {
    for (size_t i = 0; i < sizeof six / sizeof six[0]; i++) {
        warmring_topology_t *topology = parse(six[i].text, NULL);
        const warmring_server_t *server = warmring_topology_server(topology, WARMRING_OLD_RING, 0);
        tap_string(server->host, six[i].host, "%s: host", six[i].text);
        tap_int(server->port, six[i].port, "%s: port", six[i].text);
        tap_near(server->weight, six[i].weight, 0, "%s: weight", six[i].text);
        tap_string(warmring_topology_label(topology, WARMRING_OLD_RING, 0), six[i].label,
                   "%s: what people see", six[i].text);
        warmring_topology_release(topology);
    }
    for (size_t i = 0; i < sizeof bare / sizeof bare[0]; i++) {
        warmring_topology_t *topology = NULL;
        tap_status(warmring_topology_parse(&topology, bare[i], NULL, 0), WARMRING_BAD_SERVER,
                   "%s is refused", bare[i]);
        tap_contains(warmring_error_detail(), "brackets", "and the text says what is missing");
    }
}

/* The strings of edits take the same form. */
static void edits_with_ipv6(void) {
    warmring_topology_t *one = parse("a=10.0.0.1,b=10.0.0.2", NULL), *two = NULL, *three = NULL;
    warmring_topology_t *four = NULL;
    tap_status(warmring_topology_set_address(one, "a", "[fd00::1]:11212", &two), WARMRING_OK,
               "an address becomes IPv6");
    tap_string(warmring_topology_server(two, WARMRING_OLD_RING, 0)->host, "fd00::1", "it is");
    tap_status(warmring_topology_add_server(two, "[fd00::2]:11211:2", &three), WARMRING_OK,
               "a server is added");
    tap_status(warmring_topology_set_weight(three, "[fd00::2]:11211", 3, &four), WARMRING_OK,
               "and found by its label");
    tap_near(warmring_topology_server(four, WARMRING_OLD_RING, 2)->weight, 3, 0, "its weight");
    warmring_topology_release(four);
    warmring_topology_release(three);
    warmring_topology_release(two);
    warmring_topology_release(one);
}

/* A topology file says what it was given, and reads it again. */
static void files_with_ipv6(void) {
    warmring_topology_t *topology = parse("[::1]:11212:2,near=[fd00::7],10.0.0.1", NULL);
    warmring_file_t *file = NULL, *again = NULL;
    tap_status(warmring_file_create(&file, topology, NULL, 0), WARMRING_OK, "a topology file");
    const char *text = warmring_file_text(file);
    tap_contains(text, "[::1]:11212", "has the address in its form");
    tap_contains(text, "[fd00::7]", "and that of a named server");
    tap_status(warmring_file_parse(&again, text, strlen(text), "again"), WARMRING_OK, "read again");
    double moved = 1;
    (void)!warmring_plan_moved(ring_of(topology), ring_of(warmring_file_topology(again)), &moved);
    tap_ok(moved <= 0, "it owns every key alike");
    warmring_file_free(again);
    warmring_file_free(file);
    warmring_topology_release(topology);
}

/* Configurations of others, in the form that each has for IPv6. */
static const struct {
    const char *format, *text, *section;
} others[] = {
    {"list", "[::1]:11211,10.0.0.1", NULL},
    {"nginx", "upstream a { hash $k consistent; server [::1]:11211; server 10.0.0.1:11211; }", "a"},
#if WR_WITH_LIBMEMCACHED
    {"libmemcached", "--SERVER=[::1]:11211 --SERVER=10.0.0.1 --DISTRIBUTION=consistent", NULL},
#endif
#if WR_WITH_LIBMEMCACHED && WR_WITH_LIBYAML
    {"twemproxy",
     "a:\n  hash: fnv1a_64\n  distribution: ketama\n"
     "  servers:\n   - ::1:11211:1\n   - 10.0.0.1:11211:1\n",
     "a"},
#endif
};

static void imports_with_ipv6(void) {
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        warmring_import_options_t options = WARMRING_IMPORT_OPTIONS_INIT;
        warmring_import_t *import = NULL;
        options.section = others[i].section;
        tap_status(warmring_import(&import, others[i].format, others[i].text,
                                   strlen(others[i].text), &options),
                   WARMRING_OK, "IPv6 in a configuration: %s", others[i].format);
        if (import != NULL) {
            const warmring_topology_t *topology = warmring_import_topology(import);
            tap_string(warmring_topology_server(topology, WARMRING_OLD_RING, 0)->host, "::1",
                       "its host");
            tap_string(warmring_topology_label(topology, WARMRING_OLD_RING, 0), "[::1]:11211",
                       "its label");
        }
        warmring_import_free(import);
    }
}

/* ---- one server twice ------------------------------------------------------- */

/* Symptom: a list that is added again with each request, on a client that lives
 * on, holds each server many times, and opens connections to each of them
 * (DoctrineCacheBundle #100, Stash #183, symfony #27403). Here a list with an
 * endpoint or a name twice is refused, an edit that adds one that is there, too,
 * and putting the same list in force again keeps the connections. */
static void a_server_twice(void) {
    char twice[256];
    fixture_t *fixture = fixture_start(2, NULL);
    const char *address = fixture_address(fixture, 0);
    warmring_t *none = NULL;
    snprintf(twice, sizeof twice, "%s,%s", fixture_servers(fixture), address);
    tap_status(warmring_open(&none, twice, NULL), WARMRING_BAD_SERVER, "%s twice", address);
    tap_contains(warmring_error_detail(), address, "the text quotes it");
    warmring_t *client = steps_open(fixture_servers(fixture), NULL);
    warmring_topology_t *present = steps_present(client), *next = NULL;
    tap_status(warmring_topology_add_server(present, address, &next), WARMRING_BAD_SERVER,
               "added again");
    warmring_topology_release(present);
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 20; i++) {
            char key[CALLS_KEY_SIZE];
            snprintf(key, sizeof key, "round:%u:%u", round, i);
            if (store_key(client, key, "x") != WARMRING_OK) {
                tap_ok(false, "%s: %s", key, warmring_error_detail());
            }
        }
        steps_flip(client, fixture_servers(fixture));
    }
    warmring_snapshot_t *snapshot = NULL;
    warmring_server_counters_t counters = {.size = sizeof counters};
    size_t servers = 0;
    (void)!warmring_snapshot_create(client, &snapshot);
    for (; warmring_snapshot_server(snapshot, servers, &counters) == WARMRING_OK; servers++) {
        tap_int((int64_t)counters.connects, 1, "%s: %s: one connection through 20 lists",
                test_transport(), counters.address);
    }
    tap_int((int64_t)servers, 2, "and two servers");
    warmring_snapshot_free(snapshot);
    warmring_close(client);
    fixture_free(fixture);
}

static void talk(void) {
    the_101st_server();
    a_server_twice();
}

int main(void) {
    weights_move_only_their_own();
    a_million_beside_one();
    the_order_of_the_list();
    strings_with_ipv6();
    edits_with_ipv6();
    files_with_ipv6();
    imports_with_ipv6();
    test_transports(talk);
    return tap_done();
}
