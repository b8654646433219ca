/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of faults, run: each operation on a cluster of one server at
 * fault and one that is well, with each transport. Looked at are the status,
 * the text, the time, the pool, the server that is well, and the call after
 * the server has come to its senses.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "tests/lib/child.h"

static const fake_step_t good[] = {FAKE_MEMCACHED()};

typedef struct {
    const fault_t *fault;
    operation_t operation;
    outcome_t outcome;
    fake_server_t *bad, *well;
    warmring_t *client;
    char bad_key[KEY_SIZE], other_bad_key[KEY_SIZE], well_key[KEY_SIZE];
    char what[160];
    size_t held; /* sockets that fill the backlog */
    uint32_t ms;
} case_t;

static fake_server_t *start(const fault_t *fault) {
    switch (fault->manner) {
    case REFUSING:
        return fake_server_start_refusing();
    case FULL:
        return fake_server_start_full();
    case DEAF:
        return fake_server_start_deaf();
    default:
        return fake_server_start(fault->script);
    }
}

static void cure(case_t *c) {
    if (c->fault->manner == SCRIPT) {
        fake_server_script(c->bad, good);
    } else {
        fake_server_wake(c->bad, good);
        c->held = 0;
    }
}

static void set_up(case_t *c) {
    char servers[256];
    unsigned next = 0;
    c->bad = start(c->fault);
    c->well = fake_server_start(good);
    c->held = sockets_to(fake_server_port(c->bad));
    snprintf(servers, sizeof servers, "%s,%s", fake_server_address(c->bad),
             fake_server_address(c->well));
    c->client = faults_open(servers, NULL);
    key_of(c->client, fake_server_address(c->bad), &next, c->bad_key);
    key_of(c->client, fake_server_address(c->bad), &next, c->other_bad_key);
    key_of(c->client, fake_server_address(c->well), &next, c->well_key);
    uint32_t whole = c->operation == MULTI ? SHARED_MS : SHORT_MS;
    c->ms = c->outcome.end == OUTLASTS ? DRIP_MS : c->fault->whole ? whole : LONG_MS;
}

static void tear_down(case_t *c) {
    warmring_close(c->client);
    tap_int((int64_t)sockets_to(fake_server_port(c->bad)), 0, "%s: no socket is left", c->what);
    fake_server_free(c->bad);
    fake_server_free(c->well);
}

/* The operation on the server at fault; the multi get has two keys
 * of it and one of the other. */
static warmring_status_t run_it(case_t *c) {
    if (c->operation != MULTI) {
        return operate(c->client, c->operation, c->bad_key, c->ms);
    }
    const char *const keys[KEYS] = {c->bad_key, c->other_bad_key, c->well_key};
    warmring_status_t status[KEYS];
    operate_on_all(c->client, keys, c->ms, status);
    tap_status(status[2], WARMRING_OK, "%s: the other server's key", c->what);
    tap_int(status[1], status[0], "%s: both keys share it", c->what);
    return status[0];
}

static void check_pool(case_t *c, int64_t expected, const char *when) {
    warmring_server_counters_t counters = server_counters(c->client, fake_server_address(c->bad));
    tap_int(counters.connections, expected, "%s: connections %s", c->what, when);
    tap_int((int64_t)(sockets_to(fake_server_port(c->bad)) - c->held), expected, "%s: sockets %s",
            c->what, when);
    tap_ok(!counters.down, "%s: not taken for down", c->what);
}

static void check_end(case_t *c) {
    int64_t begun = now_ms();
    tap_status(run_it(c), c->outcome.status, "%s", c->what);
    in_time(begun, c->ms, c->fault->whole && c->operation != MULTI, c->what);
    if (c->outcome.text != NULL) {
        tap_contains(warmring_error_detail(), c->outcome.text, "%s: the cause", c->what);
        tap_contains(warmring_error_detail(), fake_server_address(c->bad), "%s: the server",
                     c->what);
    }
    check_pool(c, c->outcome.keeps, "after it");
    tap_status(operate(c->client, c->operation, c->well_key, LONG_MS), WARMRING_OK,
               "%s: the other server", c->what);
    cure(c);
    if (!c->outcome.out_of_step) {
        tap_status(operate(c->client, c->operation, c->bad_key, LONG_MS), WARMRING_OK,
                   "%s: the next call", c->what);
        check_pool(c, 1, "after the next call");
    }
}

/* ---- what libmemcached cannot give --------------------------------------------- */

static pid_t start_child(case_t *c) {
    pid_t pid = child_fork(60);
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        _exit((int)run_it(c));
    }
    return pid;
}

/* Its wait status after at most `ms`; -1: it still runs. */
static int wait_for_child(pid_t pid, uint32_t ms) {
    int64_t begun = now_ms();
    int status;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (now_ms() - begun >= ms) {
            return -1;
        }
        usleep(2000);
    }
    return status;
}

static void check_in_child(case_t *c) {
    pid_t pid = start_child(c);
    bool late = c->outcome.end == OUTLASTS;
    int status = wait_for_child(pid, late ? c->ms + c->ms / 4 : LONG_MS);
    if (status < 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        tap_ok(late, "%s: outlasts its deadline of %u ms by a quarter (a known limit)", c->what,
               c->ms);
    } else {
        tap_ok(!late && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
               "%s: aborts the process (a known limit)", c->what);
    }
}

static void run_case(const fault_t *fault, size_t transport, operation_t operation) {
    case_t c = {
        .fault = fault, .operation = operation, .outcome = fault->outcome[transport][operation]};
    if (c.outcome.end == NONE) {
        return;
    }
    snprintf(c.what, sizeof c.what, "%s, %s, %s", fault->name, operation_names[operation],
             test_transport());
    set_up(&c);
    (c.outcome.end == ENDS ? check_end : check_in_child)(&c);
    tear_down(&c);
}

int main(void) {
    for (size_t transport = 0; transport < TEST_TRANSPORTS_BUILT; transport++) {
        test_use_transport(test_transport_names[transport]);
        for (size_t i = 0; i < fault_count; i++) {
            for (operation_t operation = 0; operation < OPERATIONS; operation++) {
                run_case(&faults[i], transport, operation);
            }
        }
    }
    return tap_done();
}
