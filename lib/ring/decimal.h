/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in detail texts, the same in every locale, and written such that a
 * suggested one can be pasted into an option.
 */
#ifndef WR_RING_DECIMAL_H
#define WR_RING_DECIMAL_H

typedef struct {
    char text[64];
} wr_decimal_t;

/* Writes `value` with up to 15 digits, without an exponent between 1e-30 and
 * 1e22, and returns the text. */
const char *wr_decimal(wr_decimal_t *decimal, double value);

#endif
