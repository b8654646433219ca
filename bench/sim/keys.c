/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys by Zipf's law, and the mathematics of a cache of them.
 *
 * Key k of K is asked for with the chance p = k^-s / sum of all j^-s. In a
 * stable fleet a key is stored when a read misses it and when it is set, and
 * lives for M operations. So its life is a renewal process: after a store at
 * operation 0 it is there at operation j < M unless it was set, and so renewed,
 * before j; with q the chance of a set of it
 *
 *     C = sum of (1 - q)^(j - 1), j = 1 to M - 1      operations with it there
 *     L = C + (1 - q)^(M - 1) / p                     operations to the next store
 *
 * and a read, which does not depend on the state, finds it with chance C / L.
 * When it is there, its age is j with the chance (1 - q)^(j - 1) / C. Drawing
 * the first state from this, a run begins in the stable state at once.
 */
#include <math.h>
#include <stdlib.h>

#include "sim.h"

static double *make_chances(const sim_options_t *options) {
    double *chance = sim_allocate(options->keys, sizeof *chance);
    double sum = 0;
    for (size_t i = 0; i < options->keys; i++) {
        chance[i] = pow((double)(i + 1), -(double)options->zipf_percent / 100);
        sum += chance[i];
    }
    for (size_t i = 0; i < options->keys; i++) {
        chance[i] /= sum;
    }
    return chance;
}

/* Walker's alias method: every cell of equal size is one key's in part, and
 * another's for the rest. */
static sim_alias_t *make_aliases(const double *chance, size_t count) {
    sim_alias_t *aliases = sim_allocate(count, sizeof *aliases);
    double *left = sim_allocate(count, sizeof *left);
    size_t *small = sim_allocate(2 * count, sizeof *small), *large = small + count;
    size_t smalls = 0, larges = 0;
    for (size_t i = 0; i < count; i++) {
        left[i] = chance[i] * (double)count;
        *(left[i] < 1 ? &small[smalls++] : &large[larges++]) = i;
        aliases[i] = (sim_alias_t){UINT32_MAX, (uint32_t)i};
    }
    while (smalls > 0 && larges > 0) {
        size_t cell = small[--smalls], rest = large[larges - 1];
        aliases[cell] = (sim_alias_t){(uint32_t)(left[cell] * 4294967296.0), (uint32_t)rest};
        left[rest] -= 1 - left[cell];
        if (left[rest] < 1) {
            larges--;
            small[smalls++] = rest;
        }
    }
    free(left);
    free(small);
    return aliases;
}

void sim_keys_make(sim_keys_t *keys, const sim_options_t *options) {
    keys->count = (size_t)options->keys;
    keys->chance = make_chances(options);
    keys->aliases = make_aliases(keys->chance, keys->count);
    keys->text = sim_allocate(keys->count, sizeof keys->text[0]);
    for (size_t i = 0; i < keys->count; i++) {
        keys->text_length = (uint8_t)snprintf(keys->text[i], SIM_KEY_SIZE, "key:%016llx",
                                              (unsigned long long)sim_mix(options->seed, i, 0));
    }
}

void sim_keys_free(sim_keys_t *keys) {
    free(keys->chance);
    free(keys->aliases);
    free(keys->text);
}

size_t sim_keys_draw(const sim_keys_t *keys, uint64_t random) {
    size_t cell = (size_t)((random >> 32) * keys->count >> 32);
    const sim_alias_t *alias = &keys->aliases[cell];
    return (uint32_t)random < alias->threshold ? cell : alias->other;
}

/* ---- the stable state ---------------------------------------------------------- */

typedef struct {
    double set;   /* q */
    double life;  /* M - 1 */
    double none;  /* (1 - q)^(M - 1): of no set in a whole life */
    double there; /* C */
} life_t;

static life_t life_of(const sim_keys_t *keys, const sim_options_t *options, size_t index) {
    life_t life;
    life.set = keys->chance[index] * (double)options->sets_per_10000 / 10000;
    life.life = (double)(options->ttl_s * options->rate - 1);
    life.none = exp(life.life * log1p(-life.set));
    life.there = life.set > 0 ? -expm1(life.life * log1p(-life.set)) / life.set : life.life;
    return life;
}

double sim_keys_cached(const sim_keys_t *keys, const sim_options_t *options, size_t index) {
    life_t life = life_of(keys, options, index);
    return life.there / (life.there + life.none / keys->chance[index]);
}

double sim_keys_hit_rate(const sim_keys_t *keys, const sim_options_t *options) {
    double rate = 0;
    for (size_t i = keys->count; i-- > 0;) {
        rate += keys->chance[i] * sim_keys_cached(keys, options, i);
    }
    return rate;
}

uint64_t sim_keys_age(const sim_keys_t *keys, const sim_options_t *options, size_t index,
                      double unit) {
    life_t life = life_of(keys, options, index);
    double age =
        life.set > 0 ? log1p(-unit * life.set * life.there) / log1p(-life.set) : unit * life.life;
    age = floor(age) < life.life ? floor(age) : life.life - 1;
    return 1 + (uint64_t)age;
}
