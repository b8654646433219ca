/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that was restarted while its connections were idle: what may be
 * sent twice succeeds, what may not tells that its result is unknown.
 */
#include "net.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

static fixture_t *fixture;
static wr_net_config_t config;
static net_call_t call;

typedef struct {
    wr_verb_t verb;
    warmring_status_t status;
} case_t;

static const case_t cases[] = {
    {WR_GET, WARMRING_NOT_FOUND},
    {WR_SET, WARMRING_OK},
    {WR_REPLACE, WARMRING_NOT_STORED},
    {WR_DELETE, WARMRING_NOT_FOUND},
    {WR_TOUCH, WARMRING_NOT_FOUND},
    {WR_GET_AND_TOUCH, WARMRING_NOT_FOUND},
    {WR_FLUSH, WARMRING_OK},
    {WR_ADD, WARMRING_CONNECTION_LOST},
    {WR_APPEND, WARMRING_CONNECTION_LOST},
    {WR_PREPEND, WARMRING_CONNECTION_LOST},
    {WR_CAS, WARMRING_CONNECTION_LOST},
    {WR_UNLEASE, WARMRING_CONNECTION_LOST},
    {WR_LEASE, WARMRING_CONNECTION_LOST},
    {WR_INCREMENT, WARMRING_CONNECTION_LOST},
    {WR_DECREMENT, WARMRING_CONNECTION_LOST},
};

static void check(const case_t *c) {
    const char *name = wr_verb_info(c->verb)->name;
    wr_server_t *server = net_server(fixture, 0, &config);
    char before[512];
    net_do(&call, server, WR_SET, "k", "v");
    net_do(&call, server, WR_APPEND, "none", "v");
    strncpy(before, warmring_error_detail(), sizeof before - 1);
    before[sizeof before - 1] = '\0';
    fixture_restart(fixture, 0);
    net_call(&call, server, c->verb, "k", "1");
    call.request.cas = call.request.verb == WR_CAS || call.request.verb == WR_UNLEASE;
    call.request.delta = 1;
    tap_status(net_run(&call, 5000), c->status, "%s over a stale connection", name);
    tap_ok(call.request.sent, "%s was sent", name);
    bool lost = c->status == WARMRING_CONNECTION_LOST;
    tap_int((int64_t)net_counters(server).retries, !lost, "%s: sent again or not", name);
    if (!lost) {
        tap_string(warmring_error_detail(), before, "%s: leaves no detail", name);
    }
    tap_ok(!wr_server_is_down(server), "%s: tells nothing about the server", name);
    tap_status(net_do(&call, server, WR_SET, "k", "v"), WARMRING_OK, "%s: and on", name);
    tap_int((int64_t)net_counters(server).lost_connections, 1, "%s: one was lost", name);
    wr_server_release(server);
}

/* The server is gone: what was sent over the old connection may have been done,
 * though no other could be opened. */
static void check_gone(const case_t *c) {
    const char *name = wr_verb_info(c->verb)->name;
    bool reads = wr_verb_info(c->verb)->reads;
    wr_server_t *server = net_server(fixture, 0, &config);
    net_do(&call, server, WR_SET, "k", "v");
    fixture_kill(fixture, 0);
    net_call(&call, server, c->verb, "k", "1");
    call.request.cas = call.request.verb == WR_CAS || call.request.verb == WR_UNLEASE;
    call.request.delta = 1;
    tap_status(net_run(&call, 5000), reads ? WARMRING_CONNECT_FAILED : WARMRING_CONNECTION_LOST,
               "%s over a stale connection, the server is gone", name);
    tap_ok(reads || call.request.sent, "%s was sent", name);
    wr_server_release(server);
    fixture_restart(fixture, 0);
}

/* Several servers at once: of tries that are made good no text is left, of a
 * server that is gone it is, whatever becomes of the others. */
static void check_texts_of_batch(bool gone) {
    fixture_t *two = fixture_start(2, NULL);
    wr_server_t *servers[2];
    net_call_t calls[2];
    wr_request_t *requests[2];
    for (size_t i = 0; i < 2; i++) {
        servers[i] = net_server(two, i, &config);
        net_do(&calls[i], servers[i], WR_SET, "k", "v");
        fixture_kill(two, i);
        if (i == 1 || !gone) {
            fixture_restart(two, i);
        }
        net_call(&calls[i], servers[i], WR_GET, "k", NULL);
        requests[i] = &calls[i].request;
    }
    wr_fail(WARMRING_BAD_KEY, "of an earlier call");
    wr_run(requests, 2, wr_deadline_in_ms(5000));
    tap_status(calls[1].request.status, WARMRING_NOT_FOUND, "one that is back answers");
    if (gone) {
        tap_status(calls[0].request.status, WARMRING_CONNECT_FAILED, "one that is gone does not");
        tap_contains(warmring_error_detail(), fixture_address(two, 0), "which is told");
    } else {
        tap_status(calls[0].request.status, WARMRING_NOT_FOUND, "and so does the other");
        tap_string(warmring_error_detail(), "of an earlier call", "which leaves no text");
    }
    for (size_t i = 0; i < 2; i++) {
        wr_server_release(servers[i]);
    }
    fixture_free(two);
}

/* An increment that was sent may have been done: it is lost. One that was not
 * (libmemcached sends it when its turn comes) was not done: it is sent. The
 * reads around it are repeated. */
static void check_batch(int increment, bool lost) {
    wr_server_t *server = net_server(fixture, 0, &config);
    net_call_t calls[3];
    wr_request_t *requests[3];
    net_do(&call, server, WR_SET, "k", "v");
    fixture_restart(fixture, 0);
    for (int i = 0; i < 3; i++) {
        net_call(&calls[i], server, i == increment ? WR_INCREMENT : WR_GET, "k", NULL);
        requests[i] = &calls[i].request;
    }
    wr_run(requests, 3, wr_deadline_in_ms(5000));
    for (int i = 0; i < 3; i++) {
        bool is_lost = i == increment && lost;
        tap_status(calls[i].request.status, is_lost ? WARMRING_CONNECTION_LOST : WARMRING_NOT_FOUND,
                   "a batch with an increment at %d: request %d", increment, i);
    }
    if (lost) {
        tap_contains(warmring_error_detail(), "connection lost", "why stays to be read");
    }
    tap_ok(!wr_server_is_down(server), "a stale connection tells nothing about the server");
    wr_server_release(server);
}

/* Bytes nobody asked for, on a connection that is idle: what may be sent twice
 * is, and nothing is taken for an answer. */
static void check_out_of_step(wr_verb_t verb, warmring_status_t status) {
    static const fake_step_t late[] = {FAKE_MEMCACHED_UNTIL("last"),
                                       FAKE_ANSWER(fake_memcached, NULL), FAKE_PAUSE(20),
                                       FAKE_SAY("END\r\n"), FAKE_MEMCACHED()};
    static const fake_step_t good[] = {FAKE_MEMCACHED()};
    const char *name = wr_verb_info(verb)->name;
    fake_server_t *fake = fake_server_start(late);
    wr_server_t *server = net_fake(fake, &config);
    tap_status(net_do(&call, server, WR_GET, "last", NULL), WARMRING_OK, "an answer");
    usleep(60000);
    fake_server_script(fake, good);
    tap_status(net_do(&call, server, verb, "k", "v"), status, "... a stray END, then %s", name);
    if (verb == WR_GET) {
        tap_bytes(call.request.value_out, call.request.value_length, FAKE_VALUE,
                  sizeof FAKE_VALUE - 1, "... has its own answer");
    }
    tap_int(net_counters(server).connections, status == WARMRING_OK,
            "... and that connection is closed");
    tap_ok(!wr_server_is_down(server), "... the server is not down");
    tap_status(net_do(&call, server, WR_GET, "k", NULL), WARMRING_OK, "... and on");
    wr_server_release(server);
    fake_server_free(fake);
}

static char *refuse(wr_sink_t *sink, size_t length) {
    net_call_t *own = (net_call_t *)sink;
    if (length > own->capacity) {
        wr_fail(WARMRING_BUFFER_TOO_SMALL, "a value of %zu bytes is too large", length);
        return NULL;
    }
    return own->room;
}

/* A value that is too large for the caller, and cut: what the next try says
 * counts, and the text of the first is gone. */
static size_t begin_value(void *data, const char *command, char *answer, size_t capacity) {
    const char *opaque = strstr(command, " O");
    (void)data;
    return (size_t)snprintf(answer, capacity, "VA 300 f0 c1%s\r\nabc",
                            opaque != NULL ? opaque : "");
}

static void check_cut_refusal(void) {
    static const fake_step_t cut[] = {FAKE_MEMCACHED_UNTIL("cut"), FAKE_ANSWER(begin_value, NULL),
                                      FAKE_PAUSE(20), FAKE_END};
    static const fake_step_t good[] = {FAKE_MEMCACHED()};
    fake_server_t *fake = fake_server_start(cut);
    wr_server_t *server = net_fake(fake, &config);
    tap_status(net_do(&call, server, WR_GET, "k", NULL), WARMRING_OK, "an answer");
    fake_server_script(fake, good);
    wr_fail(WARMRING_BAD_ARGUMENT, "an earlier failure");
    net_call(&call, server, WR_GET, "cut", NULL);
    call.sink.reserve = refuse;
    tap_status(net_run(&call, 5000), WARMRING_OK, "... then one that is refused and cut");
    tap_int((int64_t)net_counters(server).retries, 1, "... is asked for again");
    tap_string(warmring_error_detail(), "an earlier failure", "... which leaves no detail");
    wr_server_release(server);
    fake_server_free(fake);
}

/* A token wants a connection as old as itself: the stale ones are no help. */
static void check_bound(void) {
    wr_server_t *server = net_server(fixture, 0, &config);
    net_do(&call, server, WR_SET, "k", "v");
    wr_time_t then = wr_now();
    fixture_restart(fixture, 0);
    net_do(&call, server, WR_SET, "k", "v");
    net_call(&call, server, WR_CAS, "k", "v");
    call.request.cas = call.request.verb == WR_CAS || call.request.verb == WR_UNLEASE;
    call.request.opened_before = then;
    tap_status(net_run(&call, 1000), WARMRING_CONNECTION_LOST, "no connection survived");
    tap_ok(!call.request.sent, "so nothing was sent");
    wr_server_release(server);
}

static void run_all(void) {
    fixture = fixture_start(1, NULL);
    config = net_config(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(&cases[i]);
        check_gone(&cases[i]);
    }
    check_batch(-1, false);
    check_batch(2, test_is_meta());
    check_batch(0, true);
    check_texts_of_batch(false);
    check_texts_of_batch(true);
    if (test_is_meta()) {
        check_out_of_step(WR_GET, WARMRING_OK);
        check_out_of_step(WR_SET, WARMRING_OK);
        check_out_of_step(WR_INCREMENT, WARMRING_PROTOCOL_ERROR);
        check_cut_refusal();
    }
    check_bound();
    fixture_free(fixture);
    net_free(&config);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
