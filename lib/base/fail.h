/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failing with a text: the one way a status gets its detail.
 */
#ifndef WR_BASE_FAIL_H
#define WR_BASE_FAIL_H

#include <warmring/status.h>

/*
 * Writes this thread's detail text and returns `status`, so that a refusal is
 * one statement: `return wr_fail(WARMRING_BAD_KEY, "key is empty");`. Cut at
 * WR_DETAIL_SIZE. Bytes that do not print become '?', so that a detail is
 * always one line.
 */
__attribute__((format(printf, 2, 3))) warmring_status_t wr_fail(warmring_status_t status,
                                                                const char *format, ...);

/* wr_fail() for a failed allocation; needs no memory. */
warmring_status_t wr_fail_memory(void);

enum { WR_DETAIL_SIZE = 512 };

#endif
