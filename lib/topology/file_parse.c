/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a topology file: every key is known, of its type and in range, and
 * together they are a state that a migration can be in.
 */
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "topology/file.h"
#include "topology/file_node.h"
#include "topology/file_ring.h"
#include "topology/phase.h"
#include "topology/server_text.h"

/* What is read so far; the file is made of it. */
typedef struct {
    const wr_file_rings_t *rings;
    warmring_phase_t phase;
    uint64_t epoch;
    uint64_t seed;
    wr_cluster_t *cluster[2];
    warmring_file_t parts;
} reading_t;

static warmring_status_t read_uint(const wr_node_t *object, const char *key, uint64_t least,
                                   uint64_t most, uint64_t *number) {
    wr_node_t member;
    warmring_status_t status = wr_node_member(object, key, &member);
    return status == WARMRING_OK ? wr_node_uint(&member, least, most, number) : status;
}

static warmring_status_t read_hex(const wr_node_t *object, const char *key, uint64_t *number) {
    wr_node_t member;
    warmring_status_t status = wr_node_member(object, key, &member);
    return status == WARMRING_OK ? wr_node_hex(&member, number) : status;
}

/* ---- the head -------------------------------------------------------------- */

static warmring_status_t read_phase(const wr_node_t *root, warmring_phase_t *phase) {
    wr_node_t member;
    const char *name;
    warmring_status_t status = wr_node_member(root, "phase", &member);
    if (status == WARMRING_OK) {
        status = wr_node_string(&member, &name);
    }
    if (status != WARMRING_OK) {
        return status;
    }
    for (int i = 0; i < WR_PHASES; i++) {
        *phase = (warmring_phase_t)i;
        if (strcmp(warmring_phase_name(*phase), name) == 0) {
            return WARMRING_OK;
        }
    }
    return wr_node_refuse(&member, "is no phase");
}

static warmring_status_t read_numbers(const wr_node_t *root, reading_t *reading) {
    warmring_file_t *parts = &reading->parts;
    uint64_t format, since = 0, lag = 0, deadline = 0;
    const struct {
        const char *key;
        uint64_t least, most;
        uint64_t *number;
    } numbers[] = {
        {"warmring", 1, 1, &format},
        {"epoch", 1, WR_FILE_NUMBER_MAX, &reading->epoch},
        {"steps", 0, WR_FILE_NUMBER_MAX, &parts->steps},
        {"since", 0, WR_FILE_TIME_MAX, &since},
        {"lag_s", 1, WR_FILE_LAG_MAX, &lag},
        {"max_deadline_ms", 1, WR_FILE_DEADLINE_MAX, &deadline},
        {"max_ttl_s", 0, WR_FILE_TTL_MAX, &parts->max_ttl_s},
    };
    warmring_status_t status = WARMRING_OK;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == WARMRING_OK; i++) {
        status =
            read_uint(root, numbers[i].key, numbers[i].least, numbers[i].most, numbers[i].number);
    }
    parts->since_ms = (int64_t)since;
    parts->lag_s = (uint32_t)lag;
    parts->max_deadline_ms = (uint32_t)deadline;
    return status;
}

/* ---- rollouts --------------------------------------------------------------- */

static warmring_status_t read_basis_points(const wr_node_t *node, uint32_t *rollout) {
    uint64_t number = 0;
    warmring_status_t status = wr_node_uint(node, 0, WARMRING_ROLLOUT_ALL, &number);
    *rollout = (uint32_t)number;
    return status;
}

static warmring_status_t read_scope(const wr_node_t *node, wr_scope_t *scope) {
    size_t length = strlen(node->key);
    if (!wr_is_name(node->key, length, WR_MAX_SCOPE)) {
        return wr_node_blame(node, "a scope is 1 to %d letters, digits, '.', '_' and '-'",
                             WR_MAX_SCOPE);
    }
    memcpy(scope->scope, node->key, length + 1);
    return read_basis_points(node, &scope->rollout);
}

/* Into a topology that was made with room for them. */
static warmring_status_t read_scopes(const wr_node_t *scopes, warmring_topology_t *topology) {
    warmring_status_t status = WARMRING_OK;
    void *iterator = NULL;
    wr_node_t member;
    for (size_t i = 0; status == WARMRING_OK && wr_node_next(scopes, &iterator, &member); i++) {
        status = read_scope(&member, &topology->scopes[i]);
    }
    return status;
}

static warmring_status_t count_scopes(const wr_node_t *migration, size_t *count) {
    wr_node_t scopes;
    *count = 0;
    if (!wr_node_find(migration, "scopes", &scopes)) {
        return WARMRING_OK;
    }
    warmring_status_t status = wr_node_container(&scopes, JSON_OBJECT);
    if (status == WARMRING_OK && wr_node_size(&scopes) > WR_MAX_SCOPES) {
        status =
            wr_node_blame(&scopes, "%zu scopes: at most %d", wr_node_size(&scopes), WR_MAX_SCOPES);
    }
    *count = status == WARMRING_OK ? wr_node_size(&scopes) : 0;
    return status;
}

static warmring_status_t read_rollouts(const wr_node_t *migration, warmring_topology_t *topology) {
    wr_node_t member;
    warmring_status_t status = wr_node_member(migration, "rollout", &member);
    if (status == WARMRING_OK) {
        status = read_basis_points(&member, &topology->rollout);
    }
    if (status == WARMRING_OK && wr_node_find(migration, "scopes", &member)) {
        status = read_scopes(&member, topology);
    }
    return status;
}

/* ---- ramps ------------------------------------------------------------------ */

/* The scope of a ramp: one that has a rollout of its own, and no ramp yet. */
static warmring_status_t read_ramp_scope(const wr_node_t *node, const reading_t *reading,
                                         wr_ramp_t *ramp) {
    const warmring_topology_t *topology = reading->parts.topology;
    wr_node_t member;
    const char *scope = "";
    size_t i = 0;
    if (wr_node_find(node, "scope", &member)) {
        warmring_status_t status = wr_node_string(&member, &scope);
        if (status != WARMRING_OK) {
            return status;
        }
        while (i < topology->scope_count && strcmp(topology->scopes[i].scope, scope) != 0) {
            i++;
        }
        if (i == topology->scope_count) {
            return wr_node_refuse(&member, "is none of the scopes");
        }
        ramp->to = topology->scopes[i].rollout;
        memcpy(ramp->scope, scope, strlen(scope) + 1);
    } else {
        ramp->to = topology->rollout;
    }
    for (i = 0; i < reading->parts.ramp_count; i++) {
        if (strcmp(reading->parts.ramps[i].scope, scope) == 0) {
            return wr_node_refuse(node, "is the second ramp of its scope");
        }
    }
    return WARMRING_OK;
}

static warmring_status_t read_ramp(const wr_node_t *node, const reading_t *reading,
                                   wr_ramp_t *ramp) {
    static const char *const keys[] = {"scope", "from", "begins", "ends", NULL};
    uint64_t from = 0, begins = 0, ends = 0;
    warmring_status_t status = wr_node_object(node, keys);
    if (status == WARMRING_OK) {
        status = read_ramp_scope(node, reading, ramp);
    }
    if (status == WARMRING_OK) {
        status = read_uint(node, "from", 0, WARMRING_ROLLOUT_ALL, &from);
    }
    if (status == WARMRING_OK) {
        status = read_uint(node, "begins", 0, WR_FILE_TIME_MAX, &begins);
    }
    if (status == WARMRING_OK) {
        status = read_uint(node, "ends", begins + 1, WR_FILE_TIME_MAX, &ends);
    }
    ramp->from = (uint32_t)from;
    ramp->begins_ms = (int64_t)begins;
    ramp->ends_ms = (int64_t)ends;
    return status;
}

static warmring_status_t read_ramps(const wr_node_t *migration, reading_t *reading) {
    wr_node_t ramps;
    if (!wr_node_find(migration, "ramps", &ramps)) {
        return WARMRING_OK;
    }
    warmring_status_t status = wr_node_container(&ramps, JSON_ARRAY);
    if (status != WARMRING_OK) {
        return status;
    }
    size_t count = wr_node_size(&ramps);
    if (count > WR_MAX_SCOPES + 1) {
        return wr_node_blame(&ramps, "%zu ramps: at most one a scope", count);
    }
    reading->parts.ramps = wr_calloc(count, sizeof(wr_ramp_t));
    if (reading->parts.ramps == NULL) {
        return wr_fail_memory();
    }
    for (size_t i = 0; i < count && status == WARMRING_OK; i++) {
        wr_node_t element = wr_node_element(&ramps, i);
        status = read_ramp(&element, reading, &reading->parts.ramps[i]);
        reading->parts.ramp_count = i + 1;
    }
    return status;
}

/* ---- watermarks -------------------------------------------------------------- */

static warmring_status_t read_watermark(const wr_node_t *node, wr_watermark_t *mark) {
    static const char *const keys[] = {"cas", "started", NULL};
    wr_node_t member;
    uint64_t started = 0;
    warmring_status_t status = wr_node_object(node, keys);
    if (status == WARMRING_OK) {
        status = read_uint(node, "cas", 0, WR_FILE_NUMBER_MAX, &mark->cas);
    }
    mark->started = -1;
    if (status == WARMRING_OK && wr_node_find(node, "started", &member)) {
        status = wr_node_uint(&member, 0, WR_FILE_TIME_MAX, &started);
        mark->started = (int64_t)started;
    }
    return status;
}

/* There are more than servers: one of them has no server. */
static warmring_status_t blame_stranger(const wr_node_t *marks, const wr_cluster_t *cluster) {
    warmring_status_t status = WARMRING_OK;
    json_t *known = json_object();
    for (size_t i = 0; i < wr_cluster_count(cluster) && status == WARMRING_OK; i++) {
        if (json_object_set_new(known, wr_cluster_server(cluster, i)->address, json_true()) != 0) {
            status = wr_fail_memory();
        }
    }
    void *iterator = NULL;
    wr_node_t member;
    while (status == WARMRING_OK && wr_node_next(marks, &iterator, &member)) {
        if (json_object_get(known, member.key) == NULL) {
            status = wr_node_blame(&member, "no server of the new ring has that address");
        }
    }
    json_decref(known);
    return status;
}

static warmring_status_t read_watermarks(const wr_node_t *migration, reading_t *reading) {
    const wr_cluster_t *cluster = reading->cluster[WARMRING_NEW_RING];
    size_t count = wr_cluster_count(cluster);
    wr_node_t marks, member;
    warmring_status_t status = wr_node_member(migration, "watermarks", &marks);
    if (status == WARMRING_OK) {
        status = wr_node_container(&marks, JSON_OBJECT);
    }
    if (status != WARMRING_OK) {
        return status;
    }
    reading->parts.watermarks = wr_calloc(count, sizeof(wr_watermark_t));
    if (reading->parts.watermarks == NULL) {
        return wr_fail_memory();
    }
    reading->parts.watermark_count = count;
    for (size_t i = 0; i < count && status == WARMRING_OK; i++) {
        status = wr_node_member(&marks, wr_cluster_server(cluster, i)->address, &member);
        if (status == WARMRING_OK) {
            status = read_watermark(&member, &reading->parts.watermarks[i]);
        }
    }
    return status == WARMRING_OK && wr_node_size(&marks) > count ? blame_stranger(&marks, cluster)
                                                                 : status;
}

/* ---- the migration ------------------------------------------------------------ */

static warmring_status_t make_topology(reading_t *reading, size_t scope_count) {
    wr_topology_parts_t parts = {
        .phase = reading->phase,
        .epoch = reading->epoch,
        .seed = reading->seed,
        .cluster = {reading->cluster[0], reading->cluster[1]},
        .scope_count = scope_count,
    };
    return wr_topology_make(&reading->parts.topology, &parts);
}

/* Keys that say something in some phases only. */
static warmring_status_t refuse_elsewhere(const wr_node_t *migration, const reading_t *reading) {
    static const struct {
        const char *key;
        unsigned phases; /* bits */
        const char *names;
    } rules[] = {
        {"rollout", 1u << WARMRING_WARMING, "WARMING"},
        {"scopes", 1u << WARMRING_WARMING, "WARMING"},
        {"ramps", 1u << WARMRING_WARMING, "WARMING"},
        {"backwards", 1u << WARMRING_PREPARED | 1u << WARMRING_HANDOVER, "PREPARED or HANDOVER"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        wr_node_t member;
        if ((rules[i].phases >> reading->phase & 1) == 0 &&
            wr_node_find(migration, rules[i].key, &member)) {
            return wr_node_refuse(&member, "belongs to phase %s, this is %s", rules[i].names,
                                  warmring_phase_name(reading->phase));
        }
    }
    return WARMRING_OK;
}

static warmring_status_t read_migration_head(const wr_node_t *migration, reading_t *reading) {
    static const char *const keys[] = {"seed",   "backwards", "ring",       "rollout",
                                       "scopes", "ramps",     "watermarks", NULL};
    wr_node_t member;
    warmring_status_t status = wr_node_object(migration, keys);
    if (status == WARMRING_OK) {
        status = refuse_elsewhere(migration, reading);
    }
    if (status == WARMRING_OK) {
        status = read_hex(migration, "seed", &reading->seed);
    }
    if (status == WARMRING_OK && wr_node_find(migration, "backwards", &member)) {
        status = wr_node_bool(&member, &reading->parts.backwards);
    }
    if (status == WARMRING_OK) {
        status = wr_node_member(migration, "ring", &member);
    }
    if (status == WARMRING_OK) {
        status = wr_file_ring(&member, reading->rings, &reading->cluster[WARMRING_NEW_RING]);
    }
    return status;
}

static warmring_status_t read_migration(const wr_node_t *migration, reading_t *reading) {
    size_t scopes = 0;
    warmring_status_t status = read_migration_head(migration, reading);
    if (status == WARMRING_OK) {
        status = count_scopes(migration, &scopes);
    }
    if (status == WARMRING_OK) {
        status = make_topology(reading, scopes);
    }
    if (status == WARMRING_OK && reading->phase == WARMRING_WARMING) {
        status = read_rollouts(migration, reading->parts.topology);
        if (status == WARMRING_OK) {
            status = read_ramps(migration, reading);
        }
    }
    return status == WARMRING_OK ? read_watermarks(migration, reading) : status;
}

/* ---- the whole ----------------------------------------------------------------- */

static warmring_status_t read_root(const wr_node_t *root, reading_t *reading) {
    static const char *const keys[] = {"warmring",  "id",    "epoch",     "steps",
                                       "phase",     "since", "lag_s",     "max_deadline_ms",
                                       "max_ttl_s", "ring",  "migration", NULL};
    wr_node_t member;
    warmring_status_t status = wr_node_object(root, keys);
    if (status == WARMRING_OK) {
        status = read_numbers(root, reading);
    }
    if (status == WARMRING_OK) {
        status = read_hex(root, "id", &reading->parts.id);
    }
    if (status == WARMRING_OK) {
        status = read_phase(root, &reading->phase);
    }
    if (status == WARMRING_OK) {
        status = wr_node_member(root, "ring", &member);
    }
    return status == WARMRING_OK
               ? wr_file_ring(&member, reading->rings, &reading->cluster[WARMRING_OLD_RING])
               : status;
}

static warmring_status_t read_file(const wr_node_t *root, reading_t *reading) {
    wr_node_t migration;
    warmring_status_t status = read_root(root, reading);
    if (status != WARMRING_OK) {
        return status;
    }
    bool there = wr_node_find(root, "migration", &migration);
    if (reading->phase != WARMRING_STABLE) {
        return there ? read_migration(&migration, reading)
                     : wr_node_blame(root, "\"migration\" is missing in phase %s",
                                     warmring_phase_name(reading->phase));
    }
    return there ? wr_node_blame(&migration, "there is none in phase STABLE")
                 : make_topology(reading, 0);
}

warmring_status_t wr_file_parse(warmring_file_t **file, const char *text, size_t length,
                                const char *name, const wr_file_rings_t *rings) {
    wr_document_t document;
    static const wr_file_rings_t no_say = {0};
    reading_t reading = {.rings = rings != NULL ? rings : &no_say};
    *file = NULL;
    warmring_status_t status = wr_document_open(&document, name, text, length);
    if (status != WARMRING_OK) {
        return status;
    }
    wr_node_t root = wr_document_root(&document);
    status = read_file(&root, &reading);
    if (status == WARMRING_OK) {
        status = wr_file_make(file, &reading.parts);
    }
    warmring_topology_release(reading.parts.topology);
    wr_cluster_release(reading.cluster[0]);
    wr_cluster_release(reading.cluster[1]);
    wr_free(reading.parts.ramps);
    wr_free(reading.parts.watermarks);
    wr_document_close(&document);
    return status;
}

warmring_status_t warmring_file_parse(warmring_file_t **file, const char *text, size_t length,
                                      const char *name) {
    if (WR_EMPTY_OR_NULL(file, text, name)) {
        return WARMRING_BAD_ARGUMENT;
    }
    return wr_file_parse(file, text, length, name, NULL);
}
