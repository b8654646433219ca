/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz targets of the pure layers, for libFuzzer and for replaying their
 * corpora: server strings, rings, and topologies on their way.
 */
#ifndef TESTS_PURE_FUZZ_H
#define TESTS_PURE_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Each runs one input; aborts on a defect. Always 0. */
int servers_fuzz(const uint8_t *bytes, size_t length);
int ring_fuzz(const uint8_t *bytes, size_t length);
int steps_fuzz(const uint8_t *bytes, size_t length);

/* What must hold of every input. */
#define must(condition) must_hold(condition, #condition, __FILE__, __LINE__)

static inline void must_hold(int held, const char *condition, const char *file, int line) {
    if (!held) {
        fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
        abort();
    }
}

/* An input as a tape of choices; past its end there are zeros. */
typedef struct {
    const uint8_t *at, *end;
} tape_t;

static inline uint8_t tape_byte(tape_t *tape) {
    return tape->at < tape->end ? *tape->at++ : 0;
}

/* A choice of `count` ones. */
static inline size_t tape_pick(tape_t *tape, size_t count) {
    return tape_byte(tape) % count;
}

#endif
