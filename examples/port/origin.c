/* SPDX-License-Identifier: Apache-2.0 */
#include "origin.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_PAGE = 1 << 20, MAX_PATH = 1024 };

static int path_of(char *path, const char *directory, const char *name, const char *suffix) {
    int length = snprintf(path, MAX_PATH, "%s/%s%s", directory, name, suffix);
    return length > 0 && length < MAX_PATH ? 0 : -1;
}

char *origin_load(const char *directory, const char *name, size_t *length) {
    char path[MAX_PATH];
    FILE *file = path_of(path, directory, name, "") == 0 ? fopen(path, "rb") : NULL;
    if (file == NULL) {
        return NULL;
    }
    char *page = malloc(MAX_PAGE + 1);
    if (page != NULL) {
        *length = fread(page, 1, MAX_PAGE + 1, file);
        if (ferror(file) || *length > MAX_PAGE) {
            free(page);
            page = NULL;
        }
    }
    fclose(file);
    return page;
}

int origin_store(const char *directory, const char *name, const char *page, size_t length) {
    char path[MAX_PATH], fresh[MAX_PATH];
    if (path_of(path, directory, name, "") != 0 || path_of(fresh, directory, name, "~") != 0) {
        return -1;
    }
    FILE *file = fopen(fresh, "wb");
    if (file == NULL) {
        return -1;
    }
    size_t written = fwrite(page, 1, length, file);
    if (fclose(file) != 0 || written != length) {
        remove(fresh);
        return -1;
    }
    return rename(fresh, path);
}

int origin_remove(const char *directory, const char *name) {
    char path[MAX_PATH];
    return path_of(path, directory, name, "") == 0 ? remove(path) : -1;
}
