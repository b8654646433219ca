/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imported configurations own keys as the programs do whose they are: against
 * the vectors taken from nginx, nutcracker and libmemcached. Then what each
 * importer refuses or notes.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <warmring/fleet.h>

#include "../lib/tap.h"

enum { SERVERS = 64, LINE = 512, TEXT = 32768 };

/* ---- texts ------------------------------------------------------------------- */

static char text[TEXT];
static size_t used;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    used += (size_t)vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
    if (used >= sizeof text) {
        tap_bail("text too long");
    }
}

static warmring_import_t *import(const char *format, const char *section,
                                 const warmring_ring_options_t *ring) {
    warmring_import_options_t options = {sizeof options, "x.conf", section, ring};
    warmring_import_t *result;
    if (warmring_import(&result, format, text, used, &options) != WARMRING_OK) {
        tap_bail("cannot import %s: %s\n%s", format, warmring_error_detail(), text);
    }
    return result;
}

/* ---- vectors ------------------------------------------------------------------ */

typedef struct {
    char address[SERVERS][LINE];
    int weight[SERVERS];
    size_t count;
} list_t;

static const struct {
    const char *file, *format, *hash;
} sources[] = {
    {"nginx.equal12-mixed-ports.csv", "nginx", NULL},
    {"nginx.equal5.csv", "nginx", NULL},
    {"nginx.ipv6-unix5.csv", "nginx", NULL},
    {"nginx.weighted20-wide.csv", "nginx", NULL},
    {"nginx.weighted8.csv", "nginx", NULL},
    {"twemproxy-fnv1a_64.equal6.csv", "twemproxy", NULL},
    {"twemproxy-fnv1a_64.weighted6.csv", "twemproxy", "fnv1a_64"},
    {"twemproxy-md5.equal6.csv", "twemproxy", "md5"},
    {"twemproxy-md5.weighted6.csv", "twemproxy", "md5"},
    {"twemproxy-one_at_a_time.equal6.csv", "twemproxy", "one_at_a_time"},
    {"twemproxy-one_at_a_time.weighted6.csv", "twemproxy", "one_at_a_time"},
    {"modula.equal12-mixed-ports.csv", "libmemcached", "modula"},
    {"modula.equal5-default-port.csv", "libmemcached", NULL},
    {"modula.names4.csv", "libmemcached", "modula"},
    {"modula.weighted8.csv", "libmemcached", NULL},
    {"libmemcached-ketama.equal12-mixed-ports.csv", "libmemcached", "consistent"},
    {"libmemcached-ketama.equal5-default-port.csv", "libmemcached", "consistent"},
    {"libmemcached-ketama.names4.csv", "libmemcached", "consistent"},
    {"libmemcached-ketama.weighted8.csv", "libmemcached", "consistent"},
    {"libmemcached-ketama.weighted20-wide.csv", "libmemcached", "consistent"},
    {"libmemcached-weighted.weighted8.csv", "list", "libmemcached-weighted"},
    {"libmemcached-spy.names4.csv", "list", "libmemcached-spy"},
};

enum { SOURCES = sizeof sources / sizeof sources[0] };

static void write_nginx(const list_t *list) {
    say("http {\n  upstream other { server 127.0.0.1:1; }\n"
        "  upstream  cache\n  {\n    hash $memcached_key consistent; # as keys\n");
    for (size_t i = 0; i < list->count; i++) {
        say("    server %s", list->address[i]);
        if (list->weight[i] != 1) {
            say(" weight=%d", list->weight[i]);
        }
        say(";\n");
    }
    say("    server 10.9.9.9:9 weight=7 down;\n    server 10.9.9.8:9 backup;\n  }\n}\n");
}

/* Where hosts are names, tw0 and so on, they are the names of the vectors. */
static void write_twemproxy(const list_t *list, const char *hash) {
    say("other:\n  servers:\n   - 127.0.0.1:1:1\ncache:\n  listen: 127.0.0.1:22121\n"
        "  distribution: ketama\n");
    if (hash != NULL) {
        say("  hash: %s\n", hash);
    }
    say("  servers:\n");
    for (size_t i = 0; i < list->count; i++) {
        size_t name = strcspn(list->address[i], ":");
        if (strncmp(list->address[i], "tw", 2) == 0) {
            say("   - 127.0.0.1%s:%d %.*s\n", list->address[i] + name, list->weight[i], (int)name,
                list->address[i]);
        } else {
            say("   - %s:%d\n", list->address[i], list->weight[i]);
        }
    }
}

/* The distribution first: weights before it do not count. */
static void write_libmemcached(const list_t *list, const char *distribution) {
    if (distribution != NULL) {
        say("--DISTRIBUTION=%s ", distribution);
    }
    for (size_t i = 0; i < list->count; i++) {
        size_t length = strlen(list->address[i]);
        bool standard = length > 6 && strcmp(list->address[i] + length - 6, ":11211") == 0;
        say("%s--SERVER=%.*s", i > 0 ? " " : "", (int)(length - (standard ? 6 : 0)),
            list->address[i]);
        if (list->weight[i] != 1) {
            say("/?%d", list->weight[i]);
        }
    }
}

static void write_list(const list_t *list) {
    for (size_t i = 0; i < list->count; i++) {
        say("%s%s:%d", i > 0 ? "," : "", list->address[i], list->weight[i]);
    }
}

static warmring_import_t *import_list(const list_t *list, size_t source) {
    const char *format = sources[source].format, *choice = sources[source].hash;
    warmring_ring_options_t ring = {.size = sizeof ring, .dialect = choice};
    used = 0;
    if (strcmp(format, "nginx") == 0) {
        write_nginx(list);
    } else if (strcmp(format, "twemproxy") == 0) {
        write_twemproxy(list, choice);
    } else if (strcmp(format, "libmemcached") == 0) {
        write_libmemcached(list, choice);
    } else {
        write_list(list);
    }
    return import(format,
                  strcmp(format, "nginx") == 0 || strcmp(format, "twemproxy") == 0 ? "cache" : NULL,
                  &ring);
}

static bool is_built(const char *format) {
    if (strcmp(format, "nginx") != 0 && !WR_WITH_LIBMEMCACHED) {
        return false;
    }
    return strcmp(format, "twemproxy") != 0 || WR_WITH_LIBYAML;
}

static void check_vectors(size_t source) {
    const char *file = sources[source].file;
    list_t list = {.count = 0};
    char line[LINE];
    warmring_import_t *result = NULL;
    const warmring_ring_t *ring = NULL;
    int keys = 0, wrong = 0;
    if (!is_built(sources[source].format)) {
        tap_skip("%s: not in this build", file);
        return;
    }
    FILE *stream = tap_data(file);
    while (fgets(line, sizeof line, stream) != NULL) {
        char *comma = strrchr(line, ',');
        size_t index;
        if (line[0] == '#') {
            list.count += sscanf(line, "# server %zu %500s weight %d", &index,
                                 list.address[list.count], &list.weight[list.count]) == 3;
            continue;
        }
        if (result == NULL) {
            result = import_list(&list, source);
            ring = warmring_topology_ring(warmring_import_topology(result), WARMRING_OLD_RING);
        }
        uint32_t expected = (uint32_t)strtoul(comma + 1, NULL, 10);
        wrong += warmring_ring_locate(ring, line, (size_t)(comma - line)) != expected;
        keys++;
    }
    fclose(stream);
    tap_int((int64_t)warmring_ring_servers(ring), (int64_t)list.count, "%s: servers", file);
    tap_ok(keys >= 1000, "%s: %d keys", file, keys);
    tap_int(wrong, 0, "%s: owners as there", file);
    warmring_import_free(result);
}

/* ---- notes ---------------------------------------------------------------------- */

static void check_note(const char *format, const char *written, const char *note) {
    used = 0;
    say("%s", written);
    warmring_import_t *result = import(format, NULL, NULL);
    bool found = false;
    for (size_t i = 0; warmring_import_note(result, i) != NULL; i++) {
        found = found || strstr(warmring_import_note(result, i), note) != NULL;
        if (note[0] == '\0') {
            tap_note("%s", warmring_import_note(result, i));
        }
    }
    tap_ok(note[0] == '\0' ? warmring_import_note(result, 0) == NULL : found, "%s: noted: %s",
           format, note[0] != '\0' ? note : "nothing");
    warmring_import_free(result);
}

#define UPSTREAM(rest) \
    "upstream u {\n hash $memcached_key consistent;\n server h1:1;\n " rest "\n}\n"
#define POOL(rest) "p:\n servers:\n  - h1:1:1\n" rest

static const struct {
    const char *format, *text, *note;
} notes[] = {
    {"nginx", UPSTREAM(""), ""},
    {"nginx", UPSTREAM("server h2;"), "line 4: h2: without a port nginx connects to port 80"},
    {"nginx", UPSTREAM("server h2:2 down;"), "line 4: h2:2: down, left out"},
    {"nginx", UPSTREAM("server h2:2 backup weight=3;"), "h2:2: backup, which owns no keys"},
    {"nginx", UPSTREAM("server h2:2 max_fails=3;"), "max_fails=3: not carried over"},
    {"nginx", UPSTREAM("keepalive 32;"), "keepalive: not carried over"},
    {"nginx", "upstream u { hash \"$scheme$request_uri\" consistent; server h:1; }",
     "line 1: $scheme$request_uri: what nginx hashes"},
    {"nginx", "upstream u { hash ${a}b consistent; server h:1; }", "${a}b: what nginx hashes"},
    {"list", "h1:1:2, h2", ""},
#if WR_WITH_LIBMEMCACHED
    {"libmemcached", "--SERVER=h1 --distribution=modula --hash=Fnv1a_64", ""},
    {"libmemcached", "--SERVER=h1 --NAMESPACE=\"app:\"", "give clients the option prefix=app:"},
    {"libmemcached", "--SERVER=h1 --HASH-WITH-NAMESPACE", ""},
    {"libmemcached", "--SERVER=h1 --SORT-HOSTS", "in the order of their names"},
    {"libmemcached", "--SERVER=h1 --NUMBER-OF-REPLICAS=2", "each key has one owner"},
    {"libmemcached", "--SERVER=h1 --REMOVE_FAILED_SERVERS", "stay its keys"},
    {"libmemcached", "--SERVER=h1 --TCP-NODELAY", "--TCP-NODELAY: not carried over"},
    {"libmemcached", "--SERVER=h1/?2 --DISTRIBUTION=consistent", "weights before --DISTRIBUTION"},
    {"libmemcached", "--SERVER=h1 --PASSWORD=\"secret\"", "--PASSWORD: not carried over, give"},
#if WR_WITH_LIBYAML
    {"twemproxy", POOL(""), ""},
    {"twemproxy", POOL(" auto_eject_hosts: true\n"), "auto_eject_hosts: not carried over; keys"},
    {"twemproxy", POOL(" auto_eject_hosts: false\n redis: false\n"), ""},
    {"twemproxy", POOL(" timeout: 400\n"), "timeout: not carried over"},
#endif
#endif
};

/* ---- refusals ------------------------------------------------------------------- */

static const struct {
    const char *format, *text, *section;
    warmring_status_t status;
    const char *said;
} refusals[] = {
    {"nginx", "", NULL, WARMRING_BAD_FILE, "x.conf: no upstream block"},
    {"nginx", "server { upstream; }", NULL, WARMRING_BAD_FILE, "no upstream block"},
    {"nginx", UPSTREAM("") "upstream v {}", NULL, WARMRING_BAD_FILE,
     "choose one of the upstream blocks: u, v"},
    {"nginx", UPSTREAM(""), "w", WARMRING_BAD_FILE, "no upstream \"w\"; there are: u"},
    {"nginx", UPSTREAM("") UPSTREAM(""), "u", WARMRING_BAD_FILE, "more than one upstream \"u\""},
    {"nginx", "upstream u {\n server h:1;\n", NULL, WARMRING_BAD_FILE,
     "x.conf:3: the upstream block is not closed"},
    {"nginx", "upstream u {\n server h:1\n}", NULL, WARMRING_BAD_FILE,
     "x.conf:3: \"}\": unexpected"},
    {"nginx", "upstream u {\n server h:1;\n}", NULL, WARMRING_NOT_SUPPORTED,
     "has no `hash KEY consistent`"},
    {"nginx", "upstream u {\n hash $a;\n server h:1;\n}", NULL, WARMRING_NOT_SUPPORTED,
     "x.conf:2: \"hash\": only `hash KEY consistent`"},
    {"nginx", UPSTREAM("least_conn;"), NULL, WARMRING_NOT_SUPPORTED, "x.conf:4: \"least_conn\""},
    {"nginx", UPSTREAM("server;"), NULL, WARMRING_BAD_FILE, "x.conf:4: \"server\": it needs an"},
    {"nginx", UPSTREAM("server h2:70000;"), NULL, WARMRING_BAD_FILE, "x.conf:4: port \"70000\""},
    {"nginx", UPSTREAM("server h2:2 weight=0;"), NULL, WARMRING_BAD_FILE,
     "x.conf:4: \"weight=0\": not a whole number from 1"},
    {"nginx", UPSTREAM("server h2:2 weight=1.5;"), NULL, WARMRING_BAD_FILE, "\"weight=1.5\""},
    {"nginx", UPSTREAM("server h1:1;"), NULL, WARMRING_BAD_SERVER,
     "x.conf: endpoint \"h1:1\" is used twice"},
    {"nginx", "upstream u { hash $memcached_key consistent; server h:1 down; }", NULL,
     WARMRING_BAD_FILE, "x.conf: no servers"},
    {"list", "h1:1,h2:x", NULL, WARMRING_BAD_FILE, "x.conf:1: port \"x\" in \"h2:x\""},
    {"list", "", NULL, WARMRING_BAD_FILE, "the list of servers is empty"},
    {"list", "h1,h1", NULL, WARMRING_BAD_SERVER, "used twice"},
    {"yaml", "", NULL, WARMRING_BAD_ARGUMENT, "unknown format \"yaml\""},
#if WR_WITH_LIBMEMCACHED
    {"libmemcached", "", NULL, WARMRING_BAD_FILE, "x.conf: no servers"},
    {"libmemcached", "--SERVER=h1 --SERVR=h2", NULL, WARMRING_BAD_FILE,
     "x.conf:1: word \"--SERVR=h2\": unknown"},
    {"libmemcached", "--SERVER=h1\n--HASH=sha1", NULL, WARMRING_BAD_FILE,
     "x.conf:2: word \"--HASH=sha1\": not a hash"},
    {"libmemcached", "--SERVER=h1 --DISTRIBUTION=ketama", NULL, WARMRING_BAD_FILE,
     "\"--DISTRIBUTION=ketama\": not consistent, modula"},
    {"libmemcached", "--SERVER=h1 --DISTRIBUTION=random", NULL, WARMRING_NOT_SUPPORTED,
     "no key has"},
    {"libmemcached", "--CONFIGURE-FILE=\"/etc/x\"", NULL, WARMRING_NOT_SUPPORTED,
     "\"--CONFIGURE-FILE=\"/etc/x\"\": it replaces all the rest"},
    {"libmemcached", "--SERVER=h1 --HASH-WITH-NAMESPACE --NAMESPACE=\"a\"", NULL,
     WARMRING_NOT_SUPPORTED, "--HASH-WITH-NAMESPACE: no ring"},
    {"libmemcached", "--SERVER=h1:0", NULL, WARMRING_BAD_FILE, "x.conf:1: port \"0\""},
    {"libmemcached", "h1:11211", NULL, WARMRING_BAD_FILE, "\"h1:11211\": not one that begins"},
    {"libmemcached", "--SERVER=h1 --SERVER=h1", NULL, WARMRING_BAD_SERVER, "used twice"},
    {"libmemcached", "--SERVER=", NULL, WARMRING_BAD_FILE, "\"--SERVER=\": it needs a value"},
    {"libmemcached", "--SERVER=h1 --HASH", NULL, WARMRING_BAD_FILE, "\"--HASH\": it needs a value"},
    {"libmemcached", "--SERVER=h1 --SORT-HOSTS=1", NULL, WARMRING_BAD_FILE, "takes no value"},
#if WR_WITH_LIBYAML
    {"twemproxy", "", NULL, WARMRING_BAD_FILE, "x.conf: no pools"},
    {"twemproxy", "- a\n", NULL, WARMRING_BAD_FILE, "no pools"},
    {"twemproxy", "p: [\n", NULL, WARMRING_BAD_FILE, "x.conf:2: did not find"},
    {"twemproxy", "p: 7\n", NULL, WARMRING_BAD_FILE, "x.conf:1: \"7\": not a pool"},
    {"twemproxy", POOL("") "q:\n", NULL, WARMRING_BAD_FILE, "choose one of the pools: p, q"},
    {"twemproxy", POOL("") "q:\n", "r", WARMRING_BAD_FILE, "no pool \"r\"; there are: p, q"},
    {"twemproxy", "p:\n hash: md5\n", NULL, WARMRING_BAD_FILE, "no servers"},
    {"twemproxy", "p:\n servers: h:1:1\n", NULL, WARMRING_BAD_FILE, "x.conf:2: \"servers\": not a"},
    {"twemproxy", "p:\n servers:\n  - h1\n", NULL, WARMRING_BAD_FILE,
     "x.conf:3: \"h1\": no weight from 1 up"},
    {"twemproxy", "p:\n servers:\n  - h1:1:0\n", NULL, WARMRING_BAD_FILE, "no weight from 1 up"},
    {"twemproxy", "p:\n servers:\n  - h1:1\n", NULL, WARMRING_BAD_FILE, "no port from 1"},
    {"twemproxy", "p:\n servers:\n  - h1:70000:1\n", NULL, WARMRING_BAD_FILE, "no port from 1"},
    {"twemproxy", "p:\n servers:\n  - 'h/1:1:1'\n", NULL, WARMRING_BAD_FILE, "\"h/1\" is no host"},
    {"twemproxy", "p:\n servers:\n  - h1:1:1 a/b\n", NULL, WARMRING_NOT_SUPPORTED, "name \"a/b\""},
    {"twemproxy", POOL(" redis: true\n"), NULL, WARMRING_NOT_SUPPORTED,
     "x.conf:4: \"redis\": not a"},
    {"twemproxy", POOL(" distribution: random\n"), NULL, WARMRING_NOT_SUPPORTED, "no key has an"},
    {"twemproxy", POOL(" distribution: ring\n"), NULL, WARMRING_BAD_FILE,
     "x.conf:4: \"ring\": not"},
    {"twemproxy", POOL(" hash: sha1\n"), NULL, WARMRING_BAD_FILE, "x.conf:4: \"sha1\": not a hash"},
    {"twemproxy", POOL(" hash_tag: \"{\"\n"), NULL, WARMRING_BAD_FILE, "\"{\": not two characters"},
    {"twemproxy", POOL("  - h2:2:2\n distribution: modula\n"), NULL, WARMRING_NOT_SUPPORTED,
     "modula with weights other than 1"},
    {"twemproxy", POOL(" distribution: modula\n hash_tag: \"{}\"\n"), NULL, WARMRING_NOT_SUPPORTED,
     "modula with a hash_tag"},
#endif
#endif
};

static void check_refusal(size_t i) {
    warmring_import_options_t options = {sizeof options, "x.conf", refusals[i].section, NULL};
    warmring_import_t *result = (void *)&result;
    tap_status(warmring_import(&result, refusals[i].format, refusals[i].text,
                               strlen(refusals[i].text), &options),
               refusals[i].status, "%s: %s", refusals[i].format, refusals[i].said);
    tap_contains(warmring_error_detail(), refusals[i].said, "is said");
    tap_ok(result == NULL, "no import");
}

static void test_others(void) {
    warmring_import_t *result;
    warmring_import_options_t small = {.size = 1};
    tap_status(warmring_import(&result, "list", "h\0x", 3, NULL), WARMRING_BAD_FILE, "a NUL byte");
    tap_contains(warmring_error_detail(), "list: a NUL byte", "without a name, the format's");
    tap_status(warmring_import(&result, "list", "h", 1, &small), WARMRING_BAD_ARGUMENT, "size");
    tap_status(warmring_import(&result, "twemproxy", "p: 7\n", 5, NULL),
               WR_WITH_LIBYAML ? WARMRING_BAD_FILE : WARMRING_NOT_SUPPORTED, "libyaml or not");
    static const char *const formats[] = {"libmemcached", "twemproxy", "nginx", "list", NULL};
    for (size_t i = 0; i < 5; i++) {
        tap_string(warmring_import_format(i), formats[i], "format %zu", i);
    }
}

#if WR_WITH_LIBMEMCACHED && WR_WITH_LIBYAML
/* A name that says what twemproxy would take anyway is none. */
static void test_names(void) {
    static const char written[] =
        "p:\n hash_tag: \"{}\"\n servers:\n  - h1:11211:1 h1\n  - h2:7:1 h2:7\n"
        "  - /run/m.sock:1 s\n  - fd00::1:11211:2\n";
    used = 0;
    say("%s", written);
    warmring_import_t *result = import("twemproxy", NULL, NULL);
    const warmring_topology_t *topology = warmring_import_topology(result);
    static const char *const names[] = {NULL, NULL, "s", NULL};
    static const char *const hosts[] = {"h1", "h2", "/run/m.sock", "fd00::1"};
    for (size_t i = 0; i < 4; i++) {
        const warmring_server_t *server = warmring_topology_server(topology, WARMRING_OLD_RING, i);
        tap_string(server->name, names[i], "name %zu", i);
        tap_string(server->host, hosts[i], "host %zu", i);
    }
    const warmring_ring_t *ring = warmring_topology_ring(topology, WARMRING_OLD_RING);
    int apart = 0;
    for (int i = 0; i < 200; i++) {
        char key[40];
        int length = snprintf(key, sizeof key, "user{%d}:name", i);
        apart += warmring_ring_locate(ring, key, (size_t)length) !=
                 warmring_ring_locate(ring, key + 5, strcspn(key + 5, "}"));
    }
    tap_int(apart, 0, "the hash tag is carried over");
    warmring_import_free(result);
}
#endif

int main(void) {
    for (size_t i = 0; i < SOURCES; i++) {
        check_vectors(i);
    }
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        check_note(notes[i].format, notes[i].text, notes[i].note);
    }
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        check_refusal(i);
    }
    test_others();
#if WR_WITH_LIBMEMCACHED && WR_WITH_LIBYAML
    test_names();
#endif
    warmring_import_free(NULL);
    return tap_done();
}
