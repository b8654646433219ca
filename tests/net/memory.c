/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out: the first, the second, the third ... allocation fails
 * until all goes well. Each failure is a status, and nothing is lost.
 */
#include "net.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SERVERS = 3, KEYS = 30 };

static long fail_at;       /* counts down; -1: never */
static atomic_long blocks; /* a resolver's thread frees, too */

static void *allocate(size_t size) {
    if (fail_at >= 0 && fail_at-- == 0) {
        return NULL;
    }
    void *block = malloc(size);
    blocks += block != NULL;
    return block;
}

static void *resize(void *block, size_t size) {
    if (fail_at >= 0 && fail_at-- == 0) {
        return NULL;
    }
    void *new_block = realloc(block, size);
    blocks += block == NULL && new_block != NULL;
    return new_block;
}

static void release(void *block) {
    blocks--;
    free(block);
}

/* The status of the first thing that failed. */
static warmring_status_t run_batch(wr_server_t **servers, size_t *plain) {
    static net_call_t calls[KEYS];
    static char keys[KEYS][16];
    wr_request_t *requests[KEYS];
    warmring_status_t worst = WARMRING_OK;
    for (int i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        net_call(&calls[i], servers[i % SERVERS], WR_GET, keys[i], NULL);
        requests[i] = &calls[i].request;
    }
    wr_run(requests, KEYS, wr_deadline_in_ms(5000));
    for (int i = 0; i < KEYS; i++) {
        *plain += wr_is_answer(requests[i]->status);
        worst = wr_is_answer(requests[i]->status) ? worst : requests[i]->status;
    }
    return worst;
}

static warmring_status_t run_servers(const fixture_t *fixture, size_t *plain) {
    warmring_status_t status = WARMRING_OUT_OF_MEMORY;
    wr_server_t *servers[SERVERS] = {NULL, NULL, NULL};
    wr_net_config_t config = net_config(NULL);
    size_t made = 0;
    *plain = 0;
    if (config.context == NULL) {
        return status;
    }
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i] = i == 0 ? wr_server_create("localhost", fixture_port(fixture, 0), &config)
                            : net_server(fixture, i, &config);
        made += servers[i] != NULL;
    }
    if (made == SERVERS) {
        status = run_batch(servers, plain);
    }
    for (size_t i = 0; i < SERVERS; i++) {
        wr_server_release(servers[i]);
    }
    net_free(&config);
    return status;
}

static void run_all(void) {
    fixture_t *fixture = fixture_start(SERVERS, NULL);
    warmring_set_memory_functions(allocate, resize, release);
    warmring_status_t status = WARMRING_OUT_OF_MEMORY;
    long number = 0;
    for (; status != WARMRING_OK && number < 200; number++) {
        size_t plain = 0;
        fail_at = number;
        status = run_servers(fixture, &plain);
        tap_ok(status == WARMRING_OUT_OF_MEMORY || status == WARMRING_OK,
               "allocation %ld fails: %s", number, warmring_status_name(status));
        tap_ok(status != WARMRING_OK || plain == KEYS, "all answered when nothing failed");
        for (int i = 0; i < 1000 && atomic_load(&blocks) != 0; i++) {
            usleep(1000); /* for that thread, which may be the last to leave */
        }
        tap_int(blocks, 0, "and nothing is lost");
    }
    tap_ok(number > 10, "%ld allocations were made to fail", number - 1);
    warmring_set_memory_functions(NULL, NULL, NULL);
    fixture_free(fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
