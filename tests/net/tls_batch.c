/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches over TLS: what has come may be with OpenSSL already, where
 * poll() does not see it. A wait that ends there must not forget it.
 */
#include "net.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../lib/certificates.h"
#include "net/pool.h"

enum { KEYS = 17, VALUE = 4000, ROOM = WR_META_IN - 1, WAIT_MS = 1000, LENGTHS = 80 };

static net_call_t calls[KEYS];
static wr_request_t *requests[KEYS];
static char keys[KEYS][16], rooms[KEYS][VALUE];
static char value[VALUE];

static void prepare(wr_server_t *server, size_t i, wr_verb_t verb, size_t length) {
    snprintf(keys[i], sizeof keys[i], "key-%zu", i);
    net_call(&calls[i], server, verb, keys[i], NULL);
    calls[i].room = rooms[i];
    calls[i].capacity = VALUE;
    calls[i].request.value = (warmring_bytes_t){value, length};
    requests[i] = &calls[i].request;
}

/* Stores what makes an answer of `total` bytes, but for a few. */
static void store(wr_server_t *server, size_t total) {
    size_t each = total / KEYS - 30;
    for (size_t i = 0; i < KEYS; i++) {
        prepare(server, i, WR_SET, i + 1 < KEYS ? each : total - (KEYS - 1) * (each + 30) - 30);
    }
    wr_run(requests, KEYS, wr_deadline_in_ms(WAIT_MS));
}

/* Begins to read all, and waits until the answer has come; but looks for it no
 * longer than one receive takes. */
static short begin(wr_server_t *server, wr_connection_t *connection) {
    wr_deadline_t deadline = wr_deadline_in_ms(WAIT_MS);
    for (size_t i = 0; i < KEYS; i++) {
        prepare(server, i, WR_GET, 0);
    }
    wr_meta_start(connection, requests, KEYS, deadline);
    usleep(20000);
    wr_time_t now = wr_now();
    return wr_meta_await(connection, (wr_deadline_t){.at = now + 1, .made = now});
}

/* Whether a poll loop comes to the end from there. */
static bool finishes(wr_connection_t *connection, short events) {
    struct pollfd wait = {.fd = wr_meta_descriptor(connection), .events = events};
    while (wait.events != 0 && poll(&wait, 1, 200) > 0) {
        wait.events = wr_meta_step(connection, wait.revents);
    }
    bool finished = wait.events == 0;
    if (!finished) {
        wr_meta_expire(connection);
    }
    return finished;
}

static bool reads_all(wr_server_t *server) {
    wr_deadline_t deadline = wr_deadline_in_ms(WAIT_MS);
    wr_connection_t *connection;
    wr_verdict_t verdict;
    if (wr_pool_take(server, 0, false, &deadline, &connection, &verdict) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    bool finished = finishes(connection, begin(server, connection));
    size_t right = 0;
    for (size_t i = 0; i < KEYS; i++) {
        right += calls[i].request.status == WARMRING_OK;
    }
    wr_pool_give(server, connection, &(wr_tally_t){0, 0, 0});
    return finished && right == KEYS;
}

int main(void) {
    char files[512];
    snprintf(files, sizeof files, "ssl_chain_cert=%s,ssl_key=%s", certificate_path("good.pem"),
             certificate_path("key.pem"));
    const char *const arguments[] = {"-Z", "-o", files, NULL};
    fixture_t *fixture = fixture_start(1, arguments);
    wr_net_config_t config = net_config(NULL);
    wr_tls_options_t options = {
        .ca_file = certificate_path("ca.pem"), .certificate = "", .key = "", .server_name = ""};
    if (wr_meta_context_tls(config.context, &options) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    wr_server_t *server = net_server(fixture, 0, &config);
    memset(value, 'v', sizeof value);
    for (int i = 0; i < 1000 / KEYS + 1; i++) { /* CAS values get four digits, and keep them */
        store(server, ROOM);
    }
    size_t whole = 0;
    for (size_t more = 0; more < LENGTHS; more++) {
        store(server, ROOM + more);
        whole += reads_all(server);
    }
    tap_int((int64_t)whole, LENGTHS, "answers of the input's length, a little shorter and longer");
    wr_server_release(server);
    fixture_free(fixture);
    net_free(&config);
    return tap_done();
}
