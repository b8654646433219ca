/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server lists from files.
 *
 * The library tells of "server N", counted from 0; people count lines. So
 * complaints say "line L" instead.
 */
#include "servers.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "report.h"

/* ---- reading ---- */

/* What some editors write before the first line of UTF-8. */
static const char byte_order_mark[] = "\xef\xbb\xbf";

static bool has_room(servers_t *list) {
    if (list->count < list->capacity) {
        return true;
    }
    size_t capacity = list->capacity > 0 ? 2 * list->capacity : 64;
    warmring_server_t *servers = realloc(list->servers, capacity * sizeof *servers);
    list->servers = servers != NULL ? servers : list->servers;
    size_t *lines = realloc(list->lines, capacity * sizeof *lines);
    list->lines = lines != NULL ? lines : list->lines;
    if (servers == NULL || lines == NULL) {
        return false;
    }
    list->capacity = capacity;
    return true;
}

static bool append(servers_t *list, const warmring_server_t *server, size_t line) {
    if (!has_room(list)) {
        return false;
    }
    char *name = server->name != NULL ? strdup(server->name) : NULL;
    char *host = strdup(server->host);
    if (host == NULL || (name == NULL && server->name != NULL)) {
        free(name);
        free(host);
        return false;
    }
    list->lines[list->count] = line;
    list->servers[list->count] = *server;
    list->servers[list->count].name = name;
    list->servers[list->count].host = host;
    list->count++;
    return true;
}

/* Whether there is nothing but blanks and a comment. */
static bool is_blank(const char *text) {
    text += strspn(text, " \t\r\n\v\f");
    return *text == '\0' || *text == '#';
}

static int read_line(servers_t *list, const char *text, size_t length, size_t line) {
    char strings[WARMRING_SERVER_STRINGS];
    warmring_server_t server = {.size = sizeof server};
    if (line == 1 && strncmp(text, byte_order_mark, strlen(byte_order_mark)) == 0) {
        text += strlen(byte_order_mark);
        length -= strlen(byte_order_mark);
    }
    if (strlen(text) != length) {
        return fail("%s:%zu: a byte 0 behind \"%.60s\"", list->file, line, text);
    }
    if (is_blank(text)) {
        return ENDED_WELL;
    }
    if (warmring_server_parse(text, &server, strings, sizeof strings) != WARMRING_OK) {
        return fail("%s:%zu: %s", list->file, line, warmring_error_detail());
    }
    return append(list, &server, line) ? ENDED_WELL : fail("out of memory");
}

static int read_lines(servers_t *list, FILE *stream) {
    char *text = NULL;
    size_t size = 0, line = 0;
    int result = ENDED_WELL;
    ssize_t length;
    while (result == ENDED_WELL && (length = getline(&text, &size, stream)) >= 0) {
        while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r')) {
            text[--length] = '\0';
        }
        result = read_line(list, text, (size_t)length, ++line);
    }
    if (result == ENDED_WELL && !feof(stream)) { /* which has no error where memory was out */
        result = fail("%s: cannot read: %s", list->file, strerror(errno));
    }
    free(text);
    return result;
}

int servers_read(servers_t *list, const char *file) {
    bool from_input = strcmp(file, "-") == 0;
    *list = (servers_t){.file = from_input ? "standard input" : file};
    FILE *stream = from_input ? stdin : fopen(file, "re");
    if (stream == NULL) {
        return fail("%s: %s", file, strerror(errno));
    }
    int result = read_lines(list, stream);
    if (!from_input) {
        fclose(stream);
    }
    return result == ENDED_WELL && list->count == 0 ? fail("%s: no server in it", list->file)
                                                    : result;
}

void servers_free(servers_t *list) {
    for (size_t i = 0; i < list->count; i++) {
        free((char *)(uintptr_t)list->servers[i].name);
        free((char *)(uintptr_t)list->servers[i].host);
    }
    free(list->servers);
    free(list->lines);
    *list = (servers_t){0};
}

size_t servers_unnamed(const servers_t *list) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        count += list->servers[i].weight > 0 && list->servers[i].name == NULL;
    }
    return count;
}

/* ---- building ---- */

/* The line of the server that a text at "server N" speaks of; 0: it does
 * not. Stores where the number ends. */
static size_t line_at(const servers_t *list, const char *text, const char **end) {
    static const char word[] = "server ";
    if (strncmp(text, word, strlen(word)) != 0 || !isdigit((unsigned char)text[strlen(word)])) {
        return 0;
    }
    char *behind;
    unsigned long long index = strtoull(text + strlen(word), &behind, 10);
    *end = behind;
    return index < list->count ? list->lines[index] : 0;
}

int servers_complain(const servers_t *list, warmring_status_t status) {
    if (status == WARMRING_BAD_OPTION) {
        return misuse("%s", warmring_error_detail());
    }
    char text[1024];
    size_t length = 0, line = 0, last = 0;
    const char *end, *at = warmring_error_detail();
    if ((line = line_at(list, at, &end)) > 0 && (*end == ':' || *end == ',')) {
        last = line; /* the place says it already */
        at = end + 1 + strspn(end + 1, " ");
    }
    while (*at != '\0' && length + 40 < sizeof text) {
        if ((line = line_at(list, at, &end)) > 0) {
            length += (size_t)snprintf(text + length, sizeof text - length, "line %zu", line);
            last = line;
            at = end;
        } else {
            text[length++] = *at++;
        }
    }
    text[length] = '\0';
    return last > 0 ? fail("%s:%zu: %s", list->file, last, text) : fail("%s: %s", list->file, text);
}

static int check_dialect(const ring_choice_t *choice) {
    char known[512] = "";
    size_t length = 0;
    for (size_t i = 0; warmring_dialect_name(i) != NULL && length < sizeof known; i++) {
        if (choice->dialect == NULL || strcmp(choice->dialect, warmring_dialect_name(i)) == 0) {
            return ENDED_WELL;
        }
        length += (size_t)snprintf(known + length, sizeof known - length, "%s%s", i > 0 ? ", " : "",
                                   warmring_dialect_name(i));
    }
    return misuse("%s \"%s\": not one of %s", choice->dialect_option, choice->dialect, known);
}

int choose_ring(const ring_choice_t *choice, warmring_ring_options_t *options) {
    double max_points = 0;
    *options = (warmring_ring_options_t){.size = sizeof *options,
                                         .dialect = choice->dialect,
                                         .hash = choice->hash,
                                         .hash_tag = choice->hash_tag};
    int result = check_dialect(choice);
    if (result == ENDED_WELL) {
        result = read_positive(choice->points_option, choice->points, &options->points_per_weight);
    }
    if (result == ENDED_WELL) {
        result = read_count("--max-points", choice->max_points, 1, UINT32_MAX, &max_points);
    }
    options->max_points = (uint64_t)max_points;
    return result;
}

int servers_build(const servers_t *list, const warmring_ring_options_t *options,
                  warmring_topology_t **topology) {
    warmring_status_t status =
        warmring_topology_create(topology, list->servers, list->count, options);
    return status == WARMRING_OK ? ENDED_WELL : servers_complain(list, status);
}

int servers_load(const char *file, const ring_choice_t *choice, warmring_topology_t **topology) {
    servers_t list;
    warmring_ring_options_t options;
    *topology = NULL;
    int result = choose_ring(choice, &options);
    if (result != ENDED_WELL) {
        return result;
    }
    result = servers_read(&list, file);
    if (result == ENDED_WELL) {
        result = servers_build(&list, &options, topology);
    }
    servers_free(&list);
    return result;
}

/* ---- asking ---- */

const warmring_ring_t *ring_of(const warmring_topology_t *topology) {
    return warmring_topology_ring(topology, WARMRING_OLD_RING);
}

const char *label_of(const warmring_topology_t *topology, size_t server) {
    return warmring_topology_label(topology, WARMRING_OLD_RING, server);
}

double weight_of(const warmring_topology_t *topology, size_t server) {
    return warmring_topology_server(topology, WARMRING_OLD_RING, server)->weight;
}
