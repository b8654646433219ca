/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every verb against a real memcached over a bare connection: what it answers
 * in each situation, on TCP and on a unix socket; without a reply; without
 * CAS; and what the probe makes of servers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lib/fixture.h"
#include "../lib/tap.h"
#include "meta_support.h"
#include "net/transport_meta.h"

enum { WAIT_MS = 2000, ROOM = 2 << 20 };

static wr_meta_connection_t *connection;
static char room[ROOM];
static buffer_sink_t sink;

static wr_request_t get(const char *key) {
    wr_request_t request = request_of(WR_GET, key, NULL);
    request.sink = &sink.sink;
    return request;
}

static void check(wr_request_t *request, warmring_status_t expected, const char *what) {
    tap_status(run(connection, request, WAIT_MS), expected, "%s", what);
    tap_ok(!connection->base.broken, "... and the connection lives");
}

static void set(const char *key, const char *value, uint32_t expiration) {
    wr_request_t request = request_of(WR_SET, key, value);
    request.expiration = expiration;
    check(&request, WARMRING_OK, "set");
}

static void expect_value(const char *key, const char *value) {
    wr_request_t request = get(key);
    if (tap_status(run(connection, &request, WAIT_MS), WARMRING_OK, "get %s", key)) {
        tap_bytes(request.value_out, request.value_length, value, strlen(value), "value of %s",
                  key);
    }
}

static void expect_miss(const char *key) {
    wr_request_t request = get(key);
    check(&request, WARMRING_NOT_FOUND, "a miss");
}

static uint64_t cas_of(const char *key) {
    wr_request_t request = get(key);
    check(&request, WARMRING_OK, "get for its token");
    return request.cas_out;
}

static void test_reads(void) {
    expect_miss("read");
    wr_request_t store = request_of(WR_SET, "read", "some value");
    store.flags = 4294967295u;
    store.expiration = 100;
    check(&store, WARMRING_OK, "set with flags and TTL");
    tap_ok(store.sent, "was sent");

    wr_request_t request = get("read");
    check(&request, WARMRING_OK, "get");
    tap_bytes(request.value_out, request.value_length, "some value", 10, "value");
    tap_int(request.flags_out, 4294967295u, "flags");
    tap_ok(request.cas_out != 0, "token");
    tap_int(request.ttl, WR_TTL_UNKNOWN, "no TTL unless asked for");

    request = get("read");
    request.wants_ttl = true;
    check(&request, WARMRING_OK, "get with TTL");
    tap_ok(request.ttl >= 98 && request.ttl <= 100, "TTL is %d", (int)request.ttl);

    set("never", "", 0);
    request = get("never");
    request.wants_ttl = true;
    check(&request, WARMRING_OK, "get of an empty value");
    tap_int(request.ttl, WR_TTL_NEVER, "never expires");
    tap_ok(request.value_length == 0 && request.value_out != NULL, "and is a hit");
}

static void test_sinks(void) {
    set("sunk", "0123456789", 0);
    buffer_sink_t small = buffer_sink(room, 9);
    wr_request_t request = request_of(WR_GET, "sunk", NULL);
    request.sink = &small.sink;
    check(&request, WARMRING_BUFFER_TOO_SMALL, "a value that does not fit");
    tap_int((int64_t)request.value_length, 10, "tells its length");
    request = request_of(WR_GET, "sunk", NULL);
    check(&request, WARMRING_OK, "a read without sink");
    expect_value("sunk", "0123456789");
}

static void test_large(void) {
    size_t length = 1000000;
    char *value = malloc(length);
    for (size_t i = 0; i < length; i++) {
        value[i] = (char)(i * 31 + i / 1000);
    }
    wr_request_t request = request_of(WR_SET, "large", NULL);
    request.value = (warmring_bytes_t){value, length};
    check(&request, WARMRING_OK, "set of a megabyte");
    request = get("large");
    check(&request, WARMRING_OK, "get of a megabyte");
    tap_ok(request.value_length == length && memcmp(request.value_out, value, length) == 0,
           "comes back whole");
    request = request_of(WR_GET, "large", NULL);
    check(&request, WARMRING_OK, "dropped");
    free(value);

    char *huge = calloc(1, 1100000);
    request = request_of(WR_SET, "large", NULL);
    request.value = (warmring_bytes_t){huge, 1100000};
    check(&request, WARMRING_TOO_LARGE, "set of more than the server takes");
    tap_contains(warmring_error_detail(), "object too large", "says so");
    expect_miss("large");
    free(huge);
}

static void test_stores(void) {
    wr_request_t request = request_of(WR_ADD, "store", "b");
    check(&request, WARMRING_OK, "add");
    check(&request, WARMRING_NOT_STORED, "add again");
    request = request_of(WR_REPLACE, "store", "c");
    check(&request, WARMRING_OK, "replace");
    request = request_of(WR_REPLACE, "nothing", "c");
    check(&request, WARMRING_NOT_STORED, "replace of nothing");
    request = request_of(WR_APPEND, "store", "d");
    check(&request, WARMRING_OK, "append");
    request = request_of(WR_PREPEND, "store", "b");
    check(&request, WARMRING_OK, "prepend");
    expect_value("store", "bcd");
    request = request_of(WR_APPEND, "nothing", "d");
    check(&request, WARMRING_NOT_STORED, "append to nothing");
    request = request_of(WR_PREPEND, "nothing", "d");
    check(&request, WARMRING_NOT_STORED, "prepend to nothing");
}

static void test_cas(void) {
    set("cas", "1", 0);
    wr_request_t request = request_of(WR_CAS, "cas", "2");
    request.cas = cas_of("cas");
    check(&request, WARMRING_OK, "cas");
    check(&request, WARMRING_EXISTS, "cas with an old token");
    expect_value("cas", "2");
    request.key = bytes_of("nothing");
    check(&request, WARMRING_NOT_FOUND, "cas of nothing");
    request.cas = 0;
    check(&request, WARMRING_BAD_ARGUMENT, "cas with token 0");
    tap_ok(!request.sent, "is not sent");
    expect_miss("nothing");
}

/* Commands bound to the item that they were meant for. */
static void test_bound(void) {
    static const struct {
        wr_verb_t verb;
        const char *value;
        const char *then;
        warmring_status_t missing;
    } cases[] = {
        {WR_APPEND, "2", "12", WARMRING_NOT_STORED},
        {WR_PREPEND, "2", "21", WARMRING_NOT_STORED},
        {WR_INCREMENT, NULL, "4", WARMRING_NOT_FOUND},
        {WR_DECREMENT, NULL, "0", WARMRING_NOT_FOUND},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *name = wr_verb_info(cases[i].verb)->name;
        set("bound", "1", 0);
        wr_request_t request = request_of(cases[i].verb, "bound", cases[i].value);
        request.delta = 3;
        request.cas = cas_of("bound");
        check(&request, WARMRING_OK, name);
        expect_value("bound", cases[i].then);
        check(&request, WARMRING_EXISTS, name);
        expect_value("bound", cases[i].then);
        request.key = bytes_of("nothing");
        check(&request, cases[i].missing, name);
        expect_miss("nothing");
    }
}

static void test_deletes(void) {
    set("delete", "1", 0);
    wr_request_t request = request_of(WR_DELETE, "delete", NULL);
    check(&request, WARMRING_OK, "delete");
    check(&request, WARMRING_NOT_FOUND, "delete again");
    set("delete", "1", 0);
    request = request_of(WR_UNLEASE, "delete", NULL);
    request.cas = cas_of("delete") + 1;
    check(&request, WARMRING_EXISTS, "delete bound to another token");
    request.cas--;
    check(&request, WARMRING_OK, "delete bound to its token");
    check(&request, WARMRING_NOT_FOUND, "and again");
}

static wr_request_t lease(const char *key) {
    wr_request_t request = request_of(WR_LEASE, key, NULL);
    check(&request, WARMRING_OK, "lease");
    tap_ok(request.cas_out != 0, "has a token");
    return request;
}

static warmring_status_t fill(const char *key, uint64_t cas) {
    wr_request_t request = request_of(WR_CAS, key, "filled");
    request.cas = cas;
    return run(connection, &request, WAIT_MS);
}

static void run_verb(wr_verb_t verb, const char *key, const char *value,
                     warmring_status_t expected) {
    wr_request_t request = request_of(verb, key, value);
    request.delta = 1;
    check(&request, expected, "a verb on a stub");
}

/* The table of what a stub goes through. */
static void test_leases(void) {
    wr_request_t held = lease("stub");
    wr_request_t second = request_of(WR_LEASE, "stub", NULL);
    check(&second, WARMRING_NOT_STORED, "a second lease");
    wr_request_t seen = get("stub");
    seen.wants_ttl = true;
    check(&seen, WARMRING_OK, "a stub is an empty item");
    tap_int(seen.flags_out, STUB_FLAGS, "with the reserved flags");
    tap_int((int64_t)seen.value_length, 0, "of no length");
    tap_ok(seen.ttl > STUB_LIFETIME - 3 && seen.ttl <= STUB_LIFETIME, "and a short life");
    tap_status(fill("stub", held.cas_out), WARMRING_OK, "a fill undisturbed");
    expect_value("stub", "filled");

    held = lease("deleted");
    run_verb(WR_DELETE, "deleted", NULL, WARMRING_OK);
    tap_status(fill("deleted", held.cas_out), WARMRING_NOT_FOUND, "a fill after a delete");
    held = lease("deleted");
    wr_request_t old = held;
    run_verb(WR_DELETE, "deleted", NULL, WARMRING_OK);
    held = lease("deleted");
    tap_status(fill("deleted", old.cas_out), WARMRING_EXISTS, "another's lease");
    tap_status(fill("deleted", held.cas_out), WARMRING_OK, "whose fill is done");

    held = lease("overwritten");
    set("overwritten", "new", 0);
    tap_status(fill("overwritten", held.cas_out), WARMRING_EXISTS, "a fill after a set");
    held = lease("appended");
    run_verb(WR_APPEND, "appended", "x", WARMRING_OK);
    tap_status(fill("appended", held.cas_out), WARMRING_EXISTS, "a fill after an append");

    held = lease("touched");
    run_verb(WR_TOUCH, "touched", NULL, WARMRING_OK);
    run_verb(WR_ADD, "touched", "x", WARMRING_NOT_STORED);
    run_verb(WR_INCREMENT, "touched", NULL, WARMRING_NOT_NUMERIC);
    tap_status(fill("touched", held.cas_out), WARMRING_OK, "a fill after touch, add and incr");

    held = lease("flushed");
    wr_request_t flush = request_of(WR_FLUSH, "", NULL);
    check(&flush, WARMRING_OK, "flush");
    tap_status(fill("flushed", held.cas_out), WARMRING_NOT_FOUND, "a fill after a flush");
}

static void test_touch(void) {
    set("touch", "t", 10);
    wr_request_t request = request_of(WR_TOUCH, "touch", NULL);
    request.expiration = 1000;
    check(&request, WARMRING_OK, "touch");
    request = get("touch");
    request.wants_ttl = true;
    check(&request, WARMRING_OK, "get");
    tap_ok(request.ttl > 990, "touched to %d", (int)request.ttl);
    request = get("touch");
    request.verb = WR_GET_AND_TOUCH;
    request.expiration = 0;
    check(&request, WARMRING_OK, "get and touch");
    tap_bytes(request.value_out, request.value_length, "t", 1, "has the value");
    request = get("touch");
    request.wants_ttl = true;
    check(&request, WARMRING_OK, "get");
    tap_int(request.ttl, WR_TTL_NEVER, "touched to never");
    request = request_of(WR_TOUCH, "nothing", NULL);
    check(&request, WARMRING_NOT_FOUND, "touch of nothing");
    request = get("nothing");
    request.verb = WR_GET_AND_TOUCH;
    check(&request, WARMRING_NOT_FOUND, "get and touch of nothing");
}

static void test_expirations(void) {
    uint32_t now = (uint32_t)time(NULL);
    set("hour", "h", now + 3600);
    wr_request_t request = get("hour");
    request.wants_ttl = true;
    check(&request, WARMRING_OK, "an absolute time");
    tap_ok(request.ttl > 3590 && request.ttl <= 3602, "about %d seconds ahead", (int)request.ttl);
    set("past", "p", 2592001);
    expect_miss("past");
    set("late", "l", UINT32_MAX);
    expect_value("late", "l");
}

static void expect_number(wr_verb_t verb, const char *key, uint64_t delta, const uint64_t *initial,
                          uint64_t number) {
    wr_request_t request = request_of(verb, key, NULL);
    request.delta = delta;
    request.initial = initial;
    request.expiration = 100;
    check(&request, WARMRING_OK, "counter");
    tap_ok(request.number == number, "is %llu", (unsigned long long)request.number);
}

static void test_counters(void) {
    static const uint64_t initial = 7, most = UINT64_MAX;
    run_verb(WR_INCREMENT, "count", NULL, WARMRING_NOT_FOUND);
    expect_number(WR_INCREMENT, "count", 5, &initial, 7);
    expect_number(WR_INCREMENT, "count", 5, &initial, 12);
    expect_number(WR_DECREMENT, "count", 5, NULL, 7);
    expect_number(WR_DECREMENT, "count", 100, NULL, 0);
    expect_number(WR_INCREMENT, "top", 0, &most, UINT64_MAX);
    expect_number(WR_INCREMENT, "top", 2, NULL, 1);
    expect_number(WR_DECREMENT, "down", 1, &initial, 7);
    wr_request_t request = get("count");
    request.wants_ttl = true;
    check(&request, WARMRING_OK, "get");
    tap_ok(request.ttl > 90, "the initial value came with a TTL");
    set("padded", "10", 0);
    expect_number(WR_DECREMENT, "padded", 1, NULL, 9);
    expect_number(WR_DECREMENT, "padded", 1, NULL, 8);
    set("word", "abc", 0);
    run_verb(WR_INCREMENT, "word", NULL, WARMRING_NOT_NUMERIC);
}

static void quiet(wr_verb_t verb, const char *key, const char *value) {
    wr_request_t request = request_of(verb, key, value);
    request.noreply = true;
    request.delta = 1;
    request.cas = 1;
    check(&request, WARMRING_OK, "without reply");
}

/* Whatever lines a command without reply draws, the next answer is right. */
static void test_noreply(void) {
    for (int verb = 0; verb < WR_VERBS; verb++) {
        for (int again = 0; again < 2; again++) {
            bool reads = verb == WR_GET || verb == WR_GET_AND_TOUCH || verb == WR_LEASE;
            if (!reads) {
                quiet((wr_verb_t)verb, "quiet", "12");
                quiet((wr_verb_t)verb, "absent", "ab");
                quiet(WR_DELETE, "absent", NULL);
            }
        }
        set("loud", "loud", 0);
        expect_value("loud", "loud");
    }
    for (int i = 0; i < 1000; i++) {
        wr_request_t request = request_of(WR_DELETE, "absent", NULL);
        request.noreply = true;
        if (run(connection, &request, WAIT_MS) != WARMRING_OK) {
            tap_ok(false, "delete without reply");
        }
    }
    expect_value("loud", "loud");
    char *huge = calloc(1, 1100000);
    wr_request_t request = request_of(WR_SET, "loud", NULL);
    request.value = (warmring_bytes_t){huge, 1100000};
    request.noreply = true;
    check(&request, WARMRING_OK, "too large without reply");
    expect_miss("loud");
    free(huge);
}

static void test_all(const char *address) {
    tap_note("on %s", address);
    connection = must_open(address);
    test_reads();
    test_sinks();
    test_large();
    test_stores();
    test_cas();
    test_bound();
    test_deletes();
    test_leases();
    test_touch();
    test_expirations();
    test_counters();
    test_noreply();
    must_close(connection);
}

static void test_without_cas(void) {
    static const char *const arguments[] = {"-C", NULL};
    fixture_t *fixture = fixture_start(1, arguments);
    connection = must_open(fixture_address(fixture, 0));
    wr_request_t request = request_of(WR_LEASE, "k", NULL);
    check(&request, WARMRING_OK, "lease on a server without CAS");
    tap_int((int64_t)request.cas_out, 0, "has token 0");
    must_close(connection);
    fixture_free(fixture);
}

int main(void) {
    fixture_t *fixture = fixture_start(1, NULL);
    size_t local = fixture_add_unix(fixture);
    sink = buffer_sink(room, sizeof room);
    test_all(fixture_address(fixture, 0));
    test_all(fixture_address(fixture, local));

    tap_status(try_probe(fixture_address(fixture, 0), WAIT_MS, &connection), WARMRING_OK, "probe");
    set("probed", "p", 0);
    must_close(connection);
    fixture_free(fixture);
    test_without_cas();
    return tap_done();
}
