/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the readers of topology files and of other programs' configurations.
 *
 * A file that is read has to be written as a text that is read again and
 * written the same. One that is not has to say where: BAD_FILE, and a text
 * that begins with name and line. Large rings are left alone.
 *
 * The first line of an import names its format.
 *
 * file_replay.c runs the committed corpora under make check.
 */
#include "file_fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "topology/file.h"

enum { MOST_POINTS = 3000 };

static const wr_file_rings_t rings = {.most_points = MOST_POINTS};

static void check_again(const warmring_file_t *file) {
    warmring_file_t *again;
    if (wr_file_parse(&again, file->text, strlen(file->text), "f", &rings) != WARMRING_OK ||
        strcmp(again->text, file->text) != 0) {
        abort();
    }
    (void)warmring_file_get_rollout(again, "rome", 1700000001000);
    for (int step = WARMRING_WARM; step <= WARMRING_SETTLE; step++) {
        if (warmring_file_hold(again, (warmring_step_t)step, 0) < 0) {
            abort();
        }
    }
    warmring_file_free(again);
}

int file_fuzz(const uint8_t *bytes, size_t length) {
    warmring_file_t *file;
    warmring_status_t status = wr_file_parse(&file, (const char *)bytes, length, "f", &rings);
    if (status == WARMRING_OK) {
        check_again(file);
        warmring_file_free(file);
        return 0;
    }
    const char *detail = warmring_error_detail();
    bool located = strncmp(detail, "f:", 2) == 0 && detail[2] >= '1' && detail[2] <= '9';
    if (file != NULL ||
        (status != WARMRING_TRY_AGAIN && (status != WARMRING_BAD_FILE || !located))) {
        abort();
    }
    return 0;
}

/* So that large weights build no large rings. */
static const warmring_ring_options_t list_ring = {
    .size = sizeof list_ring, .points_per_weight = 1, .max_points = MOST_POINTS};

int import_fuzz(const uint8_t *bytes, size_t length) {
    warmring_import_options_t options = {sizeof options, "f", NULL, &list_ring};
    warmring_import_t *import;
    char format[32] = "";
    const uint8_t *end = length > 0 ? memchr(bytes, '\n', length) : NULL;
    if (end == NULL || (size_t)(end - bytes) >= sizeof format) {
        return 0;
    }
    memcpy(format, bytes, (size_t)(end - bytes));
    size_t rest = length - (size_t)(end + 1 - bytes);
    warmring_status_t status =
        warmring_import(&import, format, (const char *)end + 1, rest, &options);
    if ((status == WARMRING_OK) != (import != NULL) ||
        (status != WARMRING_OK && warmring_error_detail()[0] == '\0')) {
        abort();
    }
    warmring_import_free(import);
    return 0;
}
