/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every owner in tests/data: those of the programs whose dialects they are, and
 * those of an independent implementation of v2.
 */
#include <stdlib.h>
#include <string.h>

#include <warmring/ring.h>

#include "../lib/tap.h"

enum { SERVERS = 320, LINE = 512 };

/* A file, and how its ring is made. */
typedef struct {
    const char *file;
    const char *dialect;
    const char *hash;
    double points_per_weight; /* unless the file tells it */
    bool aliases;             /* hosts are names */
    unsigned keys;
} source_t;

/* Its servers, and the keys that did not go where it says. */
typedef struct {
    const source_t *source;
    const char *file;
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
        if (vectors->source->aliases) {
            server->name = server->host;
            server->host = "127.0.0.1";
        }
        return;
    }
    sscanf(line, "# points_per_weight %lf", &vectors->points_per_weight);
    sscanf(line, "# points %lu", &vectors->points);
}

static void build(vectors_t *vectors) {
    warmring_ring_options_t options = {.size = sizeof options,
                                       .dialect = vectors->source->dialect,
                                       .hash = vectors->source->hash,
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

/* False for those that a build without libmemcached leaves out. */
static bool is_built(const char *dialect) {
    for (size_t i = 0; warmring_dialect_name(i) != NULL; i++) {
        if (strcmp(warmring_dialect_name(i), dialect) == 0) {
            return true;
        }
    }
    return WR_WITH_LIBMEMCACHED;
}

static void check_file(const source_t *source) {
    const char *file = source->file;
    if (!is_built(source->dialect)) {
        tap_note("%s: no dialect %s in this build", file, source->dialect);
        return;
    }
    vectors_t *vectors = calloc(1, sizeof *vectors);
    if (vectors == NULL) {
        tap_bail("no memory");
    }
    vectors->source = source;
    vectors->file = file;
    vectors->points_per_weight = source->points_per_weight;
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
    tap_int(vectors->keys, source->keys, "%s: all keys were read", file);
    tap_int(vectors->wrong, 0, "%s: every key has its owner", file);
    if (vectors->points != 0) {
        tap_int((int64_t)warmring_ring_points(vectors->ring), (int64_t)vectors->points,
                "%s: points after ties", file);
    }
    warmring_ring_free(vectors->ring);
    free(vectors);
}

int main(void) {
    static const source_t sources[] = {
        {"libmemcached-ketama.equal12-mixed-ports.csv", "libmemcached", NULL, 0, false, 1499},
        {"libmemcached-ketama.equal5-default-port.csv", "libmemcached", NULL, 0, false, 1499},
        {"libmemcached-ketama.names4.csv", "libmemcached", NULL, 0, false, 1499},
        {"libmemcached-ketama.weighted20-wide.csv", "libmemcached", NULL, 0, false, 1499},
        {"libmemcached-ketama.weighted8.csv", "libmemcached", NULL, 0, false, 1499},
        {"libmemcached-spy.equal12-mixed-ports.csv", "libmemcached-spy", NULL, 0, false, 1499},
        {"libmemcached-spy.equal5-default-port.csv", "libmemcached-spy", NULL, 0, false, 1499},
        {"libmemcached-spy.names4.csv", "libmemcached-spy", NULL, 0, false, 1499},
        {"libmemcached-spy.weighted20-wide.csv", "libmemcached-spy", NULL, 0, false, 1499},
        {"libmemcached-spy.weighted8.csv", "libmemcached-spy", NULL, 0, false, 1499},
        {"libmemcached-weighted.equal12-mixed-ports.csv", "libmemcached-weighted", NULL, 0, false,
         1499},
        {"libmemcached-weighted.equal25-rounding.csv", "libmemcached-weighted", NULL, 0, false,
         3000},
        {"libmemcached-weighted.equal5-default-port.csv", "libmemcached-weighted", NULL, 0, false,
         1499},
        {"libmemcached-weighted.names4.csv", "libmemcached-weighted", NULL, 0, false, 1499},
        {"libmemcached-weighted.weighted20-wide.csv", "libmemcached-weighted", NULL, 0, false,
         1499},
        {"libmemcached-weighted.weighted8.csv", "libmemcached-weighted", NULL, 0, false, 1499},
        {"modula.equal12-mixed-ports.csv", "modula", NULL, 0, false, 1499},
        {"modula.equal5-default-port.csv", "modula", NULL, 0, false, 1499},
        {"modula.names4.csv", "modula", NULL, 0, false, 1499},
        {"modula.weighted20-wide.csv", "modula", NULL, 0, false, 1499},
        {"modula.weighted8.csv", "modula", NULL, 0, false, 1499},
        {"nginx.equal12-mixed-ports.csv", "nginx", NULL, 0, false, 1499},
        {"nginx.equal5.csv", "nginx", NULL, 0, false, 1499},
        {"nginx.ipv6-unix5.csv", "nginx", NULL, 0, false, 1500},
        {"nginx.weighted20-wide.csv", "nginx", NULL, 0, false, 1499},
        {"nginx.weighted8.csv", "nginx", NULL, 0, false, 1499},
        {"pingora-v1.equal4.csv", "pingora-v1", NULL, 0, false, 1002},
        {"pingora-v1.ipv6-mix9.csv", "pingora-v1", NULL, 0, false, 1002},
        {"pingora-v1.weighted10.csv", "pingora-v1", NULL, 0, false, 1002},
        {"pingora-v1.wide300.csv", "pingora-v1", NULL, 0, false, 1002},
        {"pingora-v2-mult1000.equal4.csv", "pingora-v2", NULL, 1000, false, 1002},
        {"pingora-v2-mult1000.ipv6-mix9.csv", "pingora-v2", NULL, 1000, false, 1002},
        {"pingora-v2-mult1000.weighted10.csv", "pingora-v2", NULL, 1000, false, 1002},
        {"pingora-v2-mult1000.wide300.csv", "pingora-v2", NULL, 1000, false, 1002},
        {"pingora-v2-mult16.equal4.csv", "pingora-v2", NULL, 16, false, 1002},
        {"pingora-v2-mult16.ipv6-mix9.csv", "pingora-v2", NULL, 16, false, 1002},
        {"pingora-v2-mult16.weighted10.csv", "pingora-v2", NULL, 16, false, 1002},
        {"pingora-v2-mult16.wide300.csv", "pingora-v2", NULL, 16, false, 1002},
        {"pingora-v2-mult40.equal4.csv", "pingora-v2", NULL, 40, false, 1002},
        {"pingora-v2-mult40.ipv6-mix9.csv", "pingora-v2", NULL, 40, false, 1002},
        {"pingora-v2-mult40.weighted10.csv", "pingora-v2", NULL, 40, false, 1002},
        {"pingora-v2-mult40.wide300.csv", "pingora-v2", NULL, 40, false, 1002},
        {"twemproxy-fnv1a_64.equal6.csv", "twemproxy", "fnv1a_64", 0, false, 1499},
        {"twemproxy-fnv1a_64.weighted6.csv", "twemproxy", "fnv1a_64", 0, true, 1499},
        {"twemproxy-md5.equal6.csv", "twemproxy", "md5", 0, false, 1499},
        {"twemproxy-md5.weighted6.csv", "twemproxy", "md5", 0, true, 1499},
        {"twemproxy-one_at_a_time.equal6.csv", "twemproxy", "one_at_a_time", 0, false, 1499},
        {"twemproxy-one_at_a_time.weighted6.csv", "twemproxy", "one_at_a_time", 0, true, 1499},
        {"v2.equal5.csv", "v2", NULL, 0, false, 1007},
        {"v2.fractions9.csv", "v2", NULL, 0, false, 1007},
        {"v2.gigabytes4.csv", "v2", NULL, 0, false, 1007},
        {"v2.ipv6-unix8.csv", "v2", NULL, 0, false, 1007},
        {"v2.named6.csv", "v2", NULL, 0, false, 1007},
        {"v2.one.csv", "v2", NULL, 0, false, 1007},
        {"v2.ties-named30.csv", "v2", NULL, 0, false, 1047},
        {"v2.ties40.csv", "v2", NULL, 0, false, 1067},
    };
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        check_file(&sources[i]);
    }
    return tap_done();
}
