/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in detail texts, the same in every locale.
 */
#ifndef WR_RING_NUMBER_H
#define WR_RING_NUMBER_H

typedef struct {
    char text[40];
} wr_number_t;

/* Writes `value` with up to 15 digits and returns the text. */
const char *wr_number(wr_number_t *number, double value);

#endif
