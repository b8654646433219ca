/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No memory: every operation on files with its first, second, third ...
 * allocation failing until it succeeds, those of jansson included. Each
 * failure is OUT_OF_MEMORY, gives nothing and keeps nothing.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include <warmring/memory.h>

#include "../lib/scarce.h"
#include "file_support.h"

static const warmring_topology_t *topology;
static const warmring_file_t *stable, *warming;

static warmring_status_t do_parse(warmring_file_t **file) {
    return warmring_file_parse(file, stable_text, strlen(stable_text), "f");
}
static warmring_status_t do_parse_migration(warmring_file_t **file) {
    return warmring_file_parse(file, warming_text, strlen(warming_text), "f");
}
static warmring_status_t do_parse_alike(warmring_file_t **file) {
    wr_file_rings_t rings = {.like = warming->topology, .most_points = 1000};
    return wr_file_parse(file, warming_text, strlen(warming_text), "f", &rings);
}
static warmring_status_t do_create(warmring_file_t **file) {
    return wr_file_create(file, topology, NULL, 1, 0);
}
static warmring_status_t do_edit(warmring_file_t **file) {
    return warmring_file_edit(stable, topology, 0, file);
}
static warmring_status_t do_rollout(warmring_file_t **file) {
    return warmring_file_rollout(warming, "bonn", 9, 9, 0, file);
}

/* Refusals, too, which look for the line. */
static warmring_status_t do_refuse(const char *text) {
    warmring_file_t *file;
    warmring_status_t status = warmring_file_parse(&file, text, strlen(text), "f");
    if (file != NULL || status == WARMRING_OK) {
        tap_ok(false, "refused");
    }
    return status == WARMRING_BAD_FILE ? WARMRING_OK : status;
}
static warmring_status_t do_refuse_twice(warmring_file_t **file) {
    *file = NULL;
    return do_refuse(replaced(stable_text, "\"name\": \"s\"", "\"name\": \"a\""));
}
static warmring_status_t do_refuse_stranger(warmring_file_t **file) {
    *file = NULL;
    return do_refuse(replaced(warming_text, "\"10.0.0.9:11219\": {",
                              "\"10.0.0.5:1\": {\"cas\": 1},\n\"10.0.0.9:11219\": {"));
}

static const struct {
    warmring_status_t (*run)(warmring_file_t **file);
    const char *name;
    long at_least;
} operations[] = {
    {do_parse, "parse", 60},
    {do_parse_migration, "parse a migration", 100},
    {do_parse_alike, "parse, rings alike", 80},
    {do_create, "create", 5},
    {do_edit, "edit", 5},
    {do_rollout, "rollout", 8},
    {do_refuse_twice, "refuse a name twice", 60},
    {do_refuse_stranger, "refuse a stranger", 100},
};

static void check_operation(size_t index) {
    enum { LIMIT = 2000 };
    const char *name = operations[index].name;
    long before = live, tries = 0, wrong = 0;
    for (; tries < LIMIT; tries++) {
        warmring_file_t *file = (void *)&file;
        countdown = tries;
        failed = false;
        warmring_status_t status = operations[index].run(&file);
        countdown = -1;
        if (!failed) {
            tap_status(status, WARMRING_OK, "%s: succeeds with %ld allocations", name, tries);
            warmring_file_free(file);
            break;
        }
        bool held = status == WARMRING_OUT_OF_MEMORY && file == NULL && live == before;
        wrong += !held;
        if (!held) {
            tap_ok(false, "%s: allocation %ld fails: %s, %ld blocks", name, tries + 1,
                   warmring_status_name(status), live - before);
            live = before;
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
    json_set_alloc_funcs(allocate, release);
    json_decref(json_object()); /* whatever it makes once */
    topology = parse("a=h1,h2:2:3");
    stable = file_of(stable_text);
    warming = file_of(warming_text);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        check_operation(i);
    }
    warmring_topology_release(topology);
    warmring_file_free((warmring_file_t *)stable);
    warmring_file_free((warmring_file_t *)warming);
    tap_int(live, 0, "in the end nothing is left");
    return tap_done();
}
