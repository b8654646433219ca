/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a topology file with a say about its rings.
 */
#ifndef WR_FLEET_READ_H
#define WR_FLEET_READ_H

#include "topology/file.h"

/* As warmring_file_read() and wr_file_parse(). */
warmring_status_t wr_file_read(warmring_file_t **file, const char *path, uint32_t mode,
                               const wr_file_rings_t *rings);

/* What a file says of itself besides its rings. */
typedef struct {
    warmring_phase_t phase;
    uint64_t steps;
    uint64_t id;
} wr_glance_t;

/* Reads that alone; OK or BAD_FILE, OUT_OF_MEMORY. */
warmring_status_t wr_file_glance(wr_glance_t *glance, const char *path, uint32_t mode);

#endif
