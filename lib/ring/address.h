/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of addresses, for the dialect whose ties go by it.
 */
#ifndef WR_RING_ADDRESS_H
#define WR_RING_ADDRESS_H

#include "ring/member.h"

/* Below, at or above 0 as `a` stands before, with or behind `b`: IPv4, then
 * IPv6, then all that is neither; by number, then by port. */
int wr_address_compare(const wr_member_t *a, const wr_member_t *b);

#endif
