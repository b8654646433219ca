/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that was restarted while its connections were idle: what may be
 * sent twice succeeds, what may not tells that its result is unknown.
 */
#include "net.h"

#include <string.h>

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

/* An increment that was sent may have been done; one that was not, was not. */
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
        tap_status(calls[i].request.status, lost ? WARMRING_CONNECTION_LOST : WARMRING_NOT_FOUND,
                   "a batch with an increment at %d: request %d", increment, i);
    }
    wr_server_release(server);
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

int main(void) {
    fixture = fixture_start(1, NULL);
    config = net_config(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(&cases[i]);
    }
    check_batch(-1, false);
    check_batch(2, false);
    check_batch(0, true);
    check_bound();
    fixture_free(fixture);
    net_free(&config);
    return tap_done();
}
