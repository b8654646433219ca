/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers from text, strictly and whatever the locale: digits only, no sign,
 * no blanks, no hexadecimal, no exponent.
 */
#ifndef WR_BASE_NUMBER_H
#define WR_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole number up to `most`; false, *number untouched, for anything else. */
bool wr_parse_uint(const char *text, size_t length, uint64_t most, uint64_t *number);

/* DIGITS[.DIGITS], finite; false, *number untouched, for anything else. Exact
 * to the last bit up to 15 digits. */
bool wr_parse_real(const char *text, size_t length, double *number);

#endif
