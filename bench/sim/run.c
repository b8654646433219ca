/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: one operation after another, and a sample every second.
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

const sim_options_t sim_defaults = {
    .seed = 1,
    .servers = 2048,
    .added = 512,
    .points_per_weight = 400,
    .keys = 1000000,
    .zipf_percent = 100,
    .clients = 1000,
    .lag_s = 5,
    .rate = 50000,
    .sets_per_10000 = 10,
    .ttl_s = 300,
};

typedef struct {
    const sim_options_t *options;
    sim_result_t *result;
    sim_servers_t servers;
    sim_random_t random;
    uint8_t *adopted;  /* by client: the version it has */
    size_t published;  /* the newest one */
    uint64_t *before;  /* of the servers, at the last sample */
    double *in_sample; /* scratch */
    sim_counts_t counted;
} run_t;

/* ---- the beginning ------------------------------------------------------------------ */

/* The stable state, at operation `begin`. */
static void fill(run_t *run, const warmring_ring_t *ring, uint32_t begin) {
    const sim_keys_t *keys = run->servers.keys;
    for (size_t i = 0; i < keys->count; i++) {
        sim_item_t *item = &run->servers.items[i];
        bool cached = sim_random_unit(&run->random) < sim_keys_cached(keys, run->options, i);
        uint64_t age = sim_keys_age(keys, run->options, i, sim_random_unit(&run->random));
        item->old_owner = (uint16_t)warmring_ring_locate(ring, keys->text[i], keys->text_length);
        item->copy[0].ends = cached ? begin + run->servers.ttl - (uint32_t)age : 0;
    }
}

static void start(run_t *run, sim_keys_t *keys) {
    const sim_options_t *options = run->options;
    sim_servers_t *servers = &run->servers;
    if ((options->ttl_s + 1) * options->rate + run->result->course.end > UINT32_MAX ||
        options->servers + options->added > UINT16_MAX || options->clients == 0) {
        sim_give_up("sizes out of range");
    }
    servers->keys = keys;
    servers->items = sim_allocate(keys->count, sizeof *servers->items);
    servers->servers = (size_t)(options->servers + options->added);
    servers->served = sim_allocate(servers->servers, sizeof *servers->served);
    servers->ttl = (uint32_t)(options->ttl_s * options->rate);
    servers->second = (uint32_t)options->rate;
    run->adopted = sim_allocate(options->clients, sizeof *run->adopted);
    run->before = sim_allocate(servers->servers, sizeof *run->before);
    run->in_sample = sim_allocate(servers->servers, sizeof *run->in_sample);
    sim_random_seed(&run->random, options->seed);
    fill(run, warmring_topology_ring(run->result->course.versions[0].topology, WARMRING_OLD_RING),
         servers->ttl);
}

/* ---- samples -------------------------------------------------------------------------- */

static sim_counts_t difference(const sim_counts_t *after, const sim_counts_t *before) {
    sim_counts_t result;
    uint64_t *to = (uint64_t *)&result;
    const uint64_t *from = (const uint64_t *)after, *minus = (const uint64_t *)before;
    for (size_t i = 0; i < sizeof result / sizeof *to; i++) {
        to[i] = from[i] - minus[i];
    }
    return result;
}

static int by_size(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double mean(const double *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return count > 0 ? sum / (double)count : 0;
}

static void measure_servers(run_t *run, sim_sample_t *sample) {
    sim_servers_t *servers = &run->servers;
    size_t count = servers->servers, old = (size_t)run->options->servers;
    for (size_t i = 0; i < count; i++) {
        run->in_sample[i] = (double)(servers->served[i] - run->before[i]);
        run->before[i] = servers->served[i];
    }
    sample->old_mean = mean(run->in_sample, old);
    sample->new_mean = mean(run->in_sample + old, count - old);
    qsort(run->in_sample, count, sizeof *run->in_sample, by_size);
    sample->median = run->in_sample[count / 2];
    sample->most_of_99 = run->in_sample[count * 99 / 100];
    sample->busiest = run->in_sample[count - 1];
}

static void take_sample(run_t *run, uint64_t done) {
    sim_result_t *result = run->result;
    sim_sample_t *sample = &result->samples[result->count++];
    *sample = (sim_sample_t){
        .seconds = (double)done / (double)run->options->rate,
        .length = 1,
        .place = &result->course.versions[run->published],
        .counts = difference(&run->servers.counts, &run->counted),
    };
    run->counted = run->servers.counts;
    measure_servers(run, sample);
}

/* ---- operations ------------------------------------------------------------------------- */

/* When a client adopts a version: a time of its own below the lag. */
static uint64_t adoption(const run_t *run, size_t client, size_t version) {
    uint64_t span = run->options->lag_s * run->options->rate;
    uint64_t late = (sim_mix(run->options->seed, client, version) >> 32) * span >> 32;
    return run->result->course.versions[version].from + late;
}

static sim_client_t client_at(run_t *run, size_t client, uint64_t done) {
    size_t version = run->adopted[client];
    while (version < run->published && adoption(run, client, version + 1) <= done) {
        version++;
    }
    run->adopted[client] = (uint8_t)version;
    const sim_version_t *now = &run->result->course.versions[version];
    return (sim_client_t){now->topology, now->rollout[client % SIM_SITES]};
}

/* The first time that a client which made the cold flip touches a key. */
static void judge_first(run_t *run, size_t key, bool reads, bool on_old, sim_answer_t answer) {
    sim_item_t *item = &run->servers.items[key];
    if (!item->touched && reads && on_old) {
        run->result->first_reads++;
        run->result->first_lost += answer == SIM_MISS;
    }
    item->touched = true;
}

static void operate(run_t *run, uint64_t done) {
    size_t client = sim_random_below(&run->random, run->options->clients);
    size_t key = sim_keys_draw(run->servers.keys, sim_random_next(&run->random));
    bool sets = sim_random_below(&run->random, 10000) < run->options->sets_per_10000;
    sim_client_t knows = client_at(run, client, done);
    bool on_old = sim_is_on_old(&run->servers, key);
    sim_answer_t answer = SIM_MISS;
    run->servers.counts.operations++;
    if (sets) {
        sim_set(&run->servers, &knows, key);
    } else {
        answer = sim_read(&run->servers, &knows, key);
    }
    if (run->adopted[client] > 0 && warmring_topology_phase(knows.topology) == WARMRING_STABLE) {
        judge_first(run, key, !sets, on_old, answer);
    }
}

void sim_run(sim_result_t *result, size_t run_number, const sim_options_t *options) {
    *result = (sim_result_t){0};
    run_t run = {.options = options, .result = result};
    sim_keys_t keys;
    sim_keys_make(&keys, options);
    sim_course_make(&result->course, run_number, options);
    start(&run, &keys);
    result->samples = sim_allocate(result->course.end / options->rate + 1, sizeof *result->samples);
    result->expected = sim_keys_hit_rate(&keys, options);
    for (uint64_t done = 0; done < result->course.end; done++) {
        while (run.published + 1 < result->course.count &&
               result->course.versions[run.published + 1].from <= done) {
            run.published++;
        }
        run.servers.now = run.servers.ttl + (uint32_t)done;
        operate(&run, done);
        if ((done + 1) % options->rate == 0) {
            take_sample(&run, done + 1);
        }
    }
    result->total = run.servers.counts;
    for (size_t i = 0; i < run.servers.servers; i++) {
        result->served += run.servers.served[i];
    }
    free(run.servers.items);
    free(run.servers.served);
    free(run.adopted);
    free(run.before);
    free(run.in_sample);
    sim_keys_free(&keys);
}

/* ---- what came of it ------------------------------------------------------------------ */

void sim_result_free(sim_result_t *result) {
    sim_course_free(&result->course);
    free(result->samples);
}

double sim_hits_percent(const sim_counts_t *counts) {
    return 100 * (double)(counts->hits_old + counts->hits_new) / (double)counts->reads;
}

double sim_peak_loads(const sim_result_t *result, const char *phase) {
    double peak = 0;
    for (size_t i = 0; i < result->count; i++) {
        const sim_sample_t *sample = &result->samples[i];
        double loads = (double)sample->counts.loads / sample->length;
        bool counts = phase == NULL || strcmp(sample->place->phase, phase) == 0;
        peak = counts && loads > peak ? loads : peak;
    }
    return peak;
}

double sim_first_loads(const sim_result_t *result, double *hits_percent) {
    uint64_t loads = 0, reads = 0;
    double seconds = 0;
    for (size_t i = 0; i < result->count; i++) {
        const sim_sample_t *sample = &result->samples[i];
        if (sample->place == &result->course.versions[0]) {
            loads += sample->counts.loads;
            reads += sample->counts.reads;
            seconds += sample->length;
        }
    }
    *hits_percent = 100 * (1 - (double)loads / (double)reads);
    return (double)loads / seconds;
}
