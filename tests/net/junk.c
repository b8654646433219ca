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
    fake_step_t script[4];
    wr_verb_t verb;
    warmring_status_t status;
    const char *detail;
} case_t;

#define SAYS(text) \
    { FAKE_GREET(), FAKE_SAY(text), FAKE_HANG(), FAKE_END }
#define CLOSES(text) \
    { FAKE_GREET(), FAKE_SAY(text), FAKE_END }
#define RESETS \
    { FAKE_GREET(), FAKE_RESET(), FAKE_END }

static const case_t cases[] = {
    {"an error of the server on get", SAYS("SERVER_ERROR no way\r\n"), WR_GET,
     WARMRING_SERVER_ERROR, "no way"},
    {"out of memory on get", SAYS("SERVER_ERROR out of memory writing get response\r\n"), WR_GET,
     WARMRING_SERVER_ERROR, "out of memory"},
    {"ERROR on get", SAYS("ERROR\r\n"), WR_GET, WARMRING_PROTOCOL_ERROR, "unexpected"},
    {"CLIENT_ERROR on get", SAYS("CLIENT_ERROR bad\r\n"), WR_GET, WARMRING_SERVER_ERROR, "bad"},
    {"junk on get", SAYS("blah blah\r\n"), WR_GET, WARMRING_PROTOCOL_ERROR, "unexpected"},
    {"another key's value", SAYS("VALUE other 0 1 1\r\nx\r\nEND\r\n"), WR_GET,
     WARMRING_PROTOCOL_ERROR, "unexpected"},
    {"half a value, then the end", CLOSES("VALUE k 0 10 1\r\nabc"), WR_GET,
     WARMRING_CONNECTION_LOST, "closed by the server"},
    {"half a value, then silence", SAYS("VALUE k 0 10 1\r\nabc"), WR_GET, WARMRING_TIMEOUT,
     "no answer within "},
    {"silence", SAYS(""), WR_SET, WARMRING_TIMEOUT, "no answer within "},
    {"the end", CLOSES(""), WR_SET, WARMRING_CONNECTION_LOST, "closed by the server"},
    {"a reset", RESETS, WR_SET, WARMRING_CONNECTION_LOST, "reset by peer"},
    {"an error on set", SAYS("SERVER_ERROR out of memory storing object\r\n"), WR_SET,
     WARMRING_SERVER_ERROR, "out of memory"},
    {"ERROR on delete", SAYS("ERROR\r\n"), WR_DELETE, WARMRING_PROTOCOL_ERROR, "unexpected"},
    {"out of memory on increment", SAYS("SERVER_ERROR out of memory in incr\r\n"), WR_INCREMENT,
     WARMRING_SERVER_ERROR, "out of memory"},
    {"an error on touch", SAYS("SERVER_ERROR no\r\n"), WR_TOUCH, WARMRING_SERVER_ERROR,
     "server answered: an error"},
    {"flush refused", SAYS("CLIENT_ERROR flush_all not allowed\r\n"), WR_FLUSH,
     WARMRING_SERVER_ERROR, "not allowed"},
};

static void check(const case_t *c) {
    fake_server_t *fake = fake_server_start(c->script);
    wr_server_t *server = net_fake(fake, &config);
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
    fake_server_free(fake);
}

static void check_mute(void) {
    fake_server_t *fake = fake_server_start_deaf();
    wr_server_t *server = net_fake(fake, &config);
    net_call_t call;
    net_call(&call, server, WR_SET, "k", "v");
    wr_time_t start = wr_now();
    tap_status(net_run(&call, 100), WARMRING_TIMEOUT, "a server that accepts and says nothing");
    tap_ok(!call.request.sent, "never sees the request");
    tap_ok(net_ms_since(start) <= 100 + tap_slack_ms(), "and is left in time");
    wr_server_release(server);
    fake_server_free(fake);
}

static void check_batch(void) {
    static const fake_step_t foreign[] =
        SAYS("VALUE a 0 1 1\r\nA\r\nVALUE x 0 1 1\r\nX\r\nEND\r\n");
    static const fake_step_t swapped[] =
        SAYS("VALUE c 0 1 1\r\nC\r\nVALUE a 0 1 1\r\nA\r\nEND\r\n");
    fake_server_t *fake = fake_server_start(foreign);
    wr_server_t *server = net_fake(fake, &config);
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

    fake_server_script(fake, swapped);
    wr_run(requests, 3, wr_deadline_in_ms(1000));
    tap_status(calls[0].request.status, WARMRING_OK, "a server that answers in its own order");
    tap_status(calls[1].request.status, WARMRING_NOT_FOUND, "is understood");
    tap_status(calls[2].request.status, WARMRING_OK, "as well");
    tap_bytes(calls[2].request.value_out, calls[2].request.value_length, "C", 1, "key by key");
    wr_server_release(server);
    fake_server_free(fake);
}

int main(void) {
    test_use_transport("libmemcached");
    config = net_config(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(&cases[i]);
    }
    check_mute();
    check_batch();
    net_free(&config);
    return tap_done();
}
