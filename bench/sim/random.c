/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers that follow from a seed on every machine, and memory that is
 * there or ends the program. The generators are Blackman's and Vigna's,
 * splitmix64 and xoshiro256**, which are in the public domain.
 */
#include <stdlib.h>

#include "sim.h"

_Noreturn void sim_give_up(const char *what) {
    fprintf(stderr, "fleet-sim: %s: %s\n", what, warmring_error_detail());
    exit(1);
}

void *sim_allocate(uint64_t count, size_t size) {
    void *memory = count <= SIZE_MAX ? calloc((size_t)count, size) : NULL;
    if (memory == NULL) {
        fprintf(stderr, "fleet-sim: no memory for %llu x %zu bytes\n", (unsigned long long)count,
                size);
        exit(1);
    }
    return memory;
}

static uint64_t finish(uint64_t value) {
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);

uint64_t sim_mix(uint64_t seed, uint64_t a, uint64_t b) {
    return finish(finish(finish(seed + golden) + a + golden) + b + golden);
}

void sim_random_seed(sim_random_t *random, uint64_t seed) {
    for (size_t i = 0; i < 4; i++) {
        random->state[i] = finish(seed += golden);
    }
}

static uint64_t turn(uint64_t value, int by) {
    return value << by | value >> (64 - by);
}

uint64_t sim_random_next(sim_random_t *random) {
    uint64_t *s = random->state, result = turn(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = turn(s[3], 45);
    return result;
}

double sim_random_unit(sim_random_t *random) {
    return (double)(sim_random_next(random) >> 11) / 9007199254740992.0;
}

uint32_t sim_random_below(sim_random_t *random, uint64_t limit) {
    return (uint32_t)((sim_random_next(random) >> 32) * limit >> 32);
}
