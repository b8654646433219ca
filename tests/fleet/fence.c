/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fence and statistics, on real servers: what is left where, what is read
 * back, and who is told of.
 */
#include <pthread.h>

#include "operator_support.h"

#include "../lib/fake_memcached.h"

static fixture_t *servers;
static char key[64];

static warmring_status_t announce(const warmring_file_t *file) {
    warmring_options_t *options = test_options();
    warmring_status_t status = warmring_fleet_announce(file, options, 2000);
    warmring_options_free(options);
    return status;
}

static warmring_status_t fence(const warmring_file_t *file, size_t index, uint64_t *steps) {
    warmring_options_t *options = test_options();
    warmring_status_t status = warmring_fleet_fence(file, index, options, 2000, steps);
    warmring_options_free(options);
    return status;
}

static void holds(size_t index, const char *value, const char *what) {
    raw_holds(servers, index, key, value, what);
}

/* Without a probe of its kind before, a server that hangs takes all the time
 * that the first question has. */
static void check_hanging_meta(const warmring_file_t *file) {
    warmring_options_t *options = warmring_options_create();
    tap_status(warmring_options_set(options, "transport", "meta"), WARMRING_OK, "native");
    raw_store(servers, 0, key, 0, 0, "1");
    fixture_stop(servers, 1);
    tap_status(warmring_fleet_announce(file, options, 1000), WARMRING_TIMEOUT,
               "a server hangs at its first question");
    tap_contains(warmring_error_detail(), fixture_address(servers, 1), "it is told");
    fixture_continue(servers, 1);
    holds(0, "4", "the other has it");
    warmring_options_free(options);
}

static void test_fence(void) {
    uint64_t steps = 7;
    char from[256], to[256];
    snprintf(from, sizeof from, "%s,%s", fixture_address(servers, 0), fixture_address(servers, 1));
    snprintf(to, sizeof to, "%s,%s", fixture_address(servers, 2), fixture_address(servers, 1));
    warmring_file_t *file = prepare(from, to);
    snprintf(key, sizeof key, "warmring:%016llx:steps", (unsigned long long)file->id);
    tap_status(fence(file, 0, &steps), WARMRING_NOT_FOUND, "no fence yet");
    tap_int((int64_t)steps, 0, "and no count");
    tap_status(announce(file), WARMRING_OK, "announce");
    for (size_t i = 0; i < 3; i++) {
        holds(i, "1", "both rings' servers have it");
        tap_int(raw_look(servers, i, key).ttl, -1, "for ever");
        tap_status(fence(file, i, &steps), WARMRING_OK, "it is read");
        tap_int((int64_t)steps, 1, "as it is");
    }
    holds(3, NULL, "others have none");
    tap_status(fence(file, 3, &steps), WARMRING_BAD_ARGUMENT, "there is no such server");
    advance(&file, WARMRING_WARM);
    tap_status(announce(file), WARMRING_OK, "the next step");
    holds(2, "2", "is seen");
    raw_store(servers, 1, key, 0, 0, "9");
    raw_store(servers, 2, key, 0, 0, "what is this that nobody ever counted?");
    tap_status(announce(file), WARMRING_OK, "announced again");
    holds(0, "2", "it stays");
    holds(1, "9", "a later count stays");
    holds(2, "2", "what is no count is replaced");
    raw_store(servers, 0, key, 0, 0, "words");
    tap_status(announce(file), WARMRING_OK, "and short words");
    holds(0, "2", "are replaced, too");

    fixture_kill(servers, 0);
    advance(&file, WARMRING_ROLLBACK);
    raw_store(servers, 1, key, 0, 0, "1");
    tap_status(announce(file), WARMRING_CONNECT_FAILED, "a server is away");
    tap_contains(warmring_error_detail(), fixture_address(servers, 0), "it is told");
    tap_status(fence(file, 0, &steps), WARMRING_CONNECT_FAILED, "and when it is asked");
    holds(1, "3", "the others have it");
    holds(2, "3", "the others have it");
    fixture_restart(servers, 0);
    tap_status(announce(file), WARMRING_OK, "it may be repeated");
    holds(0, "3", "until all have it");

    fixture_stop(servers, 1);
    advance(&file, WARMRING_ROLLBACK);
    int64_t begun = wall_ms();
    tap_status(announce(file), WARMRING_TIMEOUT, "a server hangs");
    tap_contains(warmring_error_detail(), fixture_address(servers, 1), "it is told");
    tap_ok(wall_ms() - begun <= 2000 + tap_slack_ms(), "in time");
    fixture_continue(servers, 1);
    holds(0, "4", "the other of the old ring has it");
    check_hanging_meta(file);
    holds(2, "3", "STABLE is announced on its ring alone");
    warmring_file_free(file);
    fixture_flush(servers);
}

/* ---- two operators ---------------------------------------------------------------- */

typedef struct {
    warmring_file_t *file;
    pthread_t thread;
    unsigned failures;
} operator_t;

enum { OPERATORS = 4, TIMES = 40 };

static void *keep_announcing(void *argument) {
    operator_t *self = argument;
    for (int i = 0; i < TIMES; i++) {
        self->file->steps += OPERATORS;
        warmring_status_t status = warmring_fleet_announce(self->file, NULL, 5000);
        while (status == WARMRING_TRY_AGAIN) {
            status = warmring_fleet_announce(self->file, NULL, 5000);
        }
        self->failures += status != WARMRING_OK;
    }
    return NULL;
}

static void test_together(void) {
    operator_t operators[OPERATORS];
    char list[256];
    snprintf(list, sizeof list, "%s,%s", fixture_address(servers, 0), fixture_address(servers, 1));
    warmring_file_t *file = create(list);
    for (size_t i = 0; i < OPERATORS; i++) {
        operators[i] = (operator_t){.file = create(list)};
        operators[i].file->id = file->id;
        operators[i].file->steps = i;
        pthread_create(&operators[i].thread, NULL, keep_announcing, &operators[i]);
    }
    unsigned failures = 0;
    for (size_t i = 0; i < OPERATORS; i++) {
        pthread_join(operators[i].thread, NULL);
        failures += operators[i].failures;
    }
    tap_int(failures, 0, "operators who announce at once do not fail");
    for (size_t i = 0; i < 2; i++) {
        uint64_t steps = 0;
        tap_status(warmring_fleet_fence(file, i, NULL, 5000, &steps), WARMRING_OK, "the fence");
        tap_int((int64_t)steps, OPERATORS * TIMES + OPERATORS - 1, "is at the latest count");
    }
    for (size_t i = 0; i < OPERATORS; i++) {
        warmring_file_free(operators[i].file);
    }
    warmring_file_free(file);
}

/* A server whose fence is "value", and the last command that stored one. */
static char stored[256];

static size_t watch(void *data, const char *command, char *answer, size_t capacity) {
    if (strncmp(command, "ms ", 3) == 0 && strstr(command, ":steps") != NULL) {
        snprintf(stored, sizeof stored, "%s", command);
    }
    return fake_memcached(data, command, answer, capacity);
}

static void test_bound(void) {
    static const fake_step_t steps[] = {FAKE_SERVE(watch, NULL), FAKE_END};
    fake_server_t *fake = fake_server_start(steps);
    char address[64];
    snprintf(address, sizeof address, "127.0.0.1:%u", fake_server_port(fake));
    warmring_file_t *file = create(address);
    tap_status(warmring_fleet_announce(file, NULL, 2000), WARMRING_OK, "announce");
    fake_server_free(fake); /* ends its threads */
    const char *bound = strstr(stored, " C");
    tap_ok(bound != NULL && bound[2] >= '1' && bound[2] <= '9',
           "a fence is written bound to what was read: %s", stored);
    warmring_file_free(file);
}

/* ---- statistics --------------------------------------------------------------------- */

typedef struct {
    unsigned lines;
    char items[32], pid[32], chunk[32];
} seen_t;

static void see(void *context, const char *name, const char *value) {
    seen_t *seen = context;
    seen->lines++;
    if (strcmp(name, "curr_items") == 0) {
        snprintf(seen->items, sizeof seen->items, "%s", value);
    }
    if (strcmp(name, "pid") == 0) {
        snprintf(seen->pid, sizeof seen->pid, "%s", value);
    }
    if (strcmp(name, "1:chunk_size") == 0) {
        snprintf(seen->chunk, sizeof seen->chunk, "%s", value);
    }
}

static void test_stats(void) {
    warmring_file_t *file = create(fixture_servers(servers));
    fixture_flush(servers);
    for (size_t i = 0; i < 5; i++) {
        char pid[32];
        seen_t seen = {0};
        snprintf(pid, sizeof pid, "%d", fixture_pid(servers, i));
        tap_status(warmring_fleet_stats(file, i, NULL, see, &seen, NULL, 2000), WARMRING_OK,
                   "stats of server %zu", i);
        tap_string(seen.pid, pid, "are its own");
    }
    seen_t seen = {0};
    raw_store(servers, 4, "a", 0, 0, "x");
    raw_store(servers, 4, "b", 0, 0, "x");
    tap_status(warmring_fleet_stats(file, 4, NULL, see, &seen, NULL, 0), WARMRING_OK,
               "over a socket");
    tap_ok(atoi(seen.items) >= 2, "its items");
    tap_status(warmring_fleet_stats(file, 4, "slabs", see, &seen, NULL, 0), WARMRING_OK, "a group");
    tap_string(seen.chunk, "96", "has lines of its own");
    tap_status(warmring_fleet_stats(file, 4, "nonsense", see, &seen, NULL, 0),
               WARMRING_SERVER_ERROR, "no such group");
    tap_contains(warmring_error_detail(), fixture_address(servers, 4), "with the server");
    tap_status(warmring_fleet_stats(file, 4, "a\r\nflush_all", see, &seen, NULL, 0),
               WARMRING_BAD_ARGUMENT, "no second command");
    tap_status(warmring_fleet_stats(file, 5, NULL, see, &seen, NULL, 0), WARMRING_BAD_ARGUMENT,
               "no such server");
    tap_status(warmring_fleet_stats(file, 0, NULL, NULL, &seen, NULL, 0), WARMRING_BAD_ARGUMENT,
               "NULL");
    fixture_stop(servers, 1);
    int64_t begun = wall_ms();
    tap_status(warmring_fleet_stats(file, 1, NULL, see, &seen, NULL, 300), WARMRING_TIMEOUT,
               "one that hangs");
    tap_ok(wall_ms() - begun <= 300 + tap_slack_ms(), "in time");
    fixture_continue(servers, 1);
    fixture_kill(servers, 2);
    tap_status(warmring_fleet_stats(file, 2, NULL, see, &seen, NULL, 0), WARMRING_CONNECT_FAILED,
               "one that is away");
    fixture_restart(servers, 2);
    warmring_file_free(file);
}

int main(void) {
    servers = fixture_start(4, NULL);
    test_transports(test_fence);
    test_use_transport("auto");
    test_together();
    test_bound();
    fixture_add_unix(servers);
    test_stats();
    tap_status(warmring_fleet_announce(NULL, NULL, 0), WARMRING_BAD_ARGUMENT, "NULL");
    fixture_free(servers);
    return tap_done();
}
