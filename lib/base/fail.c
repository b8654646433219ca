/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status names, status texts and the per-thread detail text.
 */
#include "base/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef wr_fail
#undef wr_fail_memory
#undef wr_fail_null

/* Callers may keep the address of the text. */
static _Thread_local char detail[WR_DETAIL_SIZE];
static _Thread_local char before[WR_DETAIL_SIZE]; /* what was there before the last */

static const char *const texts[] = {
#define STATUS_TEXT(name, text) [WARMRING_##name] = text,
    WARMRING_STATUS_LIST(STATUS_TEXT)};

static const char *const names[] = {
#define STATUS_NAME(name, text) [WARMRING_##name] = #name,
    WARMRING_STATUS_LIST(STATUS_NAME)};

static const char *pick(const char *const *list, warmring_status_t status, const char *otherwise) {
    size_t index = (size_t)status;
    return index < sizeof texts / sizeof texts[0] ? list[index] : otherwise;
}

const char *warmring_strerror(warmring_status_t status) {
    return pick(texts, status, "unknown status");
}

const char *warmring_status_name(warmring_status_t status) {
    return pick(names, status, "?");
}

const char *warmring_error_detail(void) {
    return detail;
}

const char *warmring_version(void) {
    return WARMRING_VERSION_STRING;
}

warmring_status_t wr_fail(warmring_status_t status, const char *format, ...) {
    va_list arguments;
    memcpy(before, detail, sizeof before);
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    for (char *c = detail; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            *c = '?';
        }
    }
    return status;
}

void wr_fail_undo(void) {
    memcpy(detail, before, sizeof detail);
}

warmring_status_t wr_fail_memory(void) {
    return wr_fail(WARMRING_OUT_OF_MEMORY, "out of memory");
}

bool wr_fail_null(const char *arguments, size_t index) {
    for (; index > 0; index--) {
        arguments += strcspn(arguments, ",");
        arguments += strspn(arguments, ", ");
    }
    wr_fail(WARMRING_BAD_ARGUMENT, "%.*s is NULL", (int)strcspn(arguments, ","), arguments);
    return true;
}

static const char *text_of_gnu(const char *text, const char *buffer) {
    (void)buffer;
    return text;
}

static const char *text_of_posix(int failed, const char *buffer) {
    return failed == 0 ? buffer : "unknown error";
}

const char *wr_system_text(int error, char *buffer, size_t size) {
    return _Generic(strerror_r(error, buffer, size), int
                    : text_of_posix, default
                    : text_of_gnu)(strerror_r(error, buffer, size), buffer);
}
