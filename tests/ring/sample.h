/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server lists, rings and keys for the tests of ring/ and plan/.
 */
#ifndef TESTS_RING_SAMPLE_H
#define TESTS_RING_SAMPLE_H

#include <stdbool.h>

#include <warmring/ring.h>

enum { SAMPLE_MAX = 64, SAMPLE_TEXT = 64 };

/* A list of servers with room for their texts. */
typedef struct {
    warmring_server_t servers[SAMPLE_MAX];
    char text[SAMPLE_MAX][SAMPLE_TEXT];
    size_t count;
} sample_t;

/* `count` unnamed servers of equal weight. */
void sample_fill(sample_t *sample, size_t count, double weight);

/* A uniform number below `limit`, from a generator that starts at *state. */
uint32_t sample_random(uint64_t *state, uint32_t limit);

/* The servers of `from` in another order. */
void sample_shuffle(sample_t *sample, const sample_t *from, uint64_t *state);

/* A ring of these servers, or the end of the test. */
warmring_ring_t *sample_ring(const warmring_server_t *servers, size_t count, const char *dialect,
                             double points_per_weight);

/* "key:NUMBER" into `text`; returns its length. */
size_t sample_key(char text[SAMPLE_TEXT], uint32_t number);

#endif
