/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a copy may live, by numbers: whenever within a second a server's clock
 * ticks, the copy is gone before the original.
 *
 * A TTL of t says that the original lives for more than t - 1 seconds, t at
 * most, from when it was asked for. An expiration of e gives a copy e seconds
 * at most, from when it was sent.
 */
#include "client/fill.h"

#include "tests/lib/tap.h"

static warmring_t client; /* no limits declared */

static const wr_time_t ms = 1000000;

static bool expiration_of(int64_t ttl, int64_t asked_ms_ago, uint32_t *expiration) {
    wr_operation_t operation = {.client = &client};
    wr_request_t original = {.ttl = ttl};
    return wr_fill_expiration(&operation, &original, wr_now() - asked_ms_ago * ms, expiration);
}

static void check_life(int64_t ttl, int64_t asked_ms_ago) {
    uint32_t expiration = 0;
    bool fill = expiration_of(ttl, asked_ms_ago, &expiration);
    int64_t copy_ms = asked_ms_ago + 1000 * (int64_t)expiration;
    tap_ok(!fill || (expiration > 0 && copy_ms <= 1000 * (ttl - 1)),
           "%lld s, asked for %lld ms ago: a copy of %u s does not outlive it", (long long)ttl,
           (long long)asked_ms_ago, expiration);
    tap_ok(fill || 1000 * ttl < asked_ms_ago + 4000, "and is only given up near the end");
    tap_ok(!fill || copy_ms > 1000 * (ttl - 4), "and lives for most of it");
}

int main(void) {
    static const int64_t ttls[] = {1, 2, 3, 4, 40, 3600, 30 * 24 * 3600};
    static const int64_t asked[] = {0, 10, 500, 900, 999, 1000, 1900, 2999, 5000};
    uint32_t expiration = 0;
    for (size_t i = 0; i < sizeof ttls / sizeof ttls[0]; i++) {
        for (size_t j = 0; j < sizeof asked / sizeof asked[0]; j++) {
            check_life(ttls[i], asked[j]);
        }
    }
    tap_ok(!expiration_of(0, 0, &expiration), "none in the last second");
    tap_ok(expiration_of(400 * 24 * 3600, 0, &expiration), "400 days");
    tap_int(expiration, 30 * 24 * 3600, "are 30: more would be read as a date");
    tap_ok(expiration_of(WR_TTL_NEVER, 900, &expiration), "a value without an end");
    tap_int(expiration, 0, "has a copy without one");
    client.options.fill_ttl_s = 60;
    tap_ok(expiration_of(WR_TTL_UNKNOWN, 900, &expiration), "where nobody can tell");
    tap_int(expiration, 60, "it is fill_ttl_s");
    atomic_store(&client.limits.max_ttl_s, 100);
    tap_ok(expiration_of(WR_TTL_NEVER, 0, &expiration), "with a declared longest TTL");
    tap_int(expiration, 100, "it is that");
    return tap_done();
}
