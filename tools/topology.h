/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What commands on topology files share.
 */
#ifndef TOOLS_TOPOLOGY_H
#define TOOLS_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include <warmring/fleet.h>

/* Milliseconds since 1970. */
int64_t now_ms(void);

/* Reads a file; FAILED with a complaint, and *file NULL. */
int topology_file_read(const char *path, bool any_writer, warmring_file_t **file);

#endif
