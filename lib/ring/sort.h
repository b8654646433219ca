/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting points by hash.
 */
#ifndef WR_RING_SORT_H
#define WR_RING_SORT_H

#include "ring/dialect.h"

/* Takes no memory; points of equal hash end up in any order. */
void wr_sort(wr_raw_point_t *points, uint64_t count);

#endif
