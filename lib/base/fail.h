/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failing with a text: the one way a status gets its detail.
 */
#ifndef WR_BASE_FAIL_H
#define WR_BASE_FAIL_H

#include <stdbool.h>
#include <stddef.h>

#include <warmring/status.h>

/*
 * Writes this thread's detail text and returns `status`, so that a refusal is
 * one statement: `return wr_fail(WARMRING_BAD_KEY, "key is empty");`. Cut at
 * WR_DETAIL_SIZE. Bytes that do not print become '?', so that a detail is
 * always one line.
 */
__attribute__((cold, format(printf, 2, 3))) warmring_status_t wr_fail(warmring_status_t status,
                                                                      const char *format, ...);

/* wr_fail() for a failed allocation; needs no memory. */
__attribute__((cold)) warmring_status_t wr_fail_memory(void);

/* Brings back the text there was before the last wr_fail() of this thread; once. */
void wr_fail_undo(void);

/* The system's text for an errno, in `buffer` or static; the same everywhere,
 * while strerror_r() has two forms. */
const char *wr_system_text(int error, char *buffer, size_t size);

/* wr_fail() for the argument at `index` of a list as it stands in C. Always
 * true. */
__attribute__((cold)) bool wr_fail_null(const char *arguments, size_t index);

/* Static analyzers see one file at a time; scripts/analyze.sh tells them that a
 * failure does return its status. */
#ifdef WR_ANALYZED
#define wr_fail(status, ...) ((void)(wr_fail)(status, __VA_ARGS__), (status))
#define wr_fail_memory() ((void)(wr_fail_memory)(), WARMRING_OUT_OF_MEMORY)
#define wr_fail_null(arguments, index) ((void)(wr_fail_null)(arguments, index), true)
#endif

static inline bool wr_find_null(const void *const *arguments, size_t count, const char *names) {
    for (size_t i = 0; i < count; i++) {
        if (arguments[i] == NULL) {
            return wr_fail_null(names, i);
        }
    }
    return false;
}

/*
 * Whether one of the pointers is NULL; the detail text then says which. The
 * caller returns BAD_ARGUMENT. The second form is for calls that store what
 * they make in *place, which is NULL (or 0) from then on.
 */
#define WR_HAS_NULL(...)                             \
    wr_find_null((const void *const[]){__VA_ARGS__}, \
                 sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *), #__VA_ARGS__)
#define WR_EMPTY_OR_NULL(place, ...) \
    (WR_HAS_NULL(place) || (*(place) = 0, WR_HAS_NULL(__VA_ARGS__)))

enum { WR_DETAIL_SIZE = 512 };

#endif
