/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each verb against a real memcached: ascii, binary, and a unix socket; what
 * was stored is looked at over a socket of the test's own.
 */
#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *kind;
static wr_server_t *server;
static const fixture_t *servers;
static size_t which;
static net_call_t call;

static warmring_status_t run(wr_verb_t verb, const char *key, const char *value) {
    return net_do(&call, server, verb, key, value);
}

static void sees(const char *key, const char *expected, const char *what) {
    char command[300];
    char reply[4096];
    snprintf(command, sizeof command, "get %s\r\n", key);
    fixture_raw(servers, which, command, "END\r\n", reply, sizeof reply);
    tap_string(reply, expected, "%s: %s", kind, what);
}

static void gets_value(const char *key, const char *value, uint32_t flags) {
    tap_status(run(WR_GET, key, NULL), WARMRING_OK, "%s: get %s", kind, key);
    tap_bytes(call.request.value_out, call.request.value_length, value, strlen(value),
              "%s: its value", kind);
    tap_int(call.request.flags_out, flags, "%s: its flags", kind);
    tap_ok(call.request.cas_out != 0, "%s: it has a cas", kind);
    tap_int(call.request.ttl, WR_TTL_UNKNOWN, "%s: its ttl is not known", kind);
    tap_ok(call.request.sent, "%s: it was sent", kind);
    tap_ok(call.request.opened_at != 0 && call.request.opened_at <= wr_now(),
           "%s: the connection's age is told", kind);
}

static void check_stores(void) {
    net_call(&call, server, WR_SET, "a", "alpha");
    call.request.flags = 0xfedcba98u;
    tap_status(net_run(&call, 5000), WARMRING_OK, "%s: set", kind);
    gets_value("a", "alpha", 0xfedcba98u);
    sees("a", "VALUE a 4275878552 5\r\nalpha\r\nEND\r\n", "what set stored");

    tap_status(run(WR_GET, "none", NULL), WARMRING_NOT_FOUND, "%s: get of nothing", kind);
    tap_status(run(WR_ADD, "a", "x"), WARMRING_NOT_STORED, "%s: add on something", kind);
    tap_status(run(WR_ADD, "b", "beta"), WARMRING_OK, "%s: add", kind);
    tap_status(run(WR_REPLACE, "b", "bravo"), WARMRING_OK, "%s: replace", kind);
    tap_status(run(WR_REPLACE, "none", "x"), WARMRING_NOT_STORED, "%s: replace of nothing", kind);
    tap_status(run(WR_APPEND, "b", "!"), WARMRING_OK, "%s: append", kind);
    tap_status(run(WR_PREPEND, "b", "<"), WARMRING_OK, "%s: prepend", kind);
    tap_status(run(WR_APPEND, "none", "x"), WARMRING_NOT_STORED, "%s: append to nothing", kind);
    tap_status(run(WR_PREPEND, "none", "x"), WARMRING_NOT_STORED, "%s: prepend to nothing", kind);
    gets_value("b", "<bravo!", 0);

    tap_status(run(WR_SET, "empty", NULL), WARMRING_OK, "%s: set of an empty value", kind);
    gets_value("empty", "", 0);
    tap_ok(call.request.value_out != NULL, "%s: an empty hit has a place", kind);
    tap_status(run(WR_DELETE, "a", NULL), WARMRING_OK, "%s: delete", kind);
    tap_status(run(WR_DELETE, "a", NULL), WARMRING_NOT_FOUND, "%s: delete of nothing", kind);
    sees("a", "END\r\n", "what delete left");
}

static void check_cas(void) {
    run(WR_SET, "c", "one");
    run(WR_GET, "c", NULL);
    uint64_t cas = call.request.cas_out;

    net_call(&call, server, WR_CAS, "c", "two");
    call.request.cas = cas;
    call.request.flags = 7;
    tap_status(net_run(&call, 5000), WARMRING_OK, "%s: cas", kind);
    gets_value("c", "two", 7);

    net_call(&call, server, WR_CAS, "c", "three");
    call.request.cas = cas;
    tap_status(net_run(&call, 5000), WARMRING_EXISTS, "%s: cas with an old token", kind);
    net_call(&call, server, WR_CAS, "none", "three");
    call.request.cas = cas;
    tap_status(net_run(&call, 5000), WARMRING_NOT_FOUND, "%s: cas of nothing", kind);
    net_call(&call, server, WR_CAS, "c", "three");
    tap_status(net_run(&call, 5000), WARMRING_BAD_ARGUMENT, "%s: cas with zero", kind);
    tap_ok(!call.request.sent, "%s: is not sent", kind);
    gets_value("c", "two", 7);
}

static uint64_t lease(const char *key) {
    tap_status(run(WR_LEASE, key, NULL), WARMRING_OK, "%s: lease %s", kind, key);
    tap_ok(call.request.cas_out != 0, "%s: it has a cas", kind);
    return call.request.cas_out;
}

static warmring_status_t with_cas(wr_verb_t verb, const char *key, const char *value,
                                  uint64_t cas) {
    net_call(&call, server, verb, key, value);
    call.request.cas = cas;
    return net_run(&call, 5000);
}

static void check_leases(void) {
    uint64_t cas = lease("l");
    sees("l", "VALUE l 1465011283 0\r\n\r\nEND\r\n", "a stub");
    run(WR_GET, "l", NULL);
    tap_ok(wr_is_stub(&call.request), "%s: is seen as a stub", kind);
    tap_status(run(WR_LEASE, "l", NULL), WARMRING_NOT_STORED, "%s: lease of a stub", kind);
    tap_status(with_cas(WR_CAS, "l", "filled", cas), WARMRING_OK, "%s: fill", kind);
    gets_value("l", "filled", 0);
    tap_status(run(WR_LEASE, "l", NULL), WARMRING_NOT_STORED, "%s: lease of a value", kind);
    tap_status(with_cas(WR_UNLEASE, "l", NULL, cas), WARMRING_EXISTS,
               "%s: unlease of what was filled", kind);
    gets_value("l", "filled", 0);

    cas = lease("m");
    tap_status(with_cas(WR_UNLEASE, "m", NULL, cas), WARMRING_OK, "%s: unlease", kind);
    tap_status(run(WR_GET, "m", NULL), WARMRING_NOT_FOUND, "%s: leaves nothing", kind);
    tap_status(with_cas(WR_UNLEASE, "m", NULL, cas), WARMRING_NOT_FOUND, "%s: unlease of nothing",
               kind);
    tap_status(with_cas(WR_UNLEASE, "m", NULL, 0), WARMRING_BAD_ARGUMENT, "%s: unlease with zero",
               kind);
    cas = lease("n");
    run(WR_DELETE, "n", NULL);
    tap_status(with_cas(WR_CAS, "n", "x", cas), WARMRING_NOT_FOUND, "%s: fill of a deleted stub",
               kind);
}

static warmring_status_t count(wr_verb_t verb, const char *key, uint64_t delta,
                               const uint64_t *initial) {
    net_call(&call, server, verb, key, NULL);
    call.request.delta = delta;
    call.request.initial = initial;
    return net_run(&call, 5000);
}

static void check_counters(void) {
    uint64_t initial = UINT64_C(18446744073709551615);
    tap_status(count(WR_INCREMENT, "n0", 1, NULL), WARMRING_NOT_FOUND, "%s: no counter", kind);
    tap_status(run(WR_GET, "n0", NULL), WARMRING_NOT_FOUND, "%s: none was made", kind);
    tap_status(count(WR_INCREMENT, "n0", 1, &initial), WARMRING_OK, "%s: made", kind);
    tap_ok(call.request.number == initial, "%s: the initial number", kind);
    tap_status(count(WR_INCREMENT, "n0", 3, &initial), WARMRING_OK, "%s: counted", kind);
    tap_int((int64_t)call.request.number, 2, "%s: around 2^64", kind);
    tap_status(count(WR_INCREMENT, "n0", UINT64_C(5000000000), NULL), WARMRING_OK,
               "%s: by more than 2^32", kind);
    tap_int((int64_t)call.request.number, INT64_C(5000000002), "%s: exactly", kind);
    tap_status(count(WR_DECREMENT, "n0", 2, NULL), WARMRING_OK, "%s: down", kind);
    tap_int((int64_t)call.request.number, INT64_C(5000000000), "%s: exactly", kind);
    tap_status(count(WR_DECREMENT, "n0", UINT64_MAX, NULL), WARMRING_OK, "%s: below 0", kind);
    tap_int((int64_t)call.request.number, 0, "%s: stops at 0", kind);

    run(WR_SET, "word", "abc");
    tap_status(count(WR_INCREMENT, "word", 1, NULL), WARMRING_NOT_NUMERIC, "%s: a word", kind);
    tap_contains(warmring_error_detail(), wr_server_address(server), "%s: names it", kind);
    tap_status(count(WR_DECREMENT, "word", 1, &initial), WARMRING_NOT_NUMERIC, "%s: down", kind);
    tap_status(run(WR_GET, "word", NULL), WARMRING_OK, "%s: and on", kind);
}

static void check_expiry(void) {
    char reply[256];
    net_call(&call, server, WR_SET, "e", "soon");
    call.request.expiration = 1;
    tap_status(net_run(&call, 5000), WARMRING_OK, "%s: set for a second", kind);
    net_call(&call, server, WR_SET, "t", "later");
    call.request.expiration = 1;
    net_run(&call, 5000);
    net_call(&call, server, WR_TOUCH, "t", NULL);
    call.request.expiration = 1000;
    tap_status(net_run(&call, 5000), WARMRING_OK, "%s: touch", kind);
    fixture_raw(servers, which, "mg t t\r\n", "\r\n", reply, sizeof reply);
    tap_ok(strcmp(reply, "HD t1000\r\n") == 0 || strcmp(reply, "HD t999\r\n") == 0,
           "%s: the touched ttl is %s", kind, reply);
    net_call(&call, server, WR_TOUCH, "none", NULL);
    tap_status(net_run(&call, 5000), WARMRING_NOT_FOUND, "%s: touch of nothing", kind);

    net_call(&call, server, WR_GET_AND_TOUCH, "t", NULL);
    call.request.expiration = (uint32_t)time(NULL) + 5000;
    tap_status(net_run(&call, 5000), WARMRING_OK, "%s: get and touch", kind);
    tap_bytes(call.request.value_out, call.request.value_length, "later", 5, "%s: value", kind);
    fixture_raw(servers, which, "mg t t\r\n", "\r\n", reply, sizeof reply);
    tap_ok(strncmp(reply, "HD t499", 7) == 0 || strncmp(reply, "HD t500", 7) == 0,
           "%s: a Unix time: %s", kind, reply);
    net_call(&call, server, WR_GET_AND_TOUCH, "none", NULL);
    tap_status(net_run(&call, 5000), WARMRING_NOT_FOUND, "%s: of nothing", kind);

    usleep(2100000);
    tap_status(run(WR_GET, "e", NULL), WARMRING_NOT_FOUND, "%s: the second is over", kind);
    tap_status(run(WR_GET, "t", NULL), WARMRING_OK, "%s: touched in time", kind);
}

static void check_quiet(void) {
    static const wr_verb_t verbs[] = {WR_SET, WR_ADD, WR_REPLACE, WR_APPEND, WR_DELETE};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        for (int round = 0; round < 2; round++) {
            net_call(&call, server, verbs[i], round == 0 ? "q" : "q none", "v");
            call.request.key.length = round == 0 ? 1 : 2;
            call.request.key.data = round == 0 ? "q" : "qq";
            call.request.noreply = true;
            tap_status(net_run(&call, 5000), WARMRING_OK, "%s: %s noreply", kind,
                       wr_verb_info(verbs[i])->name);
        }
    }
    tap_status(run(WR_GET, "q", NULL), WARMRING_NOT_FOUND, "%s: all of them worked", kind);
    tap_status(run(WR_SET, "q", "loud"), WARMRING_OK, "%s: loud again", kind);
    gets_value("q", "loud", 0);
    tap_int(net_counters(server).connections, 1, "%s: one connection", kind);
}

/* What a probe stores is there as long as the probe may take, however long the
 * server pauses. */
static void check_life_of_probe(void) {
    enum { SECONDS = 100 };
    static char dump[1 << 16];
    wr_probe_t probe = {0, 0};
    time_t now = time(NULL), until = 0;
    tap_status(wr_server_probe_cas(server, wr_deadline_in_ms(SECONDS * 1000), &probe), WARMRING_OK,
               "%s: a probe with much time", kind);
    fixture_raw(servers, which, "lru_crawler metadump all\r\n", "END\r\n", dump, sizeof dump);
    const char *found = dump;
    while ((found = strstr(found, "key=warmring%3Aprobe")) != NULL) {
        const char *end = strstr(found, "exp=");
        time_t that = end != NULL ? strtoll(end + 4, NULL, 10) : 0;
        until = that > until ? that : until;
        found++;
    }
    tap_ok(until >= now + SECONDS && until < now + SECONDS + 60, "%s: its item is there for %lld s",
           kind, (long long)(until - now));
}

static void check_rest(void) {
    char small[4];
    run(WR_SET, "big", "abcde");
    net_call(&call, server, WR_GET, "big", NULL);
    call.room = small;
    call.capacity = sizeof small;
    tap_status(net_run(&call, 5000), WARMRING_BUFFER_TOO_SMALL, "%s: no room", kind);
    tap_int((int64_t)call.request.value_length, 5, "%s: how much is needed", kind);
    net_call(&call, server, WR_GET, "big", NULL);
    call.request.sink = NULL;
    tap_status(net_run(&call, 5000), WARMRING_OK, "%s: no sink", kind);

    wr_probe_t first = {0, 0};
    wr_probe_t second = {0, 0};
    wr_deadline_t deadline = wr_deadline_in_ms(5000);
    tap_status(wr_server_probe_cas(server, deadline, &first), WARMRING_OK, "%s: probe", kind);
    run(WR_SET, "x", "y");
    tap_status(wr_server_probe_cas(server, deadline, &second), WARMRING_OK, "%s: again", kind);
    tap_ok(second.cas == first.cas + 2, "%s: two stores later", kind);
    tap_ok(first.started > time(NULL) - 600 && first.started <= time(NULL), "%s: when it started",
           kind);
    tap_int(second.started, first.started, "%s: which does not change", kind);

    tap_status(run(WR_FLUSH, NULL, NULL), WARMRING_OK, "%s: flush", kind);
    sees("big", "END\r\n", "is empty");
    warmring_server_counters_t counters = net_counters(server);
    tap_ok(counters.hits > 0 && counters.misses > 0 && counters.requests > counters.hits,
           "%s: counted", kind);
    tap_int((int64_t)(counters.timeouts + counters.connect_errors + counters.lost_connections +
                      counters.fast_failures),
            0, "%s: no fault", kind);
    tap_string(counters.address, wr_server_address(server), "%s: its address", kind);
}

static void check_all(const char *name, const fixture_t *fixture, size_t index,
                      wr_net_config_t *config) {
    kind = name;
    which = index;
    servers = fixture;
    server = net_server(fixture, index, config);
    tap_string(wr_server_address(server), fixture_address(fixture, index), "%s: address", kind);
    check_quiet();
    check_stores();
    check_cas();
    check_leases();
    check_counters();
    check_expiry();
    check_rest();
    check_life_of_probe();
    wr_server_release(server);
}

static void check_without_cas(wr_net_config_t *config) {
    const char *arguments[] = {"-C", NULL};
    fixture_t *fixture = fixture_start(1, arguments);
    wr_probe_t probe = {0, 0};
    server = net_server(fixture, 0, config);
    tap_status(wr_server_probe_cas(server, wr_deadline_in_ms(5000), &probe), WARMRING_NOT_SUPPORTED,
               "a server without cas is found out");
    tap_contains(warmring_error_detail(), "-C", "and why");
    wr_server_release(server);
    fixture_free(fixture);
}

/* Whatever was in that memory, a question asks nothing but what it is told to. */
static void test_ask(void) {
    wr_request_t request;
    memset(&request, 0xff, sizeof request);
    wr_ask(&request, server, WR_GET, (warmring_bytes_t){"key", 3});
    const void *choices[] = {&request.noreply, &request.wants_ttl, &request.unbiased,
                             &request.patient};
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        unsigned char byte; /* 0xff is no bool to compare with */
        memcpy(&byte, choices[i], 1);
        tap_int(byte, 0, "ask: choice %zu", i);
    }
    tap_ok(request.server == server && request.verb == WR_GET, "ask: server and verb");
    tap_bytes(request.key.data, request.key.length, "key", 3, "ask: key");
    tap_ok(request.value.data == NULL && request.value.length == 0, "ask: no value");
    tap_ok(request.sink == NULL && request.initial == NULL, "ask: no sink, no initial value");
    tap_ok(request.flags == 0 && request.expiration == 0, "ask: no flags, no expiration");
    tap_ok(request.cas == 0 && request.delta == 0, "ask: no cas, no delta");
    tap_int(request.opened_before, 0, "ask: any connection");
}

int main(void) {
    fixture_t *fixture = fixture_start(2, NULL);
    size_t local = fixture_add_unix(fixture);
    memcached_st *memc = memcached_create(NULL);
    memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, 1);
    memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, "not:ours:");
    memcached_server_add(memc, "192.0.2.1", 1);
    wr_net_config_t meta = net_config(NULL);
    test_use_transport("libmemcached");
    wr_net_config_t ascii = net_config(NULL);
    wr_net_config_t binary = net_config(memc);
    memcached_free(memc);

    check_all("meta", fixture, 0, &meta);
    fixture_flush(fixture);
    check_all("ascii", fixture, 0, &ascii);
    check_all("binary", fixture, 1, &binary);
    check_all("unix", fixture, local, &ascii);
    fixture_flush(fixture);
    check_all("unix meta", fixture, local, &meta);
    check_without_cas(&meta);
    check_without_cas(&ascii);
    check_without_cas(&binary);

    test_ask();
    fixture_free(fixture);
    net_free(&meta);
    net_free(&ascii);
    net_free(&binary);
    return tap_done();
}
