/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server lists from files, and the rings of them.
 */
#ifndef TOOLS_SERVERS_H
#define TOOLS_SERVERS_H

#include <stddef.h>
#include <warmring/topology.h>

/* The servers of one file, and the line each stands in. */
typedef struct {
    const char *file; /* as complaints call it */
    warmring_server_t *servers;
    size_t *lines;
    size_t count;
    size_t capacity;
} servers_t;

/*
 * Reads a file, "-" for standard input: one server string a line, blank lines
 * and comments aside. Returns ENDED_WELL, or FAILED with a complaint that
 * names file, line and piece; free the list in either case.
 */
int servers_read(servers_t *list, const char *file);
void servers_free(servers_t *list);

/* The options that choose a ring; NULL where one was not given. */
typedef struct {
    const char *dialect_option, *dialect; /* the name of the option, its value */
    const char *points_option, *points;
    const char *max_points;
    const char *hash, *hash_tag;
} ring_choice_t;

/* Turns them into ring options; MISUSED with a complaint. */
int choose_ring(const ring_choice_t *choice, warmring_ring_options_t *options);

/* Builds the ring of a list; FAILED with a complaint that names the file and,
 * where one server is at fault, its line; MISUSED where an option is. */
int servers_build(const servers_t *list, const warmring_ring_options_t *options,
                  warmring_topology_t **topology);

/* Both at once. */
int servers_load(const char *file, const ring_choice_t *choice, warmring_topology_t **topology);

/* Complains of the library's last failure, with this list or an option; FAILED
 * or MISUSED. */
int servers_complain(const servers_t *list, warmring_status_t status);

/* How many servers with a weight above 0 have no name. */
size_t servers_unnamed(const servers_t *list);

/* The only ring of a topology from a list, and its servers. */
const warmring_ring_t *ring_of(const warmring_topology_t *topology);
const char *label_of(const warmring_topology_t *topology, size_t server);
double weight_of(const warmring_topology_t *topology, size_t server);

#endif
