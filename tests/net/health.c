/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health: a server that refuses or hangs is left alone after a few failures,
 * one caller tries it after the back-off, and it is back at once.
 */
#include "net.h"

#include "net/internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 16 };

static wr_net_config_t config;
static net_call_t call;

static warmring_status_t set(wr_server_t *server, uint32_t deadline_ms) {
    net_call(&call, server, WR_SET, "k", "v");
    return net_run(&call, deadline_ms);
}

static void check_refused(void) {
    wr_server_t *server = wr_server_create("127.0.0.1", fixture_free_port(), &config);
    for (int i = 0; i < 2; i++) {
        tap_status(set(server, 1000), WARMRING_CONNECT_FAILED, "refused");
        tap_contains(warmring_error_detail(), ": connection refused", "says so");
        tap_ok(!call.request.sent, "nothing was sent");
    }
    wr_time_t start = wr_now();
    tap_ok(wr_server_is_down(server), "after two failures it is down");
    for (int i = 0; i < 100; i++) {
        set(server, 1000);
    }
    tap_status(call.request.status, WARMRING_SERVER_DOWN, "and refused at once");
    tap_ok(!call.request.sent, "unsent");
    tap_ok(net_ms_since(start) <= tap_slack_ms(), "a hundred of them in no time");
    warmring_server_counters_t counters = net_counters(server);
    tap_int((int64_t)counters.fast_failures, 100, "each one counted");
    tap_int((int64_t)counters.connect_errors, 2, "two tries were made");
    tap_ok(counters.down, "and the server is down");
    wr_server_release(server);
}

static void check_return(void) {
    fixture_t *fixture = fixture_start(1, NULL);
    wr_server_t *server = net_server(fixture, 0, &config);
    tap_status(set(server, 30000), WARMRING_OK, "a server that works");
    fixture_kill(fixture, 0);
    for (int i = 0; i < 5; i++) {
        set(server, 1000);
    }
    tap_status(call.request.status, WARMRING_SERVER_DOWN, "is killed");
    fixture_restart(fixture, 0);
    wr_time_t start = wr_now();
    double took = 0, longest = 0; /* of one try, which is how slow the machine is */
    for (bool served = false; !served && took < 30000;) {
        served = set(server, 30000) == WARMRING_OK;
        double now = net_ms_since(start);
        longest = now - took > longest ? now - took : longest;
        took = now;
        usleep(1000);
    }
    tap_note("back after %.0f ms, the longest try %.0f", took, longest);
    tap_ok(took <= 1000 + longest + tap_slack_ms(), "and is back within a second of its return");
    tap_ok(!net_counters(server).down, "up");
    wr_server_release(server);
    fixture_free(fixture);
}

static void check_hang(void) {
    fixture_t *fixture = fixture_start(1, NULL);
    wr_server_t *server = net_server(fixture, 0, &config);
    set(server, 30000);
    fixture_stop(fixture, 0);
    for (int i = 0; i < 2; i++) {
        wr_time_t start = wr_now();
        tap_status(set(server, 50), WARMRING_TIMEOUT, "a server that hangs");
        tap_ok(net_ms_since(start) <= 50 + tap_slack_ms(), "is left at the deadline");
        tap_contains(warmring_error_detail(), "no answer within ", "says so");
    }
    tap_status(set(server, 50), WARMRING_SERVER_DOWN, "and then is down");
    fixture_continue(fixture, 0);
    while (wr_server_is_down(server)) {
        usleep(1000);
    }
    tap_status(set(server, 30000), WARMRING_OK, "until it works again");
    wr_server_release(server);
    fixture_free(fixture);
}

typedef struct {
    wr_server_t *server;
    pthread_barrier_t *barrier;
    warmring_status_t status;
} prober_t;

static void *probe(void *argument) {
    prober_t *prober = argument;
    net_call_t mine;
    pthread_barrier_wait(prober->barrier);
    net_call(&mine, prober->server, WR_SET, "k", "v");
    prober->status = net_run(&mine, 300);
    return NULL;
}

/* Sixteen at once after the back-off: one tries, against a server that hangs. */
static void check_single_prober(void) {
    fake_server_t *fake = fake_server_start_deaf();
    wr_server_t *server = net_fake(fake, &config);
    set(server, 30);
    set(server, 30);
    tap_ok(wr_server_is_down(server), "down");
    uint64_t before = net_counters(server).connect_errors;
    usleep(550000);
    tap_ok(!wr_server_is_down(server), "the back-off has ended");

    pthread_barrier_t barrier;
    pthread_t threads[THREADS];
    prober_t probers[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        probers[i] = (prober_t){server, &barrier, WARMRING_OK};
        pthread_create(&threads[i], NULL, probe, &probers[i]);
    }
    int tried = 0;
    int down = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        tried += probers[i].status == WARMRING_TIMEOUT;
        down += probers[i].status == WARMRING_SERVER_DOWN;
    }
    tap_int(tried, 1, "one probes");
    tap_int(down, THREADS - 1, "the others are refused");
    tap_int((int64_t)(net_counters(server).connect_errors - before), 1, "one connect is made");
    tap_ok(wr_server_is_down(server), "the back-off has begun again");
    usleep(550000);
    tap_ok(!wr_server_is_down(server), "and ends again");
    tap_status(set(server, 30), WARMRING_TIMEOUT, "another one probes");
    pthread_barrier_destroy(&barrier);
    wr_server_release(server);
    fake_server_free(fake);
}

static void check_tick(void) {
    fixture_t *fixture = fixture_start(1, NULL);
    wr_server_t *server = net_server(fixture, 0, &config);
    fixture_kill(fixture, 0);
    set(server, 1000);
    set(server, 1000);
    uint64_t tried = net_counters(server).connect_errors;
    bool within = wr_server_is_down(server);
    wr_server_tick(server, wr_deadline_in_ms(30000));
    within = within && wr_server_is_down(server); /* and all the time between */
    tap_ok(!within || net_counters(server).connect_errors == tried,
           "a tick within the back-off does nothing");
    fixture_restart(fixture, 0);
    while (wr_server_is_down(server)) {
        usleep(1000);
    }
    tap_ok(net_counters(server).down, "the end of the back-off alone brings nothing back");
    wr_server_tick(server, wr_deadline_in_ms(30000));
    tap_ok(!net_counters(server).down, "after it, a tick probes");
    wr_server_release(server);
    fixture_free(fixture);
}

/* What is no failure: answers, and errors the server tells. */
static void check_alive(void) {
    static const fake_step_t full[] = {
        FAKE_GREET(), FAKE_SAY("SERVER_ERROR out of memory storing object\r\n"), FAKE_AGAIN()};
    static const fake_step_t junk[] = {FAKE_GREET(), FAKE_SAY("ERROR\r\n"), FAKE_END};
    fake_server_t *fake = fake_server_start(full);
    wr_server_t *server = net_fake(fake, &config);
    for (int i = 0; i < 5; i++) {
        tap_status(set(server, 30000), WARMRING_SERVER_ERROR, "out of memory again");
    }
    tap_ok(!wr_server_is_down(server), "but not down");
    fake_server_script(fake, junk);
    wr_pool_flush(server, wr_now());
    for (int i = 0; i < 2; i++) {
        tap_status(set(server, 30000), WARMRING_PROTOCOL_ERROR, "junk");
    }
    tap_ok(wr_server_is_down(server), "brings it down");
    tap_int((int64_t)net_counters(server).server_errors, 5, "counted");
    tap_int((int64_t)net_counters(server).protocol_errors, 2, "each as what it is");
    wr_server_release(server);
    fake_server_free(fake);
}

static void run_all(void) {
    config = net_config(NULL);
    check_refused();
    check_return();
    check_hang();
    check_single_prober();
    check_tick();
    check_alive();
    net_free(&config);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
