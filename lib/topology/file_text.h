/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a topology file: one way to write each, so that equal files are
 * equal texts.
 */
#ifndef WR_TOPOLOGY_FILE_TEXT_H
#define WR_TOPOLOGY_FILE_TEXT_H

#include "topology/file.h"

/* NULL: no memory. Free it with wr_free(). */
char *wr_file_write(const warmring_file_t *file);

/* Room for an address as it stands in a file, with the brackets of an IPv6
 * address and without a port that was not written. */
enum { WR_FILE_ADDRESS_SIZE = 280 };
const char *wr_file_address(const warmring_server_t *server, char *text);

#endif
