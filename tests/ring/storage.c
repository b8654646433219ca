/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How points are stored: whatever their hashes, it gives back what was put in,
 * in the room that is promised.
 */
#include "ring/points.h"

#include <stdlib.h>
#include <string.h>

#include "../lib/tap.h"
#include "sample.h"

enum {
    MOST = 5000,
    LARGE = 150000, /* where searches ask for memory ahead */
};

typedef struct {
    wr_raw_point_t raw[LARGE];
    uint64_t count;
} set_t;

/* ---- sets of hashes ---- */

typedef uint32_t (*hash_maker_t)(uint64_t *state, uint32_t number);

static uint32_t uniform(uint64_t *state, uint32_t number) {
    (void)number;
    return sample_random(state, UINT32_MAX);
}

/* As a hash of 16 bits makes them: all in one bucket. */
static uint32_t low(uint64_t *state, uint32_t number) {
    (void)number;
    return sample_random(state, 65536);
}

/* 12 bits at the top: buckets that are full or empty. */
static uint32_t top(uint64_t *state, uint32_t number) {
    return uniform(state, number) & 0xfff00000u;
}

static uint32_t consecutive(uint64_t *state, uint32_t number) {
    (void)state;
    return UINT32_MAX - number;
}

/* Half of them within a thousandth of the space. */
static uint32_t clustered(uint64_t *state, uint32_t number) {
    return number % 2 == 0 ? uniform(state, number) : 3000000000u + sample_random(state, 4000000);
}

static const struct {
    const char *name;
    hash_maker_t make;
} makers[] = {{"uniform", uniform},
              {"low", low},
              {"top", top},
              {"consecutive", consecutive},
              {"clustered", clustered}};

static int by_raw(const void *a, const void *b) {
    wr_raw_point_t left = *(const wr_raw_point_t *)a, right = *(const wr_raw_point_t *)b;
    return (left > right) - (left < right);
}

static void fill(set_t *set, hash_maker_t make, uint32_t count, uint32_t members, uint64_t *state) {
    for (uint32_t i = 0; i < count; i++) {
        set->raw[i] = wr_raw_point(make(state, i), sample_random(state, members));
    }
    qsort(set->raw, count, sizeof set->raw[0], by_raw);
    set->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (set->count == 0 || wr_raw_hash(set->raw[i]) != wr_raw_hash(set->raw[set->count - 1])) {
            set->raw[set->count++] = set->raw[i];
        }
    }
}

/* ---- checks ---- */

/* The place of the first point at or after a hash, from the set itself. */
static uint64_t expected(const set_t *set, uint32_t hash) {
    uint64_t place = 0, end = set->count;
    while (place < end) {
        uint64_t middle = (place + end) / 2;
        if (wr_raw_hash(set->raw[middle]) < hash) {
            place = middle + 1;
        } else {
            end = middle;
        }
    }
    return place < set->count ? place : 0;
}

static bool is_point(const set_t *set, wr_point_t point, uint64_t position) {
    return point.position == position && point.hash == wr_raw_hash(set->raw[position]) &&
           point.member == wr_raw_member(set->raw[position]);
}

static unsigned wrong_at(const wr_points_t *points, const set_t *set, uint32_t hash) {
    uint64_t position = expected(set, hash);
    unsigned wrong = !is_point(set, wr_points_seek(points, hash), position);
    return wrong + (wr_points_owner(points, hash) != wr_raw_member(set->raw[position]));
}

static unsigned wrong_together(const wr_points_t *points, uint64_t *state) {
    enum { BATCH = 100 };
    uint32_t hashes[BATCH], owners[BATCH + 1];
    unsigned wrong = 0;
    for (uint32_t i = 0; i < BATCH; i++) {
        hashes[i] = uniform(state, i);
    }
    owners[BATCH] = 4711;
    wr_points_owners(points, hashes, BATCH, owners);
    for (uint32_t i = 0; i < BATCH; i++) {
        wrong += owners[i] != wr_points_owner(points, hashes[i]);
    }
    return wrong + (owners[BATCH] != 4711);
}

static unsigned check(const set_t *set, uint32_t members, uint64_t *state) {
    wr_points_t points;
    if (!wr_points_create(&points, set->raw, set->count, members)) {
        tap_bail("no memory");
    }
    unsigned wrong = wrong_at(&points, set, 0) + wrong_at(&points, set, UINT32_MAX);
    wr_point_t point = wr_points_first(&points);
    for (uint64_t i = 0; i < set->count; i++) {
        wrong += !is_point(set, point, i);
        point = wr_points_next(&points, point);
        for (uint32_t step = 0; step < 3; step++) {
            wrong += wrong_at(&points, set, wr_raw_hash(set->raw[i]) + step - 1);
        }
    }
    wrong += !is_point(set, point, 0);
    for (uint32_t i = 0; i < 200; i++) {
        wrong += wrong_at(&points, set, uniform(state, i));
    }
    wrong += wrong_together(&points, state);
    wr_points_free(&points);
    return wrong;
}

static void test_sets(void) {
    static const uint32_t counts[] = {1, 2, 3, 4, 5, 31, 64, 127, 128, 255, 256, 1000, MOST};
    static const uint32_t members[] = {1, 2, 3, 256, 4097, 65536};
    static set_t set;
    uint64_t state = 1;
    for (size_t maker = 0; maker < sizeof makers / sizeof makers[0]; maker++) {
        unsigned wrong = 0;
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            for (size_t j = 0; j < sizeof members / sizeof members[0]; j++) {
                fill(&set, makers[maker].make, counts[i], members[j], &state);
                wrong += check(&set, members[j], &state);
            }
        }
        tap_int(wrong, 0, "%s hashes: every point is found", makers[maker].name);
    }
}

static void test_large_sets(void) {
    static set_t set;
    uint64_t state = 2;
    for (size_t maker = 0; maker < sizeof makers / sizeof makers[0]; maker++) {
        fill(&set, makers[maker].make, LARGE, 2048, &state);
        tap_int(check(&set, 2048, &state), 0, "%s hashes, %d tries: every point is found",
                makers[maker].name, LARGE);
    }
}

/* ---- room ---- */

/* Bytes a point of `count` hashes about evenly spaced, already in order. */
static double bytes_per_point(uint32_t count, uint32_t members) {
    wr_raw_point_t *raw = calloc(count, sizeof *raw);
    wr_points_t points;
    uint64_t state = count, hash = 0, step = ((uint64_t)1 << 32) / count;
    if (raw == NULL) {
        tap_bail("no memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        raw[i] = wr_raw_point((uint32_t)(hash + sample_random(&state, (uint32_t)step)),
                              sample_random(&state, members));
        hash += step;
    }
    if (!wr_points_create(&points, raw, count, members)) {
        tap_bail("no memory");
    }
    double bytes = (double)points.size / count;
    wr_points_free(&points);
    free(raw);
    return bytes;
}

/* As many servers as there may be at so many points each. */
static void check_room(uint32_t from, uint32_t to, uint32_t points_each, double most) {
    double worst = 0;
    for (double count = from; count <= to; count *= 1.31) {
        uint32_t servers = (uint32_t)count / points_each;
        double bytes = bytes_per_point((uint32_t)count, servers < 65536 ? servers : 65536);
        worst = bytes > worst ? bytes : worst;
    }
    tap_ok(worst <= most, "%u to %u points, %u a server: %.3f bytes a point, at most %.1f", from,
           to, points_each, worst, most);
}

static void test_room(void) {
    check_room(480, 16000, 2, 4.6);
    check_room(480, 16000, 160, 4.6);
    check_room(16000, 2000000, 4, 4.5);
    check_room(16000, 2000000, 160, 4.5);
    double bytes = bytes_per_point(20000000, 2048);
    tap_ok(bytes <= 3.6, "20 million points of 2,048 servers: %.3f bytes a point", bytes);
}

int main(void) {
    test_sets();
    test_large_sets();
    test_room();
    return tap_done();
}
