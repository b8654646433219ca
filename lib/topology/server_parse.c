/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One server string for who has a list of his own, as a tool that reads a
 * file line by line.
 */
#include <string.h>

#include <warmring/topology.h>

#include "base/fail.h"
#include "topology/server_text.h"

/* Copies `string`, NULL as NULL, to *end and moves it behind. */
static const char *keep(char **end, const char *string) {
    if (string == NULL) {
        return NULL;
    }
    char *copy = *end;
    size_t size = strlen(string) + 1;
    memcpy(copy, string, size);
    *end += size;
    return copy;
}

warmring_status_t warmring_server_parse(const char *text, warmring_server_t *server, char *strings,
                                        size_t capacity) {
    wr_server_list_t list;
    if (WR_HAS_NULL(server)) {
        return WARMRING_BAD_ARGUMENT;
    }
    size_t size = server->size;
    if (size < sizeof *server) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "size %zu of the server: set it to sizeof(%s)", size,
                       "warmring_server_t");
    }
    *server = (warmring_server_t){.size = size};
    if (WR_HAS_NULL(text, strings)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (capacity < WARMRING_SERVER_STRINGS) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "capacity of %zu for strings: at least %u", capacity,
                       WARMRING_SERVER_STRINGS);
    }
    warmring_status_t status = wr_server_parse(&list, text);
    if (status != WARMRING_OK) {
        return status;
    }
    *server = list.servers[0];
    server->size = size;
    server->name = keep(&strings, list.servers[0].name);
    server->host = keep(&strings, list.servers[0].host);
    wr_server_list_free(&list);
    return WARMRING_OK;
}
