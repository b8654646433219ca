/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading topology files.
 *
 * Whoever can write to the file decides where the data of all clients goes,
 * so one that others may write to is refused. That is asked of the open file
 * and not of its name, and so is whether it is a file at all: a FIFO would
 * keep its reader waiting.
 */
#include "fleet/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/memory.h"
#include "topology/file.h"

#undef wr_fail_file
warmring_status_t wr_fail_file(const char *path, const char *what, int error) {
    enum { SHOWN = 300 };
    char buffer[128];
    size_t length = strlen(path);
    if (error == ENOMEM) {
        return wr_fail_memory();
    }
    return wr_fail(WARMRING_BAD_FILE, "%s: %s: %s", length > SHOWN ? path + length - SHOWN : path,
                   what, wr_system_text(error, buffer, sizeof buffer));
}

static warmring_status_t check(const struct stat *stat, const char *path, uint32_t mode) {
    if (S_ISDIR(stat->st_mode)) {
        return wr_fail_file(path, "cannot read", EISDIR);
    }
    if (!S_ISREG(stat->st_mode)) {
        return wr_fail(WARMRING_BAD_FILE, "%s: cannot read: it is a device, FIFO or socket", path);
    }
    if ((stat->st_mode & (S_IWGRP | S_IWOTH)) != 0 && (mode & WARMRING_FILE_ANY_WRITER) == 0) {
        return wr_fail(WARMRING_BAD_FILE,
                       "%s: mode %04o: %s may write to it; whoever can decides where keys go", path,
                       (unsigned)stat->st_mode & 07777u,
                       (stat->st_mode & S_IWOTH) != 0 ? "everybody" : "its group");
    }
    if (stat->st_size > WR_FILE_SIZE_MAX) {
        return wr_fail(WARMRING_BAD_FILE, "%s: %lld bytes: a topology file has at most %d", path,
                       (long long)stat->st_size, WR_FILE_SIZE_MAX);
    }
    return WARMRING_OK;
}

/* Fills `bytes`; the number of them, or -1 with errno. */
static ssize_t read_all(int descriptor, char *bytes, size_t capacity) {
    size_t length = 0;
    while (length < capacity) {
        ssize_t got = pread(descriptor, bytes + length, capacity - length, (off_t)length);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return got < 0 ? -1 : (ssize_t)length;
        }
        length += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)length;
}

warmring_status_t wr_content_read_from(wr_content_t *content, int descriptor, const char *path,
                                       uint32_t mode) {
    *content = (wr_content_t){0};
    if (fstat(descriptor, &content->stat) != 0) {
        return wr_fail_file(path, "cannot read", errno);
    }
    warmring_status_t status = check(&content->stat, path, mode);
    if (status != WARMRING_OK) {
        return status;
    }
    /* A byte more tells whether it grew meanwhile. */
    size_t size = (size_t)content->stat.st_size;
    char *bytes = wr_malloc(size + 2);
    if (bytes == NULL) {
        return wr_fail_memory();
    }
    ssize_t length = read_all(descriptor, bytes, size + 1);
    if (length != (ssize_t)size) {
        int error = errno;
        wr_free(bytes);
        return length < 0 ? wr_fail_file(path, "cannot read", error)
                          : wr_fail(WARMRING_BAD_FILE, "%s: somebody is writing to it", path);
    }
    bytes[size] = '\0';
    content->bytes = bytes;
    content->length = size;
    return WARMRING_OK;
}

warmring_status_t wr_content_read(wr_content_t *content, const char *path, uint32_t mode) {
    *content = (wr_content_t){0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) {
        return wr_fail_file(path, "cannot open", errno);
    }
    warmring_status_t status = wr_content_read_from(content, descriptor, path, mode);
    close(descriptor);
    return status;
}

warmring_status_t warmring_file_read(warmring_file_t **file, const char *path, uint32_t mode) {
    wr_content_t content;
    if (WR_EMPTY_OR_NULL(file, path)) {
        return WARMRING_BAD_ARGUMENT;
    }
    if ((mode & ~WARMRING_FILE_ANY_WRITER) != 0) {
        return wr_fail(WARMRING_BAD_ARGUMENT, "mode %u has unknown bits", (unsigned)mode);
    }
    warmring_status_t status = wr_content_read(&content, path, mode);
    if (status == WARMRING_OK) {
        status = warmring_file_parse(file, content.bytes, content.length, path);
    }
    wr_free(content.bytes);
    return status;
}
