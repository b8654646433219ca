/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing: a text that grows, and the members in the order of the manual page.
 */
#include "topology/file_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "ring/member.h"
#include "ring/ring.h"

typedef struct {
    char *text;
    size_t length;
    size_t capacity;
    bool failed;
} output_t;

static bool reserve(output_t *output, size_t more) {
    if (output->failed || output->capacity - output->length > more) {
        return !output->failed;
    }
    size_t capacity = output->capacity * 2 + more + 1024;
    char *text = wr_realloc(output->text, capacity);
    if (text == NULL) {
        output->failed = true;
        return false;
    }
    output->text = text;
    output->capacity = capacity;
    return true;
}

static void put_bytes(output_t *output, const char *bytes, size_t length) {
    if (reserve(output, length)) {
        memcpy(output->text + output->length, bytes, length);
        output->length += length;
        output->text[output->length] = '\0';
    }
}

static void put(output_t *output, const char *string) {
    put_bytes(output, string, strlen(string));
}

/* For numbers: short, without strings. */
__attribute__((format(printf, 2, 3))) static void print(output_t *output, const char *format, ...) {
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(output, text);
}

static void put_string(output_t *output, const char *string) {
    put(output, "\"");
    for (const char *c = string; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            put(output, "\\");
        }
        put_bytes(output, c, 1);
    }
    put(output, "\"");
}

static void put_real(output_t *output, double number) {
    char text[WR_REAL_SIZE];
    put(output, wr_write_real(text, number));
}

/* ---- a ring -------------------------------------------------------------- */

const char *wr_file_address(const warmring_server_t *server, char *text) {
    const char *host = server->host;
    bool brackets = wr_host_is_v6(host);
    if (wr_host_is_path(host)) {
        snprintf(text, WR_FILE_ADDRESS_SIZE, "unix:%s", host);
    } else if (server->port == 0) {
        snprintf(text, WR_FILE_ADDRESS_SIZE, brackets ? "[%s]" : "%s", host);
    } else {
        snprintf(text, WR_FILE_ADDRESS_SIZE, brackets ? "[%s]:%u" : "%s:%u", host,
                 (unsigned)server->port);
    }
    return text;
}

static void put_server(output_t *output, const warmring_server_t *server) {
    char address[WR_FILE_ADDRESS_SIZE];
    put(output, "{");
    if (server->name != NULL) {
        put(output, "\"name\": ");
        put_string(output, server->name);
        put(output, ", ");
    }
    put(output, "\"address\": ");
    put_string(output, wr_file_address(server, address));
    put(output, ", \"weight\": ");
    put_real(output, server->weight);
    put(output, "}");
}

static void put_member(output_t *output, const char *indent, const char *key, const char *value) {
    put(output, indent);
    put_string(output, key);
    put(output, ": ");
    put_string(output, value);
    put(output, ",\n");
}

static void put_options(output_t *output, const wr_cluster_t *cluster, const char *indent) {
    const warmring_ring_options_t *options = wr_cluster_options(cluster);
    double density = options->points_per_weight;
    bool standard = density >= WARMRING_DEFAULT_POINTS_PER_WEIGHT &&
                    density <= WARMRING_DEFAULT_POINTS_PER_WEIGHT;
    put_member(output, indent, "dialect", options->dialect);
    if (!(standard && wr_cluster_ring(cluster)->dialect->fixed_points > 0)) {
        put(output, indent);
        put(output, "\"points_per_weight\": ");
        put_real(output, density);
        put(output, ",\n");
    }
    if (options->max_points != WARMRING_DEFAULT_MAX_POINTS) {
        put(output, indent);
        print(output, "\"max_points\": %" PRIu64 ",\n", options->max_points);
    }
    if (options->hash != NULL) {
        put_member(output, indent, "hash", options->hash);
    }
    if (options->hash_tag != NULL) {
        put_member(output, indent, "hash_tag", options->hash_tag);
    }
}

/* `depth` blanks stand before the line that the ring begins on. */
static void put_ring(output_t *output, const wr_cluster_t *cluster, int depth) {
    char indent[16], item[16];
    snprintf(indent, sizeof indent, "%*s", depth + 2, "");
    snprintf(item, sizeof item, "%*s", depth + 4, "");
    put(output, "{\n");
    put_options(output, cluster, indent);
    put(output, indent);
    put(output, "\"servers\": [\n");
    for (size_t i = 0; i < wr_cluster_count(cluster); i++) {
        put(output, item);
        put_server(output, &wr_cluster_server(cluster, i)->server);
        put(output, i + 1 < wr_cluster_count(cluster) ? ",\n" : "\n");
    }
    put(output, indent);
    put(output, "]\n");
    put_bytes(output, indent, (size_t)depth);
    put(output, "}");
}

/* ---- a migration --------------------------------------------------------- */

static void put_scopes(output_t *output, const warmring_topology_t *topology) {
    put(output, ",\n    \"scopes\": {");
    for (size_t i = 0; i < topology->scope_count; i++) {
        put(output, i > 0 ? ", " : "");
        put_string(output, topology->scopes[i].scope);
        print(output, ": %" PRIu32, topology->scopes[i].rollout);
    }
    put(output, "}");
}

static void put_ramps(output_t *output, const warmring_file_t *file) {
    put(output, ",\n    \"ramps\": [\n");
    for (size_t i = 0; i < file->ramp_count; i++) {
        const wr_ramp_t *ramp = &file->ramps[i];
        put(output, "      {");
        if (ramp->scope[0] != '\0') {
            put(output, "\"scope\": ");
            put_string(output, ramp->scope);
            put(output, ", ");
        }
        print(output, "\"from\": %" PRIu32 ", \"begins\": %" PRId64 ", \"ends\": %" PRId64 "}",
              ramp->from, ramp->begins_ms, ramp->ends_ms);
        put(output, i + 1 < file->ramp_count ? ",\n" : "\n");
    }
    put(output, "    ]");
}

static void put_watermarks(output_t *output, const warmring_file_t *file) {
    put(output, ",\n    \"watermarks\": {\n");
    for (size_t i = 0; i < file->watermark_count; i++) {
        const wr_watermark_t *mark = &file->watermarks[i];
        put(output, "      ");
        put_string(output, mark->address);
        print(output, ": {\"cas\": %" PRIu64, mark->cas);
        if (mark->started >= 0) {
            print(output, ", \"started\": %" PRId64, mark->started);
        }
        put(output, i + 1 < file->watermark_count ? "},\n" : "}\n");
    }
    put(output, "    }");
}

static void put_migration(output_t *output, const warmring_file_t *file) {
    const warmring_topology_t *topology = file->topology;
    print(output, ",\n  \"migration\": {\n    \"seed\": \"%016" PRIx64 "\",\n", topology->seed);
    put(output, file->backwards ? "    \"backwards\": true,\n" : "");
    put(output, "    \"ring\": ");
    put_ring(output, topology->cluster[WARMRING_NEW_RING], 4);
    if (topology->phase == WARMRING_WARMING) {
        print(output, ",\n    \"rollout\": %" PRIu32, topology->rollout);
    }
    if (topology->scope_count > 0) {
        put_scopes(output, topology);
    }
    if (file->ramp_count > 0) {
        put_ramps(output, file);
    }
    put_watermarks(output, file);
    put(output, "\n  }");
}

static void put_file(output_t *output, const warmring_file_t *file) {
    const warmring_topology_t *topology = file->topology;
    print(output, "{\n  \"warmring\": 1,\n  \"id\": \"%016" PRIx64 "\",\n", file->id);
    print(output, "  \"epoch\": %" PRIu64 ",\n  \"steps\": %" PRIu64 ",\n", topology->epoch,
          file->steps);
    print(output, "  \"phase\": \"%s\",\n", warmring_phase_name(topology->phase));
    print(output, "  \"since\": %" PRId64 ",\n", file->since_ms);
    print(output, "  \"lag_s\": %" PRIu32 ",\n  \"max_deadline_ms\": %" PRIu32 ",\n", file->lag_s,
          file->max_deadline_ms);
    print(output, "  \"max_ttl_s\": %" PRIu64 ",\n  \"ring\": ", file->max_ttl_s);
    put_ring(output, topology->cluster[WARMRING_OLD_RING], 2);
    if (topology->phase != WARMRING_STABLE) {
        put_migration(output, file);
    }
    put(output, "\n}\n");
}

char *wr_file_write(const warmring_file_t *file) {
    output_t output = {0};
    put_file(&output, file);
    if (output.failed) {
        wr_free(output.text);
        return NULL;
    }
    return output.text;
}
