/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the readers of server strings.
 *
 * A list that is read is a topology whose servers, written in the words of the
 * header, are read as the same servers again; its labels are addresses or
 * names. What is read as one server is a list of one, and the other way round.
 * What is not read leaves nothing behind and says why. Large rings are left
 * alone.
 */
#include <stdio.h>
#include <string.h>

#include <warmring/topology.h>

#include "pure_fuzz.h"
#include "topology/topology.h"

enum { MOST_POINTS = 500, LONGEST = 4096 };

static const warmring_ring_options_t options = {
    .size = sizeof options, .points_per_weight = 1, .max_points = MOST_POINTS};

static int same_text(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static uint16_t port_of(const warmring_server_t *server) {
    return server->port == 0 && server->host[0] != '/' ? WARMRING_DEFAULT_PORT : server->port;
}

/* In our words, or, where a path needs quotes or a host looks
 * like a word, in libmemcached's. Quotes in a path
 * hold it together as they did before. */
static void write_server(char *text, size_t size, const warmring_server_t *server) {
    const char *name = server->name != NULL ? server->name : "";
    const char *equals = name[0] != '\0' ? "=" : "";
    unsigned port = port_of(server);
    if (server->host[0] == '/' && strpbrk(server->host, ":,#") && !strchr(server->host, '"')) {
        snprintf(text, size, "--SOCKET=\"%s\"", server->host);
    } else if (server->host[0] == '/') {
        snprintf(text, size, "%s%sunix:%s", name, equals, server->host);
    } else if (strchr(server->host, ':') != NULL) {
        snprintf(text, size, "%s%s[%s]:%u", name, equals, server->host, port);
    } else if (strncmp(server->host, "--", 2) == 0 && name[0] == '\0') {
        snprintf(text, size, "--SERVER=%s:%u", server->host, port);
    } else {
        snprintf(text, size, "%s%s%s:%u", name, equals, server->host, port);
    }
}

static void check_again(const warmring_server_t *server) {
    char text[2 * WARMRING_SERVER_STRINGS];
    char strings[WARMRING_SERVER_STRINGS];
    warmring_server_t again = {.size = sizeof again};
    write_server(text, sizeof text, server);
    must(warmring_server_parse(text, &again, strings, sizeof strings) == WARMRING_OK);
    must(same_text(again.name, server->name) && strcmp(again.host, server->host) == 0);
    must(port_of(&again) == port_of(server));
    must(again.weight >= 1 && again.weight <= 1);
}

static void check_list(const warmring_topology_t *topology) {
    double total = 0;
    for (size_t i = 0;; i++) {
        const warmring_server_t *server = warmring_topology_server(topology, WARMRING_OLD_RING, i);
        if (server == NULL) {
            must(i > 0 && total > 0);
            return;
        }
        const char *label = warmring_topology_label(topology, WARMRING_OLD_RING, i);
        must(server->weight >= 0 && server->weight <= 1e308 && label[0] != '\0');
        must(server->name == NULL || strcmp(label, server->name) == 0);
        total += server->weight;
        check_again(server);
    }
}

/* A single one is read by both readers, or by neither. That nothing but weight
 * 0 or too much of it stands in a list is not about the string. */
static void check_single(const char *text, const warmring_topology_t *topology,
                         warmring_status_t status) {
    char strings[WARMRING_SERVER_STRINGS];
    warmring_server_t server = {.size = sizeof server};
    warmring_status_t single = warmring_server_parse(text, &server, strings, sizeof strings);
    must(single == WARMRING_OK || single == WARMRING_BAD_SERVER);
    must((single == WARMRING_OK) == (server.host != NULL));
    if (single != WARMRING_OK) {
        must(warmring_error_detail()[0] != '\0');
        must(topology == NULL || warmring_topology_server(topology, WARMRING_OLD_RING, 1) != NULL);
        return;
    }
    check_again(&server);
    int fits = server.weight > 0 && server.weight <= MOST_POINTS;
    must(fits ? status == WARMRING_OK : status != WARMRING_OK || server.weight < MOST_POINTS + 1);
    if (topology != NULL) {
        const warmring_server_t *other = warmring_topology_server(topology, WARMRING_OLD_RING, 0);
        must(same_text(server.name, other->name) && strcmp(server.host, other->host) == 0);
        must(port_of(&server) == port_of(other) && server.weight >= other->weight &&
             server.weight <= other->weight);
    }
}

int servers_fuzz(const uint8_t *bytes, size_t length) {
    char text[LONGEST + 1];
    warmring_topology_t *topology = (void *)text;
    if (length > LONGEST) {
        return 0;
    }
    memcpy(text, bytes, length);
    text[length] = '\0';
    warmring_status_t status = wr_topology_parse(&topology, text, &options);
    if (status == WARMRING_OK) {
        check_list(topology);
    } else {
        must(topology == NULL && warmring_error_detail()[0] != '\0');
        must(status == WARMRING_BAD_SERVER || status == WARMRING_LIMIT_EXCEEDED);
    }
    check_single(text, topology, status);
    warmring_topology_release(topology);
    return 0;
}
