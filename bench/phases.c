/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a migration costs a read: of a key that does not move, and of a moved
 * key whose copy is on the new owner already, beside a client that has the new
 * ring in STABLE, and so asks the same servers.
 *
 *   phases OLD NEW...               `make bench-migration` starts 4 + 2 servers
 *   phases PHASE KEYS COUNT OLD NEW...
 *
 * OLD are the servers before, each NEW one is added. The first form prints
 * tab-separated values, for each transport, phase and kind of keys: the median
 * microseconds a read takes in that phase and in STABLE, and the median of the
 * ratios of the two in rounds of 500 reads, which take turns. The second
 * form does COUNT reads and measures nothing: for callgrind (see phases.sh).
 * PHASE is STABLE, WARMING, HANDOVER, DRAINING, CLOSING or SETTLING; KEYS is
 * unmoved or moved. Its transport is the native one, or what the environment
 * says in TRANSPORT.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <warmring/warmring.h>

/* Reads of a round. The readers take turns with single reads, so that whatever
 * else the machine does meets both, and the median leaves it out. */
enum { KEYS = 1000, VALUE_SIZE = 100, APPLY_MS = 10000, ROUNDS = 41, ROUND_READS = 500 };

/* What is read. */
typedef struct {
    char key[KEYS][24];
    size_t length[KEYS];
} keys_t;

typedef struct {
    warmring_t *migrating, *stable;
    keys_t moved, unmoved;
} setup_t;

static void must(warmring_status_t status, const char *what) {
    if (status == WARMRING_OK)
        return;
    fprintf(stderr, "phases: %s: %s: %s\n", what, warmring_strerror(status),
            warmring_error_detail());
    exit(1);
}

/* ---- a migration ---- */

static warmring_t *open_client(const char *servers, const char *transport) {
    warmring_options_t *options = warmring_options_create();
    warmring_t *cache;

    /* copies outlive the bench; libmemcached cannot tell how long they may */
    must(warmring_options_set(options, "fill_ttl_s", "3600"), "fill_ttl_s");
    must(warmring_options_set(options, "deadline_ms", "5000"), "deadline_ms");
    must(warmring_options_set(options, "transport", transport), transport);
    must(warmring_open(&cache, servers, options), servers);
    warmring_options_free(options);
    return cache;
}

static warmring_topology_t *present_of(warmring_t *cache) {
    warmring_topology_t *present;

    must(warmring_acquire(cache, &present), "acquire");
    return present;
}

static void apply(warmring_t *cache, warmring_topology_t *next) {
    must(warmring_apply(cache, next, APPLY_MS), "apply");
    warmring_topology_release(next);
}

/* The migration that adds the servers, as yet in nobody's force. */
static warmring_topology_t *plan_migration(warmring_t *cache, char **added) {
    warmring_topology_t *present = present_of(cache), *target = warmring_topology_retain(present);
    warmring_topology_t *next;

    for (; *added != NULL; added++) {
        must(warmring_topology_add_server(target, *added, &next), *added);
        warmring_topology_release(target);
        target = next;
    }
    must(warmring_topology_migrate(present, target, &next), "migrate");
    warmring_topology_release(target);
    warmring_topology_release(present);
    return next;
}

static void roll_out(warmring_t *cache) {
    warmring_topology_t *present = present_of(cache), *next;

    must(warmring_topology_rollout(present, NULL, WARMRING_ROLLOUT_ALL, &next), "rollout");
    warmring_topology_release(present);
    apply(cache, next);
}

/* The next phase; false in SETTLING. */
static bool step(warmring_t *cache) {
    static const warmring_step_t steps[] = {
        [WARMRING_PREPARED] = WARMRING_WARM,   [WARMRING_WARMING] = WARMRING_COMMIT,
        [WARMRING_HANDOVER] = WARMRING_COMMIT, [WARMRING_DRAINING] = WARMRING_FINISH,
        [WARMRING_CLOSING] = WARMRING_FINISH,
    };
    warmring_topology_t *present = present_of(cache), *next;
    warmring_phase_t phase = warmring_topology_phase(present);
    bool more = phase != WARMRING_SETTLING;

    if (more) {
        must(warmring_topology_step(present, steps[phase], &next), "step");
        apply(cache, next);
    }
    warmring_topology_release(present);
    if (phase == WARMRING_PREPARED)
        roll_out(cache);
    return more;
}

static const char *phase_of(warmring_t *cache) {
    warmring_topology_t *present = present_of(cache);
    const char *name = warmring_phase_name(warmring_topology_phase(present));

    warmring_topology_release(present);
    return name;
}

/* ---- keys ---- */

static void choose(keys_t *keys, const warmring_topology_t *migration, bool moved) {
    for (int i = 0, number = 0; i < KEYS; number++) {
        char *key = keys->key[i];
        keys->length[i] = (size_t)snprintf(key, sizeof(keys->key[i]), "user:%d", 100000 + number);
        i += warmring_topology_moved(migration, key, keys->length[i]) == moved;
    }
}

static void store(warmring_t *cache, const keys_t *keys) {
    static char value[VALUE_SIZE];

    memset(value, 'v', sizeof(value));
    for (int i = 0; i < KEYS; i++)
        must(warmring_set(cache, keys->key[i], keys->length[i], value, sizeof(value), 0, 0, NULL),
             keys->key[i]);
}

static void read_all(warmring_t *cache, const keys_t *keys) {
    warmring_item_t item = WARMRING_ITEM_INIT;

    for (int i = 0; i < KEYS; i++)
        must(warmring_get(cache, keys->key[i], keys->length[i], &item, NULL), keys->key[i]);
    warmring_item_clear(&item);
}

/* A client of all servers. */
static warmring_t *open_new_ring(const char *servers, char **added, const char *transport) {
    char all[1024];
    int used = snprintf(all, sizeof(all), "%s", servers);

    for (; *added != NULL && used < (int)sizeof(all); added++)
        used += snprintf(all + used, sizeof(all) - (size_t)used, ",%s", *added);
    return open_client(all, transport);
}

/* Stores all keys; the migrating client is in PREPARED then. */
static void set_up(setup_t *setup, const char *transport, const char *servers, char **added) {
    warmring_topology_t *migration;

    setup->migrating = open_client(servers, transport);
    setup->stable = open_new_ring(servers, added, transport);
    migration = plan_migration(setup->migrating, added);
    choose(&setup->moved, migration, true);
    choose(&setup->unmoved, migration, false);
    store(setup->migrating, &setup->moved);
    store(setup->migrating, &setup->unmoved);
    apply(setup->migrating, migration);
}

static void tear_down(setup_t *setup) {
    warmring_close(setup->migrating);
    warmring_close(setup->stable);
}

/* ---- reads ---- */

typedef struct {
    warmring_t *cache;
    const keys_t *keys;
    warmring_item_t item;
    unsigned next;
} reader_t;

static reader_t make_reader(warmring_t *cache, const setup_t *setup, bool moved) {
    return (reader_t){cache, moved ? &setup->moved : &setup->unmoved, WARMRING_ITEM_INIT, 0};
}

static void read_next(reader_t *reader) {
    unsigned i = reader->next++ % KEYS;

    must(warmring_get(reader->cache, reader->keys->key[i], reader->keys->length[i], &reader->item,
                      NULL),
         reader->keys->key[i]);
    if (reader->item.value.length != VALUE_SIZE)
        must(WARMRING_NOT_FOUND, "another value");
}

static double microseconds(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof(*values), by_value);
    return values[count / 2];
}

static double read_timed(reader_t *reader) {
    double begin = microseconds();

    read_next(reader);
    return microseconds() - begin;
}

/* The median microseconds of a read, of each. Each is first as often as the
 * other, for the second finds the server awake. */
static void read_round(reader_t readers[2], double *now, double *stable) {
    static double took[2][ROUND_READS];

    for (int i = 0; i < ROUND_READS; i++) {
        int first = i % 2;
        took[first][i] = read_timed(&readers[first]);
        took[1 - first][i] = read_timed(&readers[1 - first]);
    }
    *now = median(took[0], ROUND_READS);
    *stable = median(took[1], ROUND_READS);
}

/* ---- both forms ---- */

static void compare_phase(const setup_t *setup, const char *transport, bool moved) {
    static double now[ROUNDS], stable[ROUNDS], ratios[ROUNDS];
    reader_t readers[] = {make_reader(setup->migrating, setup, moved),
                          make_reader(setup->stable, setup, moved)};

    readers[1].next = KEYS / 2; /* no key soon after the other has read it */
    read_round(readers, &now[0], &stable[0]);
    for (int i = 0; i < ROUNDS; i++) {
        read_round(readers, &now[i], &stable[i]);
        ratios[i] = now[i] / stable[i];
    }
    printf("%s, %s, %s\twall_microseconds\t%.2f\t%.2f\t%.3f\n", transport,
           phase_of(setup->migrating), moved ? "moved" : "unmoved", median(now, ROUNDS),
           median(stable, ROUNDS), median(ratios, ROUNDS));
    fflush(stdout);
    warmring_item_clear(&readers[0].item);
    warmring_item_clear(&readers[1].item);
}

/* WARMING copies the moved keys, each on its first read. */
static bool step_and_copy(const setup_t *setup) {
    bool more = step(setup->migrating);

    if (strcmp(phase_of(setup->migrating), "WARMING") == 0)
        read_all(setup->migrating, &setup->moved);
    return more;
}

static void compare_all(const char *transport, const char *servers, char **added) {
    static setup_t setup;

    set_up(&setup, transport, servers, added);
    while (step_and_copy(&setup)) {
        compare_phase(&setup, transport, false);
        compare_phase(&setup, transport, true);
    }
    tear_down(&setup);
}

static void read_in_phase(char **arguments) {
    static setup_t setup;
    const char *transport = getenv("TRANSPORT"), *phase = arguments[0];
    bool stable = strcmp(phase, "STABLE") == 0;
    reader_t reader;

    set_up(&setup, transport != NULL ? transport : "meta", arguments[3], arguments + 4);
    while (strcmp(phase_of(setup.migrating), stable ? "SETTLING" : phase) != 0)
        if (!step_and_copy(&setup))
            must(WARMRING_BAD_ARGUMENT, phase);
    reader = make_reader(stable ? setup.stable : setup.migrating, &setup,
                         strcmp(arguments[1], "moved") == 0);
    for (long i = atol(arguments[2]); i > 0; i--)
        read_next(&reader);
    warmring_item_clear(&reader.item);
    tear_down(&setup);
}

int main(int argc, char **argv) {
    static const char *const transports[] = {"meta", "libmemcached"};

    if (argc >= 6 && strchr(argv[1], ':') == NULL) {
        read_in_phase(argv + 1);
        return 0;
    }
    if (argc < 3)
        return fprintf(stderr, "usage: phases [PHASE KEYS COUNT] OLD NEW...\n"), 2;
    printf("read\tmetric\tphase\tstable\tratio\n");
    for (size_t i = 0; i < sizeof(transports) / sizeof(transports[0]); i++)
        compare_all(transports[i], argv[1], argv + 2);
    return 0;
}
