/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults on a bare connection: whatever the server does, the call ends by
 * its deadline plus slack with the right status and text, and the connection
 * is known to be of no more use.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "../lib/fake_server.h"
#include "../lib/fixture.h"
#include "../lib/tap.h"
#include "meta_support.h"
#include "net/transport_meta.h"

enum { SHORT_MS = 300, LONG_MS = 3000 };

static char room[4096];
static buffer_sink_t sink;

/* One fault: what the server does after a get (or its variant), and what the
 * call must make of it. */
typedef struct {
    const char *name;
    wr_verb_t verb;
    bool wants_whole_time; /* ends by the deadline only */
    bool lives;            /* the connection stays of use */
    warmring_status_t status;
    const char *text; /* a piece of the detail; NULL: no fault */
    fake_step_t script[6];
} fault_t;

#define ANSWER(text) \
    { FAKE_AWAIT(), FAKE_SAY(text), FAKE_HANG(), FAKE_END }
#define THEN(text, step) \
    { FAKE_AWAIT(), FAKE_SAY(text), step, FAKE_END }

static char kilobytes_of_key[10240] = "VALUE ";

static const fault_t faults[] = {
    {"a hang", WR_GET, true, false, WARMRING_TIMEOUT, "no answer within ", ANSWER("")},
    {"a hang in a line", WR_GET, true, false, WARMRING_TIMEOUT, "no answer within ",
     ANSWER("VA 3 f0")},
    {"a hang in a value", WR_GET, true, false, WARMRING_TIMEOUT, "no answer within ",
     ANSWER("VA 10 f0 c1 O0\r\nabc")},
    {"a hang before the value's end", WR_GET, true, false, WARMRING_TIMEOUT, "no answer within ",
     ANSWER("VA 3 f0 c1 O0\r\nabc\r")},
    {"a drip",
     WR_GET,
     true,
     false,
     WARMRING_TIMEOUT,
     "no answer within ",
     {FAKE_AWAIT(), FAKE_DRIP("VA 20 f0 c1 O0\r\n01234567890123456789\r\n", 100), FAKE_END}},
    {"a drip that ends in time",
     WR_GET,
     false,
     true,
     WARMRING_OK,
     NULL,
     {FAKE_AWAIT(), FAKE_DRIP("VA 3 f0 c1 O0\r\nabc\r\n", 2), FAKE_HANG(), FAKE_END}},
    {"a close",
     WR_GET,
     false,
     false,
     WARMRING_CONNECTION_LOST,
     "closed by the server",
     {FAKE_AWAIT(), FAKE_END}},
    {"a reset",
     WR_GET,
     false,
     false,
     WARMRING_CONNECTION_LOST,
     "lost",
     {FAKE_AWAIT(), FAKE_RESET(), FAKE_END}},
    {"a close in a value",
     WR_GET,
     false,
     false,
     WARMRING_CONNECTION_LOST,
     "closed",
     {FAKE_AWAIT(), FAKE_SAY("VA 10 f0 c1 O0\r\nabc"), FAKE_END}},
    {"a reset in a value",
     WR_GET,
     false,
     false,
     WARMRING_CONNECTION_LOST,
     "lost",
     {FAKE_AWAIT(), FAKE_SAY("VA 10 f0 c1 O0\r\nabc"), FAKE_PAUSE(50), FAKE_RESET(), FAKE_END}},
    {"junk", WR_GET, false, false, WARMRING_PROTOCOL_ERROR, "not a line of memcached's",
     ANSWER("\x16\x03\x01\x02\r\n")},
    {"HTML", WR_GET, false, false, WARMRING_PROTOCOL_ERROR, "not a line of memcached's",
     ANSWER("HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n<html></html>")},
    {"an endless line",
     WR_GET,
     false,
     false,
     WARMRING_PROTOCOL_ERROR,
     "longer than the limit",
     {FAKE_AWAIT(), FAKE_FLOOD("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), FAKE_END}},
    {"a classic answer", WR_GET, false, false, WARMRING_PROTOCOL_ERROR,
     "unexpected answer (of another kind)", ANSWER("VALUE other 0 3\r\nabc\r\nEND\r\n")},
    {"another command's answer", WR_GET, false, false, WARMRING_PROTOCOL_ERROR,
     "to another command", ANSWER("VA 3 f0 c1 O9\r\nabc\r\n")},
    {"another key", WR_GET, false, false, WARMRING_PROTOCOL_ERROR, "not asked for",
     ANSWER("VA 3 f0 c1 kother O0\r\nabc\r\n")},
    {"no token", WR_GET, false, false, WARMRING_PROTOCOL_ERROR, "without the flags",
     ANSWER("VA 3 f0 O0\r\nabc\r\n")},
    {"a negative length", WR_GET, false, false, WARMRING_PROTOCOL_ERROR, "bad value length",
     ANSWER("VA -5 f0 c1 O0\r\nabc\r\n")},
    {"a huge length", WR_GET, false, false, WARMRING_TOO_LARGE,
     "the value of 'key' has 999999999999 bytes, max_value_bytes is 134217728",
     ANSWER("VA 999999999999 f0 c1 O0\r\nabc\r\n")},
    {"a length too short", WR_GET, false, false, WARMRING_PROTOCOL_ERROR, "longer than announced",
     ANSWER("VA 2 f0 c1 O0\r\nabc\r\n")},
    {"a key of 10 KB",
     WR_GET,
     false,
     false,
     WARMRING_PROTOCOL_ERROR,
     "limit",
     {FAKE_AWAIT(), FAKE_BYTES(kilobytes_of_key, 10240), FAKE_HANG(), FAKE_END}},
    {"an extra END", WR_GET, false, false, WARMRING_OK, NULL,
     ANSWER("VA 3 f0 c1 O0\r\nabc\r\nEND\r\n")},
    {"half a line more", WR_GET, false, false, WARMRING_OK, NULL,
     ANSWER("VA 3 f0 c1 O0\r\nabc\r\nE")},
    {"SERVER_ERROR", WR_SET, false, true, WARMRING_SERVER_ERROR,
     "SERVER_ERROR out of memory storing object",
     ANSWER("SERVER_ERROR out of memory storing object\r\n")},
    {"too large", WR_SET, false, true, WARMRING_TOO_LARGE, "object too large",
     ANSWER("SERVER_ERROR object too large for cache\r\n")},
    {"too many connections", WR_GET, false, false, WARMRING_SERVER_ERROR,
     "ERROR Too many open connections", THEN("ERROR Too many open connections\r\n", FAKE_END)},
    {"CLIENT_ERROR", WR_SET, false, false, WARMRING_SERVER_ERROR, "CLIENT_ERROR bad data chunk",
     ANSWER("CLIENT_ERROR bad data chunk\r\nERROR\r\n")},
    {"a login wanted", WR_SET, false, false, WARMRING_AUTH_FAILED, "unauthenticated",
     ANSWER("CLIENT_ERROR unauthenticated\r\n")},
    {"ERROR", WR_SET, false, false, WARMRING_PROTOCOL_ERROR, "unexpected answer (ERROR)",
     ANSWER("ERROR\r\n")},
    {"STORED", WR_SET, false, false, WARMRING_PROTOCOL_ERROR, "not a line of memcached's",
     ANSWER("STORED\r\n")},
    {"a miss to a set", WR_SET, false, false, WARMRING_PROTOCOL_ERROR,
     "unexpected answer (of another kind)", ANSWER("EN\r\n")},
    {"a lease without token", WR_LEASE, false, false, WARMRING_PROTOCOL_ERROR, "without the flags",
     ANSWER("HD O0\r\n")},
    {"a number that is none", WR_INCREMENT, false, false, WARMRING_PROTOCOL_ERROR, "not a number",
     ANSWER("VA 3 O0\r\n1x2\r\n")},
    {"a number beyond 64 bits", WR_INCREMENT, false, false, WARMRING_PROTOCOL_ERROR, "not a number",
     ANSWER("VA 20 O0\r\n18446744073709551616\r\n")},
    {"a number too long", WR_INCREMENT, false, false, WARMRING_PROTOCOL_ERROR, "too long",
     ANSWER("VA 30 O0\r\n000000000000000000000000000001\r\n")},
};

static bool in_time(wr_time_t begun, uint32_t deadline_ms) {
    int64_t took = ms_since(begun);
    return tap_ok(took <= (int64_t)deadline_ms + tap_slack_ms(), "... after %d of %u ms", (int)took,
                  deadline_ms);
}

static void check_fault(const fault_t *fault, fake_server_t *server) {
    wr_meta_connection_t *connection = must_open(fake_server_address(server));
    wr_request_t request = request_of(fault->verb, "key", NULL);
    request.sink = &sink.sink;
    uint32_t ms = fault->wants_whole_time ? SHORT_MS : LONG_MS;
    wr_time_t begun = wr_now();
    tap_status(run(connection, &request, ms), fault->status, "%s", fault->name);
    int64_t took = ms_since(begun);
    in_time(begun, ms);
    tap_ok(!fault->wants_whole_time || took >= SHORT_MS - 1, "... not before its deadline");
    if (fault->text != NULL) {
        tap_contains(warmring_error_detail(), fault->text, "... text");
        tap_contains(warmring_error_detail(), fake_server_address(server), "... names the server");
    } else {
        tap_bytes(request.value_out, request.value_length, "abc", 3, "... value");
    }
    tap_ok(request.sent, "... was sent");
    tap_int(connection->base.broken, !fault->lives, "... whether it is broken");
    must_close(connection);
}

static void test_faults(void) {
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        fake_server_t *server = fake_server_start(faults[i].script);
        check_fault(&faults[i], server);
        fake_server_free(server);
    }
}

static void test_over_unix(void) {
    fake_server_t *server = fake_server_start_unix(faults[0].script);
    check_fault(&faults[0], server);
    fake_server_script(server, faults[4].script);
    check_fault(&faults[4], server);
    tap_int((int64_t)fake_server_connections(server), 2, "connections are counted");
    tap_int((int64_t)fake_server_commands(server), 2, "commands, too");
    fake_server_free(server);
}

static void expect_open(const char *address, warmring_status_t status, const char *text) {
    wr_meta_connection_t *connection = NULL;
    wr_time_t begun = wr_now();
    tap_status(try_open(address, SHORT_MS, &connection), status, "connect");
    in_time(begun, SHORT_MS);
    tap_contains(warmring_error_detail(), text, "... text");
    tap_contains(warmring_error_detail(), address, "... names the server");
}

static void test_connects(void) {
    char address[64];
    snprintf(address, sizeof address, "127.0.0.1:%u", fixture_free_port());
    expect_open(address, WARMRING_CONNECT_FAILED, "refused");
    expect_open("unix:/nonexistent/socket", WARMRING_CONNECT_FAILED, "No such file");

    fake_server_t *server = fake_server_start_full();
    expect_open(fake_server_address(server), WARMRING_TIMEOUT, "connect timed out after 30");
    fake_server_free(server);
}

static void test_no_descriptors(void) {
    struct rlimit before, none;
    getrlimit(RLIMIT_NOFILE, &before);
    none = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    expect_open("127.0.0.1:1", WARMRING_CONNECT_FAILED, "Too many open files");
    setrlimit(RLIMIT_NOFILE, &before);
}

/* The time was used up before: by a name that was looked up, by another server.
 * What came too late has waited for no time, not for less than none. */
static void test_passed(void) {
    fake_server_t *server = fake_server_start_deaf();
    wr_meta_connection_t *connection = must_open(fake_server_address(server));
    wr_request_t request = request_of(WR_GET, "key", NULL);
    wr_request_t *requests = &request;
    wr_time_t now = wr_now();
    wr_deadline_t passed = {.at = now - 1151 * INT64_C(1000000), .made = now};
    wr_meta_send(&connection->base, &requests, 1, passed);
    wr_meta_receive(&connection->base, &requests, 1, passed);
    tap_status(request.status, WARMRING_TIMEOUT, "the deadline has passed before");
    tap_contains(warmring_error_detail(), "no answer within 0 ms", "... text");
    must_close(connection);
    fake_server_free(server);
}

/* A server that reads nothing: neither small nor large commands hang on. */
/* Half of a short time is waited for one server of a batch, then the rest in the
 * end: the second recv must not take as long as the first. */
static void test_short_waits(void) {
    static const wr_time_t ms = 1000000;
    fake_server_t *server = fake_server_start_deaf();
    wr_meta_connection_t *connection = must_open(fake_server_address(server));
    wr_request_t request = request_of(WR_GET, "k", NULL);
    wr_request_t *pointer = &request;
    wr_deadline_t whole = wr_deadline_in_ms(20), first = whole, rest = whole;
    wr_meta_start(&connection->base, &pointer, 1, whole);
    first.at = whole.made + 10 * ms;
    tap_ok(wr_meta_await(&connection->base, first) != 0, "a first wait");
    tap_ok(connection->stream.timeout <= 11 * ms, "... of 10 ms");
    rest.made = whole.at - 6 * ms;
    wr_meta_receive(&connection->base, &pointer, 1, rest);
    tap_status(request.status, WARMRING_TIMEOUT, "... then what is left of the deadline");
    tap_ok(connection->stream.timeout <= 7 * ms, "... 6 ms, for which the timeout is set anew");
    must_close(connection);
    fake_server_free(server);
}

static void test_deaf(void) {
    static char huge[32 << 20];
    fake_server_t *server = fake_server_start_deaf();
    wr_meta_connection_t *connection = must_open(fake_server_address(server));
    wr_request_t request = request_of(WR_SET, "key", "value");
    wr_time_t begun = wr_now();
    tap_status(run(connection, &request, SHORT_MS), WARMRING_TIMEOUT, "a set to a deaf server");
    in_time(begun, SHORT_MS);
    must_close(connection);

    connection = must_open(fake_server_address(server));
    request.value = (warmring_bytes_t){huge, sizeof huge};
    begun = wr_now();
    tap_status(run(connection, &request, SHORT_MS), WARMRING_TIMEOUT, "a large set to it");
    in_time(begun, SHORT_MS);
    tap_contains(warmring_error_detail(), "not all was sent within ", "... text");
    tap_ok(request.sent, "... was sent in part");
    must_close(connection);
    fake_server_free(server);
}

/* A server that closed while the connection was idle. */
static void test_stale(void) {
    static const fake_step_t script[] = {FAKE_PAUSE(500), FAKE_RESET(), FAKE_END};
    static const struct timespec until_reset = {1, 0};
    fake_server_t *server = fake_server_start(script);
    char address[64]; /* the connection's label, which must outlive the server */
    snprintf(address, sizeof address, "%s", fake_server_address(server));
    wr_meta_connection_t *connection = must_open(address);
    nanosleep(&until_reset, NULL);
    fake_server_free(server);
    wr_request_t request = request_of(WR_SET, "key", "value");
    tap_status(run(connection, &request, SHORT_MS), WARMRING_CONNECTION_LOST, "a stale one");
    tap_ok(!request.sent, "... nothing was sent");
    must_close(connection);
}

/* The server says why and closes before the command is sent whole. */
static void test_refused_midway(void) {
    static char huge[8 << 20];
    static const fake_step_t script[] = {FAKE_SAY("ERROR Too many open connections\r\n"), FAKE_END};
    fake_server_t *server = fake_server_start(script);
    wr_meta_connection_t *connection = must_open(fake_server_address(server));
    wr_request_t request = request_of(WR_SET, "key", NULL);
    request.value = (warmring_bytes_t){huge, sizeof huge};
    wr_time_t begun = wr_now();
    warmring_status_t status = run(connection, &request, LONG_MS);
    tap_ok(status == WARMRING_SERVER_ERROR || status == WARMRING_CONNECTION_LOST,
           "refused midway: %s", warmring_status_name(status));
    in_time(begun, LONG_MS);
    tap_ok(connection->base.broken, "... broken");
    must_close(connection);
    fake_server_free(server);
}

static void test_pipeline_fault(void) {
    static const fake_step_t script[] = {FAKE_AWAIT(), FAKE_SAY("VALUE b 0 3 7\r\nabc\r\n"),
                                         FAKE_PAUSE(20), FAKE_RESET(), FAKE_END};
    fake_server_t *server = fake_server_start(script);
    wr_meta_connection_t *connection = must_open(fake_server_address(server));
    wr_request_t gets[3] = {request_of(WR_GET, "a", NULL), request_of(WR_GET, "b", NULL),
                            request_of(WR_GET, "c", NULL)};
    wr_request_t *requests[3] = {&gets[0], &gets[1], &gets[2]};
    gets[1].sink = &sink.sink;
    run_many(connection, requests, 3, LONG_MS);
    tap_status(gets[0].status, WARMRING_CONNECTION_LOST, "a list cut short: before");
    tap_status(gets[1].status, WARMRING_OK, "... what came");
    tap_status(gets[2].status, WARMRING_CONNECTION_LOST, "... after");
    must_close(connection);
    fake_server_free(server);
}

static void expect_list(const char *name, const fake_step_t *script) {
    fake_server_t *server = fake_server_start(script);
    wr_meta_connection_t *connection = must_open(fake_server_address(server));
    wr_request_t gets[2] = {request_of(WR_GET, "a", NULL), request_of(WR_GET, "b", NULL)};
    wr_request_t *requests[2] = {&gets[0], &gets[1]};
    run_many(connection, requests, 2, LONG_MS);
    tap_status(gets[1].status, WARMRING_PROTOCOL_ERROR, "%s", name);
    tap_ok(connection->base.broken, "... broken");
    must_close(connection);
    fake_server_free(server);
}

static void test_lists(void) {
    static const fake_step_t other[] = ANSWER("VALUE x 0 3 7\r\nabc\r\nEND\r\n");
    static const fake_step_t twice[] =
        ANSWER("VALUE a 0 1 7\r\na\r\nVALUE a 0 1 7\r\na\r\nEND\r\n");
    static const fake_step_t tokenless[] = ANSWER("VALUE a 0 1\r\na\r\nEND\r\n");
    expect_list("another key's item", other);
    expect_list("the same item twice", twice);
    expect_list("an item without token", tokenless);

    static const fake_step_t swapped[] =
        ANSWER("VALUE b 0 1 7\r\nb\r\nVALUE a 0 1 8\r\na\r\nEND\r\n");
    fake_server_t *server = fake_server_start(swapped);
    wr_meta_connection_t *connection = must_open(fake_server_address(server));
    wr_request_t gets[2] = {request_of(WR_GET, "a", NULL), request_of(WR_GET, "b", NULL)};
    wr_request_t *requests[2] = {&gets[0], &gets[1]};
    run_many(connection, requests, 2, LONG_MS);
    tap_ok(gets[0].cas_out == 8 && gets[1].cas_out == 7, "items in another order find their keys");
    must_close(connection);
    fake_server_free(server);
}

static void expect_probe(const char *address, warmring_status_t status, const char *text) {
    wr_meta_connection_t *connection;
    wr_time_t begun = wr_now();
    tap_status(try_probe(address, SHORT_MS, &connection), status, "probe");
    in_time(begun, SHORT_MS);
    if (status == WARMRING_OK) {
        must_close(connection);
        return;
    }
    tap_contains(warmring_error_detail(), text, "... text");
    tap_contains(warmring_error_detail(), address, "... names the server");
}

static void probe_fake(const fake_step_t *script, warmring_status_t status, const char *text) {
    fake_server_t *server = fake_server_start(script);
    expect_probe(fake_server_address(server), status, text);
    fake_server_free(server);
}

static void test_probes(void) {
    static const fake_step_t old[] = ANSWER("VERSION 1.5.22\r\nERROR\r\n");
    static const fake_step_t broken_cas[] = ANSWER("VERSION 1.6.12\r\nMN\r\n");
    static const fake_step_t first[] = ANSWER("VERSION 1.6.13\r\nMN\r\n");
    static const fake_step_t later[] = ANSWER("VERSION 2.0.0-beta\r\nMN\r\n");
    static const fake_step_t named[] = ANSWER("VERSION unknown\r\nMN\r\n");
    static const fake_step_t proxy[] = {FAKE_AWAIT(), FAKE_SAY("VERSION 0.5.0\r\n"), FAKE_END};
    static const fake_step_t closing[] = {FAKE_AWAIT(), FAKE_AWAIT(), FAKE_END};
    static const fake_step_t login[] = ANSWER("CLIENT_ERROR unauthenticated\r\n");
    static const fake_step_t html[] = ANSWER("HTTP/1.1 400 Bad Request\r\n");
    static const fake_step_t drip[] = {FAKE_DRIP("VERSION 1.6.1811111111111\r\n", 50), FAKE_END};
    probe_fake(old, WARMRING_NOT_SUPPORTED, "version 1.5.22");
    probe_fake(broken_cas, WARMRING_NOT_SUPPORTED, "memcached 1.6.13 or later");
    probe_fake(first, WARMRING_OK, "");
    probe_fake(later, WARMRING_OK, "");
    probe_fake(named, WARMRING_OK, "");
    probe_fake(proxy, WARMRING_NOT_SUPPORTED, "transport=libmemcached");
    probe_fake(closing, WARMRING_NOT_SUPPORTED, "as a proxy does");
    probe_fake(login, WARMRING_AUTH_FAILED, "wants a login");
    probe_fake(html, WARMRING_PROTOCOL_ERROR, "not memcached's");
    probe_fake(drip, WARMRING_TIMEOUT, "timed out");

    fake_server_t *silent = fake_server_start_deaf();
    expect_probe(fake_server_address(silent), WARMRING_TIMEOUT, "-B binary");
    fake_server_free(silent);
}

static void test_stopped(void) {
    fixture_t *fixture = fixture_start(1, NULL);
    wr_meta_connection_t *connection = must_open(fixture_address(fixture, 0));
    fixture_stop(fixture, 0);
    wr_request_t request = request_of(WR_GET, "key", NULL);
    wr_time_t begun = wr_now();
    tap_status(run(connection, &request, SHORT_MS), WARMRING_TIMEOUT, "a stopped server");
    in_time(begun, SHORT_MS);
    must_close(connection);
    fixture_continue(fixture, 0);
    connection = must_open(fixture_address(fixture, 0));
    tap_status(run(connection, &request, LONG_MS), WARMRING_NOT_FOUND, "goes on");
    fixture_kill(fixture, 0);
    tap_status(run(connection, &request, LONG_MS), WARMRING_CONNECTION_LOST, "and is killed");
    must_close(connection);
    fixture_free(fixture);
}

int main(void) {
    memset(kilobytes_of_key + 6, 'k', sizeof kilobytes_of_key - 6);
    sink = buffer_sink(room, sizeof room);
    test_faults();
    test_over_unix();
    test_connects();
    test_no_descriptors();
    test_deaf();
    test_short_waits();
    test_passed();
    test_stale();
    test_refused_midway();
    test_pipeline_fault();
    test_lists();
    test_probes();
    test_stopped();
    return tap_done();
}
