/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refusals, each quoting the piece at fault.
 */
#include "ring/check.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "ring/decimal.h"
#include "ring/hashes.h"
#include "ring/index.h"

enum { QUOTED = 40 }; /* bytes shown of a text that is too long */

const warmring_server_t *wr_server_at(const warmring_server_t *servers, size_t index) {
    return (const void *)((const char *)servers + index * servers[0].size);
}

static bool is_number_above_0(double value) {
    return isfinite(value) && value > 0;
}

static warmring_status_t check_option_values(const wr_build_t *build) {
    wr_decimal_t text;
    if (!is_number_above_0(build->points_per_weight) || build->points_per_weight > UINT32_MAX) {
        return wr_fail(WARMRING_BAD_OPTION, "points_per_weight %s: not above 0 and at most %u",
                       wr_decimal(&text, build->points_per_weight), UINT32_MAX);
    }
    if (build->max_points > UINT32_MAX) {
        return wr_fail(WARMRING_BAD_OPTION, "max_points %llu: at most %u",
                       (unsigned long long)build->max_points, UINT32_MAX);
    }
    return WARMRING_OK;
}

/* The options as this version knows them; older programs have fewer. */
static warmring_status_t read_options(const warmring_ring_options_t *options,
                                      warmring_ring_options_t *read) {
    const size_t oldest = offsetof(warmring_ring_options_t, hash);
    *read = (warmring_ring_options_t){.size = sizeof *read};
    if (options == NULL) {
        return WARMRING_OK;
    }
    if (options->size < oldest) {
        return wr_fail(WARMRING_BAD_OPTION, "size %zu of the options: set it to sizeof(%s)",
                       options->size, "warmring_ring_options_t");
    }
    memcpy(read, options, options->size < sizeof *read ? options->size : sizeof *read);
    return WARMRING_OK;
}

static warmring_status_t choose_hash(const char *name, wr_build_t *build) {
    const wr_dialect_t *dialect = build->dialect;
    build->hash_key = dialect->hash_key;
    if (name == NULL) {
        return WARMRING_OK;
    }
    if (dialect->hashes == 0) {
        return wr_fail(WARMRING_BAD_OPTION, "hash \"%.*s\": dialect %s has its own", QUOTED, name,
                       dialect->name);
    }
    build->hash_key = wr_hash_find(name, dialect->hashes, &build->hash);
    return build->hash_key != NULL
               ? WARMRING_OK
               : wr_fail(WARMRING_BAD_OPTION, "unknown hash \"%.*s\" of dialect %s", QUOTED, name,
                         dialect->name);
}

static warmring_status_t choose_tag(const char *tag, wr_build_t *build) {
    if (tag == NULL) {
        return WARMRING_OK;
    }
    if (!build->dialect->tags) {
        return wr_fail(WARMRING_BAD_OPTION, "hash_tag \"%.*s\": dialect %s has none", QUOTED, tag,
                       build->dialect->name);
    }
    if (memchr(tag, '\0', 3) != tag + 2) {
        return wr_fail(WARMRING_BAD_OPTION, "hash_tag \"%.*s\": not two characters, as in \"{}\"",
                       QUOTED, tag);
    }
    memcpy(build->tag, tag, sizeof build->tag); /* with its NUL */
    return WARMRING_OK;
}

static warmring_status_t choose_dialect(const char *name, wr_build_t *build) {
    const char *chosen = name != NULL ? name : warmring_dialect_name(0);
    build->dialect = wr_dialect_find(chosen);
    return build->dialect != NULL
               ? WARMRING_OK
               : wr_fail(WARMRING_BAD_OPTION, "unknown dialect \"%.*s\"", QUOTED, chosen);
}

warmring_status_t wr_check_options_for(const warmring_ring_options_t *options,
                                       const wr_dialect_t *dialect, wr_build_t *build) {
    warmring_ring_options_t from;
    warmring_status_t status = read_options(options, &from);
    *build = (wr_build_t){.dialect = dialect};
    if (status == WARMRING_OK && dialect == NULL) {
        status = choose_dialect(from.dialect, build);
    }
    if (status == WARMRING_OK) {
        status = choose_hash(from.hash, build);
    }
    if (status == WARMRING_OK) {
        status = choose_tag(from.hash_tag, build);
    }
    if (status != WARMRING_OK) {
        return status;
    }
    bool chosen = !(from.points_per_weight >= 0 && from.points_per_weight <= 0);
    build->points_per_weight = chosen ? from.points_per_weight : WARMRING_DEFAULT_POINTS_PER_WEIGHT;
    build->max_points = from.max_points != 0 ? from.max_points : WARMRING_DEFAULT_MAX_POINTS;
    return check_option_values(build);
}

warmring_status_t wr_check_options(const warmring_ring_options_t *options, wr_build_t *build) {
    return wr_check_options_for(options, NULL, build);
}

/* `what` is "name" or "host". */
static warmring_status_t check_text(const char *what, const char *text, size_t index) {
    if (memchr(text, '\0', WR_NAME_MAX + 1) == NULL) {
        return wr_fail(WARMRING_BAD_SERVER, "server %zu: %s \"%.*s...\" is over %d bytes long",
                       index, what, QUOTED, text, WR_NAME_MAX);
    }
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c <= 0x20 || *c == 0x7f) {
            return wr_fail(WARMRING_BAD_SERVER,
                           "server %zu: blank or control byte 0x%02x in %s \"%s\"", index,
                           (unsigned)(unsigned char)*c, what, text);
        }
    }
    return WARMRING_OK;
}

static warmring_status_t check_host(const warmring_server_t *server, size_t index) {
    const char *host = server->host;
    if (host == NULL || host[0] == '\0') {
        return wr_fail(WARMRING_BAD_SERVER, "server %zu: host is empty", index);
    }
    warmring_status_t status = check_text("host", host, index);
    if (status != WARMRING_OK) {
        return status;
    }
    if (host[0] == '[') {
        return wr_fail(WARMRING_BAD_SERVER, "server %zu: host \"%s\": brackets are not part of it",
                       index, host);
    }
    if (wr_host_is_path(host) && server->port != 0) {
        return wr_fail(WARMRING_BAD_SERVER, "server %zu: port %u with unix socket \"%s\"", index,
                       (unsigned)server->port, host);
    }
    return WARMRING_OK;
}

static warmring_status_t check_weight(const warmring_server_t *server, size_t index,
                                      const wr_dialect_t *dialect) {
    const wr_member_t member = {.host = server->host, .port = server->port};
    char label[WR_LABEL_SIZE];
    wr_decimal_t text;
    double weight = server->weight;
    if (!isfinite(weight) || weight < 0) {
        return wr_fail(WARMRING_BAD_SERVER, "server %zu, \"%s\": weight %s is not a number from 0",
                       index, wr_member_label(&member, label), wr_decimal(&text, weight));
    }
    if (dialect->whole_weights && (weight > UINT32_MAX || weight > floor(weight))) {
        return wr_fail(WARMRING_BAD_SERVER,
                       "server %zu, \"%s\": weight %s: dialect %s knows whole numbers up to %u",
                       index, wr_member_label(&member, label), wr_decimal(&text, weight),
                       dialect->name, UINT32_MAX);
    }
    return WARMRING_OK;
}

static warmring_status_t check_server(const warmring_server_t *server, size_t index,
                                      const wr_dialect_t *dialect) {
    warmring_status_t status = check_host(server, index);
    if (status == WARMRING_OK && server->name != NULL) {
        status = check_text("name", server->name, index);
    }
    return status == WARMRING_OK ? check_weight(server, index, dialect) : status;
}

static warmring_status_t check_list(const warmring_server_t *servers, size_t count) {
    if (count == 0) {
        return wr_fail(WARMRING_BAD_SERVER, "no servers");
    }
    if (count > WARMRING_MAX_SERVERS) {
        return wr_fail(WARMRING_LIMIT_EXCEEDED, "%zu servers: at most %u", count,
                       WARMRING_MAX_SERVERS);
    }
    size_t size = servers[0].size;
    if (size < sizeof *servers || size % _Alignof(warmring_server_t) != 0) {
        return wr_fail(WARMRING_BAD_SERVER, "size %zu of server 0: set it to sizeof(%s)", size,
                       "warmring_server_t");
    }
    return WARMRING_OK;
}

warmring_status_t wr_check_servers(const warmring_server_t *servers, size_t count,
                                   const wr_build_t *build) {
    warmring_status_t status = check_list(servers, count);
    bool live = false;
    for (size_t i = 0; i < count && status == WARMRING_OK; i++) {
        const warmring_server_t *server = wr_server_at(servers, i);
        status = check_server(server, i, build->dialect);
        live = live || server->weight > 0;
    }
    if (status == WARMRING_OK && !live) {
        return wr_fail(WARMRING_BAD_SERVER, "none of %zu servers has a weight above 0", count);
    }
    return status;
}

static warmring_status_t fail_twice(const wr_members_t *members, uint32_t first, uint32_t second,
                                    const char *what) {
    const wr_member_t *member = &members->list[second];
    bool by_name = strcmp(what, "endpoint") != 0 && member->name != NULL;
    char label[WR_LABEL_SIZE];
    return wr_fail(WARMRING_BAD_SERVER, "%s \"%s\" is used twice: by server %u and server %u", what,
                   by_name ? member->name : wr_member_label(member, label), first, second);
}

static warmring_status_t check_unique(const wr_members_t *members, wr_member_bytes_t bytes,
                                      const char *what) {
    wr_index_t index;
    if (!wr_index_create(&index, members, bytes)) {
        return wr_fail_memory();
    }
    warmring_status_t status = WARMRING_OK;
    for (uint32_t i = 0; i < members->count && status == WARMRING_OK; i++) {
        uint32_t holder = wr_index_add(&index, i);
        if (holder != i) {
            status = fail_twice(members, holder, i, what);
        }
    }
    wr_index_free(&index);
    return status;
}

warmring_status_t wr_check_distinct(const wr_members_t *members, const wr_build_t *build) {
    warmring_status_t status = check_unique(members, wr_member_name, "name");
    if (status == WARMRING_OK) {
        status = check_unique(members, wr_member_endpoint, "endpoint");
    }
    return status == WARMRING_OK ? check_unique(members, build->dialect->identity, "identity")
                                 : status;
}
