/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client takes over what its file says: within a second, without touching
 * servers that stay, and not what is no good. Without a good file for longer
 * than the lag it refuses.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <warmring/memory.h>

#include "tests/fleet/support.h"
#include "tests/lib/calls.h"
#include "tests/lib/raw.h"
#include "tests/lib/scarce.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { SECOND = 1000, PERIOD = 500 };

static fleet_t *fleet;
static warmring_t *client;

static void start(uint32_t lag_s) {
    fleet = fleet_start(3, 2, lag_s);
    client = fleet_open(fleet, NULL);
}

static void end(void) {
    warmring_close(client);
    fleet_free(fleet);
}

static void put_all_keys(const char *value) {
    char key[16];
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof key, "key%d", i);
        tap_status(store_key(client, key, value), WARMRING_OK, "%s is stored", key);
    }
}

/* ---- a change ------------------------------------------------------------------- */

/* Connections that a server has accepted, but for the one that asks. */
static uint64_t connections(size_t server) {
    static uint64_t asked[8];
    return fleet_stat(fleet, server, "total_connections") - ++asked[server];
}

static void check_change(void) {
    start(5);
    put_all_keys("one");
    uint64_t before[2] = {connections(0), connections(1)};
    uint64_t third = connections(2);
    fleet_flip(fleet, fixture_first_servers(fleet->fixture, 3));
    unsigned waited = fleet_await(client, 2);
    tap_ok(waited <= SECOND + tap_slack_ms(), "a server more, in force after %u ms", waited);
    put_all_keys("two");
    tap_int((int64_t)connections(0), (int64_t)before[0], "server 0 keeps its connections");
    tap_int((int64_t)connections(1), (int64_t)before[1], "server 1 too");
    tap_ok(connections(2) > third, "the third server gets some");

    uint64_t now = connections(2);
    fleet_flip(fleet, fixture_first_servers(fleet->fixture, 2));
    fleet_await(client, 3);
    put_all_keys("three");
    tap_int((int64_t)connections(0), (int64_t)before[0], "a server less: server 0 keeps its own");
    tap_int((int64_t)connections(2), (int64_t)now, "nothing goes to the one that left");
    warmring_counters_t counters = fleet_counters(client);
    tap_int((int64_t)counters.reloads, 2, "two reloads are counted");
    tap_int((int64_t)counters.file_errors, 0, "and no error");
    tap_int((int64_t)counters.stale, 0, "nobody was refused");
    end();
}

/* ---- what is refused ---------------------------------------------------------------- */

static void check_apply(void) {
    start(5);
    warmring_topology_t *next = NULL;
    warmring_status_t status = warmring_topology_parse(&next, "127.0.0.1", NULL, 0);
    tap_status(status, WARMRING_OK, "another topology");
    tap_status(warmring_apply(client, next, 0), WARMRING_ILLEGAL_STEP,
               "apply is not for this client");
    warmring_topology_release(next);
    end();
}

static void check_open(void) {
    warmring_t *none = NULL;
    warmring_options_t *options = test_options();
    fleet = fleet_start(1, 1, 5);
    tap_status(warmring_open_file(&none, "/nonexistent/topology.json", options), WARMRING_BAD_FILE,
               "a file that is not there");
    tap_contains(warmring_error_detail(), "/nonexistent/topology.json", "is named");
    tap_ok(none == NULL, "there is no client");
    fleet_put_text(fleet->path, "{");
    tap_status(warmring_open_file(&none, fleet->path, options), WARMRING_BAD_FILE,
               "a file that is none");
    tap_contains(warmring_error_detail(), fleet->path, "is named");
    warmring_options_free(options);
    fleet_free(fleet);
}

/* What all clients of a file keep to. */
static void check_settings(void) {
    warmring_topology_t *topology = NULL;
    warmring_file_t *file = NULL;
    warmring_file_settings_t settings = {sizeof settings, 5, 700, 100};
    warmring_call_t call = WARMRING_CALL_INIT;
    fleet = fleet_start(1, 1, 5);
    if (warmring_topology_parse(&topology, fixture_servers(fleet->fixture), "nginx", 160) !=
            WARMRING_OK ||
        warmring_file_create(&file, topology, &settings, fleet_now_ms()) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    warmring_topology_release(topology);
    fleet_put(fleet, file);
    client = fleet_open(fleet, NULL); /* with deadlines of 2 and 5 s, and no longest TTL */
    call.deadline_ms = 700;
    tap_status(warmring_set(client, "key", 3, "value", 5, 0, 0, &call), WARMRING_OK,
               "a deadline as long as the file's");
    int64_t ttl = raw_look(fleet->fixture, 0, "key").ttl;
    tap_ok(ttl > 90 && ttl <= 100, "no expiration: the longest TTL of the file, %d s", (int)ttl);
    call.deadline_ms = 701;
    tap_status(warmring_set(client, "key", 3, "value", 5, 0, 0, &call), WARMRING_BAD_ARGUMENT,
               "a longer deadline");
    tap_contains(warmring_error_detail(), "700", "names the longest");
    warmring_topology_t *present = NULL;
    if (warmring_acquire(client, &present) != WARMRING_OK) {
        tap_bail("acquire");
    }
    tap_int((int64_t)warmring_ring_points(warmring_topology_ring(present, WARMRING_OLD_RING)), 160,
            "the ring is the file's");
    warmring_topology_release(present);
    fixture_stop(fleet->fixture, 0);
    unsigned began = fleet_clock_ms();
    tap_status(store_key(client, "key", "value"), WARMRING_TIMEOUT, "the default deadline");
    unsigned took = fleet_clock_ms() - began;
    tap_ok(took <= 700 + tap_slack_ms(), "is lowered to the file's: %u ms", took);
    fixture_continue(fleet->fixture, 0);
    end();
}

/* Looks at the file now, until a fault is told. */
static warmring_status_t tick_fault(void) {
    warmring_status_t status = warmring_tick(client, 100);
    tap_note("tick: %s: %s", warmring_status_name(status), warmring_error_detail());
    return status;
}

static void check_fault(const char *what, const char *piece) {
    uint64_t before = fleet_counters(client).file_errors;
    tap_status(tick_fault(), WARMRING_BAD_FILE, "%s: told by tick", what);
    tap_contains(warmring_error_detail(), piece, "%s: with its reason", what);
    tap_contains(warmring_error_detail(), fleet->path, "%s: and the file", what);
    tap_status(warmring_tick(client, 100), WARMRING_OK, "%s: once", what);
    fleet_sleep_ms(PERIOD + 100);
    tap_status(store_key(client, "key", what), WARMRING_OK, "%s: calls go on", what);
    tap_int((int64_t)(fleet_counters(client).file_errors - before), 1, "%s: counted once", what);
}

static void check_bad_files(void) {
    start(60);
    char *good = strdup(warmring_file_text(fleet->file));
    fleet_flip(fleet, fixture_first_servers(fleet->fixture, 3));
    fleet_await(client, 2);
    char *newer = strdup(warmring_file_text(fleet->file));

    fleet_put_text(fleet->path, "{\"warmring\":");
    check_fault("half a file", ":1:");
    fleet_put_text(fleet->path, good);
    check_fault("an older epoch", "epoch 1");
    unlink(fleet->path);
    check_fault("no file", "No such file");
    warmring_file_t *other = NULL;
    warmring_topology_t *topology = warmring_topology_retain(fleet->file->topology);
    if (warmring_file_create(&other, topology, NULL, 0) != WARMRING_OK) {
        tap_bail("no other file");
    }
    fleet_put_text(fleet->path, warmring_file_text(other));
    check_fault("another fleet", "another fleet");
    warmring_file_free(other);
    warmring_topology_release(topology);

    char *another = strdup(newer);
    char *digit = strstr(another, "\"lag_s\": 60");
    if (digit == NULL) {
        tap_bail("no lag_s in %s", another);
    }
    digit[strlen("\"lag_s\": 60") - 1] = '1';
    fleet_put_text(fleet->path, another);
    check_fault("another text", "still of epoch 2");
    free(another);
    fleet_put_text(fleet->path, newer);
    chmod(fleet->path, 0664);
    check_fault("a group that may write", "its group may write to it");
    chmod(fleet->path, 0644);
    tap_status(warmring_tick(client, 100), WARMRING_OK, "no longer");
    chmod(fleet->path, 0666);
    check_fault("everybody may write", "everybody may write to it");

    tap_int((int64_t)fleet_epoch(client), 2, "epoch 2 stayed in force");
    fleet_put_text(fleet->path, newer);
    tap_status(warmring_tick(client, 100), WARMRING_OK, "the good file is back");
    fleet_put_text(fleet->path, "{\"warmring\":");
    check_fault("the same fault again", ":1:");
    free(good);
    free(newer);
    end();
}

/* Whatever is in its place is told, nothing waits or takes memory for it. */
static void check_strange_files(void) {
    char aside[160];
    start(60);
    snprintf(aside, sizeof aside, "%s/aside", fleet->directory);
    if (rename(fleet->path, aside) != 0 || mkdir(fleet->path, 0755) != 0) {
        tap_bail("%s: %m", aside);
    }
    check_fault("a directory", "Is a directory");
    rmdir(fleet->path);
    mkfifo(fleet->path, 0600);
    check_fault("a FIFO", "a device, FIFO or socket");
    unlink(fleet->path);
    (void)!symlink(fleet->path, fleet->path);
    check_fault("a link to itself", "symbolic links");
    unlink(fleet->path);
    fleet_put_text(fleet->path, "");
    check_fault("an empty file", ":1:");
    (void)!truncate(fleet->path, (off_t)1 << 30);
    check_fault("a huge file", "has at most");
    fleet_put_text(fleet->path, "\x7f"
                                "ELF\x02\x01\x01");
    check_fault("a program", ":1:");
    (void)!rename(aside, fleet->path);
    tap_status(warmring_tick(client, 100), WARMRING_OK, "the file is back");
    warmring_t *none;
    tap_status(warmring_open_file(&none, "", NULL), WARMRING_BAD_FILE, "no path, no client");
    end();
}

/* A file that could not be opened for a moment is read when it can be, though
 * nothing of it has changed since. */
static void check_unreadable_for_a_moment(void) {
    struct rlimit all;
    struct rlimit few;
    char beside[160];
    start(60);
    snprintf(beside, sizeof beside, "%s/beside", fleet->directory);
    tap_status(store_key(client, "key", "value"), WARMRING_OK, "connections are there");
    char *old = strdup(warmring_file_text(fleet->file));
    fleet_flip(fleet, fixture_first_servers(fleet->fixture, 3));
    fleet_put_text(beside, warmring_file_text(fleet->file));
    fleet_put_text(fleet->path, old);
    (void)!warmring_tick(client, 100);
    getrlimit(RLIMIT_NOFILE, &all);
    few = all;
    few.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &few);
    (void)!rename(beside, fleet->path);
    check_fault("no descriptor is left", "Too many open files");
    tap_int((int64_t)fleet_epoch(client), 1, "epoch 1 is in force");
    setrlimit(RLIMIT_NOFILE, &all);
    unsigned waited = fleet_await(client, 2);
    tap_ok(waited <= SECOND + tap_slack_ms(), "epoch 2, %u ms after there are descriptors", waited);
    free(old);
    end();
}

/* A relative path is of the directory in which the client was opened. */
static void check_directory(void) {
    start(60);
    warmring_close(client);
    char *home = getcwd(NULL, 0);
    if (home == NULL || chdir(fleet->directory) != 0) {
        tap_bail("%s: %m", fleet->directory);
    }
    client = fleet_open_copy(strrchr(fleet->path, '/') + 1, NULL);
    if (chdir("/") != 0) {
        tap_bail("/: %m");
    }
    fleet_flip(fleet, fixture_first_servers(fleet->fixture, 3));
    unsigned waited = fleet_await(client, 2);
    tap_ok(waited <= SECOND + tap_slack_ms(), "found from another directory after %u ms", waited);
    tap_status(warmring_tick(client, 100), WARMRING_OK, "without a fault");
    if (chdir(home) != 0) {
        tap_bail("%s: %m", home);
    }
    free(home);
    end();
}

/* ---- too old --------------------------------------------------------------------------- */

static void check_stale(void) {
    start(1);
    char *good = strdup(warmring_file_text(fleet->file));
    tap_status(store_key(client, "key", "value"), WARMRING_OK, "with a file");
    fleet_put_text(fleet->path, "nonsense");
    unsigned began = fleet_clock_ms();
    warmring_status_t status;
    while ((status = store_key(client, "key", "value")) == WARMRING_OK &&
           fleet_clock_ms() - began < 5000) {
        fleet_sleep_ms(5);
    }
    unsigned waited = fleet_clock_ms() - began;
    tap_status(status, WARMRING_TOPOLOGY_STALE, "after the lag it refuses");
    tap_contains(warmring_error_detail(), fleet->path, "the text names the file");
    tap_contains(warmring_error_detail(), "not confirmed for 1 s", "says how long");
    tap_contains(warmring_error_detail(), ":1:", "and why");
    tap_ok(waited <= SECOND + tap_slack_ms(), "after %u ms", waited);
    tap_ok(fleet_counters(client).stale > 0, "refusals are counted");

    fleet_put_text(fleet->path, good);
    began = fleet_clock_ms();
    while ((status = store_key(client, "key", "value")) == WARMRING_TOPOLOGY_STALE &&
           fleet_clock_ms() - began < 5000) {
        fleet_sleep_ms(5);
    }
    waited = fleet_clock_ms() - began;
    tap_status(status, WARMRING_OK, "the file is back");
    tap_ok(waited <= SECOND + tap_slack_ms(), "after %u ms", waited);
    free(good);
    end();
}

/* An idle client looks before its next call. */
static void check_idle(void) {
    start(5);
    tap_status(store_key(client, "key", "value"), WARMRING_OK, "a call");
    fleet_sleep_ms(SECOND + 100);
    fleet_flip(fleet, fixture_first_servers(fleet->fixture, 3));
    tap_status(store_key(client, "key", "value"), WARMRING_OK, "the next call");
    tap_int((int64_t)fleet_epoch(client), 2, "finds the file that came just before it");
    end();
}

/* Of a topology that is no longer in force nothing stays. */
static void check_memory(void) {
    countdown = -1;
    warmring_set_memory_functions(allocate, resize, release);
    long before = live;
    start(5);
    put_all_keys("one");
    fleet_flip(fleet, fixture_first_servers(fleet->fixture, 3));
    fleet_await(client, 2);
    fleet_begin(fleet, fixture_first_servers(fleet->fixture, 2));
    fleet_await(client, 3);
    put_all_keys("two");
    fleet_step(fleet, WARMRING_WARM);
    fleet_await(client, 4);
    fleet_step(fleet, WARMRING_ROLLBACK);
    fleet_await(client, 5);
    end();
    tap_int(live, before, "after four reloads no memory is left behind");
    warmring_set_memory_functions(NULL, NULL, NULL);
}

static void run(void) {
    check_change();
    check_idle();
}

int main(void) {
    test_transports(run);
    check_apply();
    check_settings();
    check_open();
    check_bad_files();
    check_strange_files();
    check_unreadable_for_a_moment();
    check_directory();
    check_stale();
    check_memory();
    return tap_done();
}
