/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server lists, rings and keys for the tests of ring/ and plan/.
 */
#include "sample.h"

#include "../lib/tap.h"

void sample_fill(sample_t *sample, size_t count, double weight) {
    *sample = (sample_t){.count = count};
    for (size_t i = 0; i < count; i++) {
        snprintf(sample->text[i], SAMPLE_TEXT, "10.20.%zu.%zu", i / 7, 31 * i % 251);
        sample->servers[i] = (warmring_server_t){.size = sizeof sample->servers[i],
                                                 .host = sample->text[i],
                                                 .port = (uint16_t)(11211 + i % 3),
                                                 .weight = weight};
    }
}

uint32_t sample_random(uint64_t *state, uint32_t limit) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*state >> 32) * limit >> 32);
}

void sample_shuffle(sample_t *sample, const sample_t *from, uint64_t *state) {
    *sample = *from;
    for (uint32_t i = (uint32_t)from->count; i > 1; i--) {
        uint32_t other = sample_random(state, i);
        warmring_server_t server = sample->servers[i - 1];
        sample->servers[i - 1] = sample->servers[other];
        sample->servers[other] = server;
    }
}

warmring_ring_t *sample_ring(const warmring_server_t *servers, size_t count, const char *dialect,
                             double points_per_weight) {
    warmring_ring_options_t options = {
        .size = sizeof options, .dialect = dialect, .points_per_weight = points_per_weight};
    warmring_ring_t *ring;
    if (warmring_ring_create(servers, count, &options, &ring) != WARMRING_OK) {
        tap_bail("no ring: %s", warmring_error_detail());
    }
    return ring;
}

size_t sample_key(char text[SAMPLE_TEXT], uint32_t number) {
    return (size_t)snprintf(text, SAMPLE_TEXT, "key:%u", number);
}
