/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a ring: the servers as structs, the options, then the ring itself,
 * whose own checks are final. When they refuse, the value at fault is looked
 * for with the same checks, piece by piece, so that the error can say where
 * it stands.
 */
#include "topology/file_ring.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "ring/check.h"
#include "ring/index.h"
#include "topology/file.h"
#include "topology/server_text.h"

typedef struct {
    const wr_node_t *node;
    wr_node_t list; /* "servers" */
    warmring_server_t *servers;
    size_t count;
    char *hosts; /* what their strings point into; names are the document's */
    warmring_ring_options_t options;
} draft_t;

/* ---- servers --------------------------------------------------------------- */

static warmring_status_t read_name(const wr_node_t *node, const char **name) {
    wr_node_t member;
    if (!wr_node_find(node, "name", &member)) {
        *name = NULL;
        return WARMRING_OK;
    }
    warmring_status_t status = wr_node_string(&member, name);
    if (status == WARMRING_OK && !wr_is_name(*name, strlen(*name), WR_MAX_NAME)) {
        status = wr_node_refuse(&member,
                                "is not a name of 1 to %d letters, digits, '.', '_' "
                                "and '-'",
                                WR_MAX_NAME);
    }
    return status;
}

static bool is_ascii(const char *text) {
    while (*text != '\0' && (unsigned char)*text < 0x80) {
        text++;
    }
    return *text == '\0';
}

/* Writes the host to *end and moves that behind it. */
static warmring_status_t read_address(const wr_node_t *node, warmring_server_t *server,
                                      char **end) {
    wr_node_t member;
    wr_server_list_t parsed;
    const char *text;
    warmring_status_t status = wr_node_member(node, "address", &member);
    if (status == WARMRING_OK) {
        status = wr_node_string(&member, &text);
    }
    if (status != WARMRING_OK) {
        return status;
    }
    if (!is_ascii(text)) {
        return wr_node_refuse(&member, "has other characters than ASCII");
    }
    status = wr_address_parse(&parsed, text);
    if (status != WARMRING_OK) {
        return wr_node_wrap(&member, status);
    }
    size_t size = strlen(parsed.servers[0].host) + 1;
    server->host = memcpy(*end, parsed.servers[0].host, size);
    server->port = parsed.servers[0].port;
    *end += size;
    wr_server_list_free(&parsed);
    return WARMRING_OK;
}

static warmring_status_t read_server(const wr_node_t *node, warmring_server_t *server, char **end) {
    static const char *const keys[] = {"name", "address", "weight", NULL};
    wr_node_t member;
    *server = (warmring_server_t){.size = sizeof *server};
    warmring_status_t status = wr_node_object(node, keys);
    if (status == WARMRING_OK) {
        status = read_name(node, &server->name);
    }
    if (status == WARMRING_OK) {
        status = read_address(node, server, end);
    }
    if (status == WARMRING_OK) {
        status = wr_node_member(node, "weight", &member);
    }
    return status == WARMRING_OK ? wr_node_real(&member, &server->weight) : status;
}

/* Room for all hosts: an address is longer than the host in it. */
static size_t size_of_hosts(const wr_node_t *list) {
    size_t size = 1;
    for (size_t i = 0; i < wr_node_size(list); i++) {
        const char *address =
            json_string_value(json_object_get(wr_node_element(list, i).value, "address"));
        size += address != NULL ? strlen(address) + 1 : 0;
    }
    return size;
}

static warmring_status_t read_servers(draft_t *draft) {
    warmring_status_t status = wr_node_member(draft->node, "servers", &draft->list);
    if (status == WARMRING_OK) {
        status = wr_node_container(&draft->list, JSON_ARRAY);
    }
    if (status != WARMRING_OK) {
        return status;
    }
    draft->count = wr_node_size(&draft->list);
    draft->servers = wr_calloc(draft->count, sizeof *draft->servers);
    draft->hosts = wr_malloc(size_of_hosts(&draft->list));
    if (draft->servers == NULL || draft->hosts == NULL) {
        return wr_fail_memory();
    }
    char *end = draft->hosts;
    for (size_t i = 0; i < draft->count && status == WARMRING_OK; i++) {
        wr_node_t element = wr_node_element(&draft->list, i);
        status = read_server(&element, &draft->servers[i], &end);
    }
    return status;
}

/* ---- options --------------------------------------------------------------- */

static warmring_status_t read_string(const wr_node_t *node, const char *key, const char **string) {
    wr_node_t member;
    return wr_node_find(node, key, &member) ? wr_node_string(&member, string) : WARMRING_OK;
}

static warmring_status_t read_density(const wr_node_t *node, double *density) {
    wr_node_t member;
    if (!wr_node_find(node, "points_per_weight", &member)) {
        return WARMRING_OK;
    }
    warmring_status_t status = wr_node_real(&member, density);
    if (status == WARMRING_OK && !(*density > 0)) {
        status = wr_node_refuse(&member, "is not above 0"); /* where 0 means the default */
    }
    return status;
}

static warmring_status_t read_options(draft_t *draft) {
    warmring_ring_options_t *options = &draft->options;
    wr_node_t member;
    *options = (warmring_ring_options_t){.size = sizeof *options};
    warmring_status_t status = wr_node_member(draft->node, "dialect", &member);
    if (status == WARMRING_OK) {
        status = wr_node_string(&member, &options->dialect);
    }
    if (status == WARMRING_OK) {
        status = read_density(draft->node, &options->points_per_weight);
    }
    if (status == WARMRING_OK && wr_node_find(draft->node, "max_points", &member)) {
        status = wr_node_uint(&member, 1, UINT32_MAX, &options->max_points);
    }
    if (status == WARMRING_OK) {
        status = read_string(draft->node, "hash", &options->hash);
    }
    return status == WARMRING_OK ? read_string(draft->node, "hash_tag", &options->hash_tag)
                                 : status;
}

/* ---- whose fault it is ------------------------------------------------------- */

/* The options one after the other, until one makes them wrong. */
static warmring_status_t blame_option(const draft_t *draft, wr_build_t *build) {
    static const char *const keys[] = {"dialect", "hash", "hash_tag", "points_per_weight"};
    const warmring_ring_options_t *all = &draft->options;
    warmring_ring_options_t some[] = {
        {.size = sizeof *all, .dialect = all->dialect},
        {.size = sizeof *all, .dialect = all->dialect, .hash = all->hash},
        {.size = sizeof *all, .dialect = all->dialect, .hash_tag = all->hash_tag},
        *all,
    };
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        wr_node_t member;
        warmring_status_t status = wr_check_options(&some[i], build);
        if (status != WARMRING_OK) {
            return wr_node_find(draft->node, keys[i], &member) ? wr_node_wrap(&member, status)
                                                               : wr_node_wrap(draft->node, status);
        }
    }
    return WARMRING_OK;
}

/* The ring's check of a list of one begins with "server 0: ", or "server 0, ";
 * the path says better which it is. */
static warmring_status_t blame_alone(const wr_node_t *element) {
    static const char start[] = "server 0: ";
    char reason[WR_DETAIL_SIZE];
    const char *detail = warmring_error_detail();
    bool has_start = strncmp(detail, start, strlen("server 0")) == 0;
    snprintf(reason, sizeof reason, "%s", has_start ? detail + strlen(start) : detail);
    return wr_node_blame(element, "%s", reason);
}

/* The first that is wrong by itself. A weight of 0 is not, but no ring. */
static warmring_status_t blame_server(const draft_t *draft, const wr_build_t *build) {
    for (size_t i = 0; i < draft->count; i++) {
        warmring_server_t server = draft->servers[i];
        server.weight = server.weight > 0 ? server.weight : 1;
        warmring_status_t status = wr_check_servers(&server, 1, build);
        if (status != WARMRING_OK) {
            wr_node_t element = wr_node_element(&draft->list, i);
            return blame_alone(&element);
        }
    }
    return WARMRING_OK;
}

/* The first that has what an earlier one has, by `bytes`. */
static warmring_status_t blame_second(const draft_t *draft, const wr_members_t *members,
                                      wr_member_bytes_t bytes, const char *what) {
    warmring_status_t status = WARMRING_OK;
    wr_index_t index;
    if (!wr_index_create(&index, members, bytes)) {
        return wr_fail_memory();
    }
    for (uint32_t i = 0; i < members->count && status == WARMRING_OK; i++) {
        uint32_t holder = wr_index_add(&index, i);
        if (holder != i) {
            wr_node_t element = wr_node_element(&draft->list, i);
            status = wr_node_refuse(&element, "has the %s of servers[%u]", what, (unsigned)holder);
        }
    }
    wr_index_free(&index);
    return status;
}

static warmring_status_t blame_pair(const draft_t *draft, const wr_build_t *build) {
    wr_members_t members;
    warmring_status_t status = WARMRING_OK;
    if (wr_members_copy(&members, draft->servers, draft->count)) {
        status = blame_second(draft, &members, wr_member_name, "name");
        if (status == WARMRING_OK) {
            status = blame_second(draft, &members, wr_member_endpoint, "endpoint");
        }
        if (status == WARMRING_OK) {
            status = blame_second(draft, &members, build->dialect->identity, "identity");
        }
    } else {
        status = wr_fail_memory();
    }
    wr_members_free(&members);
    return status;
}

/* `refusal` is the ring's, and its detail text is the thread's. */
static warmring_status_t blame(const draft_t *draft, warmring_status_t refusal) {
    wr_build_t build;
    warmring_status_t ring = wr_node_wrap(draft->node, refusal);
    if (refusal != WARMRING_BAD_SERVER && refusal != WARMRING_BAD_OPTION) {
        return ring;
    }
    char whole[WR_DETAIL_SIZE];
    memcpy(whole, warmring_error_detail(), sizeof whole);
    warmring_status_t status = blame_option(draft, &build);
    if (status == WARMRING_OK) {
        status = blame_server(draft, &build);
    }
    if (status == WARMRING_OK && draft->count > 0) {
        status = blame_pair(draft, &build);
    }
    return status == WARMRING_OK ? wr_fail(ring, "%s", whole) : status;
}

/* ---- the ring ---------------------------------------------------------------- */

static bool same_string(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_number(double a, double b) {
    return a >= b && a <= b;
}

static bool same_server(const warmring_server_t *a, const warmring_server_t *b) {
    return same_string(a->name, b->name) && same_string(a->host, b->host) && a->port == b->port &&
           same_number(a->weight, b->weight);
}

static bool is_like(const draft_t *draft, const wr_cluster_t *cluster, const wr_build_t *build) {
    if (cluster == NULL || wr_cluster_count(cluster) != draft->count) {
        return false;
    }
    const warmring_ring_options_t *options = wr_cluster_options(cluster);
    if (strcmp(options->dialect, build->dialect->name) != 0 ||
        !same_number(options->points_per_weight, build->points_per_weight) ||
        options->max_points != build->max_points || !same_string(options->hash, build->hash) ||
        !same_string(options->hash_tag, build->tag[0] != '\0' ? build->tag : NULL)) {
        return false;
    }
    size_t i = 0;
    while (i < draft->count &&
           same_server(&draft->servers[i], &wr_cluster_server(cluster, i)->server)) {
        i++;
    }
    return i == draft->count;
}

static wr_cluster_t *find_like(const draft_t *draft, const wr_build_t *build,
                               const warmring_topology_t *like) {
    for (int side = WARMRING_OLD_RING; like != NULL && side <= WARMRING_NEW_RING; side++) {
        if (is_like(draft, like->cluster[side], build)) {
            return wr_cluster_retain(like->cluster[side]);
        }
    }
    return NULL;
}

/* TRY_AGAIN for a good ring that is too large to be built now. A bad one is
 * for building to find, which is quick then. */
static warmring_status_t check_size(const draft_t *draft, const wr_build_t *build, uint64_t most) {
    wr_members_t members;
    uint64_t points = 0;
    if (most == 0 || wr_check_servers(draft->servers, draft->count, build) != WARMRING_OK) {
        return WARMRING_OK;
    }
    warmring_status_t status = WARMRING_OK;
    if (!wr_members_copy(&members, draft->servers, draft->count)) {
        status = wr_fail_memory();
    } else if (wr_check_points(&members, build, &points) == WARMRING_OK && points > most) {
        status = wr_fail(WARMRING_TRY_AGAIN, "a ring of %llu points", (unsigned long long)points);
    }
    wr_members_free(&members);
    return status;
}

static warmring_status_t build(const draft_t *draft, const wr_file_rings_t *rings,
                               wr_cluster_t **cluster) {
    wr_build_t options;
    if (wr_check_options(&draft->options, &options) == WARMRING_OK) {
        *cluster = find_like(draft, &options, rings->like);
        warmring_status_t status = WARMRING_OK;
        if (*cluster == NULL) {
            status = check_size(draft, &options, rings->most_points);
        }
        if (*cluster != NULL || status != WARMRING_OK) {
            return status;
        }
    }
    warmring_status_t status =
        wr_cluster_create(cluster, draft->servers, draft->count, &draft->options);
    return status == WARMRING_OK || status == WARMRING_OUT_OF_MEMORY ? status
                                                                     : blame(draft, status);
}

warmring_status_t wr_file_ring(const wr_node_t *node, const wr_file_rings_t *rings,
                               wr_cluster_t **cluster) {
    static const char *const keys[] = {"dialect",  "points_per_weight", "max_points", "hash",
                                       "hash_tag", "servers",           NULL};
    draft_t draft = {.node = node};
    *cluster = NULL;
    warmring_status_t status = wr_node_object(node, keys);
    if (status == WARMRING_OK) {
        status = read_options(&draft);
    }
    if (status == WARMRING_OK) {
        status = read_servers(&draft);
    }
    if (status == WARMRING_OK) {
        status = build(&draft, rings, cluster);
    }
    wr_free(draft.servers);
    wr_free(draft.hosts);
    return status;
}
