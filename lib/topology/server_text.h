/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server strings: from text to warmring_server_t. The forms are documented
 * with warmring_topology_parse(); whatever is none of them is refused with a
 * text that quotes the bad piece.
 */
#ifndef WR_TOPOLOGY_SERVER_TEXT_H
#define WR_TOPOLOGY_SERVER_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <warmring/ring.h>
#include <warmring/status.h>

/* Longest pieces, in bytes: a name, a host name, the path of a socket (what
 * fits sockaddr_un). */
enum { WR_MAX_NAME = 250, WR_MAX_HOST = 250, WR_MAX_PATH = 107 };

/* The strings of the servers lie in `text`. */
typedef struct {
    warmring_server_t *servers;
    size_t count;
    char *text;
} wr_server_list_t;

/*
 * Reads server strings. Returns OK, BAD_SERVER (also for a list without a
 * server) or OUT_OF_MEMORY; unless OK the list is empty. Names and endpoints
 * used twice are for the ring to refuse.
 */
warmring_status_t wr_server_list_parse(wr_server_list_t *list, const char *servers);

/* Reads exactly one server string. */
warmring_status_t wr_server_parse(wr_server_list_t *list, const char *server);

/* Reads an address, HOST[:PORT], [V6][:PORT] or unix:/PATH, as the only
 * server of the list, unnamed and with weight 1. */
warmring_status_t wr_address_parse(wr_server_list_t *list, const char *address);

/* Frees what a list holds; an empty list is fine. */
void wr_server_list_free(wr_server_list_t *list);

/* Whether `text` is 1 to `limit` bytes of letters, digits, '.', '_' and '-'. */
bool wr_is_name(const char *text, size_t length, size_t limit);

#endif
