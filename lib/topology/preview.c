/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Previews: what lies between two rings, endpoint by endpoint.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "plan/arcs.h"
#include "topology/phase.h"
#include "topology/topology.h"

typedef struct {
    double share_before;
    double share_after;
    double gained;
    double lost;
} row_t;

struct warmring_preview {
    wr_cluster_t *before;
    wr_cluster_t *after;
    wr_endpoints_t endpoints;
    row_t *rows; /* by endpoint */
    double moved;
};

/* The two clusters a preview is about. */
static void choose(const warmring_topology_t *now, const warmring_topology_t *next,
                   wr_cluster_t **before, wr_cluster_t **after) {
    bool same = wr_topology_same_migration(now, next);
    warmring_side_t serves = wr_phase_table[now->phase].serves_from;
    bool to_new = next->cluster[WARMRING_NEW_RING] != NULL;
    *before = now->cluster[same ? WARMRING_OLD_RING : serves];
    *after = next->cluster[to_new ? WARMRING_NEW_RING : WARMRING_OLD_RING];
}

static void add_shares(warmring_preview_t *preview) {
    for (uint32_t i = 0; i < wr_cluster_count(preview->before); i++) {
        preview->rows[i].share_before = warmring_ring_share(wr_cluster_ring(preview->before), i);
    }
    for (uint32_t i = 0; i < wr_cluster_count(preview->after); i++) {
        row_t *row = &preview->rows[preview->endpoints.of_new[i]];
        row->share_after = warmring_ring_share(wr_cluster_ring(preview->after), i);
    }
}

static void add_part(void *context, uint32_t from_server, uint32_t to_server, double part) {
    warmring_preview_t *preview = context;
    uint32_t to = preview->endpoints.of_new[to_server];
    if (to != from_server) {
        preview->rows[from_server].lost += part;
        preview->rows[to].gained += part;
        preview->moved += part;
    }
}

/* Where the rings hash keys differently a key's two owners are independent. */
static void add_products(warmring_preview_t *preview) {
    for (uint32_t i = 0; i < preview->endpoints.count; i++) {
        row_t *row = &preview->rows[i];
        row->gained = row->share_after * (1 - row->share_before);
        row->lost = row->share_before * (1 - row->share_after);
        preview->moved += row->gained;
    }
}

static void compare(warmring_preview_t *preview) {
    const warmring_ring_t *before = wr_cluster_ring(preview->before);
    const warmring_ring_t *after = wr_cluster_ring(preview->after);
    add_shares(preview);
    if (wr_ring_hashes_alike(before, after)) {
        wr_plan_flow(before, after, add_part, preview);
    } else {
        add_products(preview);
    }
}

warmring_status_t warmring_topology_preview(const warmring_topology_t *now,
                                            const warmring_topology_t *next,
                                            warmring_preview_t **preview) {
    if (WR_EMPTY_OR_NULL(preview, now, next)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_preview_t *made = wr_calloc(1, sizeof *made);
    if (made == NULL) {
        return wr_fail_memory();
    }
    choose(now, next, &made->before, &made->after);
    wr_cluster_retain(made->before);
    wr_cluster_retain(made->after);
    if (wr_endpoints_unite(&made->endpoints, made->before, made->after)) {
        made->rows = wr_calloc(made->endpoints.count, sizeof *made->rows);
    }
    if (made->rows == NULL) {
        warmring_preview_free(made);
        return wr_fail_memory();
    }
    compare(made);
    *preview = made;
    return WARMRING_OK;
}

void warmring_preview_free(warmring_preview_t *preview) {
    if (preview != NULL) {
        wr_cluster_release(preview->before);
        wr_cluster_release(preview->after);
        wr_endpoints_free(&preview->endpoints);
        wr_free(preview->rows);
        wr_free(preview);
    }
}

double warmring_preview_moved(const warmring_preview_t *preview) {
    return preview->moved;
}

size_t warmring_preview_servers(const warmring_preview_t *preview) {
    return preview->endpoints.count;
}

warmring_status_t warmring_preview_server(const warmring_preview_t *preview, size_t index,
                                          warmring_preview_server_t *server) {
    if (WR_HAS_NULL(preview, server)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (index >= preview->endpoints.count) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "endpoint %zu: the preview has %u", index,
                       (unsigned)preview->endpoints.count);
    }
    if (server->size < sizeof *server) {
        return wr_fail(WARMRING_BAD_ARGUMENT,
                       "size %zu: set it to sizeof(warmring_preview_server_t)", server->size);
    }
    const row_t *row = &preview->rows[index];
    server->label = preview->endpoints.list[index].label;
    server->share_before = row->share_before;
    server->share_after = row->share_after;
    server->gained = row->gained;
    server->lost = row->lost;
    return WARMRING_OK;
}
