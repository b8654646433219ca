/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration strings of libmemcached: what is imported gives each key the
 * owner that libmemcached itself gives it, when it is configured with the very
 * same string.
 */
#include <libmemcached/memcached.h>
#include <string.h>

#include <warmring/fleet.h>

#include "../lib/tap.h"

#define THREE "--SERVER=10.0.0.3:11211 --SERVER=cache.example:7 --SERVER=10.0.0.1"
#define WEIGHTED "--SERVER=10.0.0.3:11211/?2 --SERVER=cache.example:7 --SERVER=10.0.0.1/?5"

#define CONSISTENT "--DISTRIBUTION=consistent"

/* `refused`: what is said of a string that makes a ring we do not have. */
static const struct {
    const char *text, *refused;
} configurations[] = {
    {THREE, NULL},
    {WEIGHTED, NULL},
    {THREE " --DISTRIBUTION=modula --HASH=MD5", NULL},
    {THREE " " CONSISTENT, NULL},
    {THREE " --hash=crc --distribution=CONSISTENT", NULL},
    {THREE " " CONSISTENT ",MD5", NULL},
    {"--HASH=FNV1A_64 " THREE " " CONSISTENT ",MD5", NULL},
    {CONSISTENT " --HASH=MD5 " THREE, NULL},
    {THREE " " CONSISTENT " --HASH=CRC", "--HASH behind the servers"},
    {CONSISTENT " " THREE " --HASH=CRC", "--HASH behind the servers"},
    {THREE " " CONSISTENT " --HASH=CRC --SORT-HOSTS", NULL},
    {WEIGHTED " " CONSISTENT, NULL},
    {CONSISTENT " " WEIGHTED, NULL},
    {CONSISTENT " " WEIGHTED " --HASH=FNV1_64", NULL},
    {CONSISTENT ",CRC --HASH=MURMUR " WEIGHTED, NULL},
    {"--SERVER=10.0.0.9/?3 " CONSISTENT " --SERVER=10.0.0.8/?2 --SERVER=10.0.0.7", NULL},
    {"--SERVER=10.0.0.9/?3 " CONSISTENT " --SERVER=10.0.0.8 --SERVER=10.0.0.7", NULL},
    {CONSISTENT " " WEIGHTED " " CONSISTENT, NULL},
    {CONSISTENT " " WEIGHTED " --SORT-HOSTS", NULL},
    {THREE " --HASH=FNV1_32 --SORT-HOSTS", NULL},
    {"--HASH=FNV1A_32 " CONSISTENT " --SORT-HOSTS " THREE, NULL},
    {THREE " --HASH=JENKINS --NAMESPACE=\"app:\"", NULL},
    {THREE " --HASH-WITH-NAMESPACE", NULL},
    {"--SOCKET=\"/run/m.sock\" " THREE " " CONSISTENT, NULL},
    {CONSISTENT " --SERVER=10.0.0.3/?0 --SERVER=10.0.0.4/?1", NULL},
    {THREE " --NUMBER-OF-REPLICAS=1 --TCP-NODELAY --BINARY-PROTOCOL", NULL},
    {"--SERVER=10.0.0.1:1 --SERVER=10.0.0.1:2 --SERVER=10.0.0.1 --SORT-HOSTS", NULL},
    {"--SERVER=10.0.0.1:11211 --SERVER=10.0.0.1", "used twice"},
};

/* Where libmemcached has server `index`; its own order after sorting. */
static bool same_server(const memcached_st *memc, uint32_t index, const warmring_server_t *server) {
    const memcached_instance_st *theirs = memcached_server_instance_by_position(memc, index);
    uint16_t port = server->host[0] == '/' ? 0
                    : server->port == 0    ? (uint16_t)WARMRING_DEFAULT_PORT
                                           : server->port;
    return strcmp(memcached_server_name(theirs), server->host) == 0 &&
           memcached_server_port(theirs) == port;
}

/* How many of 3,000 keys go elsewhere. */
static int count_wrong(const memcached_st *memc, const warmring_topology_t *topology) {
    const warmring_ring_t *ring = warmring_topology_ring(topology, WARMRING_OLD_RING);
    int wrong = 0;
    for (int i = 0; i < 3000; i++) {
        char key[32];
        size_t length = (size_t)snprintf(key, sizeof key, "user:%d", i * 7919);
        uint32_t ours = warmring_ring_locate(ring, key, length);
        wrong += !same_server(memc, memcached_generate_hash(memc, key, length),
                              warmring_topology_server(topology, WARMRING_OLD_RING, ours));
    }
    return wrong;
}

static void check(const char *text, const char *refused) {
    warmring_import_t *import;
    memcached_st *memc = memcached(text, strlen(text));
    if (memc == NULL) {
        tap_bail("libmemcached refuses %s", text);
    }
    warmring_status_t status = warmring_import(&import, "libmemcached", text, strlen(text), NULL);
    if (refused != NULL) {
        tap_ok(status != WARMRING_OK, "refused: %s", text);
        tap_contains(warmring_error_detail(), refused, "which is said");
    } else {
        tap_status(status, WARMRING_OK, "%s", text);
        tap_int(count_wrong(memc, warmring_import_topology(import)), 0, "owners of 3,000 keys");
    }
    warmring_import_free(import);
    memcached_free(memc);
}

int main(void) {
    for (size_t i = 0; i < sizeof configurations / sizeof configurations[0]; i++) {
        check(configurations[i].text, configurations[i].refused);
    }
    return tap_done();
}
