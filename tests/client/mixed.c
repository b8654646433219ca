/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two clients of one cluster, one with each transport, taken through the same
 * migration while threads of both read and write the same keys: what one
 * leaves on a server, copies and stubs, the other must understand.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"
#include "tests/lib/transports.h"

enum { SERVERS = 4, KEYS = 1000, THREADS = 8 };

static const char *const options[] = {"deadline_ms", "60000", "max_deadline_ms", "60000", NULL};

typedef struct {
    fixture_t *fixture;
    warmring_t *client[TEST_TRANSPORTS];
    traffic_t *traffic;
    char before[256], after[256];
    uint64_t operations; /* of each thread, between two steps */
} plan_t;

/* The two are a step apart for a while, first the one, then the other. */
static void take(const plan_t *plan, warmring_step_t step, size_t first) {
    steps_take(plan->client[first], step);
    traffic_wait(plan->traffic, plan->operations);
    steps_take(plan->client[1 - first], step);
    traffic_wait(plan->traffic, plan->operations);
}

static void roll_out(const plan_t *plan, uint32_t basis_points) {
    for (size_t i = 0; i < TEST_TRANSPORTS; i++) {
        steps_rollout(plan->client[i], basis_points);
        traffic_wait(plan->traffic, plan->operations);
    }
}

/* A migration is begun once: the seed of its rollout is part of it. */
static void begin(const plan_t *plan) {
    steps_begin(plan->client[0], plan->after);
    traffic_wait(plan->traffic, plan->operations);
    steps_apply(plan->client[1], steps_present(plan->client[0]));
}

static warmring_counters_t counters_of(warmring_t *client) {
    warmring_snapshot_t *snapshot = NULL;
    warmring_counters_t counters = {.size = sizeof counters};
    if (warmring_snapshot_create(client, &snapshot) != WARMRING_OK ||
        warmring_snapshot_client(snapshot, -1, &counters) != WARMRING_OK) {
        tap_bail("no snapshot: %s", warmring_error_detail());
    }
    warmring_snapshot_free(snapshot);
    return counters;
}

/* ---- stubs ------------------------------------------------------------------- */

typedef struct {
    warmring_t *client;
    const char *key;
    answer_t answer;
    pthread_t thread;
} reader_t;

static void *read_in_thread(void *argument) {
    reader_t *reader = argument;
    reader->answer = read_key(reader->client, reader->key);
    return NULL;
}

static void start(reader_t *reader) {
    if (pthread_create(&reader->thread, NULL, read_in_thread, reader) != 0) {
        tap_bail("no thread");
    }
}

static bool has_stub(const plan_t *plan, size_t server, const char *key) {
    for (int i = 0; i < 15000; i++) {
        raw_item_t item = raw_look(plan->fixture, server, key);
        if (item.present) {
            return item.length == 0 && item.flags == WARMRING_RESERVED_FLAGS;
        }
        traffic_wait_ms(2);
    }
    return false;
}

/* How many gets a server has answered. */
static uint64_t gets_of(const plan_t *plan, size_t server) {
    char reply[4096];
    fixture_raw(plan->fixture, server, "stats\r\n", "END\r\n", reply, sizeof reply);
    const char *at = strstr(reply, "STAT cmd_get ");
    return at != NULL ? strtoull(at + sizeof "STAT cmd_get " - 1, NULL, 10) : 0;
}

static void wait_for_gets(const plan_t *plan, size_t server, uint64_t number) {
    for (int i = 0; gets_of(plan, server) < number; i++) {
        if (i == 30000) {
            tap_bail("nobody reads server %zu", server);
        }
        traffic_wait_ms(1);
    }
}

/* While one waits for the old owner with its lease on the new one, the other
 * reads the same key: it must wait for the old owner, too. */
static void test_stub(const plan_t *plan, size_t holder, unsigned *next) {
    char key[CALLS_KEY_SIZE];
    reader_t readers[2] = {{plan->client[holder], key, {0}, 0},
                           {plan->client[1 - holder], key, {0}, 0}};
    warmring_topology_t *topology = steps_present(plan->client[0]);
    choose_key(plan->client[0], "stub", true, next, key);
    size_t old = steps_owner(topology, WARMRING_OLD_RING, key);
    size_t new = steps_owner(topology, WARMRING_NEW_RING, key);
    warmring_topology_release(topology);
    raw_store(plan->fixture, old, key, 0, 0, "value");
    uint64_t fills = counters_of(readers[1].client).fills;
    uint64_t fallbacks = counters_of(readers[1].client).fallbacks;
    fixture_stop(plan->fixture, old);
    start(&readers[0]);
    tap_ok(has_stub(plan, new, key), "%s has left a stub", test_transport_names[holder]);
    uint64_t asked = gets_of(plan, new);
    start(&readers[1]);
    wait_for_gets(plan, new, asked + 1); /* it has met the stub */
    fixture_continue(plan->fixture, old);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(readers[i].thread, NULL);
        tap_string(shown(&readers[i].answer), "value", "... and %s reads the old owner's value",
                   i == 0 ? "it" : "the other");
    }
    warmring_counters_t counters = counters_of(readers[1].client);
    tap_int((int64_t)(counters.fallbacks - fallbacks), 1, "... the stub was a miss to the other");
    tap_int((int64_t)(counters.fills - fills), 0, "... which copied nothing");
    raw_holds(plan->fixture, new, key, "value", "the copy is the holder's");
}

static void test_stubs(const plan_t *plan) {
    unsigned next = 0;
    traffic_stop(plan->traffic);
    for (int round = 0; round < 3; round++) {
        for (size_t holder = 0; holder < TEST_TRANSPORTS; holder++) {
            test_stub(plan, holder, &next);
        }
    }
    traffic_start(plan->traffic);
}

static void check(const plan_t *plan, const char *when) {
    traffic_counts_t counts = traffic_counts(plan->traffic);
    bool good = tap_ok(counts.stale == 0 && counts.unwritten == 0 && counts.errors == 0,
                       "%s: %llu reads, none stale or unwritten, no call failed", when,
                       (unsigned long long)counts.reads);
    if (!good) {
        traffic_note("  counts", &counts);
    }
}

static void migrate(const plan_t *plan) {
    begin(plan);
    take(plan, WARMRING_WARM, 0);
    roll_out(plan, 3000);
    roll_out(plan, WARMRING_ROLLOUT_ALL);
    check(plan, "WARMING");
    test_stubs(plan);
    take(plan, WARMRING_COMMIT, 1);
    take(plan, WARMRING_COMMIT, 0);
    check(plan, "DRAINING");
    take(plan, WARMRING_FINISH, 1);
    take(plan, WARMRING_FINISH, 0);
    check(plan, "SETTLING");
    for (size_t i = 0; i < TEST_TRANSPORTS; i++) {
        tap_ok(counters_of(plan->client[i]).fills > 0, "%s has filled", test_transport_names[i]);
    }
}

int main(void) {
    plan_t plan = {.fixture = fixture_start(SERVERS, NULL)};
    plan.operations = 20 + (uint64_t)(40 * tap_seconds());
    snprintf(plan.before, sizeof plan.before, "%s", fixture_first_servers(plan.fixture, 2));
    snprintf(plan.after, sizeof plan.after, "%s", fixture_servers(plan.fixture));
    for (size_t i = 0; i < TEST_TRANSPORTS; i++) {
        test_use_transport(test_transport_names[i]);
        plan.client[i] = steps_open(plan.before, options);
    }
    const traffic_options_t shape = {.threads = THREADS,
                                     .keys = KEYS,
                                     .sets = 15,
                                     .deletes = 5,
                                     .multi = 15,
                                     .deadline_ms = 60000,
                                     .seed = 4711,
                                     .second = plan.client[1]};
    plan.traffic = traffic_create(plan.client[0], &shape);
    traffic_fill(plan.traffic);
    traffic_start(plan.traffic);
    migrate(&plan);
    traffic_stop(plan.traffic);
    traffic_free(plan.traffic);
    for (size_t i = 0; i < TEST_TRANSPORTS; i++) {
        warmring_close(plan.client[i]);
    }
    fixture_free(plan.fixture);
    return tap_done();
}
