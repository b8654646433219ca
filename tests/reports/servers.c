/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public reports about memcached clients, as cases of our own: servers that
 * die, hang or come back, and processes that fork. docs/reports.md lists all
 * cases; numbers are those of issues on GitHub.
 */
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/calls.h"
#include "tests/lib/child.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { SERVERS = 3, MANY = 60, CALL_MS = 150, ADDRESS_SIZE = 128 };

static fixture_t *fixture;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The server that owns a key. */
static size_t seat_of(warmring_t *client, const char *key) {
    char address[ADDRESS_SIZE];
    if (warmring_locate(client, key, strlen(key), address, sizeof address, NULL) != WARMRING_OK) {
        tap_bail("cannot locate %s", key);
    }
    size_t seat = 0;
    while (strcmp(fixture_address(fixture, seat), address) != 0) {
        seat++;
    }
    return seat;
}

/* The next key of that server. */
static void key_at(warmring_t *client, size_t seat, unsigned *next, char *key) {
    do {
        snprintf(key, CALLS_KEY_SIZE, "key:%u", (*next)++);
    } while (seat_of(client, key) != seat);
}

/* ---- servers that die -------------------------------------------------------- */

/* Symptom: once each server has failed and been ejected, the ring is empty and
 * the next request ends the process (twemproxy #563), or all of them go wrong
 * for good. Here nobody is ejected: a key keeps its owner, a call tells that it
 * is down, and all work again when the servers do. */
static void all_servers_away(void) {
    static const char *const options[] = {"failure_limit", "1", "retry_ms", "1", NULL};
    char key[SERVERS][CALLS_KEY_SIZE];
    unsigned next = 0;
    warmring_t *client = steps_open(fixture_servers(fixture), options);
    for (size_t i = 0; i < SERVERS; i++) {
        key_at(client, i, &next, key[i]);
        tap_status(store_key(client, key[i], "before"), WARMRING_OK, "server %zu works", i);
    }
    for (size_t i = 0; i < SERVERS; i++) {
        fixture_kill(fixture, i);
    }
    for (unsigned round = 0; round < 4; round++) {
        for (size_t i = 0; i < SERVERS; i++) {
            answer_t answer = read_key(client, key[i]);
            warmring_status_t status = answer.status;
            tap_ok(status == WARMRING_CONNECT_FAILED || status == WARMRING_SERVER_DOWN,
                   "%s: all are away, round %u, server %zu: %s", test_transport(), round, i,
                   warmring_status_name(status));
            tap_int((int64_t)seat_of(client, key[i]), (int64_t)i, "the key keeps its owner");
        }
    }
    for (size_t i = 0; i < SERVERS; i++) {
        fixture_restart(fixture, i);
    }
    usleep(20000); /* past the back-off of 1 ms, which doubles as it fails */
    for (size_t i = 0; i < SERVERS; i++) {
        warmring_status_t status = WARMRING_SERVER_DOWN;
        for (int tries = 0; status == WARMRING_SERVER_DOWN && tries < 400; tries++) {
            status = store_key(client, key[i], "after");
            usleep(status == WARMRING_SERVER_DOWN ? 5000 : 0);
        }
        tap_status(status, WARMRING_OK, "server %zu is back", i);
        raw_holds(fixture, i, key[i], "after", "and has the key, as before");
    }
    warmring_close(client);
}

/* Symptom: a server is restarted while connections to it are idle, and the first
 * call on each of them fails, or the server is even taken for down
 * (libmemcached #5, Memcached-Java-Client #31, memcached #1247). Here what may
 * be repeated is, on a new connection: the first call has the answer of the new
 * server. What must not be done twice tells that the connection was lost, once. */
static void restarted_while_idle(void) {
    char key[CALLS_KEY_SIZE];
    unsigned next = 0;
    warmring_t *client = steps_open(fixture_servers(fixture), NULL);
    key_at(client, 0, &next, key);
    for (size_t i = 0; i < READ_WAYS; i++) {
        tap_status(store_key(client, key, "before"), WARMRING_OK, "a value");
        fixture_restart(fixture, 0);
        answer_t answer = read_ways[i].call(client, key, 0);
        tap_string(shown(&answer), NULL, "%s: %s after a restart: a miss, as it is",
                   test_transport(), read_ways[i].name);
    }
    for (size_t i = 0; i < STORE_WAYS; i++) {
        fixture_restart(fixture, 0);
        tap_status(store_ways[i].call(client, key, "after", 0, 0), WARMRING_OK,
                   "%s after a restart", store_ways[i].name);
        raw_holds(fixture, 0, key, "after", "and it is there");
    }
    fixture_restart(fixture, 0);
    tap_status(erase_key(client, key), WARMRING_NOT_FOUND, "delete after a restart");
    tap_status(store_key(client, key, "1"), WARMRING_OK, "a number");
    fixture_restart(fixture, 0);
    tap_status(warmring_increment(client, key, strlen(key), 1, NULL, 0, NULL, NULL),
               WARMRING_CONNECTION_LOST, "an increment is not repeated");
    tap_status(store_key(client, key, "1"), WARMRING_OK, "the next call works");
    tap_int((int64_t)counters_of_seat(client, 0).fast_failures, 0, "the server was never down");
    warmring_close(client);
}

/* ---- servers that hang ------------------------------------------------------- */

/* Symptom: a server that accepts and says nothing (stopped, swapping, out of
 * connections) holds up every call for the whole timeout, five seconds by
 * default, for as long as it hangs (pylibmc #56, folsom #43, node-memcached
 * #273). Here two calls wait for their own deadline; then it is down, and calls
 * fail at once, while keys of other servers are served. */
static void a_stopped_server(void) {
    static const char *const options[] = {"failure_limit", "2", "retry_ms", "60000", NULL};
    enum { CALLS = 20 };
    char sick[CALLS_KEY_SIZE], well[CALLS_KEY_SIZE];
    unsigned next = 0;
    warmring_t *client = steps_open(fixture_servers(fixture), options);
    warmring_call_t call = {.size = sizeof call, .deadline_ms = CALL_MS};
    warmring_item_t item = WARMRING_ITEM_INIT;
    key_at(client, 1, &next, sick);
    key_at(client, 2, &next, well);
    tap_status(store_key(client, sick, "old"), WARMRING_OK, "a key of the server");
    tap_status(store_key(client, well, "good"), WARMRING_OK, "a key of another");
    fixture_stop(fixture, 1);
    int timeouts = 0, down = 0, served = 0;
    int64_t begun = now_ms();
    for (int i = 0; i < CALLS; i++) {
        warmring_status_t status = warmring_get(client, sick, strlen(sick), &item, &call);
        timeouts += status == WARMRING_TIMEOUT;
        down += status == WARMRING_SERVER_DOWN;
        served += read_key(client, well).status == WARMRING_OK;
    }
    int64_t took = now_ms() - begun;
    tap_int(timeouts, 2, "%s: of %d calls two wait", test_transport(), CALLS);
    tap_int(down, CALLS - 2, "the others are told at once");
    tap_int(served, CALLS, "keys of another server are served all the time");
    tap_ok(took <= 2 * (CALL_MS + (int64_t)tap_slack_ms()) + CALLS * (int64_t)tap_slack_ms(),
           "all of them take %d ms", (int)took);
    tap_int((int64_t)counters_of_seat(client, 1).fast_failures, CALLS - 2, "and are counted");
    fixture_continue(fixture, 1);
    warmring_close(client);
}

/* Symptom: a get that timed out is answered "not found", as if the server had
 * said so (libmemcached #67, php-memcached #9). Here each way of reading says
 * TIMEOUT; the same for the servers that refuse. */
static void a_timeout_is_no_miss(void) {
    static const char *const options[] = {"failure_limit", "1000", "deadline_ms", "150", NULL};
    char key[CALLS_KEY_SIZE];
    unsigned next = 0;
    warmring_t *client = steps_open(fixture_servers(fixture), options);
    key_at(client, 1, &next, key);
    warmring_status_t status = store_key(client, key, "there");
    for (int tries = 0; status == WARMRING_TIMEOUT && tries < 50; tries++) {
        status = store_key(client, key, "there"); /* the machine is busy */
    }
    tap_status(status, WARMRING_OK, "a value");
    fixture_stop(fixture, 1);
    for (size_t i = 0; i < READ_WAYS; i++) {
        answer_t answer = read_ways[i].call(client, key, 0);
        tap_status(answer.status, WARMRING_TIMEOUT, "%s: %s of a stopped server", test_transport(),
                   read_ways[i].name);
        tap_contains(warmring_error_detail(), fixture_address(fixture, 1), "the text names it");
    }
    tap_status(store_key(client, key, "new"), WARMRING_TIMEOUT, "and so does a store");
    tap_status(erase_key(client, key), WARMRING_TIMEOUT, "and a deletion");
    fixture_kill(fixture, 1);
    for (size_t i = 0; i < READ_WAYS; i++) {
        answer_t answer = read_ways[i].call(client, key, 0);
        tap_ok(answer.status != WARMRING_OK && answer.status != WARMRING_NOT_FOUND,
               "%s of a dead server: %s", read_ways[i].name, warmring_status_name(answer.status));
    }
    fixture_restart(fixture, 1);
    warmring_close(client);
}

/* Symptom: after a timeout the late answer is still in the stream, and the next
 * read on that connection takes it: it gets the value of another key (dalli
 * #956, php-memcached #531, python-memcached #166). Here a connection whose
 * answer did not come is closed, and answers are matched with their keys. */
static void a_late_answer(void) {
    static const char *const options[] = {"failure_limit", "1000", "pool_max", "1",
                                          "deadline_ms",   "5000", NULL};
    enum { ROUNDS = 12 };
    char late[CALLS_KEY_SIZE], next_key[CALLS_KEY_SIZE];
    unsigned next = 0;
    warmring_t *client = steps_open(fixture_servers(fixture), options);
    warmring_call_t call = {.size = sizeof call, .deadline_ms = 20};
    warmring_item_t item = WARMRING_ITEM_INIT;
    key_at(client, 1, &next, late);
    key_at(client, 1, &next, next_key);
    tap_status(store_key(client, late, "value of the first"), WARMRING_OK, "a key");
    tap_status(store_key(client, next_key, "value of the second"), WARMRING_OK, "another");
    for (int round = 0; round < ROUNDS; round++) {
        fixture_stop(fixture, 1);
        warmring_status_t status = warmring_get(client, late, strlen(late), &item, &call);
        fixture_continue(fixture, 1);
        answer_t answer = read_ways[round % READ_WAYS].call(client, next_key, 0);
        tap_status(status, WARMRING_TIMEOUT, "%s: round %d: a read times out", test_transport(),
                   round);
        tap_string(shown(&answer), "value of the second", "the next one has its own value: %s",
                   read_ways[round % READ_WAYS].name);
    }
    tap_int((int64_t)counters_of_seat(client, 1).connects, ROUNDS + 1,
            "each timeout cost its connection");
    warmring_close(client);
}

/* ---- many keys --------------------------------------------------------------- */

/* Symptom: a get of many keys in which a server failed or timed out returns what
 * it has and says "success"; the rest looks like misses (php-memcached #279,
 * EnyimMemcached #171). Here the call returns the fault, each key of that server
 * has it, too, and those of the others have their values. */
static void a_partial_multi_get(bool hang) {
    char text[MANY][CALLS_KEY_SIZE];
    warmring_bytes_t keys[MANY];
    warmring_call_t call = {.size = sizeof call, .deadline_ms = 1000};
    warmring_t *client = test_open(fixture_servers(fixture));
    warmring_results_t *results = warmring_results_create();
    for (unsigned i = 0; i < MANY; i++) {
        keys[i].length = (size_t)snprintf(text[i], sizeof text[i], "part:%u", i);
        keys[i].data = text[i];
        if (store_key(client, text[i], text[i]) != WARMRING_OK) {
            tap_bail("cannot store: %s", warmring_error_detail());
        }
    }
    (hang ? fixture_stop : fixture_kill)(fixture, 1);
    const char *how = hang ? "stopped" : "dead";
    warmring_status_t status = warmring_get_multi(client, keys, MANY, results, &call);
    tap_ok(status != WARMRING_OK && status != WARMRING_NOT_FOUND, "%s: one server is %s: %s",
           test_transport(), how, warmring_status_name(status));
    int failed = 0, served = 0, wrong = 0;
    for (unsigned i = 0; i < MANY; i++) {
        const warmring_item_t *item = warmring_results_at(results, i);
        bool sick = seat_of(client, text[i]) == 1;
        bool value = item->status == WARMRING_OK && item->value.length == keys[i].length &&
                     memcmp(item->value.data, text[i], keys[i].length) == 0;
        failed += sick;
        served += !sick;
        wrong += sick ? item->status == WARMRING_OK || item->status == WARMRING_NOT_FOUND : !value;
    }
    tap_ok(failed > 0 && served > 0, "%s: %d keys of it, %d of others", how, failed, served);
    tap_int(wrong, 0, "%s: its keys have a fault, the others their values", how);
    fixture_restart(fixture, 1);
    warmring_results_free(results);
    warmring_close(client);
}

/* ---- fork -------------------------------------------------------------------- */

enum { FORK_ROUNDS = 200, CHILDREN = 3 };

/* How many reads of `key` did not answer with `value`. */
static int wrong_reads(warmring_t *client, const char *key, const char *value) {
    int wrong = 0;
    for (int i = 0; i < FORK_ROUNDS; i++) {
        answer_t answer = read_key(client, key);
        wrong += answer.status != WARMRING_OK || strcmp(answer.value, value) != 0;
    }
    return wrong;
}

/* Symptom: a child of fork() uses the socket of its parent, and each gets answers
 * that are the other's (libmemcached's wrappers: arthurnn/memcached #170, dalli
 * #440); or the child ends, says quit on it, and the parent's next read is a
 * miss (php-memcached #195). Here a child opens connections of its own, and what
 * it closes is its own. */
static void fork_and_read(void) {
    char key[CHILDREN + 1][CALLS_KEY_SIZE];
    unsigned next = 0;
    pid_t children[CHILDREN];
    warmring_t *client = test_open(fixture_servers(fixture));
    for (size_t i = 0; i <= CHILDREN; i++) {
        key_at(client, 2, &next, key[i]);
        tap_status(store_key(client, key[i], key[i]), WARMRING_OK, "a key for each process");
    }
    for (size_t i = 0; i < CHILDREN; i++) {
        children[i] = child_fork(60);
        if (children[i] == 0) {
            int wrong = wrong_reads(client, key[i], key[i]);
            warmring_close(client);
            _exit(wrong > 0);
        }
    }
    int wrong = wrong_reads(client, key[CHILDREN], key[CHILDREN]);
    for (size_t i = 0; i < CHILDREN; i++) {
        tap_int(child_wait(children[i]), 0, "%s: child %zu read its own value %d times",
                test_transport(), i, FORK_ROUNDS);
    }
    tap_int(wrong, 0, "and the parent its own");
    tap_int(wrong_reads(client, key[CHILDREN], key[CHILDREN]), 0, "also when the children ended");
    tap_int((int64_t)counters_of_seat(client, 2).connects, 1, "over the connection it had");
    warmring_close(client);
}

static void run(void) {
    fixture = fixture_start(SERVERS, NULL);
    fork_and_read();
    restarted_while_idle();
    a_late_answer();
    a_stopped_server();
    a_timeout_is_no_miss();
    a_partial_multi_get(false);
    a_partial_multi_get(true);
    all_servers_away();
    fixture_free(fixture);
}

int main(void) {
    test_transports(run);
    return tap_done();
}
