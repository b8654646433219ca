/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers of a topology file, and what one says of itself.
 */
#include <string.h>

#include <warmring/admin.h>

#include "base/fail.h"
#include "fleet/crew.h"
#include "net/lines.h"
#include "topology/file.h"

size_t warmring_file_servers(const warmring_file_t *file) {
    return wr_topology_endpoints(file->topology);
}

/* The watermark of an endpoint; NULL when there is none. */
static const wr_watermark_t *find_mark(const warmring_file_t *file, size_t endpoint) {
    for (size_t i = 0; i < file->watermark_count; i++) {
        if (file->topology->endpoints.of_new[i] == endpoint) {
            return &file->watermarks[i];
        }
    }
    return NULL;
}

warmring_status_t warmring_file_server(const warmring_file_t *file, size_t index,
                                       warmring_file_server_t *server) {
    if (WR_HAS_NULL(file, server)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (server->size != sizeof *server || index >= warmring_file_servers(file)) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "server %zu of %zu, size %zu", index,
                       warmring_file_servers(file), server->size);
    }
    const wr_endpoint_t *endpoint = wr_topology_endpoint(file->topology, (uint32_t)index);
    const wr_watermark_t *mark = find_mark(file, index);
    *server = (warmring_file_server_t){
        .size = sizeof *server,
        .label = endpoint->label,
        .host = endpoint->host,
        .port = endpoint->port,
        .on_old = endpoint->on_side[WARMRING_OLD_RING],
        .on_new = endpoint->on_side[WARMRING_NEW_RING],
        .marked = mark != NULL,
        .watermark = mark != NULL ? mark->cas : 0,
        .started = mark != NULL ? mark->started : -1,
    };
    return WARMRING_OK;
}

warmring_status_t warmring_fleet_stats(const warmring_file_t *file, size_t index, const char *group,
                                       warmring_stat_reader_t *reader, void *context,
                                       const warmring_options_t *options, uint32_t deadline_ms) {
    wr_crew_t crew;
    if (WR_HAS_NULL(file)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (reader == NULL) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "reader is NULL");
    }
    if (group != NULL && !wr_is_key_text(group, strlen(group))) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "stats has no group \"%.60s\"", group);
    }
    warmring_status_t status = wr_crew_choose(&crew, file, index, options, deadline_ms);
    if (status == WARMRING_OK) {
        status = wr_server_stats(crew.server[index], group, reader, context, crew.deadline);
        wr_crew_close(&crew);
    }
    return status;
}
