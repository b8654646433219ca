/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools: one hand a connection, newest first, a cap that makes callers wait
 * and no longer than their deadline, closing when idle.
 */
#include "net.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *hang_in_get(void *argument) {
    net_call_t call;
    net_call(&call, argument, WR_GET, "k", NULL);
    net_run(&call, 1500);
    return NULL;
}

static void check_cap(wr_net_config_t *config) {
    fixture_t *fixture = fixture_start(1, NULL);
    config->pool_max = 2;
    wr_server_t *server = net_server(fixture, 0, config);
    net_call_t call;
    pthread_t threads[2];
    net_do(&call, server, WR_SET, "k", "v");
    fixture_stop(fixture, 0);
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, hang_in_get, server);
    }
    while (net_counters(server).connections < 2) {
        usleep(1000);
    }
    usleep(20000);
    net_call(&call, server, WR_SET, "k", "v");
    wr_time_t start = wr_now();
    tap_status(net_run(&call, 60), WARMRING_TIMEOUT, "a full pool");
    tap_ok(net_ms_since(start) >= 59, "is waited for");
    tap_ok(net_ms_since(start) <= 60 + tap_slack_ms(), "until the deadline");
    tap_ok(!call.request.sent, "nothing was sent");
    tap_contains(warmring_error_detail(), "no free connection within 60 ms (pool_max 2)", "why");
    tap_ok(!wr_server_is_down(server), "which tells nothing about the server");

    fixture_continue(fixture, 0);
    tap_status(net_run(&call, 5000), WARMRING_OK, "a freed connection is had");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    tap_ok(net_counters(server).connections <= 2, "never more than the cap");
    wr_server_release(server);
    fixture_free(fixture);
    config->pool_max = 16;
}

static atomic_int wrong;

static void *hammer(void *argument) {
    net_call_t call;
    char key[32];
    snprintf(key, sizeof key, "key-%lx", (unsigned long)pthread_self());
    for (int i = 0; i < 300; i++) {
        char value[48];
        snprintf(value, sizeof value, "%s-%d", key, i);
        bool right = net_do(&call, argument, WR_SET, key, value) == WARMRING_OK &&
                     net_do(&call, argument, WR_GET, key, NULL) == WARMRING_OK &&
                     call.request.value_length == strlen(value) &&
                     memcmp(call.request.value_out, value, strlen(value)) == 0;
        if (!right) {
            atomic_fetch_add(&wrong, 1);
        }
    }
    return NULL;
}

/* Twelve threads share three connections. */
static void check_sharing(const fixture_t *fixture, wr_net_config_t *config) {
    config->pool_max = 3;
    wr_server_t *server = net_server(fixture, 0, config);
    pthread_t threads[12];
    for (int i = 0; i < 12; i++) {
        pthread_create(&threads[i], NULL, hammer, server);
    }
    for (int i = 0; i < 12; i++) {
        pthread_join(threads[i], NULL);
    }
    tap_int(wrong, 0, "every thread reads what it wrote");
    tap_ok(net_counters(server).connects <= 3, "over three connections");
    wr_server_release(server);
    config->pool_max = 16;
}

/* Opens two connections by running two requests at once. */
static wr_time_t open_two(wr_server_t *server) {
    while (net_counters(server).connections < 2) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) {
            pthread_create(&threads[i], NULL, hammer, server);
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    return wr_now();
}

static void check_order(const fixture_t *fixture, wr_net_config_t *config) {
    wr_server_t *server = net_server(fixture, 0, config);
    net_call_t call;
    wr_time_t before = wr_now();
    wr_time_t after = open_two(server);
    net_do(&call, server, WR_GET, "k", NULL);
    wr_time_t last = call.request.opened_at;
    for (int i = 0; i < 5; i++) {
        net_do(&call, server, WR_GET, "k", NULL);
        tap_ok(call.request.opened_at == last, "the last one used is used first");
    }
    uint64_t connects = net_counters(server).connects;
    net_call(&call, server, WR_SET, "k", "v");
    call.request.opened_before = before;
    tap_status(net_run(&call, 1000), WARMRING_CONNECTION_LOST, "none is that old");
    tap_ok(!call.request.sent, "so nothing is sent");
    tap_int((int64_t)net_counters(server).connects, (int64_t)connects, "and none is opened");
    call.request.opened_before = after;
    tap_status(net_run(&call, 1000), WARMRING_OK, "one is old enough");
    tap_ok(call.request.opened_at <= after, "and is the one used");
    wr_server_release(server);
}

/* In one batch, one request needs an old connection and the other does not. */
static void check_bound_in_batch(const fixture_t *fixture, wr_net_config_t *config) {
    wr_server_t *server = net_server(fixture, 0, config);
    net_call_t calls[2];
    wr_request_t *requests[2] = {&calls[0].request, &calls[1].request};
    net_call(&calls[0], server, WR_SET, "bound", "v");
    calls[0].request.opened_before = wr_now();
    net_call(&calls[1], server, WR_SET, "free", "v");
    wr_run(requests, 2, wr_deadline_in_ms(1000));
    tap_status(calls[0].request.status, WARMRING_CONNECTION_LOST, "the bound one fails");
    tap_ok(!calls[0].request.sent, "unsent");
    tap_status(calls[1].request.status, WARMRING_OK, "the other does not");
    wr_server_release(server);
}

/* In one batch, two requests need old connections: the only one is too young for
 * one of them, whichever comes first. */
static void check_bounds_in_batch(const fixture_t *fixture, wr_net_config_t *config) {
    wr_server_t *server = net_server(fixture, 0, config);
    net_call_t calls[2];
    net_call_t opener;
    wr_time_t before = wr_now();
    tap_status(net_do(&opener, server, WR_GET, "older", NULL), WARMRING_NOT_FOUND, "opens one");
    wr_time_t after = wr_now();
    for (size_t first = 0; first < 2; first++) {
        wr_request_t *requests[2] = {&calls[first].request, &calls[1 - first].request};
        net_call(&calls[0], server, WR_SET, "older", "v");
        calls[0].request.opened_before = before;
        net_call(&calls[1], server, WR_SET, "younger", "v");
        calls[1].request.opened_before = after;
        wr_run(requests, 2, wr_deadline_in_ms(1000));
        tap_status(calls[0].request.status, WARMRING_CONNECTION_LOST, "too young for the older");
        tap_ok(!calls[0].request.sent, "which is not sent");
    }
    net_do(&opener, server, WR_GET, "older", NULL);
    tap_status(opener.request.status, WARMRING_NOT_FOUND, "nor stored");
    wr_server_release(server);
}

static void check_idle(const fixture_t *fixture, wr_net_config_t *config) {
    config->idle_close_ms = 100;
    wr_server_t *server = net_server(fixture, 0, config);
    net_call_t call;
    net_do(&call, server, WR_SET, "k", "v");
    wr_server_tick(server, wr_deadline_in_ms(1000));
    tap_int(net_counters(server).connections, 1, "fresh ones stay");
    usleep(150000);
    wr_server_tick(server, wr_deadline_in_ms(1000));
    tap_int(net_counters(server).connections, 0, "idle ones are closed by a tick");
    net_do(&call, server, WR_SET, "k", "v");
    usleep(150000);
    tap_status(net_do(&call, server, WR_SET, "k", "v"), WARMRING_OK, "or by the next use");
    tap_int((int64_t)net_counters(server).connects, 3, "which opens one");
    tap_int(net_counters(server).connections, 1, "in its place");
    wr_server_release(server);
    config->idle_close_ms = 60000;
}

/* Longer than it takes until idle ones are looked for. `bound`: only tokens ask
 * for it. */
static void check_in_use(const fixture_t *fixture, wr_net_config_t *config, bool bound) {
    config->idle_close_ms = 5000;
    wr_server_t *server = net_server(fixture, 0, config);
    net_call_t call;
    net_do(&call, server, WR_SET, "k", "v");
    wr_time_t then = wr_now();
    int failed = 0;
    for (int i = 0; i < 70; i++) {
        usleep(bound ? 100000 : 20000);
        net_call(&call, server, WR_SET, "k", "v");
        call.request.opened_before = bound ? then : 0;
        failed += net_run(&call, 1000) != WARMRING_OK;
    }
    tap_int(failed, 0, "%s finds one for longer than the idle time", bound ? "a token" : "a call");
    tap_int((int64_t)net_counters(server).connects, 1, "the same all along");
    wr_server_release(server);
    config->idle_close_ms = 60000;
}

/* Nor is one that was busy for longer than the idle time. */
static void check_busy_is_no_idle(wr_net_config_t *config) {
    static const fake_step_t slow[] = {
        FAKE_GREET(), FAKE_PAUSE(150), FAKE_ANSWER(fake_memcached, NULL),
        FAKE_AWAIT(), FAKE_PAUSE(150), FAKE_ANSWER(fake_memcached, NULL),
        FAKE_AWAIT(), FAKE_PAUSE(150), FAKE_ANSWER(fake_memcached, NULL),
        FAKE_HANG(),  FAKE_END};
    config->idle_close_ms = 100;
    fake_server_t *fake = fake_server_start(slow);
    wr_server_t *server = net_fake(fake, config);
    net_call_t call;
    for (int i = 0; i < 3; i++) {
        tap_status(net_do(&call, server, WR_GET, "k", NULL), WARMRING_OK, "a slow answer");
    }
    tap_int((int64_t)net_counters(server).connects, 1, "all of them over one connection");
    wr_server_release(server);
    fake_server_free(fake);
    config->idle_close_ms = 60000;
}

static void check_descriptors(const fixture_t *fixture, wr_net_config_t *config) {
    net_call_t call;
    size_t before = net_descriptors();
    int failed = 0;
    for (int i = 0; i < 1000; i++) {
        wr_server_t *server = net_server(fixture, 0, config);
        failed += net_do(&call, server, WR_SET, "k", "v") != WARMRING_OK;
        wr_server_release(server);
    }
    tap_int(failed, 0, "a thousand servers opened and closed");
    tap_int((int64_t)net_descriptors(), (int64_t)before, "leave no descriptor behind");
}

static void check_close_is_quick(wr_net_config_t *config) {
    fixture_t *fixture = fixture_start(1, NULL);
    wr_server_t *server = net_server(fixture, 0, config);
    open_two(server);
    fixture_stop(fixture, 0);
    wr_time_t start = wr_now();
    wr_server_release(server);
    tap_note("closing connections to a stopped server took %.3f ms", net_ms_since(start));
    tap_ok(net_ms_since(start) <= tap_slack_ms(), "closing waits for no stopped server");
    fixture_continue(fixture, 0);
    fixture_free(fixture);
}

static void run_all(void) {
    fixture_t *fixture = fixture_start(1, NULL);
    wr_net_config_t config = net_config(NULL);
    check_cap(&config);
    check_sharing(fixture, &config);
    check_order(fixture, &config);
    check_bound_in_batch(fixture, &config);
    check_bounds_in_batch(fixture, &config);
    check_idle(fixture, &config);
    check_in_use(fixture, &config, false);
    check_in_use(fixture, &config, true);
    check_busy_is_no_idle(&config);
    check_descriptors(fixture, &config);
    check_close_is_quick(&config);
    fixture_free(fixture);
    net_free(&config);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
