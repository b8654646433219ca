/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the files of a corpus one after the other.
 */
#include "replay.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/tap.h"

enum { INPUT_MAX = 4096 };

static void replay(const char *directory, const char *name,
                   int (*target)(const uint8_t *bytes, size_t length)) {
    char path[1024];
    uint8_t bytes[INPUT_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        tap_bail("cannot read %s", path);
    }
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    target(bytes, length);
    for (size_t at = 0; at < length; at++) {
        uint8_t kept = bytes[at];
        target(bytes, at);
        bytes[at] = (uint8_t)(kept ^ (1u << at % 8));
        target(bytes, length);
        bytes[at] = kept;
    }
    tap_ok(length > 0, "%s survived, %zu bytes", name, length);
}

void replay_corpus(const char *name, int (*target)(const uint8_t *bytes, size_t length),
                   size_t least) {
    const char *srcdir = getenv("srcdir");
    char directory[512];
    snprintf(directory, sizeof directory, "%s/tests/fuzz/%s", srcdir ? srcdir : ".", name);
    DIR *files = opendir(directory);
    if (files == NULL) {
        tap_bail("no corpus in %s", directory);
    }
    struct dirent *entry;
    size_t count = 0;
    while ((entry = readdir(files)) != NULL) {
        if (entry->d_name[0] != '.') {
            replay(directory, entry->d_name, target);
            count++;
        }
    }
    closedir(files);
    tap_ok(count > least, "%zu files", count);
}
