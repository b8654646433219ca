/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What warmring costs above the least that works: single get and set on one
 * server, and a get of 100 keys over all servers, beside a raw socket, one that
 * looks up owners on the ring, and libmemcached; and one handle with 64 threads
 * beside one thread.
 *
 *   net HOST:PORT,HOST:PORT,...      `make bench-net` starts four of its own
 *   net BENCH WAY COUNT HOST:PORT,HOST:PORT,...
 *
 * The second form does COUNT operations and measures nothing: for callgrind
 * (see instructions.sh) and strace. BENCH is get, set or get-100; WAY is
 * warmring, raw, raw_on_ring or libmemcached. Prints tab-separated values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rounds.h"
#include "ways.h"

enum { OURS, RAW, RING, THEIRS, WAYS };

static const char *const way_names[WAYS] = {"warmring", "raw", "raw_on_ring", "libmemcached"};

typedef struct {
    const char *name, *title;
    bool one_server;
    operation_t operations[WAYS];
} bench_t;

static const bench_t benches[] = {
    /* sets come first: what they store is read */
    {"set", "set", true, {set_ours, set_raw, set_raw, set_theirs}},
    {"get", "get", true, {get_ours, get_raw, get_raw, get_theirs}},
    {"get-100",
     "get of 100 keys",
     false,
     {get_many_ours, get_many_raw, get_many_raw, get_many_theirs}},
};

#define BENCHES (sizeof(benches) / sizeof(benches[0]))

static way_t make_way(const bench_t *bench, int way, unsigned threads) {
    static const way_t frames[WAYS] = {
        [OURS] = {.open = open_ours, .close = close_ours},
        [RAW] = {.open = open_raw, .close = close_raw},
        [RING] = {.open = open_raw_on_ring, .close = close_raw},
        [THEIRS] = {.open = open_theirs, .close = close_theirs},
    };
    way_t made = frames[way];

    made.operate = bench->operations[way];
    made.threads = threads;
    return made;
}

static bool run_times(const setup_t *setup, const way_t *way, long count) {
    void *state = way->open(setup, 0);
    bool good = state != NULL;

    for (long i = 0; i < count && good; i++)
        good = way->operate(state);
    if (state != NULL)
        way->close(state);
    return good;
}

/* Each ring must know all keys, wherever it puts them. */
static bool store_all(const setup_t *setup) {
    way_t ours = make_way(&benches[0], OURS, 1), theirs = make_way(&benches[0], THEIRS, 1);

    return run_times(setup, &ours, KEYS) && run_times(setup, &theirs, KEYS);
}

static bool compare(const setup_t *setup, const bench_t *bench) {
    way_t ways[WAYS];

    for (int i = 0; i < WAYS; i++)
        ways[i] = make_way(bench, i, 1);
    return compare_ways(bench->title, WALL_MICROSECONDS, ways, WAYS, setup);
}

static bool compare_threads(const setup_t *setup, const bench_t *bench, int way) {
    way_t ways[] = {make_way(bench, way, MAX_THREADS), make_way(bench, way, 1)};
    char name[64];

    snprintf(name, sizeof(name), "%s, %s", bench->title, way_names[way]);
    return compare_ways(name, OPERATIONS_PER_SECOND, ways, 2, setup);
}

static int compare_all(const char *servers) {
    setup_t one = {0}, all = {0};
    const char *why;
    char *first = strndup(servers, strcspn(servers, ","));
    bool good = set_up(&all, servers, &why) && set_up(&one, first, &why) && store_all(&one) &&
                store_all(&all);

    printf("bench\tmetric\twarmring\traw\traw_on_ring\tlibmemcached"
           "\tto_raw\tto_raw_on_ring\tto_libmemcached\n");
    for (size_t i = 0; good && i < BENCHES; i++)
        good = compare(benches[i].one_server ? &one : &all, &benches[i]);
    printf("\nbench\tmetric\t64_threads\t1_thread\tratio\n");
    for (size_t i = 0; good && i < 2; i++)
        for (int way = OURS; way <= RAW; way++)
            good = good && compare_threads(&one, &benches[i], way);
    if (!good)
        fprintf(stderr, "it failed: %s\n", why);
    tear_down(&one);
    tear_down(&all);
    free(first);
    return good ? 0 : 1;
}

static int run_one(char **arguments) {
    char *servers = arguments[3];
    const char *why = "no such bench or way";
    setup_t setup = {0};
    bool good = false;

    for (size_t i = 0; i < BENCHES; i++)
        for (int way = 0; way < WAYS; way++)
            if (strcmp(benches[i].name, arguments[0]) == 0 &&
                strcmp(way_names[way], arguments[1]) == 0) {
                way_t chosen = make_way(&benches[i], way, 1);
                if (benches[i].one_server)
                    servers[strcspn(servers, ",")] = '\0';
                good = set_up(&setup, servers, &why) && store_all(&setup) &&
                       run_times(&setup, &chosen, atol(arguments[2]));
            }
    if (!good)
        fprintf(stderr, "it failed: %s\n", why);
    tear_down(&setup);
    return good ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc == 2)
        return compare_all(argv[1]);
    if (argc == 5)
        return run_one(argv + 1);
    fprintf(stderr, "usage: net [BENCH WAY COUNT] HOST:PORT,HOST:PORT,...\n");
    return 2;
}
