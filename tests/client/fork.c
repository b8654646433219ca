/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that forks while its threads use a client, and while one of them
 * puts topologies in force: each child works with the handle it inherited,
 * reads, writes, migrates, forks again, and closes it; the parent never
 * notices, and nobody gets a value of another key.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/calls.h"
#include "tests/lib/child.h"
#include "tests/lib/fixture.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"
#include "tests/lib/transports.h"

enum { SERVERS = 4, KEYS = 400, THREADS = 6, CHILD_SECONDS = 60, CHILD_KEYS = 40 };

/* No call may fail because the machine is busy. */
static const char *const patient[] = {"deadline_ms", "30000", "max_deadline_ms", "30000", NULL};

typedef struct {
    fixture_t *fixture;
    warmring_t *client;
    traffic_t *traffic;
    char before[256];
} plan_t;

/* ---- the child --------------------------------------------------------------------
 *
 * It has no other threads and may not take locks of theirs: it neither prints
 * nor uses the parent's traffic, and says by its exit status what went wrong.
 */

typedef enum {
    GOOD,
    CANNOT_READ,
    FOREIGN_VALUE,
    CANNOT_STORE,
    LOST_VALUE,
    CANNOT_MULTI,
    CANNOT_APPLY,
    BAD_GRANDCHILD
} verdict_t;
static const char *const verdicts[] = {
    "all is well",          "a read failed",         "a value of another key",
    "a store failed",       "its own value is gone", "a multi get failed",
    "an apply was refused", "its own child failed"};

static verdict_t read_parents_keys(warmring_t *client) {
    for (size_t i = 0; i < KEYS; i += 7) {
        char key[TRAFFIC_KEY_SIZE];
        size_t length = traffic_key(i, key);
        warmring_item_t item = WARMRING_ITEM_INIT;
        warmring_status_t status = warmring_get(client, key, length, &item, NULL);
        bool good = status != WARMRING_OK || traffic_recognises(i, &item);
        warmring_item_clear(&item);
        if (!good) {
            return FOREIGN_VALUE;
        }
        if (status != WARMRING_OK && status != WARMRING_NOT_FOUND) {
            return CANNOT_READ;
        }
    }
    return GOOD;
}

static verdict_t read_many(warmring_t *client) {
    char text[8][TRAFFIC_KEY_SIZE];
    warmring_bytes_t keys[8];
    for (size_t i = 0; i < 8; i++) {
        size_t length = traffic_key(i * 11, text[i]);
        keys[i] = (warmring_bytes_t){text[i], length};
    }
    warmring_results_t *results = warmring_results_create();
    bool good =
        results != NULL && warmring_get_multi(client, keys, 8, results, NULL) == WARMRING_OK;
    for (size_t i = 0; i < 8 && good; i++) {
        const warmring_item_t *item = warmring_results_at(results, i);
        good = item->status != WARMRING_OK || traffic_recognises(i * 11, item);
    }
    warmring_results_free(results);
    return good ? GOOD : CANNOT_MULTI;
}

/* Keys of its own. */
static verdict_t write_own_keys(warmring_t *client) {
    for (unsigned i = 0; i < CHILD_KEYS; i++) {
        char key[CALLS_KEY_SIZE];
        snprintf(key, sizeof key, "child:%d:%u", (int)getpid(), i);
        if (store_key(client, key, key) != WARMRING_OK) {
            return CANNOT_STORE;
        }
        answer_t answer = read_key(client, key);
        if (answer.status != WARMRING_OK || strcmp(answer.value, key) != 0) {
            return LOST_VALUE;
        }
    }
    return GOOD;
}

/* The next topology of the parent's migration, or the beginning of one. */
static verdict_t apply_something(warmring_t *client, const char *servers) {
    warmring_topology_t *now = NULL, *next = NULL, *target = NULL;
    warmring_status_t status = warmring_acquire(client, &now);
    if (status == WARMRING_OK && warmring_topology_phase(now) == WARMRING_STABLE) {
        status = warmring_topology_parse(&target, servers, NULL, 0);
        status = status == WARMRING_OK ? warmring_topology_migrate(now, target, &next) : status;
    } else if (status == WARMRING_OK && warmring_topology_phase(now) == WARMRING_PREPARED) {
        status = warmring_topology_step(now, WARMRING_WARM, &next);
    } else if (status == WARMRING_OK) {
        status = warmring_topology_rollout(now, NULL, 7777, &next);
    }
    status = status == WARMRING_OK ? warmring_apply(client, next, 5000) : status;
    warmring_topology_release(target);
    warmring_topology_release(next);
    warmring_topology_release(now);
    return status == WARMRING_OK ? GOOD : CANNOT_APPLY;
}

static verdict_t first_of(verdict_t verdict, verdict_t next) {
    return verdict != GOOD ? verdict : next;
}

static verdict_t work(warmring_t *client, const char *servers) {
    verdict_t verdict = read_parents_keys(client);
    verdict = first_of(verdict, write_own_keys(client));
    verdict = first_of(verdict, apply_something(client, servers));
    verdict = first_of(verdict, write_own_keys(client));
    return first_of(verdict, read_many(client));
}

static _Noreturn void be_child(warmring_t *client, const char *servers, unsigned number) {
    verdict_t verdict = number % 2 == 0 ? work(client, servers) : GOOD;
    pid_t grandchild = number % 3 == 0 ? child_fork(CHILD_SECONDS) : -1;
    if (grandchild == 0) {
        verdict = work(client, servers);
        warmring_close(client);
        _exit((int)verdict);
    }
    if (grandchild > 0) {
        verdict = first_of(verdict, child_wait(grandchild) == 0 ? GOOD : BAD_GRANDCHILD);
    }
    warmring_close(client);
    _exit((int)verdict);
}

/* ---- the parent ----------------------------------------------------------------------- */

static void fork_once(const plan_t *plan, unsigned number, unsigned *failed) {
    pid_t child = child_fork(CHILD_SECONDS);
    if (child == 0) {
        be_child(plan->client, fixture_servers(plan->fixture), number);
    }
    int status = child_wait(child);
    bool ended = WIFEXITED(status);
    if (!ended || WEXITSTATUS(status) != GOOD) {
        size_t verdict = ended ? (size_t)WEXITSTATUS(status) : 0;
        tap_note("child %u: %s, status %#x", number,
                 !ended                                           ? "killed by a signal"
                 : verdict < sizeof verdicts / sizeof verdicts[0] ? verdicts[verdict]
                                                                  : "ended by something else",
                 (unsigned)status);
        ++*failed;
    }
}

static void fork_often(const plan_t *plan, const char *what) {
    unsigned forks = 10 + (unsigned)(20 * tap_seconds()), failed = 0;
    traffic_counts_t before = traffic_counts(plan->traffic);
    for (unsigned i = 0; i < forks; i++) {
        fork_once(plan, i, &failed);
    }
    traffic_wait(plan->traffic, 50);
    traffic_counts_t after = traffic_counts(plan->traffic);
    traffic_counts_t counts = traffic_difference(&after, &before);
    traffic_note(what, &counts);
    tap_int(failed, 0, "%s: %u children worked with the handle and closed it", what, forks);
    tap_int((int64_t)(counts.stale + counts.unwritten), 0,
            "%s: the parent read nothing stale or unwritten in %llu reads", what,
            (unsigned long long)counts.reads);
    tap_int((int64_t)counts.errors, 0, "%s: none of its calls failed", what);
}

/* Children must not have spoken over the parent's connections. */
static void check_connections(const plan_t *plan) {
    warmring_snapshot_t *snapshot = NULL;
    warmring_server_counters_t counters = {.size = sizeof counters};
    if (warmring_snapshot_create(plan->client, &snapshot) != WARMRING_OK) {
        tap_bail("no snapshot: %s", warmring_error_detail());
    }
    for (size_t i = 0; warmring_snapshot_server(snapshot, i, &counters) == WARMRING_OK; i++) {
        tap_ok(counters.connects <= THREADS + 2, "%s: %llu connections were opened by %d threads",
               counters.address, (unsigned long long)counters.connects, THREADS);
        tap_int((int64_t)(counters.lost_connections + counters.protocol_errors), 0,
                "and none was lost or garbled");
    }
    warmring_snapshot_free(snapshot);
}

/* ---- applies meanwhile ------------------------------------------------------------------ */

typedef struct {
    const plan_t *plan;
    _Atomic bool stop;
    unsigned applied, refused;
} applier_t;

static void *apply_on(void *argument) {
    applier_t *applier = argument;
    for (uint32_t i = 0; !atomic_load(&applier->stop); i++) {
        warmring_topology_t *next = NULL, *now = steps_present(applier->plan->client);
        bool done = warmring_topology_rollout(now, NULL, i % 10000, &next) == WARMRING_OK &&
                    warmring_apply(applier->plan->client, next, 10000) == WARMRING_OK;
        done ? applier->applied++ : applier->refused++;
        warmring_topology_release(next);
        warmring_topology_release(now);
    }
    return NULL;
}

static void fork_during_applies(const plan_t *plan) {
    applier_t applier = {.plan = plan};
    pthread_t thread;
    steps_begin(plan->client, fixture_servers(plan->fixture));
    steps_take(plan->client, WARMRING_WARM);
    if (pthread_create(&thread, NULL, apply_on, &applier) != 0) {
        tap_bail("cannot start a thread");
    }
    fork_often(plan, "during applies");
    atomic_store(&applier.stop, true);
    pthread_join(thread, NULL);
    tap_ok(applier.applied > 0, "%u applies were done meanwhile", applier.applied);
    tap_int(applier.refused, 0, "and none refused");
}

static void run_all(void) {
    const traffic_options_t shape = {
        .threads = THREADS, .keys = KEYS, .sets = 15, .deletes = 5, .multi = 10, .seed = 60};
    plan_t plan = {.fixture = fixture_start(SERVERS, NULL)};
    snprintf(plan.before, sizeof plan.before, "%s", fixture_first_servers(plan.fixture, 3));
    plan.client = steps_open(plan.before, patient);
    plan.traffic = traffic_create(plan.client, &shape);
    traffic_fill(plan.traffic);
    traffic_start(plan.traffic);
    traffic_wait(plan.traffic, 50);
    fork_often(&plan, "in STABLE");
    check_connections(&plan);
    fork_during_applies(&plan);
    check_connections(&plan);
    traffic_free(plan.traffic);
    warmring_close(plan.client);
    fixture_free(plan.fixture);
}

int main(void) {
    if (!child_may_allocate()) {
        tap_skip_all(CHILD_MAY_NOT_ALLOCATE);
    }
    test_transports(run_all);
    return tap_done();
}
