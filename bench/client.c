/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring beside plain libmemcached on the same servers: single get and set,
 * and a get of 100 keys over all servers, from one thread and from eight.
 *
 *   client HOST:PORT,HOST:PORT,...        `make bench` starts four of its own
 *
 * Prints tab-separated values.
 */
#include <stdio.h>

#include "rounds.h"
#include "ways.h"

static const struct {
    const char *name;
    operation_t ours, theirs;
} benches[] = {
    /* sets come first: what they store is read */
    {"set", set_ours, set_theirs},
    {"get", get_ours, get_theirs},
    {"get of 100 keys", get_many_ours, get_many_theirs},
};

static const unsigned thread_counts[] = {1, 8};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Each of the two rings must know all keys, wherever it puts them. */
static bool store_all(const setup_t *setup) {
    void *ours = open_ours(setup, 0);
    void *theirs = open_theirs(setup, 0);
    bool good = ours != NULL && theirs != NULL;

    for (int i = 0; i < KEYS && good; i++)
        good = set_ours(ours) && set_theirs(theirs);
    if (ours != NULL)
        close_ours(ours);
    if (theirs != NULL)
        close_theirs(theirs);
    return good;
}

int main(int argc, char **argv) {
    setup_t setup = {0};
    const char *why;
    char name[64];
    bool good;

    if (argc != 2) {
        fprintf(stderr, "usage: client HOST:PORT,HOST:PORT,...\n");
        return 2;
    }
    good = set_up(&setup, argv[1], &why) && store_all(&setup);
    printf("bench\tmetric\twarmring\tlibmemcached\tratio\n");
    for (size_t i = 0; good && i < COUNT_OF(benches); i++)
        for (size_t j = 0; good && j < COUNT_OF(thread_counts); j++) {
            const way_t ways[] = {
                {open_ours, benches[i].ours, close_ours, thread_counts[j]},
                {open_theirs, benches[i].theirs, close_theirs, thread_counts[j]},
            };
            snprintf(name, sizeof(name), "%s, %u thread%s", benches[i].name, thread_counts[j],
                     thread_counts[j] == 1 ? "" : "s");
            good = compare_ways(name, OPERATIONS_PER_SECOND, ways, COUNT_OF(ways), &setup);
        }
    if (!good)
        fprintf(stderr, "it failed: %s\n", why);
    tear_down(&setup);
    return good ? 0 : 1;
}
