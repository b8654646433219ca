/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server strings: every form, and every refusal with the piece it quotes.
 */
#include <locale.h>

#include "support.h"

typedef struct {
    const char *text;
    const char *name; /* NULL: unnamed */
    const char *host;
    uint16_t port;
    double weight;
    const char *label;
} form_t;

static const form_t forms[] = {
    {"localhost", NULL, "localhost", 0, 1, "localhost:11211"},
    {"10.0.0.7", NULL, "10.0.0.7", 0, 1, "10.0.0.7:11211"},
    {"10.0.0.7:11211", NULL, "10.0.0.7", 11211, 1, "10.0.0.7:11211"},
    {"h:1", NULL, "h", 1, 1, "h:1"},
    {"h:65535:4", NULL, "h", 65535, 4, "h:65535"},
    {"cache1=10.0.0.7:11211:4", "cache1", "10.0.0.7", 11211, 4, "cache1"},
    {"a.b_c-D9=host-1.example.org", "a.b_c-D9", "host-1.example.org", 0, 1, "a.b_c-D9"},
    {"h:1:0.25", NULL, "h", 1, 0.25, "h:1"},
    {"h:1:65536", NULL, "h", 1, 65536, "h:1"},
    {"h:1:007.50", NULL, "h", 1, 7.5, "h:1"},
    {"[fd00::7]", NULL, "fd00::7", 0, 1, "[fd00::7]:11211"},
    {"[fd00::7]:11212", NULL, "fd00::7", 11212, 1, "[fd00::7]:11212"},
    {"[::1]:2:3", NULL, "::1", 2, 3, "[::1]:2"},
    {"[::]", NULL, "::", 0, 1, "[::]:11211"},
    {"six=[1:2:3:4:5:6:7:8]:9", "six", "1:2:3:4:5:6:7:8", 9, 1, "six"},
    {"[1:2:3:4:5:6:7::]:9", NULL, "1:2:3:4:5:6:7::", 9, 1, "[1:2:3:4:5:6:7::]:9"},
    {"[::ffff:10.0.0.7]:9", NULL, "::ffff:10.0.0.7", 9, 1, "[::ffff:10.0.0.7]:9"},
    {"[1:2:3:4:5:6:255.0.10.1]", NULL, "1:2:3:4:5:6:255.0.10.1", 0, 1,
     "[1:2:3:4:5:6:255.0.10.1]:11211"},
    {"[fe80::1%eth0]:9", NULL, "fe80::1%eth0", 9, 1, "[fe80::1%eth0]:9"},
    {"unix:/run/memcached.sock", NULL, "/run/memcached.sock", 0, 1, "unix:/run/memcached.sock"},
    {"local=unix:/run/m=c.sock:2.5", "local", "/run/m=c.sock", 0, 2.5, "local"},
    {"unix:11", NULL, "unix", 11, 1, "unix:11"}, /* a host of that name */
    {"--SERVER=localhost", NULL, "localhost", 0, 1, "localhost:11211"},
    {"--SERVER=localhost:11221", NULL, "localhost", 11221, 1, "localhost:11221"},
    {"--SERVER=localhost/?5", NULL, "localhost", 0, 5, "localhost:11211"},
    {"--SERVER=10.0.0.7:11221/?5", NULL, "10.0.0.7", 11221, 5, "10.0.0.7:11221"},
    {"--server=localhost", NULL, "localhost", 0, 1, "localhost:11211"},
    {"--SERVER=[::1]:3/?2", NULL, "::1", 3, 2, "[::1]:3"},
    {"--SOCKET=\"/tmp/m.sock\"", NULL, "/tmp/m.sock", 0, 1, "unix:/tmp/m.sock"},
    {"--SOCKET=\"/tmp/m.sock\"/?7", NULL, "/tmp/m.sock", 0, 7, "unix:/tmp/m.sock"},
    {"--Socket=\"/tmp/a,b:#\"/?0.5", NULL, "/tmp/a,b:#", 0, 0.5, "unix:/tmp/a,b:#"},
};

/* The string read alone is the server that a list of it has. */
static void check_server(const form_t *form, const warmring_server_t *expected) {
    char strings[WARMRING_SERVER_STRINGS];
    warmring_server_t server = {.size = sizeof server};
    if (tap_status(warmring_server_parse(form->text, &server, strings, sizeof strings), WARMRING_OK,
                   "%s: alone", form->text)) {
        tap_string(server.name, expected->name, "%s: name alone", form->text);
        tap_string(server.host, expected->host, "%s: host alone", form->text);
        tap_ok(server.size == expected->size && server.port == expected->port &&
                   server.weight >= expected->weight && server.weight <= expected->weight,
               "%s: numbers alone", form->text);
    }
}

static void check_form(const form_t *form) {
    warmring_topology_t *topology;
    warmring_status_t status = warmring_topology_parse(&topology, form->text, NULL, 10);
    if (!tap_status(status, WARMRING_OK, "%s", form->text)) {
        return;
    }
    const warmring_server_t *server = warmring_topology_server(topology, WARMRING_OLD_RING, 0);
    tap_int((int64_t)server->size, sizeof *server, "%s: size", form->text);
    tap_string(server->name, form->name, "%s: name", form->text);
    tap_string(server->host, form->host, "%s: host", form->text);
    tap_int(server->port, form->port, "%s: port", form->text);
    tap_near(server->weight, form->weight, 0, "%s: weight", form->text);
    tap_string(warmring_topology_label(topology, WARMRING_OLD_RING, 0), form->label, "%s: label",
               form->text);
    tap_ok(warmring_topology_server(topology, WARMRING_OLD_RING, 1) == NULL, "%s: one server",
           form->text);
    check_server(form, server);
    warmring_topology_release(topology);
}

typedef struct {
    const char *text;
    const char *quoted; /* stands in double quotes in the detail text */
    const char *reason;
} refusal_t;

static const refusal_t refusals[] = {
    {"h:70000", "70000", "port"},
    {"h:65536", "65536", "1 to 65535"},
    {"h:0", "0", "port"},
    {"h:080", "080", "port"},
    {"h:99999999999999999999999", "99999999999999999999999", "port"},
    {"h:", "", "port"},
    {"h::4", "", "port"},
    {"h:x", "x", "port"},
    {"h:11211x", "11211x", "port"},
    {"h:+1", "+1", "port"},
    {"h:-1", "-1", "port"},
    {"h:1:-1", "-1", "weight"},
    {"h:1:", "", "weight"},
    {"h:1:1e400", "1e400", "weight"},
    {"h:1:nan", "nan", "weight"},
    {"h:1:inf", "inf", "weight"},
    {"h:1:0x10", "0x10", "weight"},
    {"h:1:+1", "+1", "weight"},
    {"h:1:.5", ".5", "weight"},
    {"h:1:5.", "5.", "weight"},
    {"h:1:1.2.3", "1.2.3", "weight"},
    {"h:1:2:3", "2:3", "weight"},
    {"h:1:2x", "2x", "weight"},
    {"good,h:70000", "70000", "\"h:70000\""},
    {"a=h:70000", "70000", "\"a=h:70000\""},
    {":11211", "", "host"},
    {"a=:11211", "", "host"},
    {"a=", "", "host"},
    {"h st@x", "st@x", "host"},
    {"h/x", "h/x", "host"},
    {"/run/m.sock", "/run/m.sock", "unix:/PATH"},
    {"[::1", "[::1", "bracket"},
    {"[::1:11211", "[::1:11211", "bracket"},
    {"[]:1", "", "IPv6"},
    {"[10.0.0.7]:1", "10.0.0.7", "IPv6"},
    {"[1:2]", "1:2", "IPv6"},
    {"[1:2:3:4:5:6:7:8:9]", "1:2:3:4:5:6:7:8:9", "IPv6"},
    {"[1::2::3]", "1::2::3", "IPv6"},
    {"[:::1]", ":::1", "IPv6"},
    {"[1:2:3:4:5:6:7:]", "1:2:3:4:5:6:7:", "IPv6"},
    {"[:1:2:3:4:5:6:7]", ":1:2:3:4:5:6:7", "IPv6"},
    {"[::12345]", "::12345", "IPv6"},
    {"[::g]", "::g", "IPv6"},
    {"[1:2:3:4:5:6:7::8]", "1:2:3:4:5:6:7::8", "IPv6"},
    {"[::256.0.0.1]", "::256.0.0.1", "IPv6"},
    {"[::1.2.3]", "::1.2.3", "IPv6"},
    {"[::1.2.3.4.5]", "::1.2.3.4.5", "IPv6"},
    {"[::01.2.3.4]", "::01.2.3.4", "IPv6"},
    {"[1.2.3.4::]", "1.2.3.4::", "IPv6"},
    {"[::1%]", "::1%", "IPv6"},
    {"[::1%a b]", "[::1%a", "bracket"},
    {"[::1]x", "x", "unexpected"},
    {"[::1]:1x", "1x", "port"},
    {"fd00::7", "fd00::7", "brackets"},
    {"fd00::7:11211", "fd00::7:11211", "brackets"},
    {"::1", "::1", "brackets"},
    {"n=1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8", "brackets"},
    {"fe80::1%eth0", "fe80::1%eth0", "brackets"},
    {"--SERVER=::1", "::1", "brackets"},
    {"=h:1", "", "name"},
    {"a@b=h:1", "a@b", "name"},
    {"unix:relative.sock", "relative.sock", "port"},
    {"unix:/p:x", "x", "weight"},
    {"unix:/p:1:2", "1:2", "weight"},
    {"unix:", "", "port"},
    {"--SERVER=", "", "host"},
    {"--SERVER=h:", "", "port"},
    {"--SERVER=h:0", "0", "port"},
    {"--SERVER=h:1:2", ":2", "unexpected"},
    {"--SERVER=h:1/2", "/2", "unexpected"},
    {"--SERVER=h/?", "", "weight"},
    {"--SERVER=h/?x", "x", "weight"},
    {"--SERVER=/p", "", "host"},
    {"--SERVER=a=h", "a=h", "host"},
    {"--SOCKET=/tmp/x", "/tmp/x", "double quotes"},
    {"--SOCKET=\"/tmp/x", "\"/tmp/x", "not closed"},
    {"--SOCKET=\"\"", "", "absolute"},
    {"--SOCKET=\"tmp\"", "tmp", "absolute"},
    {"--SOCKET=\"/tmp/a b\"", "/tmp/a b", "blanks"},
    {"unix:/tmp/a\x7f", "/tmp/a?", "control"},
    {"--SOCKET=\"/tmp/x\"/7", "/7", "unexpected"},
    {"--SOCKET=\"/tmp/x\":7", ":7", "unexpected"},
    {"--SOCKET=\"/tmp/x/?7\"", "/tmp/x/?7", "behind the quotes"},
    {"--SOCKET=\"/tmp/x\"/?-7", "-7", "weight"},
    {"h --BINARY-PROTOCOL", "--BINARY-PROTOCOL", "only --SERVER="},
    {"--HASH=MD5 h", "--HASH", "only --SERVER="},
    {"--", "--", "only --SERVER="},
    {"a=h1,a=h2", "a", "twice"},
    {"h:11211,x,h", "h:11211", "twice"},
    {"a=h:5,b=h:5", "h:5", "twice"},
    {"unix:/p,n=unix:/p", "unix:/p", "twice"},
};

static void check_refused(const char *text, const char *quoted, const char *reason,
                          const char *what) {
    char piece[128];
    warmring_topology_t *topology = (void *)&topology;
    warmring_status_t status = warmring_topology_parse(&topology, text, NULL, 10);
    snprintf(piece, sizeof piece, "\"%s\"", quoted);
    tap_status(status, WARMRING_BAD_SERVER, "%s", what);
    tap_ok(topology == NULL, "%s: no topology", what);
    tap_contains(warmring_error_detail(), piece, "%s: quoted", what);
    tap_contains(warmring_error_detail(), reason, "%s: explained", what);
}

static void check_empty(const char *text, const char *what) {
    warmring_topology_t *topology;
    tap_status(warmring_topology_parse(&topology, text, NULL, 0), WARMRING_BAD_SERVER, "%s", what);
    tap_contains(warmring_error_detail(), "empty", "%s: explained", what);
}

static void test_lists(void) {
    static const char text[] = "# the cache\n"
                               "  one=h1:1 ,\ttwo=h2:2:2#close\r\n"
                               "\n,, three=[::3]:3 # a, b\n"
                               "--SOCKET=\"/s\"/?4 --SERVER=h5:5/?5,#,h6\n"
                               "unix:/p:6";
    static const char *const labels[] = {"one", "two", "three", "unix:/s", "h5:5", "unix:/p"};
    static const double weights[] = {1, 2, 1, 4, 5, 6};
    warmring_topology_t *topology = parse(text);
    for (size_t i = 0; i < 6; i++) {
        tap_string(warmring_topology_label(topology, WARMRING_OLD_RING, i), labels[i],
                   "server %zu of a list: label", i);
        const warmring_server_t *server = warmring_topology_server(topology, WARMRING_OLD_RING, i);
        tap_near(server->weight, weights[i], 0, "server %zu of a list: weight", i);
    }
    tap_ok(warmring_topology_label(topology, WARMRING_OLD_RING, 6) == NULL, "no seventh");
    tap_int(warmring_topology_phase(topology), WARMRING_STABLE, "phase");
    tap_int((int64_t)warmring_topology_epoch(topology), 1, "epoch");
    tap_string(warmring_ring_dialect(warmring_topology_ring(topology, WARMRING_OLD_RING)), "v2",
               "dialect");
    tap_ok(warmring_topology_ring(topology, WARMRING_NEW_RING) == NULL, "no new ring");
    tap_ok(warmring_topology_server(topology, WARMRING_NEW_RING, 0) == NULL, "no new server");
    tap_ok(warmring_topology_label(topology, (warmring_side_t)2, 0) == NULL, "no third side");
    warmring_topology_release(topology);
    check_empty("", "nothing");
    check_empty(" ,\n# only a comment, h1", "a comment");
}

static void repeat(char *text, char c, size_t count, const char *tail) {
    memset(text, c, count);
    strcpy(text + count, tail);
}

static void test_lengths(void) {
    char text[1024], cut[80], expected[1100];
    warmring_topology_t *topology;
    repeat(text, 'n', 250, "=h");
    topology = parse(text);
    tap_int((int64_t)strlen(warmring_topology_label(topology, WARMRING_OLD_RING, 0)), 250,
            "a name of 250 bytes");
    warmring_topology_release(topology);
    repeat(text, 'h', 250, "");
    topology = parse(text);
    snprintf(expected, sizeof expected, "%s:11211", text);
    tap_string(warmring_topology_label(topology, WARMRING_OLD_RING, 0), expected,
               "a host of 250 bytes");
    warmring_topology_release(topology);

    repeat(cut, 'n', 60, "...");
    repeat(text, 'n', 251, "=h");
    check_refused(text, cut, "250", "a name of 251 bytes");
    repeat(cut, 'h', 60, "...");
    repeat(text, 'h', 251, "");
    check_refused(text, cut, "250", "a host of 251 bytes");
    repeat(cut, '9', 60, "...");
    memcpy(text, "h:", 2);
    repeat(text + 2, '9', 900, "");
    check_refused(text, cut, "port", "a port of 900 bytes");
    memcpy(text, "h:1:", 4);
    repeat(text + 4, '9', 900, "");
    check_refused(text, cut, "weight", "a weight of 900 bytes");
    memcpy(text, "unix:/", 6);
    repeat(text + 6, 'p', 106, "");
    warmring_topology_release(parse(text));
    tap_ok(true, "a path of 107 bytes");
    repeat(text + 6, 'p', 107, "");
    cut[0] = '/';
    repeat(cut + 1, 'p', 59, "...");
    check_refused(text, cut, "107", "a path of 108 bytes");
}

/* A cut never leaves half a character: 59 bytes, then one of three bytes. */
static void test_cut_characters(void) {
    char text[128], cut[80];
    repeat(text, 'h', 59, "\xe2\x82\xac\xe2\x82\xac");
    repeat(cut, 'h', 59, "...");
    check_refused(text, cut, "host", "a euro sign across the cut");
}

static void test_structs(void) {
    warmring_server_t servers[] = {
        {.size = sizeof servers[0], .name = "a", .host = "h1", .weight = 2},
        {.size = sizeof servers[0], .name = "", .host = "::1", .port = 5, .weight = 1},
        {.size = sizeof servers[0], .host = "/p", .weight = 0},
    };
    warmring_ring_options_t options = {.size = sizeof options, .dialect = "nginx"};
    warmring_topology_t *topology;
    tap_status(warmring_topology_create(&topology, servers, 3, &options), WARMRING_OK, "structs");
    memset(servers, 0, sizeof servers);
    tap_string(warmring_topology_label(topology, WARMRING_OLD_RING, 0), "a", "named");
    tap_string(warmring_topology_label(topology, WARMRING_OLD_RING, 1), "[::1]:5", "empty name");
    tap_string(warmring_topology_label(topology, WARMRING_OLD_RING, 2), "unix:/p", "socket");
    tap_string(warmring_ring_dialect(warmring_topology_ring(topology, WARMRING_OLD_RING)), "nginx",
               "dialect");
    tap_ok(warmring_topology_retain(topology) == topology, "retain returns its argument");
    warmring_topology_release(topology);
    tap_string(warmring_topology_server(topology, WARMRING_OLD_RING, 0)->host, "h1",
               "one reference is left");
    warmring_topology_release(topology);
    warmring_topology_release(NULL);
    servers[0] = (warmring_server_t){.size = sizeof servers[0], .weight = 1};
    tap_status(warmring_topology_create(&topology, servers, 1, NULL), WARMRING_BAD_SERVER,
               "no host");
    tap_ok(topology == NULL, "no host: no topology");
    tap_status(warmring_topology_create(&topology, servers, 0, NULL), WARMRING_BAD_SERVER,
               "no server");
    tap_status(warmring_topology_parse(&topology, "h", "ketamine", 0), WARMRING_BAD_OPTION,
               "unknown dialect");
    tap_contains(warmring_error_detail(), "\"ketamine\"", "unknown dialect: quoted");
    tap_status(warmring_topology_parse(&topology, "h", NULL, -1), WARMRING_BAD_OPTION,
               "negative points");
    tap_status(warmring_topology_parse(&topology, "h", NULL, 4e9), WARMRING_LIMIT_EXCEEDED,
               "too many points");
}

/* A locale with another decimal point changes nothing. */
static void test_locale(void) {
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
    const char *set = NULL;
    for (size_t i = 0; i < 3 && set == NULL; i++) {
        set = setlocale(LC_ALL, names[i]);
    }
    if (set == NULL) {
        tap_skip("no locale with a decimal comma is installed");
        return;
    }
    const form_t form = {"h:1:0.25", NULL, "h", 1, 0.25, "h:1"};
    check_form(&form);
    setlocale(LC_ALL, "C");
}

enum { LONGEST = 250 };

static void check_alone(const char *text, warmring_status_t expected, const char *detail) {
    char strings[WARMRING_SERVER_STRINGS];
    warmring_server_t server = {.size = sizeof server, .host = "kept"};
    tap_status(warmring_server_parse(text, &server, strings, sizeof strings), expected,
               "alone: \"%s\"", text);
    tap_contains(warmring_error_detail(), detail, "alone: explained");
    tap_ok(server.host == NULL, "alone: no host");
}

static void test_alone(void) {
    char strings[WARMRING_SERVER_STRINGS], longest[2 * LONGEST + 10];
    warmring_server_t server = {.size = sizeof server};
    check_alone("", WARMRING_BAD_SERVER, "empty");
    check_alone(" # only a comment", WARMRING_BAD_SERVER, "empty");
    check_alone("h1,h2", WARMRING_BAD_SERVER, "\"h1,h2\": more than one server");
    check_alone("h:70000", WARMRING_BAD_SERVER, "\"70000\"");
    tap_status(warmring_server_parse("h", &server, strings, sizeof strings - 1),
               WARMRING_BAD_ARGUMENT, "alone: no room");
    server.size--;
    tap_status(warmring_server_parse("h", &server, strings, sizeof strings), WARMRING_BAD_ARGUMENT,
               "alone: a smaller struct");
    server.size = sizeof server;
    repeat(longest, 'n', LONGEST, "=");
    repeat(longest + LONGEST + 1, 'h', LONGEST, ":1:0");
    tap_status(warmring_server_parse(longest, &server, strings, sizeof strings), WARMRING_OK,
               "alone: the longest, drained");
    tap_int((int64_t)(strlen(server.name) + strlen(server.host)), (int64_t)(2 * LONGEST),
            "alone: all of it");
    tap_near(server.weight, 0, 0, "alone: weight 0");
}

int main(void) {
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        check_form(&forms[i]);
    }
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        check_refused(refusals[i].text, refusals[i].quoted, refusals[i].reason, refusals[i].text);
    }
    test_lists();
    test_lengths();
    test_cut_characters();
    test_alone();
    test_structs();
    test_locale();
    return tap_done();
}
