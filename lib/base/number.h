/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers from text, strictly and whatever the locale: digits only, no sign,
 * no blanks, no hexadecimal, no exponent. And text from numbers.
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

/* Room for any finite number. */
enum { WR_REAL_SIZE = 32 };

/*
 * Writes the shortest of 15, 16 or 17 digits that reads as the same number
 * again, as in "4", "0.1" or "1e+22", and returns `text`, which has room for
 * WR_REAL_SIZE bytes. JSON, and C, in every locale.
 */
const char *wr_write_real(char *text, double number);

#endif
