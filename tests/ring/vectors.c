/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every owner in tests/data: nginx's and libmemcached's own, and those of an
 * independent implementation of v2.
 */
#include <stdlib.h>
#include <string.h>

#include <warmring/ring.h>

#include "../lib/tap.h"

enum { SERVERS = 64, LINE = 512 };

/* A file: its servers, and the keys that did not go where it says. */
typedef struct {
    const char *file;
    char dialect[64];
    warmring_server_t servers[SERVERS];
    char text[SERVERS][LINE];
    size_t count;
    double points_per_weight;
    unsigned long points; /* 0: not told */
    warmring_ring_t *ring;
    unsigned keys, wrong;
} vectors_t;

/* [NAME=]HOST[:PORT], [NAME=][V6]:PORT or [NAME=]unix:/PATH, cut in place. */
static void parse_address(warmring_server_t *server, char *text) {
    char *equals = strchr(text, '=');
    if (equals != NULL) {
        *equals = '\0';
        server->name = text;
        text = equals + 1;
    }
    char *port = strrchr(text, ':');
    if (strncmp(text, "unix:", 5) == 0) {
        server->host = text + 5;
        return;
    }
    char *bracket = strchr(text, ']');
    if (bracket != NULL) {
        text++;
        *bracket = '\0';
        port = bracket[1] == ':' ? bracket + 1 : NULL;
    }
    if (port != NULL) {
        *port = '\0';
        server->port = (uint16_t)atoi(port + 1);
    }
    server->host = text;
}

static void parse_comment(vectors_t *vectors, const char *line) {
    char *address = vectors->text[vectors->count];
    size_t index;
    double weight;
    if (sscanf(line, "# server %zu %500s weight %lf", &index, address, &weight) == 3) {
        if (index != vectors->count || index + 1 >= SERVERS) {
            tap_bail("%s: server %zu out of order", vectors->file, index);
        }
        warmring_server_t *server = &vectors->servers[vectors->count++];
        *server = (warmring_server_t){.size = sizeof *server, .weight = weight};
        parse_address(server, address);
        return;
    }
    sscanf(line, "# points_per_weight %lf", &vectors->points_per_weight);
    sscanf(line, "# points %lu", &vectors->points);
}

static void build(vectors_t *vectors) {
    warmring_ring_options_t options = {.size = sizeof options,
                                       .dialect = vectors->dialect,
                                       .points_per_weight = vectors->points_per_weight};
    if (warmring_ring_create(vectors->servers, vectors->count, &options, &vectors->ring) !=
        WARMRING_OK) {
        tap_bail("%s: %s", vectors->file, warmring_error_detail());
    }
}

static void check_key(vectors_t *vectors, const char *line) {
    const char *comma = strrchr(line, ',');
    if (comma == NULL) {
        tap_bail("%s: no comma in %s", vectors->file, line);
    }
    uint32_t expected = (uint32_t)strtoul(comma + 1, NULL, 10);
    uint32_t got = warmring_ring_locate(vectors->ring, line, (size_t)(comma - line));
    vectors->keys++;
    if (got != expected && vectors->wrong++ < 5) {
        tap_note("%s: got %u", line, got);
    }
}

static void check_file(const char *file, unsigned keys) {
    vectors_t *vectors = calloc(1, sizeof *vectors);
    if (vectors == NULL) {
        tap_bail("no memory");
    }
    vectors->file = file;
    snprintf(vectors->dialect, sizeof vectors->dialect, "%.*s", (int)strcspn(file, "."), file);
    FILE *stream = tap_data(file);
    char line[LINE];
    while (fgets(line, sizeof line, stream) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#') {
            parse_comment(vectors, line);
            continue;
        }
        if (vectors->ring == NULL) {
            build(vectors);
        }
        check_key(vectors, line);
    }
    fclose(stream);
    tap_int(vectors->keys, keys, "%s: all keys were read", file);
    tap_int(vectors->wrong, 0, "%s: every key has its owner", file);
    if (vectors->points != 0) {
        tap_int((int64_t)warmring_ring_points(vectors->ring), (int64_t)vectors->points,
                "%s: points after ties", file);
    }
    warmring_ring_free(vectors->ring);
    free(vectors);
}

int main(void) {
    static const struct {
        const char *file;
        unsigned keys;
    } files[] = {
        {"libmemcached-weighted.equal12-mixed-ports.csv", 1499},
        {"libmemcached-weighted.equal25-rounding.csv", 3000},
        {"libmemcached-weighted.equal5-default-port.csv", 1499},
        {"libmemcached-weighted.names4.csv", 1499},
        {"libmemcached-weighted.weighted20-wide.csv", 1499},
        {"libmemcached-weighted.weighted8.csv", 1499},
        {"nginx.equal12-mixed-ports.csv", 1499},
        {"nginx.equal5.csv", 1499},
        {"nginx.ipv6-unix5.csv", 1500},
        {"nginx.weighted20-wide.csv", 1499},
        {"nginx.weighted8.csv", 1499},
        {"v2.equal5.csv", 1007},
        {"v2.fractions9.csv", 1007},
        {"v2.gigabytes4.csv", 1007},
        {"v2.ipv6-unix8.csv", 1007},
        {"v2.named6.csv", 1007},
        {"v2.one.csv", 1007},
        {"v2.ties-named30.csv", 1047},
        {"v2.ties40.csv", 1067},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        check_file(files[i].file, files[i].keys);
    }
    return tap_done();
}
