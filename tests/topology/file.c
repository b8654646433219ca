/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topology files as values: what stands in a text is what the file says, and
 * writing it gives the text again, in any locale; the same topology comes back
 * whatever phase it is in; and what cannot be written is refused.
 */
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "file_support.h"

static void test_stable(void) {
    warmring_file_t *file = file_of(stable_text);
    const warmring_topology_t *topology = warmring_file_topology(file);
    warmring_file_settings_t settings = {.size = sizeof settings};
    tap_string(warmring_file_text(file), stable_text, "STABLE: the text comes back");
    tap_ok(file->id == UINT64_C(0x0123456789abcdef), "the identity");
    tap_ok(warmring_topology_epoch(topology) == UINT64_C(9007199254740993), "the epoch, exactly");
    tap_ok(warmring_topology_phase(topology) == WARMRING_STABLE, "the phase");
    tap_ok(warmring_file_steps(file) == 12, "the steps");
    tap_int(warmring_file_since(file), 1700000000123, "since");
    tap_status(warmring_file_settings(file, &settings), WARMRING_OK, "settings");
    tap_int(settings.lag_s, 5, "lag");
    tap_int(settings.max_deadline_ms, 5000, "deadline");
    tap_ok(settings.max_ttl_s == 86400, "TTL");
    const warmring_ring_options_t *options = wr_cluster_options(topology->cluster[0]);
    tap_string(options->dialect, "v2", "dialect");
    tap_ok(options->points_per_weight == 12.5, "points");
    tap_ok(options->max_points == 1000000, "most points");
    tap_string(options->hash_tag, "{}", "tag");
    static const warmring_server_t expected[] = {
        {0, "a", "10.0.0.1", 11211, 4},
        {0, NULL, "cache.example", 0, 0.1},
        {0, NULL, "fd00::7", 11212, 0},
        {0, "s", "/run/memcached.sock", 0, 1e-05},
    };
    for (size_t i = 0; i < 4; i++) {
        const warmring_server_t *got = warmring_topology_server(topology, WARMRING_OLD_RING, i);
        tap_string(got->name, expected[i].name, "name %zu", i);
        tap_string(got->host, expected[i].host, "host %zu", i);
        tap_int(got->port, expected[i].port, "port %zu", i);
        tap_ok(got->weight == expected[i].weight, "weight %zu", i);
    }
    warmring_file_free(file);
}

static void test_warming(void) {
    warmring_file_t *file = file_of(warming_text);
    const warmring_topology_t *topology = warmring_file_topology(file);
    tap_string(warmring_file_text(file), warming_text, "WARMING: the text comes back");
    tap_ok(warmring_topology_phase(topology) == WARMRING_WARMING, "the phase");
    tap_ok(topology->seed == UINT64_C(0xfedcba9876543210), "the seed");
    tap_string(warmring_ring_dialect(warmring_topology_ring(topology, WARMRING_OLD_RING)), "nginx",
               "the old ring");
    tap_string(warmring_ring_dialect(warmring_topology_ring(topology, WARMRING_NEW_RING)), "v2",
               "the new ring");
    tap_int(warmring_topology_get_rollout(topology, NULL), 500, "rollout");
    tap_int(warmring_topology_get_rollout(topology, "rome"), 2000, "of a scope");
    tap_int(warmring_topology_get_rollout(topology, "oslo"), 0, "of another");
    tap_int(warmring_topology_get_rollout(topology, "bonn"), 500, "of one without its own");
    tap_ok(file->ramp_count == 2 && file->ramps[0].to == 500 && file->ramps[1].to == 2000 &&
               file->ramps[0].from == 100,
           "ramps lead to the rollouts");
    tap_ok(file->watermark_count == 2 && file->watermarks[0].cas == INT64_MAX &&
               file->watermarks[0].started == 1690000000 && file->watermarks[1].cas == 0 &&
               file->watermarks[1].started == -1,
           "watermarks");
    tap_string(file->watermarks[1].address, "10.0.0.9:11219", "and whose they are");
    warmring_file_free(file);
}

/* Laid out by hand: other order, other blanks, escapes. */
static void test_by_hand(void) {
    static const char by_hand[] =
        "{\"ring\":{\"servers\":[{\"weight\":4.0,\"address\":\"h\\u0031:1\"}],\"dialect\":\"v2\"},"
        "\"max_ttl_s\":0,\"max_deadline_ms\":1,\"lag_s\":1,\t\"since\":0,\"phase\":\"STABLE\",\r\n"
        "\"steps\":0,\"epoch\":1,\"id\":\"0000000000000000\",\"\\u0077armring\":1}";
    warmring_file_t *file = file_of(by_hand);
    const char *text = warmring_file_text(file);
    tap_contains(text, "{\"address\": \"h1:1\", \"weight\": 4}", "a server");
    tap_contains(text, "\"points_per_weight\": 1000,", "the default is written");
    warmring_file_t *again = file_of(text);
    tap_string(warmring_file_text(again), text, "and its own text comes back");
    warmring_file_free(again);
    warmring_file_free(file);
}

/* Watermarks for a new ring, cas 1, 2, ... */
static warmring_file_t *make(warmring_topology_t *topology, bool backwards) {
    wr_watermark_t marks[8] = {{0}};
    for (size_t i = 0; i < 8; i++) {
        marks[i] = (wr_watermark_t){.cas = i + 1, .started = 1000};
    }
    warmring_file_t *file;
    warmring_file_t parts = {
        .topology = topology,
        .id = 5,
        .steps = 2,
        .since_ms = 77,
        .lag_s = 1,
        .max_deadline_ms = 1000,
        .backwards = backwards,
        .watermark_count =
            topology->cluster[1] != NULL ? wr_cluster_count(topology->cluster[1]) : 0,
        .watermarks = marks,
    };
    if (wr_file_make(&file, &parts) != WARMRING_OK) {
        tap_bail("cannot make a file: %s", warmring_error_detail());
    }
    return file;
}

static void check_same(const warmring_file_t *file, const char *what) {
    warmring_file_t *again = file_of(file->text);
    const warmring_topology_t *a = file->topology, *b = again->topology;
    tap_string(again->text, file->text, "%s: the text comes back", what);
    tap_ok(a->phase == b->phase && a->epoch == b->epoch && a->seed == b->seed &&
               a->rollout == b->rollout && a->endpoints.count == b->endpoints.count,
           "%s: the same topology", what);
    for (int side = 0; side < 2; side++) {
        tap_ok((a->cluster[side] == NULL) == (b->cluster[side] == NULL), "%s: rings", what);
        tap_ok(a->cluster[side] == NULL || wr_cluster_fingerprint(a->cluster[side]) ==
                                               wr_cluster_fingerprint(b->cluster[side]),
               "%s: the same ring %d", what, side);
    }
    tap_ok(file->backwards == again->backwards, "%s: direction", what);
    tap_int((int64_t)again->watermark_count, (int64_t)file->watermark_count, "%s: marks", what);
    warmring_file_free(again);
}

static void test_phases(void) {
    warmring_topology_t *from = parse("a=h1,h2:2:3"), *to = parse("a=h1:11211,b=h9,unix:/p");
    for (int phase = WARMRING_STABLE; phase <= WARMRING_SETTLING; phase++) {
        warmring_topology_t *topology = in_phase(from, to, (warmring_phase_t)phase);
        bool can = phase == WARMRING_PREPARED || phase == WARMRING_HANDOVER;
        for (int backwards = 0; backwards < 2; backwards++) {
            warmring_file_t *file = make(topology, backwards);
            check_same(file, warmring_phase_name((warmring_phase_t)phase));
            tap_ok(file->backwards == (can && backwards), "backwards only where a rollback leads");
            warmring_file_free(file);
        }
        warmring_topology_release(topology);
    }
    warmring_topology_release(from);
    warmring_topology_release(to);
}

/* Numbers read as what they were, to the last bit, and are short. */
static void test_numbers(void) {
    static const struct {
        double number;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1, "1"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {123456789, "123456789"},
        {999999999999999, "999999999999999"},
        {1e15, "1e+15"},
        {5e-324, "4.94065645841247e-324"},
        {2.5, "2.5"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
    };
    char text[WR_REAL_SIZE];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tap_string(wr_write_real(text, rows[i].number), rows[i].text, "%s", rows[i].text);
    }
    uint64_t state = 1, wrong = 0;
    for (int i = 0; i < 20000; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        double number = ldexp((double)(state >> 11), (int)(state % 200) - 150), back;
        back = strtod(wr_write_real(text, number), NULL);
        wrong += !(back == number);
    }
    tap_int((int64_t)wrong, 0, "20,000 numbers come back to the last bit");
}

static void check_locale(const char *name) {
    warmring_file_t *file = file_of(stable_text);
    tap_string(warmring_file_text(file), stable_text, "%s: the text comes back", name);
    const warmring_server_t *server =
        warmring_topology_server(warmring_file_topology(file), WARMRING_OLD_RING, 1);
    tap_ok(server->weight == 0.1, "%s: a weight of 0.1", name);
    warmring_file_free(file);
}

/* Equal files are equal texts, also where the decimal point is a comma or
 * more than one byte. Locales are made for the test where they can be. */
static void test_locales(void) {
    static const char *const names[] = {"de_DE", "ps_AF"};
    char directory[] = "/tmp/warmring-locale-XXXXXX", command[300];
    if (mkdtemp(directory) == NULL) {
        tap_bail("no temporary directory");
    }
    setenv("LOCPATH", directory, 1);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(command, sizeof command, "localedef -i %s -f UTF-8 %s/%s >%s/log 2>&1", names[i],
                 directory, names[i], directory);
        if (system(command) != 0 || setlocale(LC_ALL, names[i]) == NULL ||
            strcmp(localeconv()->decimal_point, ".") == 0) { /* musl has but one point */
            tap_skip("cannot make the locale %s", names[i]);
            continue;
        }
        check_locale(names[i]);
        tap_ok(strcmp(localeconv()->decimal_point, ".") != 0, "%s is still in force", names[i]);
        setlocale(LC_ALL, "C");
    }
    snprintf(command, sizeof command, "rm -r '%s'", directory);
    tap_int(system(command), 0, "locales are removed");
}

static warmring_status_t create_with(warmring_server_t server) {
    warmring_topology_t *topology;
    warmring_file_t *file = (void *)&file;
    server.size = sizeof server;
    server.weight = 1;
    if (warmring_topology_create(&topology, &server, 1, NULL) != WARMRING_OK) {
        tap_bail("no topology: %s", warmring_error_detail());
    }
    warmring_status_t status = wr_file_create(&file, topology, NULL, 1, 0);
    if (status == WARMRING_OK) {
        check_same(file, server.host);
    } else {
        tap_ok(file == NULL, "no file");
    }
    warmring_file_free(status == WARMRING_OK ? file : NULL);
    warmring_topology_release(topology);
    return status;
}

/* A topology may have servers that no server string has. */
static void test_unwritable(void) {
    static const warmring_server_t bad[] = {
        {.host = "h\xff"},      {.host = "a/b"},
        {.host = "h\"x"},       {.name = "n+m", .host = "h"},
        {.host = "1:2:3"},      {.host = "/p:1"},
        {.host = "/p\xc3\xa9"}, {.name = "\xc3\xa9", .host = "h"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tap_status(create_with(bad[i]), WARMRING_BAD_ARGUMENT, "not writable: %s", bad[i].host);
        tap_contains(warmring_error_detail(), "server 0, ", "and which");
    }
    static const warmring_server_t good[] = {{.host = "/p\"\\q"},
                                             {.host = "::1"},
                                             {.host = "fe80::1%eth0", .port = 7},
                                             {.host = "/p,#"}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        tap_status(create_with(good[i]), WARMRING_OK, "writable: %s", good[i].host);
    }
}

static warmring_status_t create_settings(uint32_t lag, uint32_t deadline, uint64_t ttl) {
    warmring_topology_t *topology = parse("h1");
    warmring_file_settings_t settings = {sizeof settings, lag, deadline, ttl};
    warmring_file_t *file;
    warmring_status_t status = wr_file_create(&file, topology, &settings, 1, 0);
    warmring_file_free(file);
    warmring_topology_release(topology);
    return status;
}

static void test_create(void) {
    warmring_topology_t *from = parse("h1"), *to = parse("h2"), *prepared = begin(from, to);
    warmring_file_t *file;
    tap_status(wr_file_create(&file, prepared, NULL, 1, 0), WARMRING_ILLEGAL_STEP, "PREPARED");
    tap_status(create_settings(1, 1, 0), WARMRING_OK, "the least");
    tap_status(create_settings(86400, 3600000, 4000000000), WARMRING_OK, "the most");
    tap_status(create_settings(0, 1, 0), WARMRING_BAD_ARGUMENT, "no lag");
    tap_contains(warmring_error_detail(), "lag_s 0 is not from 1 to 86400", "is said");
    tap_status(create_settings(86401, 1, 0), WARMRING_BAD_ARGUMENT, "lag");
    tap_status(create_settings(1, 0, 0), WARMRING_BAD_ARGUMENT, "no deadline");
    tap_status(create_settings(1, 3600001, 0), WARMRING_BAD_ARGUMENT, "deadline");
    tap_status(create_settings(1, 1, 4000000001), WARMRING_BAD_ARGUMENT, "TTL");
    tap_status(wr_file_create(&file, from, NULL, 1, -1), WARMRING_BAD_ARGUMENT, "before 1970");
    warmring_file_settings_t small = {.size = 3};
    tap_status(wr_file_create(&file, from, &small, 1, 0), WARMRING_BAD_ARGUMENT, "size");
    tap_status(wr_file_create(&file, from, NULL, 0xabc, 99), WARMRING_OK, "defaults");
    tap_contains(warmring_file_text(file), "\"id\": \"0000000000000abc\"", "its identity");
    tap_contains(warmring_file_text(file), "\"lag_s\": 5,\n  \"max_deadline_ms\": 5000,",
                 "settings");
    tap_status(warmring_file_settings(file, &small), WARMRING_BAD_ARGUMENT, "settings: size");
    warmring_file_free(file);
    warmring_topology_release(prepared);
    warmring_topology_release(from);
    warmring_topology_release(to);
}

static void test_parts(void) {
    warmring_file_t *warming = file_of(warming_text), *made, parts = *warming;
    wr_watermark_t marks[2] = {warming->watermarks[0], warming->watermarks[1]};
    parts.watermarks = marks;
    parts.watermark_count = 1;
    tap_status(wr_file_make(&made, &parts), WARMRING_BAD_ARGUMENT, "a watermark is missing");
    tap_contains(warmring_error_detail(), "1 watermarks for 2 servers", "is said");
    parts.watermark_count = 2;
    marks[1].cas = (uint64_t)INT64_MAX + 1;
    tap_status(wr_file_make(&made, &parts), WARMRING_BAD_ARGUMENT, "a counter above INT64_MAX");
    marks[1] = (wr_watermark_t){.cas = 3, .started = 4}; /* whose it is follows from its place */
    tap_status(wr_file_make(&made, &parts), WARMRING_OK, "watermarks without addresses");
    tap_string(made->watermarks[1].address, "10.0.0.9:11219", "get them");
    warmring_file_free(made);
    warmring_file_free(warming);
}

/* Rings are taken over where they are alike, so that a step builds none. */
static void test_alike(void) {
    warmring_file_t *first = file_of(warming_text), *second;
    wr_file_rings_t rings = {.like = first->topology, .most_points = 1};
    const char *stepped = replaced(warming_text, "\"epoch\": 7", "\"epoch\": 8");
    tap_status(wr_file_parse(&second, stepped, strlen(stepped), "f", &rings), WARMRING_OK,
               "no ring has to be built");
    tap_ok(second->topology->cluster[0] == first->topology->cluster[0] &&
               second->topology->cluster[1] == first->topology->cluster[1],
           "both are taken over");
    warmring_file_free(second);
    static const char *const changes[][2] = {
        {"\"weight\": 1.5", "\"weight\": 1.25"},
        {"\"name\": \"b\"", "\"name\": \"c\""},
        {"\"points_per_weight\": 20", "\"points_per_weight\": 21"},
        {"\"points_per_weight\": 20", "\"points_per_weight\": 20,\n\"hash_tag\": \"<>\""},
        {"\"points_per_weight\": 20", "\"points_per_weight\": 20,\n\"max_points\": 99"},
        {"{\"name\": \"a\", \"address\": \"10.0.0.1\"",
         "{\"name\": \"a\", \"address\": \"10.0.0.1:11211\""},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const char *text = replaced(warming_text, changes[i][0], changes[i][1]);
        tap_status(wr_file_parse(&second, text, strlen(text), "f", &rings), WARMRING_TRY_AGAIN,
                   "%s: not now", changes[i][1]);
        tap_ok(second == NULL, "no file");
    }
    rings.most_points = 50; /* exactly what (1 + 1.5) x 20 makes */
    const char *text = replaced(warming_text, "\"name\": \"b\"", "\"name\": \"c\"");
    tap_status(wr_file_parse(&second, text, strlen(text), "f", &rings), WARMRING_OK,
               "small enough");
    tap_ok(second->topology->cluster[0] == first->topology->cluster[0] &&
               second->topology->cluster[1] != first->topology->cluster[1],
           "one is taken over");
    warmring_file_free(second);
    warmring_file_free(first);
}

int main(void) {
    test_stable();
    test_warming();
    test_by_hand();
    test_phases();
    test_numbers();
    test_locales();
    test_unwritable();
    test_create();
    test_parts();
    test_alike();
    return tap_done();
}
