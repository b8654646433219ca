/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that is stopped while its fleet takes steps. It goes on with the
 * newest data or answers TOPOLOGY_STALE; it never shows what was in force
 * when it was stopped.
 *
 * The old owner of the key keeps the old value all the time: the steps lead to
 * SETTLING, where only the new owner is written. So a single read by the
 * topology of before would be found.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fleet/support.h"
#include "tests/lib/calls.h"
#include "tests/lib/child.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { THREADS = 1, FRESH_READS = 50, HOLD = 1100, CHILD_SECONDS = 120 };

/* What the child says of its reads. */
typedef struct {
    _Atomic unsigned reads;
    _Atomic bool judged; /* what begins from now on counts */
    _Atomic unsigned fresh, refused, old, missed, other;
    _Atomic int status; /* of the last other */
} report_t;

static fleet_t *fleet;
static report_t *report;
static char key[CALLS_KEY_SIZE];

static report_t *share(void) {
    void *memory =
        mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        tap_bail("no shared memory");
    }
    return memory;
}

static void note_read(const answer_t *answer) {
    if (answer->status == WARMRING_OK) {
        atomic_fetch_add(strcmp(answer->value, "new") == 0 ? &report->fresh : &report->old, 1);
    } else if (answer->status == WARMRING_NOT_FOUND) {
        atomic_fetch_add(&report->missed, 1);
    } else if (answer->status == WARMRING_TOPOLOGY_STALE) {
        atomic_fetch_add(&report->refused, 1);
    } else {
        atomic_store(&report->status, (int)answer->status);
        atomic_fetch_add(&report->other, 1);
    }
}

/* Reads all the time. */
_Noreturn static void read_on(const char *path) {
    warmring_t *client = fleet_open_copy(path, NULL);
    for (;;) {
        bool judged = atomic_load(&report->judged);
        answer_t answer = read_key(client, key);
        if (judged) {
            note_read(&answer);
        }
        atomic_fetch_add(&report->reads, 1);
    }
}

static pid_t start_child(const char *path) {
    pid_t child = child_fork(CHILD_SECONDS);
    if (child == 0) {
        read_on(path);
    }
    while (child > 0 && atomic_load(&report->reads) < 20) {
        fleet_sleep_ms(5);
    }
    return child;
}

static void stop(pid_t child) {
    int status;
    kill(child, SIGSTOP);
    if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status)) {
        tap_bail("the child does not stop");
    }
}

static void end_child(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void choose_moved(void) {
    warmring_t *client = fleet_open(fleet, NULL);
    unsigned next = 0;
    choose_key(client, "key", true, &next, key);
    tap_status(store_key(client, key, "old"), WARMRING_OK, "the old value");
    warmring_close(client);
}

/* To SETTLING, the value copied on the way and then overwritten. */
static void take_steps(void) {
    fleet_step(fleet, WARMRING_COMMIT);
    fleet_step(fleet, WARMRING_COMMIT);
    warmring_t *client = fleet_open(fleet, NULL);
    answer_t copied = read_key(client, key);
    tap_string(shown(&copied), "old", "copied in DRAINING");
    warmring_close(client);
    fleet_step(fleet, WARMRING_FINISH);
    fleet_step(fleet, WARMRING_FINISH);
    client = fleet_open(fleet, NULL);
    tap_status(store_key(client, key, "new"), WARMRING_OK, "the new value, in SETTLING");
    warmring_close(client);
    fleet_announce(fleet);
}

static void judge(const char *what, bool follows) {
    unsigned all = 0;
    for (unsigned i = 0; i < 2000 && all < FRESH_READS; i++) {
        all = atomic_load(&report->fresh) + atomic_load(&report->refused) +
              atomic_load(&report->old) + atomic_load(&report->missed) +
              atomic_load(&report->other);
        fleet_sleep_ms(5);
    }
    tap_note("%s: %u new, %u refused, %u old, %u missed, %u other (%s)", what, report->fresh,
             report->refused, report->old, report->missed, report->other,
             warmring_status_name((warmring_status_t)report->status));
    tap_int(report->old, 0, "%s: no old value", what);
    tap_ok(all >= FRESH_READS, "%s: %u reads", what, all);
    if (follows) {
        tap_ok(report->fresh > 0, "%s: it reads the new value", what);
    } else {
        tap_int(report->fresh + report->missed, 0, "%s: it reads nothing", what);
        tap_ok(report->refused > 0, "%s: but TOPOLOGY_STALE", what);
    }
}

static void check(const char *what, bool follows) {
    char copy[160];
    fleet = fleet_start(3, 2, 5);
    report = share();
    snprintf(copy, sizeof copy, "%s/copy.json", fleet->directory);
    fleet_begin(fleet, fixture_first_servers(fleet->fixture, 3));
    fleet_step(fleet, WARMRING_WARM);
    choose_moved();
    fleet_put_text(copy, warmring_file_text(fleet->file));
    pid_t child = start_child(follows ? fleet->path : copy);
    stop(child);
    take_steps();
    fleet_sleep_ms(HOLD);
    atomic_store(&report->judged, true);
    kill(child, SIGCONT);
    judge(what, follows);
    end_child(child);
    munmap(report, sizeof *report);
    fleet_free(fleet);
}

static void run(void) {
    char what[64];
    snprintf(what, sizeof what, "%s, shared file", test_transport());
    check(what, true);
    snprintf(what, sizeof what, "%s, file never updated", test_transport());
    check(what, false);
}

int main(void) {
    test_transports(run);
    return tap_done();
}
