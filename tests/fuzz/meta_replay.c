/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays the committed corpus of tests/fuzz/meta_fuzz.c, each file whole, cut
 * at each byte and with each byte changed. Passing is surviving.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/tap.h"
#include "meta_fuzz.h"

enum { INPUT_MAX = 4096 };

static void replay(const char *directory, const char *name) {
    char path[1024];
    uint8_t bytes[INPUT_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        tap_bail("cannot read %s", path);
    }
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    meta_fuzz(bytes, length);
    for (size_t at = 0; at < length; at++) {
        uint8_t kept = bytes[at];
        meta_fuzz(bytes, at);
        bytes[at] = (uint8_t)(kept ^ (1u << at % 8));
        meta_fuzz(bytes, length);
        bytes[at] = kept;
    }
    tap_ok(length > 0, "%s survived, %zu bytes", name, length);
}

int main(void) {
    const char *srcdir = getenv("srcdir");
    char directory[512];
    snprintf(directory, sizeof directory, "%s/tests/fuzz/corpus-meta", srcdir ? srcdir : ".");
    DIR *files = opendir(directory);
    if (files == NULL) {
        tap_bail("no corpus in %s", directory);
    }
    struct dirent *entry;
    size_t count = 0;
    while ((entry = readdir(files)) != NULL) {
        if (entry->d_name[0] != '.') {
            replay(directory, entry->d_name);
            count++;
        }
    }
    closedir(files);
    tap_ok(count > 10, "%zu files", count);
    return tap_done();
}
