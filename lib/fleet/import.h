/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading other programs' configurations: one strategy a file, each ending in
 * its const descriptor.
 */
#ifndef WR_FLEET_IMPORT_H
#define WR_FLEET_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include <warmring/fleet.h>

/* What a reader works with: the text, and what it has made of it so far. */
typedef struct {
    const char *name; /* for texts */
    const char *text; /* NUL-terminated, without another NUL */
    size_t length;
    const char *section;          /* NULL: not chosen */
    warmring_ring_options_t ring; /* strings are static, the caller's, or this: */
    char hash_tag[3];
    warmring_server_t *servers; /* their strings are copies */
    size_t count, capacity;
    char **notes;
    size_t note_count;
} wr_import_t;

typedef struct {
    const char *format;
    warmring_status_t (*read)(wr_import_t *import);
} wr_importer_t;

extern const wr_importer_t wr_import_libmemcached;
extern const wr_importer_t wr_import_nginx;
extern const wr_importer_t wr_import_twemproxy;

/* The line, from 1, that a place of the text is on. */
size_t wr_import_line(const wr_import_t *import, const char *at);

/* Fails with "NAME:LINE: " before the rest. */
__attribute__((format(printf, 4, 5))) warmring_status_t wr_import_fail(const wr_import_t *import,
                                                                       warmring_status_t status,
                                                                       size_t line,
                                                                       const char *format, ...);

/* The same with the detail text of the call that has just failed. */
warmring_status_t wr_import_wrap(const wr_import_t *import, warmring_status_t status, size_t line);

/* Adds a note, or a server, of which copies are kept. OK or OUT_OF_MEMORY. */
__attribute__((format(printf, 2, 3))) warmring_status_t wr_import_note(wr_import_t *import,
                                                                       const char *format, ...);
warmring_status_t wr_import_add(wr_import_t *import, const warmring_server_t *server);

#endif
