/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topology files as values: making, checking and asking them.
 */
#include "topology/file.h"

#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "topology/file_text.h"
#include "topology/server_text.h"

/* ---- what can be written ------------------------------------------------- */

static warmring_status_t check_number(const char *what, uint64_t value, uint64_t least,
                                      uint64_t most) {
    if (value >= least && value <= most) {
        return WARMRING_OK;
    }
    return wr_fail(WARMRING_BAD_ARGUMENT, "%s %llu is not from %llu to %llu", what,
                   (unsigned long long)value, (unsigned long long)least, (unsigned long long)most);
}

static warmring_status_t check_numbers(const warmring_file_t *parts) {
    const struct {
        const char *what;
        uint64_t value, least, most;
    } numbers[] = {
        {"epoch", parts->topology->epoch, 1, WR_FILE_NUMBER_MAX},
        {"steps", parts->steps, 0, WR_FILE_NUMBER_MAX},
        {"the time", (uint64_t)parts->since_ms, 0, WR_FILE_TIME_MAX},
        {"lag_s", parts->lag_s, 1, WR_FILE_LAG_MAX},
        {"max_deadline_ms", parts->max_deadline_ms, 1, WR_FILE_DEADLINE_MAX},
        {"max_ttl_s", parts->max_ttl_s, 0, WR_FILE_TTL_MAX},
    };
    warmring_status_t status = WARMRING_OK;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == WARMRING_OK; i++) {
        status = check_number(numbers[i].what, numbers[i].value, numbers[i].least, numbers[i].most);
    }
    return status;
}

static bool is_ascii(const char *text) {
    while ((unsigned char)*text > 0x20 && (unsigned char)*text < 0x7f) {
        text++;
    }
    return *text == '\0';
}

static warmring_status_t refuse_server(const wr_cluster_t *cluster, size_t index) {
    return wr_fail(WARMRING_BAD_ARGUMENT,
                   "server %zu, \"%s\": its name or host cannot be written in a file", index,
                   wr_cluster_server(cluster, index)->label);
}

/* A server that warmring_topology_create() took need not be one that can be
 * written as a string: names and hosts may be of any bytes. */
static warmring_status_t check_server(const wr_cluster_t *cluster, size_t index) {
    const warmring_server_t *server = &wr_cluster_server(cluster, index)->server;
    char address[WR_FILE_ADDRESS_SIZE];
    wr_server_list_t list;
    if ((server->name != NULL && !wr_is_name(server->name, strlen(server->name), WR_MAX_NAME)) ||
        !is_ascii(server->host)) {
        return refuse_server(cluster, index);
    }
    warmring_status_t status = wr_address_parse(&list, wr_file_address(server, address));
    if (status != WARMRING_OK) {
        return status == WARMRING_OUT_OF_MEMORY ? status : refuse_server(cluster, index);
    }
    bool same = strcmp(list.servers[0].host, server->host) == 0;
    wr_server_list_free(&list);
    return same ? WARMRING_OK : refuse_server(cluster, index);
}

static warmring_status_t check_servers(const wr_cluster_t *cluster) {
    warmring_status_t status = WARMRING_OK;
    for (size_t i = 0; i < wr_cluster_count(cluster) && status == WARMRING_OK; i++) {
        status = check_server(cluster, i);
    }
    return status;
}

static warmring_status_t check_watermarks(const warmring_file_t *parts) {
    size_t expected = wr_cluster_count(parts->topology->cluster[WARMRING_NEW_RING]);
    warmring_status_t status = WARMRING_OK;
    if (parts->watermark_count != expected) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "%zu watermarks for %zu servers",
                       parts->watermark_count, expected);
    }
    for (size_t i = 0; i < expected && status == WARMRING_OK; i++) {
        status = check_number("CAS counter", parts->watermarks[i].cas, 0, WR_FILE_NUMBER_MAX);
    }
    return status;
}

static warmring_status_t check(const warmring_file_t *parts) {
    warmring_status_t status = check_numbers(parts);
    if (status == WARMRING_OK) {
        status = check_servers(parts->topology->cluster[WARMRING_OLD_RING]);
    }
    if (status == WARMRING_OK && parts->topology->phase != WARMRING_STABLE) {
        status = check_servers(parts->topology->cluster[WARMRING_NEW_RING]);
        status = status == WARMRING_OK ? check_watermarks(parts) : status;
    }
    return status;
}

/* ---- making -------------------------------------------------------------- */

/* An empty list needs no memory; false when there is none. */
static bool copy_ramps(warmring_file_t *file, const warmring_file_t *parts) {
    size_t count = file->topology->phase == WARMRING_WARMING ? parts->ramp_count : 0;
    file->ramp_count = count;
    file->ramps = count > 0 ? wr_calloc(count, sizeof *file->ramps) : NULL;
    if (file->ramps != NULL) {
        memcpy(file->ramps, parts->ramps, count * sizeof *file->ramps);
    }
    return count == 0 || file->ramps != NULL;
}

static bool copy_watermarks(warmring_file_t *file, const warmring_file_t *parts) {
    size_t count = file->topology->phase != WARMRING_STABLE ? parts->watermark_count : 0;
    file->watermark_count = count;
    file->watermarks = count > 0 ? wr_calloc(count, sizeof *file->watermarks) : NULL;
    for (size_t i = 0; i < count && file->watermarks != NULL; i++) {
        file->watermarks[i] = parts->watermarks[i];
        file->watermarks[i].address =
            wr_cluster_server(file->topology->cluster[WARMRING_NEW_RING], i)->address;
    }
    return count == 0 || file->watermarks != NULL;
}

warmring_status_t wr_file_make(warmring_file_t **file, const warmring_file_t *parts) {
    *file = NULL;
    warmring_status_t status = check(parts);
    if (status != WARMRING_OK) {
        return status;
    }
    warmring_file_t *made = wr_calloc(1, sizeof *made);
    if (made == NULL) {
        return wr_fail_memory();
    }
    warmring_phase_t phase = parts->topology->phase;
    *made = *parts;
    made->topology = warmring_topology_retain(parts->topology);
    made->backwards =
        parts->backwards && (phase == WARMRING_PREPARED || phase == WARMRING_HANDOVER);
    made->text = NULL;
    made->watermarks = NULL;
    if (copy_ramps(made, parts) && copy_watermarks(made, parts)) {
        made->text = wr_file_write(made);
    }
    if (made->text == NULL) {
        warmring_file_free(made);
        return wr_fail_memory();
    }
    *file = made;
    return WARMRING_OK;
}

warmring_status_t wr_file_create(warmring_file_t **file, const warmring_topology_t *topology,
                                 const warmring_file_settings_t *settings, uint64_t id,
                                 int64_t now_ms) {
    warmring_file_settings_t chosen = WARMRING_FILE_SETTINGS_INIT;
    *file = NULL;
    if (settings != NULL && settings->size < sizeof chosen) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "size %zu of the settings: set it to sizeof(%s)",
                       settings->size, "warmring_file_settings_t");
    }
    warmring_status_t status = wr_topology_demand_stable(topology);
    if (status != WARMRING_OK) {
        return status;
    }
    chosen = settings != NULL ? *settings : chosen;
    warmring_file_t parts = {
        .topology = warmring_topology_retain(topology),
        .id = id,
        .since_ms = now_ms,
        .lag_s = chosen.lag_s,
        .max_deadline_ms = chosen.max_deadline_ms,
        .max_ttl_s = chosen.max_ttl_s,
    };
    status = wr_file_make(file, &parts);
    warmring_topology_release(parts.topology);
    return status;
}

void warmring_file_free(warmring_file_t *file) {
    if (file != NULL) {
        warmring_topology_release(file->topology);
        wr_free(file->ramps);
        wr_free(file->watermarks);
        wr_free(file->text);
        wr_free(file);
    }
}

/* ---- asking -------------------------------------------------------------- */

const char *warmring_file_text(const warmring_file_t *file) {
    return file->text;
}

const warmring_topology_t *warmring_file_topology(const warmring_file_t *file) {
    return file->topology;
}

warmring_status_t warmring_file_settings(const warmring_file_t *file,
                                         warmring_file_settings_t *settings) {
    if (WR_HAS_NULL(file, settings)) {
        return WARMRING_BAD_ARGUMENT;
    }
    size_t size = settings->size;
    if (size < sizeof *settings) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "size %zu of the settings: set it to sizeof(%s)",
                       size, "warmring_file_settings_t");
    }
    *settings =
        (warmring_file_settings_t){size, file->lag_s, file->max_deadline_ms, file->max_ttl_s};
    return WARMRING_OK;
}

int64_t warmring_file_since(const warmring_file_t *file) {
    return file->since_ms;
}

uint64_t warmring_file_steps(const warmring_file_t *file) {
    return file->steps;
}
