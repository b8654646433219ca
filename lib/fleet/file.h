/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a topology file.
 */
#ifndef WR_FLEET_FILE_H
#define WR_FLEET_FILE_H

#include <stddef.h>
#include <sys/stat.h>

#include <warmring/fleet.h>

typedef struct {
    char *bytes; /* NUL-terminated */
    size_t length;
    struct stat stat; /* of the file that was open, before it was read */
} wr_content_t;

/*
 * Reads a file whole; `mode` as warmring_file_read(). Returns OK; BAD_FILE with
 * the path and the system's reason; OUT_OF_MEMORY. Free content->bytes, which
 * is NULL unless OK, with wr_free().
 */
warmring_status_t wr_content_read(wr_content_t *content, const char *path, uint32_t mode);

/* The same of a descriptor, which stays open; `path` is for texts. */
warmring_status_t wr_content_read_from(wr_content_t *content, int descriptor, const char *path,
                                       uint32_t mode);

/* BAD_FILE: "PATH: WHAT: the system's text of `error`". */
warmring_status_t wr_fail_file(const char *path, const char *what, int error);
#ifdef WR_ANALYZED
#define wr_fail_file(path, what, error) \
    ((void)(wr_fail_file)(path, what, error), WARMRING_BAD_FILE) /* as in base/fail.h */
#endif

#endif
