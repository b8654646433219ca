/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a TTL to the expiration of a copy.
 */
#include "client/fill.h"

bool wr_fill_expiration(const wr_operation_t *operation, const wr_request_t *original,
                        wr_time_t asked_at, uint32_t *expiration) {
    static const int64_t longest = INT64_C(30) * 24 * 3600; /* more would be a Unix time */
    static const wr_time_t second = 1000000000;
    int64_t left = (int64_t)operation->client->options.fill_ttl_s;
    *expiration = 0;
    if (original->ttl == WR_TTL_NEVER) {
        return wr_expiration_make(operation->client, 0, expiration) == WARMRING_OK;
    }
    if (original->ttl != WR_TTL_UNKNOWN) {
        left = original->ttl - 1 - (wr_now() - asked_at + second - 1) / second;
    }
    *expiration = (uint32_t)(left < longest ? left : longest);
    return left > 0;
}
