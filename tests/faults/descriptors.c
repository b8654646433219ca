/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that has no descriptor left: the call fails at once and says why,
 * the server is not blamed for it, connections that are open go on, and so
 * does everything else as soon as there is a descriptor again.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "faults.h"
#include "tests/lib/fixture.h"

enum { ROUNDS = 5 };

static struct rlimit before;

/* No descriptor from the lowest free one on. */
static void exhaust(void) {
    int lowest = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (lowest < 0) {
        tap_bail("no descriptor to begin with");
    }
    close(lowest);
    struct rlimit none = {.rlim_cur = (rlim_t)lowest, .rlim_max = before.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) {
        tap_bail("no limit on descriptors");
    }
}

static void restore(void) {
    setrlimit(RLIMIT_NOFILE, &before);
}

static void run(void) {
    fixture_t *fixture = fixture_start(2, NULL);
    const char *const options[] = {"failure_limit", "1", "retry_ms", "60000", NULL};
    char opened[KEY_SIZE], fresh[KEY_SIZE];
    unsigned next = 0;
    warmring_t *client = faults_open(fixture_servers(fixture), options);
    key_of(client, fixture_address(fixture, 0), &next, opened);
    key_of(client, fixture_address(fixture, 1), &next, fresh);
    tap_status(operate(client, SET, opened, LONG_MS), WARMRING_OK, "a connection is open");
    exhaust();
    for (int i = 0; i < ROUNDS; i++) {
        for (operation_t operation = 0; operation < OPERATIONS; operation++) {
            int64_t begun = now_ms();
            tap_status(operate(client, operation, fresh, LONG_MS), WARMRING_CONNECT_FAILED,
                       "no descriptor: %s", operation_names[operation]);
            in_time(begun, 0, false, "... at once");
            tap_contains(warmring_error_detail(), fixture_address(fixture, 1), "... the server");
            tap_contains(warmring_error_detail(), "Too many open files", "... the cause");
        }
        tap_status(operate(client, GET, opened, LONG_MS), WARMRING_OK, "an open connection works");
    }
    restore();
    warmring_server_counters_t counters = server_counters(client, fixture_address(fixture, 1));
    tap_ok(!counters.down, "the server is not taken for down");
    tap_int(counters.connections, 0, "no connection is counted");
    tap_status(operate(client, SET, fresh, LONG_MS), WARMRING_OK,
               "with a descriptor the next call works");
    warmring_close(client);
    fixture_free(fixture);
}

int main(void) {
    getrlimit(RLIMIT_NOFILE, &before);
    test_transports(run);
    return tap_done();
}
