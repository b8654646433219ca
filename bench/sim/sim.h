/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated fleet: clients with lagging topologies read and store Zipf keys
 * on thousands of servers while a change of the ring goes through them.
 *
 * What is real: rings, topologies, migration steps, rollouts, and the phase
 * table that says what a client does with a key. It is asked by wr_route() for
 * every request, and its steps are carried out on a model of the servers. What
 * is a model: keys, clients, servers' memory, time. docs/simulation.md says
 * more.
 *
 * Time is counted in operations, `rate` of them a second, one after another:
 * each chooses a client, a key and whether it reads or stores, all from the
 * seed. So runs of one seed see the same requests, whatever the change.
 */
#ifndef BENCH_SIM_H
#define BENCH_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <warmring/topology.h>

enum { SIM_SITES = 4, SIM_RUNS = 3, SIM_PLACE_SIZE = 24, SIM_KEY_SIZE = 24, SIM_VERSIONS = 16 };

typedef struct {
    uint64_t seed;
    uint64_t servers;
    uint64_t added; /* by the change, to the end of the list */
    uint64_t points_per_weight;
    uint64_t keys;
    uint64_t zipf_percent; /* the exponent of Zipf's law, times 100 */
    uint64_t clients;      /* client i is at site i mod SIM_SITES */
    uint64_t lag_s;        /* a client adopts a change at a random time below */
    uint64_t rate;         /* operations a second, of all clients */
    uint64_t sets_per_10000;
    uint64_t ttl_s;
} sim_options_t;

extern const sim_options_t sim_defaults;

/* Ends the program: of memory, or of what the library refuses. */
_Noreturn void sim_give_up(const char *what);
void *sim_allocate(uint64_t count, size_t size); /* zeroed */

/* ---- random numbers ---------------------------------------------------------- */

/* A number that follows from three others: splitmix64's finish. */
uint64_t sim_mix(uint64_t seed, uint64_t a, uint64_t b);

typedef struct {
    uint64_t state[4];
} sim_random_t; /* xoshiro256** */

void sim_random_seed(sim_random_t *random, uint64_t seed);
uint64_t sim_random_next(sim_random_t *random);
double sim_random_unit(sim_random_t *random);                    /* below 1 */
uint32_t sim_random_below(sim_random_t *random, uint64_t limit); /* 2^32 at most */

/* ---- keys ---------------------------------------------------------------------- */

typedef struct {
    uint32_t threshold, other;
} sim_alias_t;

typedef struct {
    size_t count;
    double *chance;       /* that an operation is on this key */
    sim_alias_t *aliases; /* Walker's way to draw by chance */
    char (*text)[SIM_KEY_SIZE];
    uint8_t text_length;
} sim_keys_t;

void sim_keys_make(sim_keys_t *keys, const sim_options_t *options);
void sim_keys_free(sim_keys_t *keys);
size_t sim_keys_draw(const sim_keys_t *keys, uint64_t random);

/* In a stable fleet: the chance that key `index` is cached, the hit rate of all
 * reads, and how long ago a cached key was stored, drawn with `unit`. */
double sim_keys_cached(const sim_keys_t *keys, const sim_options_t *options, size_t index);
double sim_keys_hit_rate(const sim_keys_t *keys, const sim_options_t *options);
uint64_t sim_keys_age(const sim_keys_t *keys, const sim_options_t *options, size_t index,
                      double unit);

/* ---- the course of a change ------------------------------------------------------- */

/* What is published to the clients at some time. */
typedef struct {
    const warmring_topology_t *topology;
    uint64_t from; /* operation */
    uint32_t rollout[SIM_SITES];
    char phase[SIM_PLACE_SIZE], stage[SIM_PLACE_SIZE]; /* for people */
} sim_version_t;

typedef struct {
    const char *name;
    sim_version_t versions[SIM_VERSIONS];
    size_t count;
    uint64_t end;
    double moved; /* the exact fraction of all keys */
} sim_course_t;

extern const char *const sim_run_names[SIM_RUNS]; /* cold, key, site */
void sim_course_make(sim_course_t *course, size_t run, const sim_options_t *options);
void sim_course_free(sim_course_t *course);
/* Each phase and each stage of a rollout lasts a multiple of this. */
uint64_t sim_hold(const sim_options_t *options); /* in operations */

/* ---- servers ------------------------------------------------------------------------ */

typedef struct {
    uint32_t ends;    /* the operation from which on it is not there; 0: never was */
    uint32_t version; /* of the value */
} sim_copy_t;

/* A key has two places at most: its owner on the old ring, and on the new. */
typedef struct {
    sim_copy_t copy[2];
    uint32_t version; /* the newest */
    uint16_t old_owner;
    bool touched; /* after a cold flip */
} sim_item_t;

typedef struct {
    uint64_t operations, reads, sets;
    uint64_t hits_old, hits_new; /* the new ones on owners that the key came to */
    uint64_t loads;              /* from the origin: reads that nobody could answer */
    uint64_t stale;              /* hits that were not the newest value */
    uint64_t fallbacks, fills;   /* reads that asked the old owner; copies made */
    uint64_t stores, store_commands;
} sim_counts_t;

typedef struct {
    const sim_keys_t *keys;
    sim_item_t *items;
    uint64_t *served; /* commands, by server */
    size_t servers;
    uint32_t now, ttl, second; /* in operations */
    sim_counts_t counts;
} sim_servers_t;

/* What one client knows. */
typedef struct {
    const warmring_topology_t *topology;
    uint32_t rollout;
} sim_client_t;

typedef enum { SIM_MISS, SIM_HIT_OLD, SIM_HIT_NEW } sim_answer_t;

/* A read, with the load and the store that follow a miss; and a store of a new
 * value. */
sim_answer_t sim_read(sim_servers_t *servers, const sim_client_t *client, size_t key);
void sim_set(sim_servers_t *servers, const sim_client_t *client, size_t key);
/* Whether the key's copy on its first owner is there. */
bool sim_is_on_old(const sim_servers_t *servers, size_t key);

/* ---- a run ---------------------------------------------------------------------------- */

typedef struct {
    double seconds; /* at its end */
    double length;
    const sim_version_t *place; /* belongs to the result */
    sim_counts_t counts;        /* within it */
    /* Commands within it by server: means of the servers that were there and
     * of those that were added, and of all: the median, the 99th percentile and
     * the busiest. */
    double old_mean, new_mean, median, most_of_99, busiest;
} sim_sample_t;

typedef struct {
    sim_course_t course;
    sim_sample_t *samples;
    size_t count;
    sim_counts_t total;
    uint64_t served; /* commands, of all servers */
    double expected; /* hit rate in a stable fleet */
    /* Keys cached at their first read by a client that made the cold flip, and
     * how many of those reads found nothing. */
    uint64_t first_reads, first_lost;
} sim_result_t;

void sim_run(sim_result_t *result, size_t run, const sim_options_t *options);
void sim_result_free(sim_result_t *result);

double sim_hits_percent(const sim_counts_t *counts);
/* The most loads a second in any sample (of a phase, unless NULL), and how many
 * before the first change. */
double sim_peak_loads(const sim_result_t *result, const char *phase);
double sim_first_loads(const sim_result_t *result, double *hits_percent);

#endif
