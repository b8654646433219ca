/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated fleet of bench/sim, small, against what must come out of it:
 * the hit rate of a stable cache, the exact fraction that moves, and sums that
 * have to agree. Statistics allow for four or five standard deviations; the
 * seed is fixed, so a run either holds or does not.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sim/sim.h"
#include "tests/lib/tap.h"

enum { COLD, BY_KEY, BY_SITE };

static const sim_options_t small = {
    .seed = 7,
    .servers = 48,
    .added = 16,
    .points_per_weight = 400,
    .keys = 20000,
    .zipf_percent = 90,
    .clients = 60,
    .lag_s = 2,
    .rate = 2000,
    .sets_per_10000 = 20,
    .ttl_s = 120,
};

static sim_result_t results[SIM_RUNS];

/* The counts of all samples whose phase and stage these are; NULL: any. */
static sim_counts_t counts_in(const sim_result_t *result, const char *phase, const char *stage) {
    sim_counts_t sum = {0};
    for (size_t i = 0; i < result->count; i++) {
        const sim_sample_t *sample = &result->samples[i];
        if ((phase == NULL || strcmp(sample->place->phase, phase) == 0) &&
            (stage == NULL || strcmp(sample->place->stage, stage) == 0)) {
            for (size_t j = 0; j < sizeof sum / sizeof(uint64_t); j++) {
                ((uint64_t *)&sum)[j] += ((const uint64_t *)&sample->counts)[j];
            }
        }
    }
    return sum;
}

/* ---- truths ---------------------------------------------------------------------- */

/*
 * What follows from Zipf's law and the time to live alone. `moved` NULL: the hit
 * rate of a stable cache; else the part of all hits that are on moved keys.
 */
static double truth(const sim_options_t *options, const bool *moved) {
    double sum = 0, hits = 0, of_moved = 0;
    double life = (double)(options->ttl_s * options->rate - 1);
    for (uint64_t k = 1; k <= options->keys; k++) {
        sum += pow((double)k, -(double)options->zipf_percent / 100);
    }
    for (uint64_t k = 1; k <= options->keys; k++) {
        double p = pow((double)k, -(double)options->zipf_percent / 100) / sum;
        double set = p * (double)options->sets_per_10000 / 10000;
        double unset = pow(1 - set, life); /* in a whole life */
        double there = (1 - unset) / set;  /* 1 + (1 - set) + (1 - set)^2 + ... */
        double cached = there / (there + unset / p);
        hits += p * cached;
        of_moved += moved != NULL && moved[k - 1] ? p * cached : 0;
    }
    return moved != NULL ? of_moved / hits : hits;
}

/* Which keys the change moves, asked of a topology in the middle of it. */
static bool *moved_keys(const sim_options_t *options) {
    sim_keys_t keys;
    sim_keys_make(&keys, options);
    bool *moved = sim_allocate(keys.count, sizeof *moved);
    for (size_t i = 0; i < keys.count; i++) {
        moved[i] = warmring_topology_moved(results[BY_KEY].course.versions[1].topology,
                                           keys.text[i], keys.text_length);
    }
    sim_keys_free(&keys);
    return moved;
}

/* ---- before the change -------------------------------------------------------------- */

static void test_stable(double hit_rate) {
    for (size_t i = 0; i < SIM_RUNS; i++) {
        sim_counts_t before = counts_in(&results[i], "STABLE", NULL);
        double sigma = 100 * sqrt(hit_rate * (1 - hit_rate) / (double)before.reads);
        tap_near(sim_hits_percent(&before), 100 * hit_rate, 5 * sigma,
                 "%s: before the change %.2f %% hits, as the model says", results[i].course.name,
                 sim_hits_percent(&before));
        tap_near(results[i].expected, hit_rate, 1e-7, "which the simulation knows");
        tap_int((int64_t)(before.hits_new + before.fallbacks + before.stale), 0,
                "all of them on the only owner");
        tap_int((int64_t)before.store_commands, (int64_t)before.stores, "each store one command");
    }
}

/* ---- sums ------------------------------------------------------------------------------ */

static void test_sums(const sim_result_t *result, const sim_options_t *options) {
    const char *name = result->course.name;
    const sim_counts_t *total = &result->total;
    sim_counts_t sampled = counts_in(result, NULL, NULL);
    tap_int((int64_t)total->operations, (int64_t)(result->count * options->rate),
            "%s: as many operations as the time has", name);
    tap_int((int64_t)(total->reads + total->sets), (int64_t)total->operations,
            "%s: each reads or sets", name);
    tap_int((int64_t)(total->hits_old + total->hits_new + total->loads), (int64_t)total->reads,
            "%s: each read is a hit or a load", name);
    tap_int((int64_t)(total->sets + total->loads), (int64_t)total->stores,
            "%s: each set and each load is stored", name);
    tap_ok(memcmp(&sampled, total, sizeof sampled) == 0, "%s: the samples add up", name);
    tap_int((int64_t)result->served,
            (int64_t)(total->reads + 3 * total->fallbacks + total->store_commands),
            "%s: the servers served what was sent", name);
    double served = 0;
    for (size_t i = 0; i < result->count; i++) {
        served += result->samples[i].old_mean * (double)options->servers +
                  result->samples[i].new_mean * (double)options->added;
    }
    tap_near(served, (double)result->served, 1e-3, "%s: by server as well", name);
    tap_near((double)total->sets / (double)total->operations,
             (double)options->sets_per_10000 / 10000, 0.0005, "%s: the part of sets", name);
}

/* ---- the change ------------------------------------------------------------------------ */

static void test_moved(const bool *moved) {
    const sim_result_t *cold = &results[COLD];
    size_t count = 0;
    for (size_t i = 0; i < small.keys; i++) {
        count += moved[i];
    }
    double exact = cold->course.moved, part = (double)count / (double)small.keys;
    double theory = (double)small.added / (double)(small.servers + small.added);
    tap_near(exact, theory, 0.03, "a quarter of the servers is new");
    tap_near(part, exact, 5 * sqrt(exact * (1 - exact) / (double)small.keys),
             "%.4f of the keys move, %.4f of the ring", part, exact);
    tap_ok(cold->first_reads > 5000, "%llu cached keys read first",
           (unsigned long long)cold->first_reads);
    tap_near((double)cold->first_lost / (double)cold->first_reads, exact,
             4 * sqrt(exact * (1 - exact) / (double)cold->first_reads),
             "the cold flip loses as many of them as move");
    tap_int((int64_t)(results[BY_KEY].first_reads + results[BY_SITE].first_reads), 0,
            "only a flip is judged so");
}

/* Sets of moved keys by clients that see a change at different times. */
static void test_stale(void) {
    sim_options_t busy = small;
    busy.sets_per_10000 = 500;
    for (size_t i = 0; i <= SIM_RUNS; i++) {
        sim_result_t result;
        busy.lag_s = i < SIM_RUNS ? small.lag_s : 0;
        sim_run(&result, i % SIM_RUNS, &busy);
        unsigned long long stale = result.total.stale;
        tap_ok(i == COLD ? stale > 0 : stale == 0, "%s, a lag of %d s: %llu stale reads",
               result.course.name, (int)busy.lag_s, stale);
        sim_result_free(&result);
    }
}

static void test_loads(double hit_rate) {
    double cold = sim_peak_loads(&results[COLD], NULL);
    for (size_t i = BY_KEY; i < SIM_RUNS; i++) {
        const char *name = results[i].course.name;
        double peak = sim_peak_loads(&results[i], NULL);
        tap_ok(peak < cold, "%s: at most %.0f loads a second, %.0f after the cold flip", name, peak,
               cold);
        sim_counts_t warming = counts_in(&results[i], "WARMING", NULL);
        double expected = (1 - hit_rate) * (double)warming.reads;
        tap_ok((double)warming.loads < 1.02 * expected + 4 * sqrt(expected),
               "%s: %llu loads in WARMING, %.0f without it", name,
               (unsigned long long)warming.loads, expected);
    }
}

/* What part of the hits is on new owners: none, by stages, all that moved. */
static void test_rollouts(double moved_hits) {
    static const char *const stages[][3] = {{"5 %", "50 %", "100 %"},
                                            {"1 site", "2 sites", "4 sites"}};
    for (size_t i = BY_KEY; i < SIM_RUNS; i++) {
        double last = 0;
        for (size_t j = 0; j < 3; j++) {
            sim_counts_t stage = counts_in(&results[i], "WARMING", stages[i - BY_KEY][j]);
            double part = (double)stage.hits_new / (double)(stage.hits_old + stage.hits_new);
            tap_ok(part > last && part < moved_hits + 0.01,
                   "%s: %s: %.1f %% of the hits are on new owners", results[i].course.name,
                   stages[i - BY_KEY][j], 100 * part);
            last = part;
        }
        sim_counts_t none = counts_in(&results[i], "PREPARED", NULL);
        tap_int((int64_t)(none.hits_new + none.fallbacks), 0, "none in PREPARED");
        sim_counts_t end = counts_in(&results[i], "SETTLING", NULL);
        tap_near((double)end.hits_new / (double)(end.hits_old + end.hits_new), moved_hits, 0.02,
                 "in SETTLING all that moved: %.1f %%", 100 * moved_hits);
    }
}

/* ---- the seed --------------------------------------------------------------------------- */

static bool same(const sim_result_t *a, const sim_result_t *b) {
    bool alike = a->count == b->count && a->served == b->served;
    for (size_t i = 0; alike && i < a->count; i++) {
        alike = memcmp(&a->samples[i].counts, &b->samples[i].counts, sizeof(sim_counts_t)) == 0;
    }
    return alike;
}

static void test_seed(void) {
    sim_options_t other = small;
    sim_result_t again, another;
    sim_run(&again, BY_SITE, &small);
    tap_ok(same(&again, &results[BY_SITE]), "the same seed, the same run");
    other.seed++;
    sim_run(&another, BY_SITE, &other);
    tap_ok(!same(&another, &results[BY_SITE]), "another seed, another run");
    sim_result_free(&another);
    sim_result_free(&again);
}

int main(void) {
    for (size_t i = 0; i < SIM_RUNS; i++) {
        sim_run(&results[i], i, &small);
        test_sums(&results[i], &small);
    }
    bool *moved = moved_keys(&small);
    double hit_rate = truth(&small, NULL);
    test_stable(hit_rate);
    test_moved(moved);
    test_stale();
    test_loads(hit_rate);
    test_rollouts(truth(&small, moved));
    test_seed();
    free(moved);
    for (size_t i = 0; i < SIM_RUNS; i++) {
        sim_result_free(&results[i]);
    }
    return tap_done();
}
