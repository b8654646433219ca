/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server lists and options that cannot be, and servers that cannot be
 * reached: a clear status, a text that quotes the bad piece or names the
 * server, and no handle, or one that goes on working.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"

/* ---- lists of servers ------------------------------------------------------------ */

static const struct {
    const char *servers, *piece;
    warmring_status_t status;
} lists[] = {
    {"10.0.0.1:70000", "70000", WARMRING_BAD_SERVER},
    {"10.0.0.1:0", "0", WARMRING_BAD_SERVER},
    {"10.0.0.1:eleven", "eleven", WARMRING_BAD_SERVER},
    {"10.0.0.1:11211:-1", "-1", WARMRING_BAD_SERVER},
    {"10.0.0.1:11211:heavy", "heavy", WARMRING_BAD_SERVER},
    {"10.0.0.1:11211:0", "weight", WARMRING_BAD_SERVER},
    {"10.0.0.1,10.0.0.2,10.0.0.1:11211", "10.0.0.1", WARMRING_BAD_SERVER},
    {"a=10.0.0.1,a=10.0.0.2", "a", WARMRING_BAD_SERVER},
    {"[::1:11211", "[::1", WARMRING_BAD_SERVER},
    {"[::1]:11211,[::1]", "::1", WARMRING_BAD_SERVER},
    {"unix:relative/path", "relative", WARMRING_BAD_SERVER},
    {"", "server", WARMRING_BAD_SERVER},
    {" ,\n# nothing but a comment\n", "server", WARMRING_BAD_SERVER},
    {"10.0.0.1:11211:16000.001", "16000001", WARMRING_LIMIT_EXCEEDED},
};

static void refuse(const char *servers, warmring_status_t status, const char *piece) {
    warmring_t *client = (warmring_t *)&client; /* must not stay */
    tap_status(warmring_open(&client, servers, NULL), status, "open '%.40s'", servers);
    tap_contains(warmring_error_detail(), piece, "the text quotes '%s'", piece);
    tap_ok(client == NULL, "no handle");
    warmring_close(client);
}

/* 65,537 servers, "10.x.y.z". */
static char *many_servers(size_t count) {
    char *text = malloc(count * 20 + 1);
    size_t used = 0;
    if (text == NULL) {
        tap_bail("no memory");
    }
    for (size_t i = 0; i < count; i++) {
        used += (size_t)sprintf(text + used, "%s10.%zu.%zu.%zu", i > 0 ? "," : "", i >> 16 & 255,
                                i >> 8 & 255, i & 255);
    }
    return text;
}

static void test_lists(void) {
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        refuse(lists[i].servers, lists[i].status, lists[i].piece);
    }
    char *servers = many_servers(65537);
    refuse(servers, WARMRING_LIMIT_EXCEEDED, "65537");
    free(servers);
}

/* ---- options ------------------------------------------------------------------------ */

static void test_points(void) {
    warmring_options_t *options = warmring_options_create();
    warmring_t *client = NULL;
    tap_status(warmring_options_set(options, "points_per_weight", "16000001"), WARMRING_OK,
               "16,000,001 points for a weight of 1");
    tap_status(warmring_open(&client, "10.0.0.1", options), WARMRING_LIMIT_EXCEEDED, "are refused");
    tap_contains(warmring_error_detail(), "16000001", "the text quotes the number");
    tap_contains(warmring_error_detail(), "points_per_weight", "and names what to lower");
    tap_ok(client == NULL, "no handle");
    tap_status(warmring_options_set(options, "max_points", "16000001"), WARMRING_OK,
               "with a higher limit");
    tap_status(warmring_open(&client, "10.0.0.1", options), WARMRING_OK, "they are taken");
    warmring_close(client);
    tap_status(warmring_options_set(options, "deadline_ms", "9000"), WARMRING_OK,
               "a deadline above the maximum, as long as that may change");
    tap_status(warmring_open(&client, "10.0.0.1", options), WARMRING_BAD_OPTION, "is refused then");
    tap_contains(warmring_error_detail(), "deadline_ms", "the text names the option");
    tap_contains(warmring_error_detail(), "9000", "and quotes the value");
    warmring_options_free(options);
}

/* ---- edits ---------------------------------------------------------------------------- */

static void refuse_edit(warmring_status_t got, warmring_topology_t *result,
                        warmring_status_t expected, const char *piece, const char *what) {
    tap_status(got, expected, "%s", what);
    tap_contains(warmring_error_detail(), piece, "the text quotes '%s'", piece);
    tap_ok(result == NULL, "no topology");
    warmring_topology_release(result);
}

static void test_edits(void) {
    warmring_topology_t *topology = NULL, *none = NULL;
    tap_status(warmring_topology_parse(&topology, "a=10.0.0.1,b=10.0.0.2:11212", NULL, 0),
               WARMRING_OK, "two servers");
    refuse_edit(warmring_topology_set_weight(topology, "c", 2, &none), none, WARMRING_BAD_ARGUMENT,
                "c", "the weight of no server");
    refuse_edit(warmring_topology_set_weight(topology, "a", -1, &none), none, WARMRING_BAD_SERVER,
                "-1", "a weight of -1");
    refuse_edit(warmring_topology_add_server(topology, "c=10.0.0.1:70000", &none), none,
                WARMRING_BAD_SERVER, "70000", "port 70000");
    refuse_edit(warmring_topology_add_server(topology, "c=10.0.0.2:11212", &none), none,
                WARMRING_BAD_SERVER, "10.0.0.2:11212", "an endpoint that is there");
    refuse_edit(warmring_topology_add_server(topology, "a=10.0.0.3", &none), none,
                WARMRING_BAD_SERVER, "a", "a name that is there");
    refuse_edit(warmring_topology_remove_server(topology, "10.0.0.1:11211", &none), none,
                WARMRING_BAD_ARGUMENT, "10.0.0.1:11211", "the address of a server with a name");
    refuse_edit(warmring_topology_set_address(topology, "a", "10.0.0.2:11212", &none), none,
                WARMRING_BAD_SERVER, "10.0.0.2:11212", "an address that is taken");
    warmring_topology_release(topology);
}

/* ---- servers out of reach ---------------------------------------------------------------- */

/* One good server and one out of reach: only the keys of that one fail. */
static void test_reach(fixture_t *fixture, const char *server, warmring_status_t status,
                       const char *piece) {
    char servers[256], address[160], key[CALLS_KEY_SIZE];
    size_t failed = 0, served = 0;
    snprintf(servers, sizeof servers, "%s,%s", fixture_address(fixture, 0), server);
    warmring_t *client = steps_open(servers, NULL);
    for (unsigned i = 0; i < 32 || failed == 0 || served == 0; i++) {
        snprintf(key, sizeof key, "reach:%u", i);
        warmring_status_t located =
            warmring_locate(client, key, strlen(key), address, sizeof address, NULL);
        bool good = located == WARMRING_OK && strcmp(address, fixture_address(fixture, 0)) == 0;
        warmring_status_t got = store_key(client, key, "value");
        if (good) {
            served++;
            tap_status(got, WARMRING_OK, "a key of the good server");
            continue;
        }
        /* The third is spared the wait. */
        tap_status(got, failed < 2 ? status : WARMRING_SERVER_DOWN, "a key of %s", server);
        tap_contains(warmring_error_detail(), address, "the text names the server");
        if (failed < 2) {
            tap_contains(warmring_error_detail(), piece, "and the cause");
        }
        failed++;
    }
    warmring_close(client);
}

int main(void) {
    fixture_t *fixture = fixture_start(1, NULL);
    char closed[64];
    test_lists();
    test_points();
    test_edits();
    snprintf(closed, sizeof closed, "127.0.0.1:%u", (unsigned)fixture_free_port());
    test_reach(fixture, closed, WARMRING_CONNECT_FAILED, "refused");
    test_reach(fixture, "nowhere.invalid", WARMRING_RESOLVE_FAILED, "nowhere.invalid");
    test_reach(fixture, "unix:/nowhere/memcached.sock", WARMRING_CONNECT_FAILED, "No such file");
    fixture_free(fixture);
    return tap_done();
}
