/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No memory: every operation with its first, second, third ... allocation
 * failing until it succeeds. Each failure is OUT_OF_MEMORY, gives nothing and
 * keeps nothing; the values it was given are as good as before. And counting
 * from several threads.
 */
#include <pthread.h>
#include <stdlib.h>

#include <warmring/memory.h>

#include "../lib/scarce.h"
#include "support.h"

/* What operations start from. */
static warmring_topology_t *from, *to, *warming;

typedef warmring_status_t (*operation_t)(warmring_topology_t **result);

static warmring_status_t do_parse(warmring_topology_t **result) {
    return warmring_topology_parse(result, "a=h1,h2:2:3,unix:/p --SERVER=h4/?2", NULL, 20);
}
static warmring_status_t do_parse_nginx(warmring_topology_t **result) {
    return warmring_topology_parse(result, "a=h1,h2:2:3", "nginx", 0);
}
static warmring_status_t do_set_weight(warmring_topology_t **result) {
    return warmring_topology_set_weight(from, "a", 3, result);
}
static warmring_status_t do_add(warmring_topology_t **result) {
    return warmring_topology_add_server(from, "d=h9:9", result);
}
static warmring_status_t do_remove(warmring_topology_t **result) {
    return warmring_topology_remove_server(from, "a", result);
}
static warmring_status_t do_set_address(warmring_topology_t **result) {
    return warmring_topology_set_address(from, "a", "[::9]:9", result);
}
static warmring_status_t do_replace(warmring_topology_t **result) {
    return warmring_topology_replace(from, to, result);
}
static warmring_status_t do_migrate(warmring_topology_t **result) {
    return warmring_topology_migrate(from, to, result);
}
static warmring_status_t do_step(warmring_topology_t **result) {
    return warmring_topology_step(warming, WARMRING_COMMIT, result);
}
static warmring_status_t do_rollout(warmring_topology_t **result) {
    return warmring_topology_rollout(warming, "rome", 100, result);
}
static warmring_status_t do_end(warmring_topology_t **result) {
    warmring_topology_t *prepared;
    warmring_status_t status = warmring_topology_step(warming, WARMRING_ROLLBACK, &prepared);
    *result = NULL;
    if (status == WARMRING_OK) {
        status = warmring_topology_step(prepared, WARMRING_ROLLBACK, result);
        warmring_topology_release(prepared);
    }
    return status;
}
static warmring_status_t do_preview(warmring_topology_t **result) {
    warmring_preview_t *preview = (void *)&preview;
    warmring_status_t status = warmring_topology_preview(from, to, &preview);
    *result = NULL;
    tap_ok((status == WARMRING_OK) == (preview != NULL), "a preview exactly when OK");
    warmring_preview_free(preview);
    return status;
}

static warmring_status_t do_parse_server(warmring_topology_t **result) {
    char strings[WARMRING_SERVER_STRINGS];
    warmring_server_t server = {.size = sizeof server};
    warmring_status_t status = warmring_server_parse("a=h:1:2", &server, strings, sizeof strings);
    tap_ok((status == WARMRING_OK) == (server.host != NULL), "a host exactly when OK");
    *result = NULL;
    return status;
}

static const struct {
    operation_t run;
    const char *name;
    long at_least; /* allocations; fewer would mean that none was tried */
} operations[] = {
    {do_parse, "parse", 5},
    {do_parse_nginx, "parse for nginx", 5},
    {do_set_weight, "set_weight", 5},
    {do_add, "add_server", 5},
    {do_remove, "remove_server", 5},
    {do_set_address, "set_address", 5},
    {do_replace, "replace", 2},
    {do_migrate, "migrate", 5},
    {do_step, "step", 5},
    {do_rollout, "rollout", 5},
    {do_end, "roll back", 7},
    {do_preview, "preview", 5},
    {do_parse_server, "server_parse", 2},
};

static void check_operation(operation_t run, const char *name, long at_least) {
    enum { LIMIT = 1000 };
    long before = live, tries = 0;
    for (; tries < LIMIT; tries++) {
        warmring_topology_t *result = (void *)&result;
        countdown = tries;
        failed = false;
        warmring_status_t status = run(&result);
        countdown = -1;
        if (!failed) {
            tap_status(status, WARMRING_OK, "%s: succeeds with %ld allocations", name, tries);
            warmring_topology_release(result);
            break;
        }
        tap_status(status, WARMRING_OUT_OF_MEMORY, "%s: allocation %ld fails", name, tries + 1);
        tap_ok(result == NULL, "%s: allocation %ld fails: no result", name, tries + 1);
        tap_int(live, before, "%s: allocation %ld fails: nothing leaks", name, tries + 1);
    }
    tap_ok(tries >= at_least && tries < LIMIT, "%s: %ld allocations were failed", name, tries);
    tap_int(live, before, "%s: nothing leaks", name);
}

/* Refusals free what they had by then. */
static void check_refusals(void) {
    static const char *const bad[] = {"a=h1,h2:70000", "h1,h1:11211", "", "h:1:0", "a=h1,a=h2"};
    warmring_topology_t *result;
    long before = live;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tap_status(warmring_topology_parse(&result, bad[i], NULL, 0), WARMRING_BAD_SERVER,
                   "refused: \"%s\"", bad[i]);
    }
    tap_status(warmring_topology_add_server(from, "h8,h9", &result), WARMRING_BAD_SERVER, "two");
    tap_status(warmring_topology_add_server(from, "a=h9", &result), WARMRING_BAD_SERVER, "twice");
    tap_status(warmring_topology_set_address(from, "a", "h:0", &result), WARMRING_BAD_SERVER,
               "port 0");
    tap_status(warmring_topology_set_weight(from, "a", -1, &result), WARMRING_BAD_SERVER, "-1");
    tap_int(live, before, "refusals leak nothing");
}

static void *count_up_and_down(void *topology) {
    for (int i = 0; i < 20000; i++) {
        warmring_topology_release(warmring_topology_retain(topology));
    }
    return NULL;
}

/* A thousandth of lost updates would free it too early or never. */
static void test_threads(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        if (pthread_create(&threads[i], NULL, count_up_and_down, from) != 0) {
            tap_bail("cannot start a thread");
        }
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    tap_string(warmring_topology_label(from, WARMRING_OLD_RING, 0), "a", "it is still there");
}

int main(void) {
    countdown = -1;
    warmring_set_memory_functions(allocate, resize, release);
    from = parse("a=h1,b=h2:2:2,unix:/p");
    to = parse("a=h1,b=h9,c=h3");
    warming = in_phase(from, to, WARMRING_WARMING);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        check_operation(operations[i].run, operations[i].name, operations[i].at_least);
    }
    check_refusals();
    test_threads();
    /* Clusters live as long as the last topology on them. */
    warmring_topology_release(from);
    warmring_topology_release(to);
    tap_string(warmring_topology_label(warming, WARMRING_NEW_RING, 1), "b", "rings are shared");
    warmring_topology_release(warming);
    tap_int(live, 0, "in the end nothing is left");
    return tap_done();
}
