/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers that answer what memcached would not, or not at all: never a miss,
 * never a success, never later than the deadline.
 */
#include "net.h"

#include <string.h>

static wr_net_config_t config;

typedef struct {
    const char *what;
    fake_mode_t mode;
    const char *text;
    wr_verb_t verb;
    warmring_status_t status;
    const char *detail;
} case_t;

static const case_t cases[] = {
    {"an error of the server on get", FAKE_SAY, "SERVER_ERROR no way\r\n", WR_GET,
     WARMRING_SERVER_ERROR, "no way"},
    {"out of memory on get", FAKE_SAY, "SERVER_ERROR out of memory writing get response\r\n",
     WR_GET, WARMRING_SERVER_ERROR, "out of memory"},
    {"ERROR on get", FAKE_SAY, "ERROR\r\n", WR_GET, WARMRING_PROTOCOL_ERROR, "unexpected"},
    {"CLIENT_ERROR on get", FAKE_SAY, "CLIENT_ERROR bad\r\n", WR_GET, WARMRING_SERVER_ERROR, "bad"},
    {"junk on get", FAKE_SAY, "blah blah\r\n", WR_GET, WARMRING_PROTOCOL_ERROR, "unexpected"},
    {"another key's value", FAKE_SAY, "VALUE other 0 1 1\r\nx\r\nEND\r\n", WR_GET,
     WARMRING_PROTOCOL_ERROR, "unexpected"},
    {"half a value, then the end", FAKE_CLOSE, "VALUE k 0 10 1\r\nabc", WR_GET,
     WARMRING_CONNECTION_LOST, "closed by the server"},
    {"half a value, then silence", FAKE_HANG, "VALUE k 0 10 1\r\nabc", WR_GET, WARMRING_TIMEOUT,
     "no answer within "},
    {"silence", FAKE_HANG, "", WR_SET, WARMRING_TIMEOUT, "no answer within "},
    {"the end", FAKE_CLOSE, "", WR_SET, WARMRING_CONNECTION_LOST, "closed by the server"},
    {"a reset", FAKE_RESET, "", WR_SET, WARMRING_CONNECTION_LOST, "reset by peer"},
    {"an error on set", FAKE_SAY, "SERVER_ERROR out of memory storing object\r\n", WR_SET,
     WARMRING_SERVER_ERROR, "out of memory"},
    {"ERROR on delete", FAKE_SAY, "ERROR\r\n", WR_DELETE, WARMRING_PROTOCOL_ERROR, "unexpected"},
    {"out of memory on increment", FAKE_SAY, "SERVER_ERROR out of memory in incr\r\n", WR_INCREMENT,
     WARMRING_SERVER_ERROR, "out of memory"},
    {"an error on touch", FAKE_SAY, "SERVER_ERROR no\r\n", WR_TOUCH, WARMRING_SERVER_ERROR,
     "server answered: an error"},
    {"flush refused", FAKE_SAY, "CLIENT_ERROR flush_all not allowed\r\n", WR_FLUSH,
     WARMRING_SERVER_ERROR, "not allowed"},
};

static void check(const case_t *c) {
    fake_t *fake = fake_start(c->mode, c->text);
    wr_server_t *server = wr_server_create("127.0.0.1", fake_port(fake), &config);
    net_call_t call;
    net_call(&call, server, c->verb, "k", "v");
    wr_time_t start = wr_now();
    tap_status(net_run(&call, 100), c->status, "%s", c->what);
    tap_ok(net_ms_since(start) <= 100 + tap_slack_ms(), "%s: in time", c->what);
    tap_ok(call.request.sent, "%s: was sent", c->what);
    tap_contains(warmring_error_detail(), c->detail, "%s: the cause", c->what);
    tap_ok(strncmp(warmring_error_detail(), wr_server_address(server),
                   strlen(wr_server_address(server))) == 0,
           "%s: the server comes first", c->what);
    tap_int(net_counters(server).connections, 0, "%s: the connection is given up", c->what);
    wr_server_release(server);
    fake_stop(fake);
}

static void check_mute(void) {
    fake_t *fake = fake_start(FAKE_MUTE, "");
    wr_server_t *server = wr_server_create("127.0.0.1", fake_port(fake), &config);
    net_call_t call;
    net_call(&call, server, WR_SET, "k", "v");
    wr_time_t start = wr_now();
    tap_status(net_run(&call, 100), WARMRING_TIMEOUT, "a server that accepts and says nothing");
    tap_ok(!call.request.sent, "never sees the request");
    tap_ok(net_ms_since(start) <= 100 + tap_slack_ms(), "and is left in time");
    wr_server_release(server);
    fake_stop(fake);
}

static void check_batch(void) {
    fake_t *fake = fake_start(FAKE_SAY, "VALUE a 0 1 1\r\nA\r\nVALUE x 0 1 1\r\nX\r\nEND\r\n");
    wr_server_t *server = wr_server_create("127.0.0.1", fake_port(fake), &config);
    net_call_t calls[3];
    wr_request_t *requests[3];
    const char *keys[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        net_call(&calls[i], server, WR_GET, keys[i], NULL);
        requests[i] = &calls[i].request;
    }
    wr_run(requests, 3, wr_deadline_in_ms(1000));
    tap_status(calls[0].request.status, WARMRING_OK, "the key before a foreign one is a hit");
    tap_status(calls[1].request.status, WARMRING_PROTOCOL_ERROR, "the next is no miss");
    tap_status(calls[2].request.status, WARMRING_PROTOCOL_ERROR, "nor the one after");

    fake_set(fake, FAKE_SAY, "VALUE c 0 1 1\r\nC\r\nVALUE a 0 1 1\r\nA\r\nEND\r\n");
    wr_run(requests, 3, wr_deadline_in_ms(1000));
    tap_status(calls[0].request.status, WARMRING_OK, "a server that answers in its own order");
    tap_status(calls[1].request.status, WARMRING_NOT_FOUND, "is understood");
    tap_status(calls[2].request.status, WARMRING_OK, "as well");
    tap_bytes(calls[2].request.value_out, calls[2].request.value_length, "C", 1, "key by key");
    wr_server_release(server);
    fake_stop(fake);
}

int main(void) {
    config = net_config(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(&cases[i]);
    }
    check_mute();
    check_batch();
    net_free(&config);
    return tap_done();
}
