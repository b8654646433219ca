/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS through a relay that passes on bytes in small pieces, and after so many
 * of the server's closes, resets or falls silent: in the handshake, in the
 * first answer, in a value. A call ends in time, with the value or a fault;
 * never with a miss, which the server has not said.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <warmring/warmring.h>

#include "tests/lib/certificates.h"
#include "tests/lib/fixture.h"
#include "tests/lib/tap.h"

enum { SHORT_MS = 100, LONG_MS = 5000, VALUE = 20000, PIECE = 700, POINTS = 12 };

typedef enum { CLOSES, RESETS, HANGS, MANNERS } manner_t;
static const char *const manner_names[MANNERS] = {"closes", "resets", "hangs"};

static struct {
    int listener;
    uint16_t port;
    uint16_t behind;
    _Atomic size_t limit; /* bytes of the server that pass */
    _Atomic int manner;
    _Atomic size_t passed; /* of the present connection */
    _Atomic bool done;
} relay;

static struct sockaddr_in loopback(uint16_t port) {
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* ---- the relay ------------------------------------------------------------------- */

/* Passes on a piece; false at the end. */
static bool pass(int from, int to, size_t most) {
    char bytes[PIECE];
    ssize_t length = recv(from, bytes, most < PIECE ? most : PIECE, 0);
    return length > 0 && send(to, bytes, (size_t)length, MSG_NOSIGNAL) == length;
}

static bool pass_answers(int server, int client) {
    size_t left = relay.limit - relay.passed;
    char bytes[PIECE];
    ssize_t length = recv(server, bytes, left < PIECE ? left : PIECE, 0);
    if (length <= 0 || send(client, bytes, (size_t)length, MSG_NOSIGNAL) != length) {
        return false;
    }
    relay.passed += (size_t)length;
    return true;
}

static void pass_all(int client, int server) {
    struct pollfd both[] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    while (!relay.done) {
        bool cut = relay.passed >= relay.limit;
        if (cut && relay.manner != HANGS) {
            return;
        }
        both[1].fd = cut ? -1 : server;
        if (poll(both, 2, 20) <= 0) {
            continue;
        }
        if ((both[0].revents != 0 && !pass(client, server, PIECE)) ||
            (!cut && both[1].revents != 0 && !pass_answers(server, client))) {
            return;
        }
    }
}

static void serve(int client) {
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = loopback(relay.behind);
    relay.passed = 0;
    if (connect(server, (struct sockaddr *)&address, sizeof address) == 0) {
        pass_all(client, server);
    }
    struct linger reset = {.l_onoff = relay.manner == RESETS};
    setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(server);
    close(client);
}

static void *run_relay(void *unused) {
    struct pollfd wait = {.fd = relay.listener, .events = POLLIN};
    while (!relay.done) {
        int client = poll(&wait, 1, 20) > 0 ? accept(relay.listener, NULL, NULL) : -1;
        if (client >= 0) {
            serve(client);
        }
    }
    return unused;
}

static pthread_t start_relay(uint16_t behind) {
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    pthread_t thread;
    relay.behind = behind;
    relay.limit = SIZE_MAX;
    relay.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(relay.listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(relay.listener, 16) != 0 ||
        getsockname(relay.listener, (struct sockaddr *)&address, &size) != 0 ||
        pthread_create(&thread, NULL, run_relay, NULL) != 0) {
        tap_bail("no relay");
    }
    relay.port = ntohs(address.sin_port);
    return thread;
}

/* ---- calls through it ----------------------------------------------------------------- */

static char value[VALUE];

static warmring_t *open_client(void) {
    char address[32];
    warmring_options_t *options = warmring_options_create();
    warmring_t *client = NULL;
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)relay.port);
    if (warmring_options_set(options, "tls", "1") != WARMRING_OK ||
        warmring_options_set(options, "tls_ca_file", certificate_path("ca.pem")) != WARMRING_OK ||
        warmring_open(&client, address, options) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    warmring_options_free(options);
    return client;
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_fault(warmring_status_t status, manner_t manner) {
    return manner == HANGS
               ? status == WARMRING_TIMEOUT
               : status == WARMRING_CONNECT_FAILED || status == WARMRING_CONNECTION_LOST ||
                     status == WARMRING_NOT_SUPPORTED; /* as a proxy does */
}

static void get_cut(size_t limit, manner_t manner) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_call_t call = WARMRING_CALL_INIT;
    warmring_t *client = open_client();
    relay.limit = limit;
    relay.manner = (int)manner;
    call.deadline_ms = manner == HANGS ? SHORT_MS : LONG_MS;
    int64_t begun = now_ms();
    warmring_status_t status = warmring_get(client, "k", 1, &item, &call);
    int64_t took = now_ms() - begun;
    tap_ok(is_fault(status, manner), "%s after %zu bytes: %s", manner_names[manner], limit,
           warmring_status_name(status));
    tap_ok(took <= (int64_t)call.deadline_ms + tap_slack_ms(), "... in time: %lld ms",
           (long long)took);
    warmring_item_clear(&item);
    warmring_close(client);
}

/* The bytes that a connection and a get take, whole. */
static size_t get_whole(void) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_t *client = open_client();
    tap_status(warmring_set(client, "k", 1, value, VALUE, 0, 0, NULL), WARMRING_OK, "set");
    warmring_close(client);
    client = open_client();
    tap_status(warmring_get(client, "k", 1, &item, NULL), WARMRING_OK, "get, piece by piece");
    tap_bytes(item.value.data, item.value.length, value, VALUE, "the value");
    warmring_item_clear(&item);
    size_t passed = relay.passed;
    warmring_close(client);
    return passed;
}

int main(void) {
    char files[512];
    snprintf(files, sizeof files, "ssl_chain_cert=%s,ssl_key=%s", certificate_path("good.pem"),
             certificate_path("key.pem"));
    const char *const arguments[] = {"-Z", "-o", files, NULL};
    fixture_t *fixture = fixture_start(1, arguments);
    pthread_t thread = start_relay(fixture_port(fixture, 0));
    for (size_t i = 0; i < VALUE; i++) {
        value[i] = (char)(i * 2654435761u >> 13);
    }
    size_t whole = get_whole();
    tap_ok(whole > VALUE, "the value came through the relay");
    for (size_t i = 0; i < POINTS; i++) {
        /* Handshakes differ by a few bytes, as signatures do. */
        size_t limit = 1 + (i < POINTS / 2 ? i * 400 : (whole - 64) * i / POINTS);
        for (int manner = 0; manner < MANNERS; manner++) {
            get_cut(limit, (manner_t)manner);
        }
    }
    relay.done = true;
    pthread_join(thread, NULL);
    close(relay.listener);
    fixture_free(fixture);
    return tap_done();
}
