/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a fleet's keys.
 */
#include "fleet/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

size_t wr_fence_key(uint64_t id, char key[WR_FLEET_KEY_SIZE + 1]) {
    return (size_t)snprintf(key, WR_FLEET_KEY_SIZE + 1, WR_FLEET_KEYS "%016" PRIx64 ":steps", id);
}

size_t wr_report_key(uint64_t id, const char *address, char key[WR_FLEET_KEY_SIZE + 1]) {
    size_t used =
        (size_t)snprintf(key, WR_FLEET_KEY_SIZE + 1, WR_FLEET_KEYS "%016" PRIx64 ":partial:", id);
    size_t room = WR_FLEET_KEY_SIZE - used;
    size_t length = strlen(address);
    if (length <= room) {
        memcpy(key + used, address, length + 1);
        return used + length;
    }
    return used + (size_t)snprintf(key + used, room + 1, "%016" PRIx64,
                                   (uint64_t)wr_xxh64(address, length, 0));
}

void wr_report_value(const warmring_topology_t *topology, char value[WR_REPORT_SIZE]) {
    snprintf(value, WR_REPORT_SIZE, "%016" PRIx64, topology->seed);
}
