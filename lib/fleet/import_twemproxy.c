/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twemproxy: one pool of its YAML file.
 *
 * Under ketama a server is known by its name, else by host and port. Under
 * modula twemproxy deals keys out by weight, which is our modula only where
 * every weight is 1.
 */
#include <string.h>

#include "base/fail.h"
#include "fleet/import.h"

#if WR_WITH_LIBYAML

#include <stdarg.h>
#include <stdio.h>
#include <yaml.h>

#include "base/number.h"
#include "topology/ipv6_text.h"
#include "topology/server_text.h"

enum { QUOTED = 60, TEXT_SIZE = 600 };

typedef struct {
    wr_import_t *import;
    yaml_document_t *document;
    bool modula;
} reading_t;

static const char *text_of(const yaml_node_t *node) {
    return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : "";
}

__attribute__((format(printf, 4, 5))) static warmring_status_t refuse(const reading_t *reading,
                                                                      warmring_status_t status,
                                                                      const yaml_node_t *node,
                                                                      const char *format, ...) {
    char reason[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return wr_import_fail(reading->import, status, node->start_mark.line + 1, "\"%.*s\": %s",
                          QUOTED, text_of(node), reason);
}

static bool is(const yaml_node_t *node, const char *text) {
    return strcmp(text_of(node), text) == 0;
}

static bool is_true(const yaml_node_t *node) {
    return is(node, "true") || is(node, "yes") || is(node, "on");
}

/* ---- servers: HOST:PORT:WEIGHT [NAME] or /PATH:WEIGHT [NAME] ----------------------- */

/* Cuts the number behind the last ':' off; false where there is none. */
static bool cut_number(char *text, uint64_t most, uint64_t *number) {
    char *colon = strrchr(text, ':');
    if (colon == NULL || !wr_parse_uint(colon + 1, strlen(colon + 1), most, number)) {
        return false;
    }
    *colon = '\0';
    return *number > 0;
}

static warmring_status_t check_name(const reading_t *reading, const yaml_node_t *node,
                                    const warmring_server_t *server) {
    if (server->name == NULL || wr_is_name(server->name, strlen(server->name), WR_MAX_NAME)) {
        return WARMRING_OK;
    }
    return refuse(reading, WARMRING_NOT_SUPPORTED, node,
                  "name \"%.60s\": a name here is letters, digits, '.', '_' and '-'", server->name);
}

static warmring_status_t read_address(const reading_t *reading, const yaml_node_t *node, char *text,
                                      warmring_server_t *server) {
    uint64_t weight = 0, port = 0;
    if (!cut_number(text, UINT32_MAX, &weight)) {
        return refuse(reading, WARMRING_BAD_FILE, node, "no weight from 1 up at the end");
    }
    if (text[0] != '/' && !cut_number(text, UINT16_MAX, &port)) {
        return refuse(reading, WARMRING_BAD_FILE, node, "no port from 1 to 65535");
    }
    size_t length = strlen(text);
    if (text[0] != '/' && !wr_is_name(text, length, WR_MAX_HOST) && !wr_is_ipv6(text, length)) {
        return refuse(reading, WARMRING_BAD_FILE, node, "\"%.60s\" is no host", text);
    }
    server->host = text;
    server->port = (uint16_t)port;
    server->weight = (double)weight;
    return WARMRING_OK;
}

/* The name that twemproxy gives a server without one. */
static bool is_its_own_name(const warmring_server_t *server) {
    char text[TEXT_SIZE + 8];
    if (server->port == WARMRING_DEFAULT_PORT || server->port == 0) {
        snprintf(text, sizeof text, "%s", server->host);
    } else {
        snprintf(text, sizeof text, "%s:%u", server->host, (unsigned)server->port);
    }
    return strcmp(text, server->name) == 0;
}

static warmring_status_t read_server(reading_t *reading, const yaml_node_t *node) {
    char text[TEXT_SIZE];
    warmring_server_t server = {.size = sizeof server};
    if (node->type != YAML_SCALAR_NODE || strlen(text_of(node)) >= sizeof text) {
        return refuse(reading, WARMRING_BAD_FILE, node, "not HOST:PORT:WEIGHT");
    }
    snprintf(text, sizeof text, "%s", text_of(node));
    char *blank = strchr(text, ' ');
    if (blank != NULL) {
        *blank = '\0';
        server.name = blank + 1 + strspn(blank + 1, " ");
    }
    warmring_status_t status = read_address(reading, node, text, &server);
    if (status == WARMRING_OK && server.name != NULL && is_its_own_name(&server)) {
        server.name = NULL;
    }
    if (status == WARMRING_OK) {
        status = check_name(reading, node, &server);
    }
    return status == WARMRING_OK ? wr_import_add(reading->import, &server) : status;
}

static warmring_status_t take_servers(reading_t *reading, const yaml_node_t *key,
                                      const yaml_node_t *value) {
    if (value->type != YAML_SEQUENCE_NODE) {
        return refuse(reading, WARMRING_BAD_FILE, key, "not a list");
    }
    warmring_status_t status = WARMRING_OK;
    const yaml_node_item_t *item = value->data.sequence.items.start;
    for (; item < value->data.sequence.items.top && status == WARMRING_OK; item++) {
        status = read_server(reading, yaml_document_get_node(reading->document, *item));
    }
    return status;
}

/* ---- the other keys ----------------------------------------------------------------- */

static warmring_status_t take_hash(reading_t *reading, const yaml_node_t *key,
                                   const yaml_node_t *value) {
    static const char *const hashes[] = {"one_at_a_time", "md5",     "crc16",    "crc32",
                                         "crc32a",        "fnv1_64", "fnv1a_64", "fnv1_32",
                                         "fnv1a_32",      "hsieh",   "murmur",   "jenkins"};
    (void)key;
    for (size_t i = 0; i < sizeof hashes / sizeof hashes[0]; i++) {
        if (is(value, hashes[i])) {
            reading->import->ring.hash = hashes[i];
            return WARMRING_OK;
        }
    }
    return refuse(reading, WARMRING_BAD_FILE, value, "not a hash that twemproxy knows");
}

static warmring_status_t take_hash_tag(reading_t *reading, const yaml_node_t *key,
                                       const yaml_node_t *value) {
    (void)key;
    if (strlen(text_of(value)) != 2) {
        return refuse(reading, WARMRING_BAD_FILE, value, "not two characters");
    }
    memcpy(reading->import->hash_tag, text_of(value), 3);
    reading->import->ring.hash_tag = reading->import->hash_tag;
    return WARMRING_OK;
}

static warmring_status_t take_distribution(reading_t *reading, const yaml_node_t *key,
                                           const yaml_node_t *value) {
    (void)key;
    reading->modula = is(value, "modula");
    if (is(value, "random")) {
        return refuse(reading, WARMRING_NOT_SUPPORTED, value, "no key has an owner then");
    }
    return reading->modula || is(value, "ketama")
               ? WARMRING_OK
               : refuse(reading, WARMRING_BAD_FILE, value, "not ketama, modula or random");
}

static warmring_status_t take_redis(reading_t *reading, const yaml_node_t *key,
                                    const yaml_node_t *value) {
    return is_true(value) ? refuse(reading, WARMRING_NOT_SUPPORTED, key, "not a pool of memcached")
                          : WARMRING_OK;
}

static warmring_status_t take_ejection(reading_t *reading, const yaml_node_t *key,
                                       const yaml_node_t *value) {
    (void)key;
    return is_true(value) ? wr_import_note(reading->import,
                                           "auto_eject_hosts: not carried over; keys of a server "
                                           "that is down stay its keys")
                          : WARMRING_OK;
}

static warmring_status_t note_other(reading_t *reading, const yaml_node_t *key,
                                    const yaml_node_t *value) {
    (void)value;
    return wr_import_note(reading->import, "%.*s: not carried over, it concerns the proxy", QUOTED,
                          text_of(key));
}

static const struct {
    const char *key;
    warmring_status_t (*take)(reading_t *reading, const yaml_node_t *key, const yaml_node_t *value);
} keys[] = {
    {"servers", take_servers},           {"hash", take_hash},   {"hash_tag", take_hash_tag},
    {"distribution", take_distribution}, {"redis", take_redis}, {"auto_eject_hosts", take_ejection},
};

static warmring_status_t take(reading_t *reading, const yaml_node_t *key,
                              const yaml_node_t *value) {
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (is(key, keys[i].key)) {
            return keys[i].take(reading, key, value);
        }
    }
    return note_other(reading, key, value);
}

/* ---- the pool -------------------------------------------------------------------------- */

static warmring_status_t check_modula(const reading_t *reading, const yaml_node_t *pool) {
    const wr_import_t *import = reading->import;
    for (size_t i = 0; i < import->count; i++) {
        if (import->servers[i].weight > 1) {
            return wr_import_fail(import, WARMRING_NOT_SUPPORTED, pool->start_mark.line + 1,
                                  "distribution modula with weights other than 1: no ring here "
                                  "deals keys out so");
        }
    }
    if (import->ring.hash_tag != NULL) {
        return wr_import_fail(import, WARMRING_NOT_SUPPORTED, pool->start_mark.line + 1,
                              "distribution modula with a hash_tag: modula has none here");
    }
    return WARMRING_OK;
}

static warmring_status_t read_pool(reading_t *reading, const yaml_node_t *pool) {
    warmring_status_t status = WARMRING_OK;
    if (pool->type != YAML_MAPPING_NODE) {
        return refuse(reading, WARMRING_BAD_FILE, pool, "not a pool");
    }
    const yaml_node_pair_t *pair = pool->data.mapping.pairs.start;
    for (; pair < pool->data.mapping.pairs.top && status == WARMRING_OK; pair++) {
        status = take(reading, yaml_document_get_node(reading->document, pair->key),
                      yaml_document_get_node(reading->document, pair->value));
    }
    return status == WARMRING_OK && reading->modula ? check_modula(reading, pool) : status;
}

/* The pool of that name, or the only one. */
static warmring_status_t choose_pool(const reading_t *reading, const yaml_node_t *root,
                                     const yaml_node_t **pool) {
    const char *section = reading->import->section, *name = reading->import->name;
    char names[200] = "";
    size_t count = 0, used = 0;
    if (root == NULL || root->type != YAML_MAPPING_NODE) {
        return wr_fail(WARMRING_BAD_FILE, "%s: no pools", name);
    }
    const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
    for (; pair < root->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(reading->document, pair->key);
        if (section == NULL || is(key, section)) {
            *pool = yaml_document_get_node(reading->document, pair->value);
            count++;
        }
        int length = snprintf(names + used, sizeof names - used, "%s%.*s", used > 0 ? ", " : "",
                              QUOTED, text_of(key));
        used += length > 0 ? (size_t)length : 0;
        used = used < sizeof names ? used : sizeof names - 1;
    }
    if (count == 1) {
        return WARMRING_OK;
    }
    if (section != NULL) {
        return wr_fail(WARMRING_BAD_FILE, "%s: %s pool \"%.100s\"; there are: %s", name,
                       count == 0 ? "no" : "more than one", section, names);
    }
    return wr_fail(WARMRING_BAD_FILE, "%s: %s%s", name,
                   count == 0 ? "no pools" : "choose one of the pools: ", names);
}

static warmring_status_t read_document(wr_import_t *import, yaml_document_t *document) {
    reading_t reading = {.import = import, .document = document};
    const yaml_node_t *pool = NULL;
    import->ring.hash = "fnv1a_64";
    warmring_status_t status = choose_pool(&reading, yaml_document_get_root_node(document), &pool);
    if (status == WARMRING_OK) {
        status = read_pool(&reading, pool);
    }
    import->ring.dialect = reading.modula ? "modula" : "twemproxy";
    return status;
}

static warmring_status_t read_yaml(wr_import_t *import) {
    yaml_parser_t parser;
    yaml_document_t document;
    warmring_status_t status;
    if (!yaml_parser_initialize(&parser)) {
        return wr_fail_memory();
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)import->text, import->length);
    if (yaml_parser_load(&parser, &document)) {
        status = read_document(import, &document);
        yaml_document_delete(&document);
    } else if (parser.error == YAML_MEMORY_ERROR) {
        status = wr_fail_memory();
    } else {
        status = wr_import_fail(import, WARMRING_BAD_FILE, parser.problem_mark.line + 1, "%s",
                                parser.problem != NULL ? parser.problem : "not YAML");
    }
    yaml_parser_delete(&parser);
    return status;
}

#else

static warmring_status_t read_yaml(wr_import_t *import) {
    return wr_fail(WARMRING_NOT_SUPPORTED,
                   "%s: this library was built without libyaml, which reads twemproxy's files",
                   import->name);
}

#endif

const wr_importer_t wr_import_twemproxy = {"twemproxy", read_yaml};
