/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of a sweep.
 */
#include "fleet/sweep_rule.h"

#include <string.h>

#include "client/options.h"
#include "fleet/keys.h"

static bool begins(warmring_bytes_t key, const char *prefix, size_t length) {
    return key.length >= length && memcmp(key.data, prefix, length) == 0;
}

/* Whether a client may still ask this server for the key, given that the item is
 * not above the watermark: then a new owner's item of a moved key is a ghost, so
 * that in a migration ownership by the new ring alone counts for nothing. */
static bool is_wanted(const wr_sweep_rule_t *rule, const wr_route_t *route) {
    if (warmring_topology_phase(rule->topology) == WARMRING_SETTLING && route->moved) {
        return false;
    }
    return route->owner[WARMRING_OLD_RING] == rule->seat;
}

wr_sweep_verdict_t wr_sweep_judge(const wr_sweep_rule_t *rule, warmring_bytes_t key, uint64_t cas) {
    if (begins(key, WR_FLEET_KEYS, sizeof WR_FLEET_KEYS - 1)) {
        return WR_SWEEP_OWN;
    }
    bool has_prefix = begins(key, rule->unhashed, rule->unhashed_length);
    if (!wr_is_key_text(key.data, key.length) || !has_prefix) {
        return WR_SWEEP_STRANGE;
    }
    if (cas > rule->watermark || !begins(key, rule->prefix, rule->prefix_length)) {
        return WR_SWEEP_KEEP;
    }
    wr_place_t place = {key.data, key.length, rule->unhashed_length};
    wr_route_t route = wr_route(rule->topology, &place, WR_KIND_READ, 0);
    return is_wanted(rule, &route) ? WR_SWEEP_KEEP : WR_SWEEP_REMOVE;
}
