/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a topology file whose rings may be large, or known already.
 */
#include "fleet/read.h"

#include <string.h>

#include "base/memory.h"
#include "fleet/file.h"
#include "topology/file_node.h"

warmring_status_t wr_file_read(warmring_file_t **file, const char *path, uint32_t mode,
                               const wr_file_rings_t *rings) {
    wr_content_t content;
    *file = NULL;
    warmring_status_t status = wr_content_read(&content, path, mode);
    if (status == WARMRING_OK) {
        status = wr_file_parse(file, content.bytes, content.length, path, rings);
    }
    wr_free(content.bytes);
    return status;
}

static warmring_status_t find_phase(const wr_node_t *node, warmring_phase_t *phase) {
    const char *name;
    warmring_status_t status = wr_node_string(node, &name);
    for (int i = WARMRING_STABLE; status == WARMRING_OK && i <= WARMRING_SETTLING; i++) {
        if (strcmp(name, warmring_phase_name((warmring_phase_t)i)) == 0) {
            *phase = (warmring_phase_t)i;
            return WARMRING_OK;
        }
    }
    return status == WARMRING_OK ? wr_node_refuse(node, "is no phase") : status;
}

static warmring_status_t glance_at(const wr_node_t *root, wr_glance_t *glance) {
    wr_node_t phase;
    wr_node_t steps;
    wr_node_t id;
    warmring_status_t status = wr_node_container(root, JSON_OBJECT);
    if (status == WARMRING_OK) {
        status = wr_node_member(root, "phase", &phase);
    }
    if (status == WARMRING_OK) {
        status = wr_node_member(root, "steps", &steps);
    }
    if (status == WARMRING_OK) {
        status = wr_node_member(root, "id", &id);
    }
    if (status == WARMRING_OK) {
        status = find_phase(&phase, &glance->phase);
    }
    if (status == WARMRING_OK) {
        status = wr_node_uint(&steps, 0, WR_FILE_NUMBER_MAX, &glance->steps);
    }
    return status == WARMRING_OK ? wr_node_hex(&id, &glance->id) : status;
}

warmring_status_t wr_file_glance(wr_glance_t *glance, const char *path, uint32_t mode) {
    wr_content_t content;
    wr_document_t document;
    warmring_status_t status = wr_content_read(&content, path, mode);
    if (status != WARMRING_OK) {
        return status;
    }
    status = wr_document_open(&document, path, content.bytes, content.length);
    if (status == WARMRING_OK) {
        wr_node_t root = wr_document_root(&document);
        status = glance_at(&root, glance);
        wr_document_close(&document);
    }
    wr_free(content.bytes);
    return status;
}
