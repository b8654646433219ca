/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a copy from the old owner to the new one may live.
 */
#ifndef WR_CLIENT_FILL_H
#define WR_CLIENT_FILL_H

#include "client/client.h"

/*
 * The expiration of a copy of `original`, which was asked for at `asked_at`:
 * what is left of its TTL, rounded down so that the copy never outlives it; 0
 * for one that never expires; the option fill_ttl_s where the transport could
 * not tell. False when nothing is left: there is nothing to copy.
 */
bool wr_fill_expiration(const wr_operation_t *operation, const wr_request_t *original,
                        wr_time_t asked_at, uint32_t *expiration);

#endif
