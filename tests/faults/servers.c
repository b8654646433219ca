/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of real servers under the public interface: restarted between and
 * inside operations, stopped and continued, all of them down.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "tests/lib/fixture.h"

enum { SERVERS = 3, SICK = 1 };

static fixture_t *fixture;
static warmring_t *client;
static char sick_key[KEY_SIZE], well_key[KEY_SIZE];

static void store_all(void) {
    if (operate(client, SET, sick_key, LONG_MS) != WARMRING_OK ||
        operate(client, SET, well_key, LONG_MS) != WARMRING_OK) {
        tap_bail("cannot store: %s", warmring_error_detail());
    }
}

static void begin(const char *const *options) {
    unsigned next = 0;
    client = faults_open(fixture_servers(fixture), options);
    key_of(client, fixture_address(fixture, SICK), &next, sick_key);
    key_of(client, fixture_address(fixture, 0), &next, well_key);
    store_all();
}

static void end(void) {
    warmring_close(client);
    tap_int((int64_t)sockets_to(fixture_port(fixture, SICK)), 0, "no socket is left");
}

static void expect_others(const char *when) {
    for (operation_t operation = 0; operation < OPERATIONS; operation++) {
        if (operation != INCREMENT) {
            tap_status(operate(client, operation, well_key, LONG_MS), WARMRING_OK,
                       "%s: %s on another server", when, operation_names[operation]);
        }
    }
}

/* ---- restarts --------------------------------------------------------------------- */

static const struct {
    operation_t operation;
    warmring_status_t status;
} after_restart[] = {{GET, WARMRING_NOT_FOUND},
                     {SET, WARMRING_OK},
                     {MULTI, WARMRING_NOT_FOUND},
                     {INCREMENT, WARMRING_CONNECTION_LOST}};

static void test_restart_between(void) {
    for (size_t i = 0; i < sizeof after_restart / sizeof after_restart[0]; i++) {
        operation_t operation = after_restart[i].operation;
        begin(NULL);
        fixture_restart(fixture, SICK);
        tap_status(operate(client, operation, sick_key, LONG_MS), after_restart[i].status,
                   "%s after a restart", operation_names[operation]);
        tap_status(operate(client, SET, sick_key, LONG_MS), WARMRING_OK, "... the next call");
        tap_ok(!server_counters(client, fixture_address(fixture, SICK)).down, "... not down");
        expect_others("restarted");
        end();
    }
}

typedef struct {
    operation_t operation;
    warmring_status_t status;
    char text[512];
    int64_t took;
} flight_t;

static void *fly(void *argument) {
    flight_t *flight = argument;
    int64_t begun = now_ms();
    flight->status = operate(client, flight->operation, sick_key, LONG_MS);
    flight->took = now_ms() - begun;
    snprintf(flight->text, sizeof flight->text, "%s", warmring_error_detail());
    return NULL;
}

/* Killed while it holds the command, and started again. */
static void test_restart_inside(operation_t operation) {
    pthread_t thread;
    flight_t flight = {.operation = operation};
    begin(NULL);
    fixture_stop(fixture, SICK);
    pthread_create(&thread, NULL, fly, &flight);
    usleep(100000);
    fixture_kill(fixture, SICK);
    pthread_join(thread, NULL);
    tap_ok(flight.status == WARMRING_CONNECTION_LOST || flight.status == WARMRING_CONNECT_FAILED,
           "%s while the server is killed: %s", operation_names[operation],
           warmring_status_name(flight.status));
    tap_contains(flight.text, fixture_address(fixture, SICK), "... names it");
    tap_ok(flight.took <= LONG_MS + tap_slack_ms(), "... in time");
    fixture_restart(fixture, SICK);
    tap_status(operate(client, SET, sick_key, LONG_MS), WARMRING_OK, "... the next call");
    expect_others("killed");
    end();
}

/* ---- stopped and continued ---------------------------------------------------------- */

static void test_stopped(operation_t operation) {
    begin(NULL);
    fixture_stop(fixture, SICK);
    int64_t begun = now_ms();
    tap_status(operate(client, operation, sick_key, SHORT_MS), WARMRING_TIMEOUT,
               "%s on a stopped server", operation_names[operation]);
    in_time(begun, SHORT_MS, true, operation_names[operation]);
    tap_contains(warmring_error_detail(), fixture_address(fixture, SICK), "... names it");
    tap_contains(warmring_error_detail(), "no answer within ", "... and the cause");
    tap_int(server_counters(client, fixture_address(fixture, SICK)).connections, 0,
            "... the connection is closed");
    expect_others("stopped");
    fixture_continue(fixture, SICK);
    warmring_status_t status = operate(client, GET, sick_key, LONG_MS);
    tap_status(status, WARMRING_OK, "... the next call after it goes on");
    end();
}

/* A multi get over all of them: the others' keys come. */
static void test_multi(void (*hurt)(fixture_t *, size_t), void (*heal)(fixture_t *, size_t),
                       const char *what) {
    const char *const keys[KEYS] = {well_key, sick_key, well_key};
    warmring_status_t status[KEYS];
    begin(NULL);
    hurt(fixture, SICK);
    int64_t begun = now_ms();
    operate_on_all(client, keys, SHARED_MS, status);
    in_time(begun, SHARED_MS, false, what);
    tap_ok(status[1] > WARMRING_EXISTS, "%s: its key: %s", what, warmring_status_name(status[1]));
    tap_status(status[0], WARMRING_OK, "%s: another's", what);
    tap_status(status[2], WARMRING_OK, "%s: again", what);
    heal(fixture, SICK);
    begun = now_ms();
    operate_on_all(client, keys, LONG_MS, status);
    tap_ok(status[1] == WARMRING_OK || status[1] == WARMRING_NOT_FOUND, "%s: and after it: %s",
           what, warmring_status_name(status[1]));
    end();
}

/* ---- all down -------------------------------------------------------------------------- */

static void test_all_down(void) {
    const char *const options[] = {"failure_limit", "1", "retry_ms", "300", NULL};
    begin(options);
    for (size_t i = 0; i < SERVERS; i++) {
        fixture_kill(fixture, i);
    }
    for (operation_t operation = 0; operation < OPERATIONS; operation++) {
        int64_t begun = now_ms();
        warmring_status_t status = operate(client, operation, sick_key, LONG_MS);
        tap_ok(status == WARMRING_CONNECT_FAILED || status == WARMRING_CONNECTION_LOST ||
                   status == WARMRING_SERVER_DOWN,
               "all are down: %s: %s", operation_names[operation], warmring_status_name(status));
        tap_contains(warmring_error_detail(), fixture_address(fixture, SICK), "... names it");
        in_time(begun, 0, false, "... at once");
    }
    const char *const keys[KEYS] = {sick_key, well_key, sick_key};
    warmring_status_t status[KEYS];
    operate_on_all(client, keys, LONG_MS, status);
    for (size_t i = 0; i < KEYS; i++) {
        tap_ok(status[i] > WARMRING_EXISTS, "... key %zu of a multi get: %s", i,
               warmring_status_name(status[i]));
    }
    for (size_t i = 0; i < SERVERS; i++) {
        fixture_restart(fixture, i);
    }
    int64_t begun = now_ms();
    warmring_status_t back;
    do {
        back = operate(client, SET, sick_key, LONG_MS);
        usleep(5000);
    } while (back == WARMRING_SERVER_DOWN && now_ms() - begun < LONG_MS);
    tap_status(back, WARMRING_OK, "all are back, and so is the key's server");
    tap_status(operate(client, GET, sick_key, LONG_MS), WARMRING_OK, "with what is stored");
    end();
}

/* ---- more connections than the server takes --------------------------------------------- */

enum { CLIENTS = 64 };

/* It says "ERROR Too many open connections" and closes at once, so that the
 * first command may meet a reset before the words are read. */
static bool is_refusal(warmring_status_t status) {
    return status == WARMRING_SERVER_ERROR || status == WARMRING_CONNECTION_LOST ||
           status == WARMRING_CONNECT_FAILED || status == WARMRING_PROTOCOL_ERROR;
}

static void test_too_many(void) {
    static const char *const arguments[] = {"-c", "40", "-t", "1", NULL};
    fixture_t *small = fixture_start(1, arguments);
    warmring_t *clients[CLIENTS];
    size_t refused = 0;
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = faults_open(fixture_address(small, 0), NULL);
        int64_t begun = now_ms();
        warmring_status_t status = operate(clients[i], SET, "key", LONG_MS);
        if (status != WARMRING_OK) {
            tap_ok(is_refusal(status), "client %zu is too many: %s", i,
                   warmring_status_name(status));
            tap_contains(warmring_error_detail(), fixture_address(small, 0), "... names it");
            in_time(begun, 0, false, "... at once");
            tap_note("%s", warmring_error_detail());
            refused++;
        }
    }
    tap_ok(refused > 0 && refused < CLIENTS, "%zu of %d clients are too many", refused, CLIENTS);
    for (size_t i = 0; i < CLIENTS - 1; i++) {
        warmring_close(clients[i]);
    }
    int64_t begun = now_ms();
    warmring_status_t status;
    do { /* the server has to see that the others are gone */
        status = operate(clients[CLIENTS - 1], SET, "key", LONG_MS);
        usleep(5000);
    } while (status != WARMRING_OK && now_ms() - begun < LONG_MS);
    tap_status(status, WARMRING_OK, "the last one is served when the others have gone");
    warmring_close(clients[CLIENTS - 1]);
    fixture_free(small);
}

static void run(void) {
    fixture = fixture_start(SERVERS, NULL);
    test_restart_between();
    for (operation_t operation = 0; operation < OPERATIONS; operation++) {
        test_restart_inside(operation);
        test_stopped(operation);
    }
    test_multi(fixture_stop, fixture_continue, "one is stopped");
    test_multi(fixture_kill, fixture_restart, "one is killed");
    test_all_down();
    fixture_free(fixture);
    test_too_many();
}

int main(void) {
    test_transports(run);
    return tap_done();
}
