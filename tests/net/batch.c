/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches: many verbs, many servers, one of them stopped or gone.
 */
#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUT_OF_MEMORY "SERVER_ERROR out of memory storing object\r\n"

enum { SERVERS = 4, KEYS = 100 };

static fixture_t *fixture;
static wr_server_t *servers[SERVERS];
static net_call_t calls[SERVERS * KEYS];
static wr_request_t *requests[SERVERS * KEYS];
static char keys[SERVERS * KEYS][16];

/* Spreads KEYS requests a server, interleaved. */
static size_t prepare(wr_verb_t verb) {
    size_t count = SERVERS * KEYS;
    for (size_t i = 0; i < count; i++) {
        snprintf(keys[i], sizeof keys[i], "key%zu", i);
        net_call(&calls[i], servers[i % SERVERS], verb, keys[i],
                 wr_verb_info(verb)->stores ? keys[i] : NULL);
        requests[i] = &calls[i].request;
    }
    return count;
}

static size_t right_on(size_t server) {
    size_t right = 0;
    for (size_t i = server; i < SERVERS * KEYS; i += SERVERS) {
        const wr_request_t *request = &calls[i].request;
        right += request->status == WARMRING_OK && request->value_length == strlen(keys[i]) &&
                 memcmp(request->value_out, keys[i], strlen(keys[i])) == 0;
    }
    return right;
}

static size_t with_status(size_t server, warmring_status_t status) {
    size_t number = 0;
    for (size_t i = server; i < SERVERS * KEYS; i += SERVERS) {
        number += calls[i].request.status == status;
    }
    return number;
}

static void check_all_well(void) {
    size_t count = prepare(WR_SET);
    wr_run(requests, count, wr_deadline_in_ms(5000));
    for (size_t s = 0; s < SERVERS; s++) {
        tap_int((int64_t)with_status(s, WARMRING_OK), KEYS, "server %zu stored all", s);
    }
    count = prepare(WR_GET);
    wr_run(requests, count, wr_deadline_in_ms(5000));
    for (size_t s = 0; s < SERVERS; s++) {
        tap_int((int64_t)right_on(s), KEYS, "server %zu has all", s);
    }
    tap_ok(wr_server_id(requests[0]->server) < wr_server_id(requests[count - 1]->server),
           "grouped in server order");
}

static void check_one_stopped(size_t stopped) {
    prepare(WR_GET);
    fixture_stop(fixture, stopped);
    wr_time_t start = wr_now();
    wr_run(requests, SERVERS * KEYS, wr_deadline_in_ms(200));
    double took = net_ms_since(start);
    for (size_t s = 0; s < SERVERS; s++) {
        if (s == stopped) {
            tap_int((int64_t)with_status(s, WARMRING_TIMEOUT), KEYS, "server %zu hangs", s);
        } else {
            tap_int((int64_t)right_on(s), KEYS, "server %zu answers all", s);
        }
    }
    tap_ok(took <= 200 + tap_slack_ms(), "within the deadline: %.0f ms", took);
    fixture_continue(fixture, stopped);
}

/* Answers of several megabytes, which no socket holds: the servers that send
 * them wait until they are read. One that is silent takes none of that time,
 * wherever it stands among them. */
static void check_large_beside_stopped(size_t stopped, uint32_t ms) {
    enum { LARGE = 1000000, EACH = 6, ALL = SERVERS * EACH };
    static net_call_t large[ALL];
    static char rooms[ALL][LARGE];
    static char value[LARGE], names[ALL][16];
    wr_request_t *list[ALL];
    memset(value, 'v', sizeof value);
    for (size_t verb = 0; verb < 2; verb++) {
        for (size_t i = 0; i < ALL; i++) {
            snprintf(names[i], sizeof names[i], "large%zu", i);
            net_call(&large[i], servers[i % SERVERS], verb == 0 ? WR_SET : WR_GET, names[i], NULL);
            large[i].request.value = (warmring_bytes_t){value, verb == 0 ? LARGE : 0};
            large[i].room = rooms[i];
            large[i].capacity = LARGE;
            list[i] = &large[i].request;
        }
        if (verb == 0) {
            wr_run(list, ALL, wr_deadline_in_ms(10000));
        }
    }
    memset(rooms, 0, sizeof rooms);
    fixture_stop(fixture, stopped);
    wr_time_t start = wr_now();
    wr_run(list, ALL, wr_deadline_in_ms(ms));
    double took = net_ms_since(start);
    size_t whole = 0, late = 0;
    for (size_t i = 0; i < ALL; i++) {
        late += large[i].request.status == WARMRING_TIMEOUT;
        whole += large[i].request.status == WARMRING_OK && large[i].request.value_length == LARGE &&
                 memcmp(rooms[i], value, LARGE) == 0;
    }
    tap_int((int64_t)late, EACH, "server %zu hangs", stopped);
    tap_int((int64_t)whole, ALL - EACH, "the others send %d megabytes each", EACH);
    tap_ok(took >= ms - 1 && took <= ms + tap_slack_ms(), "by the deadline: %.0f ms", took);
    fixture_continue(fixture, stopped);
}

static void check_one_gone(void) {
    fixture_kill(fixture, 1);
    prepare(WR_GET);
    wr_run(requests, SERVERS * KEYS, wr_deadline_in_ms(1000));
    tap_int((int64_t)with_status(1, WARMRING_CONNECT_FAILED), KEYS, "server 1 is gone");
    tap_int((int64_t)(right_on(0) + right_on(2) + right_on(3)), 3 * KEYS, "the others answer");
    fixture_restart(fixture, 1);
}

typedef struct {
    wr_verb_t verb;
    const char *key;
    const char *value;
    warmring_status_t status;
} item_t;

/* Order within a server is kept: each depends on those before it. */
static void check_mixed(void) {
    static const item_t items[] = {{WR_GET, "m", NULL, WARMRING_NOT_FOUND},
                                   {WR_SET, "m", "5", WARMRING_OK},
                                   {WR_GET, "m", NULL, WARMRING_OK},
                                   {WR_GET, "m", NULL, WARMRING_OK},
                                   {WR_INCREMENT, "m", NULL, WARMRING_OK},
                                   {WR_APPEND, "m", "0", WARMRING_OK},
                                   {WR_ADD, "m", "x", WARMRING_NOT_STORED},
                                   {WR_GET, "m", NULL, WARMRING_OK},
                                   {WR_DELETE, "m", NULL, WARMRING_OK},
                                   {WR_GET, "m", NULL, WARMRING_NOT_FOUND},
                                   {WR_LEASE, "m", NULL, WARMRING_OK},
                                   {WR_GET, "m", NULL, WARMRING_OK},
                                   {WR_TOUCH, "gone", NULL, WARMRING_NOT_FOUND}};
    enum { ITEMS = sizeof items / sizeof items[0] };
    net_call_t mixed[SERVERS][ITEMS];
    wr_request_t *list[SERVERS * ITEMS];
    size_t count = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        for (size_t s = 0; s < SERVERS; s++) {
            net_call_t *call = &mixed[s][i];
            net_call(call, servers[s], items[i].verb, items[i].key, items[i].value);
            call->request.delta = 1;
            list[count++] = &call->request;
        }
    }
    wr_run(list, count, wr_deadline_in_ms(5000));
    for (size_t s = 0; s < SERVERS; s++) {
        for (size_t i = 0; i < ITEMS; i++) {
            tap_status(mixed[s][i].request.status, items[i].status, "server %zu item %zu", s, i);
        }
        tap_int((int64_t)mixed[s][4].request.number, 6, "the number");
        tap_bytes(mixed[s][3].request.value_out, 1, "5", 1, "given twice, served twice");
        tap_bytes(mixed[s][7].request.value_out, mixed[s][7].request.value_length, "60", 2,
                  "the value at its place in the order");
        tap_ok(wr_is_stub(&mixed[s][11].request), "the stub");
    }
}

/* A refusal in the middle of a batch costs the others nothing. */
static void check_too_large_in_the_middle(void) {
    size_t size = (1u << 20) + 1;
    char *large = malloc(size);
    net_call_t three[3];
    wr_request_t *list[3];
    memset(large, 'x', size);
    for (int i = 0; i < 3; i++) {
        net_call(&three[i], servers[0], WR_SET, i == 0 ? "f" : i == 1 ? "g" : "h", "v");
        list[i] = &three[i].request;
    }
    three[1].request.value = (warmring_bytes_t){large, size};
    wr_run(list, 3, wr_deadline_in_ms(5000));
    tap_status(three[0].request.status, WARMRING_OK, "before");
    tap_status(three[1].request.status, WARMRING_TOO_LARGE, "too large");
    tap_status(three[2].request.status, WARMRING_OK, "after");
    free(large);
}

/* The server closes after each answer: what was not sent goes on elsewhere. */
static void check_unsent_goes_on(wr_net_config_t *config) {
    static const fake_step_t script[] = {
        FAKE_GREET(), FAKE_SAY(OUT_OF_MEMORY), FAKE_AWAIT(), FAKE_SAY(OUT_OF_MEMORY),
        FAKE_AWAIT(), FAKE_SAY(OUT_OF_MEMORY), FAKE_HANG(),  FAKE_END};
    fake_server_t *fake = fake_server_start(script);
    wr_server_t *server = net_fake(fake, config);
    net_call_t three[3];
    wr_request_t *list[3];
    for (int i = 0; i < 3; i++) {
        net_call(&three[i], server, WR_SET, "k", "v");
        list[i] = &three[i].request;
    }
    wr_run(list, 3, wr_deadline_in_ms(5000));
    for (int i = 0; i < 3; i++) {
        tap_status(three[i].request.status, WARMRING_SERVER_ERROR, "each has its own answer");
        tap_ok(three[i].request.sent, "each was sent");
    }
    tap_int((int64_t)net_counters(server).requests, 3, "once");
    wr_server_release(server);
    fake_server_free(fake);
}

static void run_all(void) {
    wr_net_config_t config = net_config(NULL);
    fixture = fixture_start(SERVERS, NULL);
    for (size_t s = 0; s < SERVERS; s++) {
        servers[s] = net_server(fixture, s, &config);
    }
    check_all_well();
    check_mixed();
    check_too_large_in_the_middle();
    check_one_stopped(2);
    check_one_stopped(0);
    for (size_t stopped = 0; test_is_meta() && stopped < SERVERS; stopped++) {
        check_large_beside_stopped(stopped, 700);
    }
    check_one_gone();
    check_unsent_goes_on(&config);
    for (size_t s = 0; s < SERVERS; s++) {
        wr_server_release(servers[s]);
    }
    fixture_free(fixture);
    net_free(&config);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
