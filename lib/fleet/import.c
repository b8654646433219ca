/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all importers share, and plain lists of servers.
 */
#include "fleet/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "topology/file.h"
#include "topology/server_text.h"

struct warmring_import {
    warmring_topology_t *topology;
    char **notes;
    size_t note_count;
};

/* ---- for readers ----------------------------------------------------------- */

enum { NOTE_SIZE = 400 };

size_t wr_import_line(const wr_import_t *import, const char *at) {
    size_t line = 1;
    for (const char *c = import->text; c < at; c++) {
        line += *c == '\n';
    }
    return line;
}

warmring_status_t wr_import_fail(const wr_import_t *import, warmring_status_t status, size_t line,
                                 const char *format, ...) {
    char reason[NOTE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return wr_fail(status, "%s:%zu: %s", import->name, line, reason);
}

warmring_status_t wr_import_wrap(const wr_import_t *import, warmring_status_t status, size_t line) {
    char reason[NOTE_SIZE];
    if (status == WARMRING_OUT_OF_MEMORY) {
        return status;
    }
    snprintf(reason, sizeof reason, "%s", warmring_error_detail());
    return wr_fail(status, "%s:%zu: %s", import->name, line, reason);
}

warmring_status_t wr_import_note(wr_import_t *import, const char *format, ...) {
    char text[NOTE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char **notes = wr_realloc(import->notes, (import->note_count + 1) * sizeof *import->notes);
    if (notes == NULL) {
        return wr_fail_memory();
    }
    import->notes = notes;
    notes[import->note_count] = wr_copy(text, strlen(text));
    if (notes[import->note_count] == NULL) {
        return wr_fail_memory();
    }
    import->note_count++;
    return WARMRING_OK;
}

/* NULL stays NULL; false: no memory. */
static bool copy_string(const char *string, const char **copy) {
    *copy = string != NULL ? wr_copy(string, strlen(string)) : NULL;
    return string == NULL || *copy != NULL;
}

static void free_server(const warmring_server_t *server) {
    wr_free((char *)(uintptr_t)server->name);
    wr_free((char *)(uintptr_t)server->host);
}

warmring_status_t wr_import_add(wr_import_t *import, const warmring_server_t *server) {
    if (import->count == import->capacity) {
        size_t capacity = import->capacity * 2 + 16;
        warmring_server_t *servers =
            wr_realloc(import->servers, capacity * sizeof *import->servers);
        if (servers == NULL) {
            return wr_fail_memory();
        }
        import->servers = servers;
        import->capacity = capacity;
    }
    warmring_server_t copy = *server;
    copy.size = sizeof copy;
    copy.host = NULL;
    if (!copy_string(server->name, &copy.name) || !copy_string(server->host, &copy.host)) {
        free_server(&copy);
        return wr_fail_memory();
    }
    import->servers[import->count++] = copy;
    return WARMRING_OK;
}

/* ---- plain lists ------------------------------------------------------------- */

static warmring_status_t read_list(wr_import_t *import) {
    wr_server_list_t list;
    warmring_status_t status = wr_server_list_parse(&list, import->text);
    if (status != WARMRING_OK) {
        return status == WARMRING_BAD_SERVER ? wr_import_wrap(import, WARMRING_BAD_FILE, 1)
                                             : status;
    }
    for (size_t i = 0; i < list.count && status == WARMRING_OK; i++) {
        status = wr_import_add(import, &list.servers[i]);
    }
    wr_server_list_free(&list);
    return status;
}

static const wr_importer_t import_list = {"list", read_list};

static const wr_importer_t *const importers[] = {
    &wr_import_libmemcached,
    &wr_import_twemproxy,
    &wr_import_nginx,
    &import_list,
};

enum { IMPORTERS = sizeof importers / sizeof importers[0] };

const char *warmring_import_format(size_t index) {
    return index < IMPORTERS ? importers[index]->format : NULL;
}

/* ---- the whole ---------------------------------------------------------------- */

static const wr_importer_t *find_importer(const char *format) {
    for (size_t i = 0; i < IMPORTERS; i++) {
        if (strcmp(importers[i]->format, format) == 0) {
            return importers[i];
        }
    }
    wr_fail(WARMRING_BAD_ARGUMENT,
            "unknown format \"%.40s\": there are libmemcached, twemproxy, nginx and list", format);
    return NULL;
}

/* The ring's refusals know servers by their number only, and no lines. */
static warmring_status_t make_topology(const wr_import_t *import, warmring_topology_t **topology) {
    char reason[WR_DETAIL_SIZE];
    if (import->count == 0) {
        return wr_fail(WARMRING_BAD_FILE, "%s: no servers", import->name);
    }
    warmring_status_t status =
        warmring_topology_create(topology, import->servers, import->count, &import->ring);
    if (status == WARMRING_OK || status == WARMRING_OUT_OF_MEMORY) {
        return status;
    }
    snprintf(reason, sizeof reason, "%s", warmring_error_detail());
    return wr_fail(status, "%s: %s", import->name, reason);
}

static warmring_status_t check_text(const char *name, const char *text, size_t length) {
    if (length > WR_FILE_SIZE_MAX) {
        return wr_fail(WARMRING_BAD_FILE, "%s: %zu bytes: at most %d are read", name, length,
                       WR_FILE_SIZE_MAX);
    }
    return length == 0 || memchr(text, '\0', length) == NULL
               ? WARMRING_OK
               : wr_fail(WARMRING_BAD_FILE, "%s: a NUL byte", name);
}

static warmring_status_t read(wr_import_t *import, const wr_importer_t *importer, const char *text,
                              size_t length, warmring_topology_t **topology) {
    warmring_status_t status = check_text(import->name, text, length);
    if (status != WARMRING_OK) {
        return status;
    }
    char *copy = wr_copy(text, length);
    if (copy == NULL) {
        return wr_fail_memory();
    }
    import->text = copy;
    import->length = length;
    status = importer->read(import);
    if (status == WARMRING_OK) {
        status = make_topology(import, topology);
    }
    wr_free(copy);
    return status;
}

/* The result takes the notes over. */
static warmring_status_t keep(wr_import_t *import, warmring_topology_t *topology,
                              warmring_import_t **result) {
    warmring_import_t *made = wr_calloc(1, sizeof *made);
    if (made == NULL) {
        warmring_topology_release(topology);
        return wr_fail_memory();
    }
    *made = (warmring_import_t){topology, import->notes, import->note_count};
    import->notes = NULL;
    import->note_count = 0;
    *result = made;
    return WARMRING_OK;
}

static void free_notes(char **notes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        wr_free(notes[i]);
    }
    wr_free(notes);
}

warmring_status_t warmring_import(warmring_import_t **import, const char *format, const char *text,
                                  size_t length, const warmring_import_options_t *options) {
    warmring_import_options_t chosen = WARMRING_IMPORT_OPTIONS_INIT;
    warmring_topology_t *topology = NULL;
    if (WR_EMPTY_OR_NULL(import, format, text)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if (options != NULL && options->size < sizeof chosen) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "size %zu of the options: set it to sizeof(%s)",
                       options->size, "warmring_import_options_t");
    }
    const wr_importer_t *importer = find_importer(format);
    if (importer == NULL) {
        return WARMRING_BAD_ARGUMENT;
    }
    chosen = options != NULL ? *options : chosen;
    wr_import_t work = {.name = chosen.name != NULL ? chosen.name : importer->format,
                        .section = chosen.section};
    work.ring = (warmring_ring_options_t){.size = sizeof work.ring};
    if (importer == &import_list && chosen.ring != NULL) {
        work.ring = *chosen.ring;
    }
    warmring_status_t status = read(&work, importer, text, length, &topology);
    if (status == WARMRING_OK) {
        status = keep(&work, topology, import);
    }
    for (size_t i = 0; i < work.count; i++) {
        free_server(&work.servers[i]);
    }
    wr_free(work.servers);
    free_notes(work.notes, work.note_count);
    return status;
}

const warmring_topology_t *warmring_import_topology(const warmring_import_t *import) {
    return import->topology;
}

const char *warmring_import_note(const warmring_import_t *import, size_t index) {
    return index < import->note_count ? import->notes[index] : NULL;
}

void warmring_import_free(warmring_import_t *import) {
    if (import != NULL) {
        warmring_topology_release(import->topology);
        free_notes(import->notes, import->note_count);
        wr_free(import);
    }
}
