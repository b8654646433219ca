/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No memory for the operator: every function with its first, second, third ...
 * allocation failing until it succeeds, on real servers. Each failure is
 * OUT_OF_MEMORY, gives nothing and keeps nothing.
 */
#include "../lib/scarce.h"
#include "operator_support.h"

#include <warmring/memory.h>

static fixture_t *servers;
static warmring_file_t *stable, *warming;
static warmring_topology_t *target;

static warmring_status_t give(warmring_status_t status, warmring_file_t *file) {
    if ((status == WARMRING_OK) != (file != NULL)) {
        tap_ok(false, "a file exactly when OK");
    }
    warmring_file_free(status == WARMRING_OK ? file : NULL);
    return status;
}

static warmring_status_t do_begin(void) {
    warmring_file_t *file = (void *)&file;
    warmring_status_t status = warmring_fleet_begin(stable, target, NULL, 2000, &file);
    return give(status, file);
}

static warmring_status_t do_commit(void) {
    warmring_file_t *file = (void *)&file;
    warmring_status_t status = warmring_fleet_step(warming, WARMRING_COMMIT, NULL, 2000, &file);
    return give(status, file);
}

static warmring_status_t do_announce(void) {
    return warmring_fleet_announce(warming, NULL, 2000);
}

static warmring_status_t do_fence(void) {
    uint64_t steps;
    return warmring_fleet_fence(warming, 0, NULL, 2000, &steps);
}

static void ignore(void *context, const char *name, const char *value) {
    (void)context;
    (void)name;
    (void)value;
}

static warmring_status_t do_stats(void) {
    return warmring_fleet_stats(warming, 0, NULL, ignore, NULL, NULL, 2000);
}

/* What is swept is there again for the next try: it is not in the way of
 * anybody. */
static warmring_status_t do_sweep(void) {
    warmring_sweep_t how = WARMRING_SWEEP_INIT;
    warmring_sweep_counts_t counts;
    how.remove = true;
    for (int i = 0; i < 20; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        raw_store(servers, 0, key, 0, 0, "x");
    }
    return warmring_fleet_sweep(stable, 0, &how, NULL, 2000, &counts);
}

static const struct {
    warmring_status_t (*run)(void);
    const char *name;
    long at_least;
} operations[] = {
    {do_begin, "begin", 20}, {do_commit, "commit", 20}, {do_announce, "announce", 8},
    {do_fence, "fence", 8},  {do_stats, "stats", 8},    {do_sweep, "sweep", 12},
};

static void check_operation(size_t index) {
    enum { LIMIT = 1000 };
    const char *name = operations[index].name;
    long before = live, tries = 0, wrong = 0;
    for (; tries < LIMIT; tries++) {
        countdown = tries;
        failed = false;
        warmring_status_t status = operations[index].run();
        countdown = -1;
        if (!failed) {
            tap_status(status, WARMRING_OK, "%s: succeeds with %ld allocations", name, tries);
            break;
        }
        if (status != WARMRING_OUT_OF_MEMORY || live != before) {
            tap_ok(false, "%s: allocation %ld fails: %s, %ld blocks", name, tries + 1,
                   warmring_status_name(status), live - before);
            live = before;
            wrong++;
        }
    }
    tap_int(wrong, 0, "%s: each failure is OUT_OF_MEMORY and leaks nothing", name);
    tap_ok(tries >= operations[index].at_least && tries < LIMIT, "%s: %ld allocations were failed",
           name, tries);
    tap_int(live, before, "%s: nothing leaks", name);
}

int main(void) {
    countdown = -1;
    warmring_set_memory_functions(allocate, resize, release);
    servers = fixture_start(2, NULL);
    stable = create(fixture_servers(servers));
    target = parse(fixture_address(servers, 1));
    warming = prepare(fixture_address(servers, 0), fixture_servers(servers));
    advance(&warming, WARMRING_WARM);
    age(warming, 3600);
    char key[300], value[32]; /* a report, so that a watermark is raised */
    snprintf(key, sizeof key, "warmring:%016llx:partial:%s", (unsigned long long)warming->id,
             fixture_address(servers, 1));
    snprintf(value, sizeof value, "%016llx", (unsigned long long)warming->topology->seed);
    raw_store(servers, 0, key, 0, 2592000 - 100, value);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        check_operation(i);
    }
    warmring_file_free(stable);
    warmring_file_free(warming);
    warmring_topology_release(target);
    fixture_free(servers);
    tap_int(live, 0, "in the end nothing is left");
    return tap_done();
}
