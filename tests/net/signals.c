/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals: they do not move a deadline, they arrive, the mask is as before,
 * and SIGPIPE never comes.
 */
#include "net.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static wr_net_config_t config;
static atomic_int seen;
static atomic_int planned;

static void on_alarm(int number) {
    (void)number;
    atomic_fetch_add(&seen, 1);
    if (atomic_fetch_sub(&planned, 1) <= 1) {
        struct itimerval never = {{0, 0}, {0, 0}};
        setitimer(ITIMER_REAL, &never, NULL);
    }
}

static void plan(int number, int interval_ms) {
    struct itimerval often = {{0, interval_ms * 1000}, {0, interval_ms * 1000}};
    atomic_store(&planned, number);
    atomic_store(&seen, 0);
    setitimer(ITIMER_REAL, &often, NULL);
}

/* Two signals that together have waited longer than the deadline. */
static void check_deadline(wr_server_t *server, wr_verb_t verb, int number, int interval_ms) {
    const char *name = wr_verb_info(verb)->name;
    net_call_t call;
    net_call(&call, server, verb, "k", "v");
    wr_time_t start = wr_now();
    plan(number, interval_ms);
    tap_status(net_run(&call, 100), WARMRING_TIMEOUT, "%s, %d signals", name, number);
    double took = net_ms_since(start);
    tap_ok(took >= 99, "%s: not before the deadline: %.0f ms", name, took);
    tap_ok(took <= 100 + tap_slack_ms(), "%s: nor long after it", name);
    tap_ok(atomic_load(&seen) >= 1, "%s: signals arrive", name);
    plan(1, 1);
    while (atomic_load(&seen) == 0) {
    }
}

static void check_mask(wr_server_t *server) {
    net_call_t call;
    sigset_t wanted;
    sigset_t after;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &wanted, NULL);
    net_do(&call, server, WR_GET, "k", NULL);
    net_do(&call, server, WR_SET, "k", "v");
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    int different = 0;
    for (int number = 1; number < 32; number++) {
        different += sigismember(&after, number) != sigismember(&wanted, number);
    }
    tap_int(different, 0, "the mask is as it was");
    sigemptyset(&wanted);
    pthread_sigmask(SIG_SETMASK, &wanted, NULL);
}

static void check_pipe(void) {
    static const fake_step_t script[] = {
        {.action = FAKE_ACTION_SERVE, .answer = fake_memcached_greets, .number = FAKE_VALUE_UNREAD},
        FAKE_RESET(),
        FAKE_END};
    fake_server_t *fake = fake_server_start(script);
    wr_server_t *server = net_fake(fake, &config);
    size_t size = 8u << 20;
    char *value = calloc(1, size);
    net_call_t call;
    signal(SIGPIPE, SIG_DFL);
    net_call(&call, server, WR_SET, "k", NULL);
    call.request.value = (warmring_bytes_t){value, size};
    tap_status(net_run(&call, 2000), WARMRING_CONNECTION_LOST, "a peer that is gone");
    tap_ok(call.request.sent, "amid a large value, and we live");
    free(value);
    wr_server_release(server);
    fake_server_free(fake);
}

static void run_all(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
    config = net_config(NULL);
    config.failure_limit = 1000;
    fixture_t *fixture = fixture_start(1, NULL);
    wr_server_t *server = net_server(fixture, 0, &config);
    check_mask(server);
    fixture_stop(fixture, 0);
    check_deadline(server, WR_GET, 2, 45);
    check_deadline(server, WR_SET, 2, 45);
    check_deadline(server, WR_GET, 3, 30);
    check_deadline(server, WR_SET, 50, 5);
    fixture_continue(fixture, 0);
    wr_server_release(server);
    check_pipe();
    fixture_free(fixture);
    net_free(&config);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
