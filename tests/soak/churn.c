/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers come and go and change their weights, over and over, while threads
 * read and write: ten thousand times by scripts/soak.sh (CHURN_CYCLES), a few
 * in a short run. A cycle adds the server that is out, gives one another
 * weight, and takes one out; each of these by a migration, by one that is
 * rolled back before the change is made cold, or cold alone.
 *
 * Nothing old is read, no call fails, and what the process uses after a tenth
 * of the cycles is what it uses at their end. A cold flip filters nothing, so
 * all servers are emptied before it (topology.h): what is written between
 * goes where the servers that gain keys do not see it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/lib/fixture.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"
#include "tests/lib/transports.h"
#include "tests/lib/usage.h"

enum { SERVERS = 5, KEYS = 512, THREADS = 4, PAUSE_US = 200, CYCLES_A_SECOND = 8 };

/* No call may fail because the machine is busy. */
static const char *const patient[] = {"deadline_ms", "30000", "max_deadline_ms", "30000", NULL};

typedef struct {
    fixture_t *fixture;
    warmring_t *client, *cleaner; /* the second knows all servers at all times */
    traffic_t *traffic;
    uint64_t dice;
    size_t out; /* the server that is in no ring */
    unsigned cold, warm, rolled_back;
} churn_t;

static uint64_t seed;

static void demand(warmring_status_t status) {
    if (status != WARMRING_OK) {
        tap_bail("%s: %s", warmring_status_name(status), warmring_error_detail());
    }
}

static uint32_t roll(churn_t *churn, uint32_t sides) {
    churn->dice = churn->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((churn->dice >> 33) % sides);
}

/* ---- changes ------------------------------------------------------------------ */

typedef warmring_status_t edit_t(churn_t *churn, size_t server, const warmring_topology_t *now,
                                 warmring_topology_t **next);

static double weight_of(uint32_t number) {
    return 0.5 + number / 4.0;
}

static warmring_status_t add(churn_t *churn, size_t server, const warmring_topology_t *now,
                             warmring_topology_t **next) {
    char text[128];
    snprintf(text, sizeof text, "%s:%g", fixture_address(churn->fixture, server),
             weight_of(roll(churn, 8)));
    return warmring_topology_add_server(now, text, next);
}

static warmring_status_t reweight(churn_t *churn, size_t server, const warmring_topology_t *now,
                                  warmring_topology_t **next) {
    return warmring_topology_set_weight(now, fixture_address(churn->fixture, server),
                                        weight_of(roll(churn, 8)), next);
}

static warmring_status_t take_out(churn_t *churn, size_t server, const warmring_topology_t *now,
                                  warmring_topology_t **next) {
    return warmring_topology_remove_server(now, fixture_address(churn->fixture, server), next);
}

static warmring_topology_t *edited(churn_t *churn, edit_t *edit, size_t server) {
    warmring_topology_t *next = NULL, *now = steps_present(churn->client);
    demand(edit(churn, server, now, &next));
    warmring_topology_release(now);
    return next;
}

/* ---- putting them in force ------------------------------------------------------ */

/* Lets every thread do something. */
static void pass(const churn_t *churn) {
    traffic_wait(churn->traffic, 1);
}

static void flip(churn_t *churn, const warmring_topology_t *target) {
    warmring_topology_t *next = NULL, *now = steps_present(churn->client);
    demand(warmring_topology_replace(now, target, &next)); /* it may be of an earlier epoch */
    warmring_topology_release(now);
    demand(warmring_flush(churn->cleaner, NULL));
    steps_apply(churn->client, next);
    churn->cold++;
}

static void go_to(churn_t *churn, warmring_phase_t last) {
    for (warmring_phase_t phase = WARMRING_WARMING; phase <= last; phase++) {
        pass(churn);
        steps_forward(churn->client, phase);
    }
    pass(churn);
}

static void migrate(churn_t *churn, const warmring_topology_t *target) {
    steps_migrate(churn->client, target);
    go_to(churn, WARMRING_SETTLING);
    traffic_sweep(churn->traffic); /* what makes SETTLE true */
    steps_take(churn->client, WARMRING_SETTLE);
    churn->warm++;
}

static void try_and_flip(churn_t *churn, const warmring_topology_t *target) {
    steps_migrate(churn->client, target);
    go_to(churn, WARMRING_PREPARED + roll(churn, WARMRING_SETTLING - WARMRING_PREPARED));
    steps_back(churn->client);
    churn->rolled_back++;
    flip(churn, target);
}

static void change(churn_t *churn, edit_t *edit, size_t server) {
    static void (*const ways[])(churn_t *, const warmring_topology_t *) = {flip, flip, migrate,
                                                                           try_and_flip};
    warmring_topology_t *target = edited(churn, edit, server);
    ways[roll(churn, sizeof ways / sizeof ways[0])](churn, target);
    warmring_topology_release(target);
    pass(churn);
}

static void do_cycles(churn_t *churn, uint64_t cycles) {
    for (uint64_t i = 0; i < cycles; i++) {
        change(churn, add, churn->out);
        change(churn, reweight, roll(churn, SERVERS));
        churn->out = roll(churn, SERVERS);
        change(churn, take_out, churn->out);
    }
}

/* ---- the run --------------------------------------------------------------------- */

/* With no call under way. */
static usage_t usage_at_rest(const churn_t *churn) {
    traffic_stop(churn->traffic);
    usage_t usage = usage_now();
    traffic_start(churn->traffic);
    return usage;
}

static void judge(const churn_t *churn) {
    traffic_counts_t counts = traffic_counts(churn->traffic);
    traffic_note(test_transport(), &counts);
    tap_note("  %u cold flips, %u migrations, %u rolled back; the machine stalled for %" PRIu64
             " ms at most",
             churn->cold, churn->warm, churn->rolled_back, traffic_stall_ms(churn->traffic));
    tap_ok(counts.stale == 0 && counts.unwritten == 0 && counts.hits > 0,
           "%s: %" PRIu64 " hits, %" PRIu64 " stale, %" PRIu64 " unwritten, TEST_SEED=%" PRIu64,
           test_transport(), counts.hits, counts.stale, counts.unwritten, seed);
    tap_int((int64_t)counts.errors, 0, "%s: no call of %" PRIu64 " failed", test_transport(),
            counts.operations);
}

static uint64_t cycles_to_do(void) {
    const char *text = getenv("CHURN_CYCLES");
    uint64_t cycles = text != NULL && *text != '\0' ? strtoull(text, NULL, 10)
                                                    : (uint64_t)(CYCLES_A_SECOND * tap_seconds());
    return cycles > 10 ? cycles : 10;
}

static void run(void) {
    const traffic_options_t shape = {.threads = THREADS,
                                     .keys = KEYS,
                                     .sets = 15,
                                     .deletes = 5,
                                     .multi = 20,
                                     .pause_us = PAUSE_US,
                                     .seed = seed};
    churn_t churn = {.dice = seed, .out = SERVERS - 1};
    uint64_t cycles = cycles_to_do(), first = cycles / 10;
    churn.fixture = fixture_start(SERVERS, NULL);
    churn.client = steps_open(fixture_first_servers(churn.fixture, SERVERS - 1), patient);
    churn.cleaner = steps_open(fixture_servers(churn.fixture), patient);
    churn.traffic = traffic_create(churn.client, &shape);
    traffic_fill(churn.traffic);
    traffic_start(churn.traffic);

    do_cycles(&churn, first);
    usage_t warm = usage_at_rest(&churn);
    do_cycles(&churn, cycles - first);
    usage_t later = usage_at_rest(&churn);
    traffic_stop(churn.traffic);
    judge(&churn);
    char what[96];
    snprintf(what, sizeof what, "%s: after %" PRIu64 " and after %" PRIu64 " cycles",
             test_transport(), first, cycles);
    usage_flat(&warm, &later, what);
    traffic_free(churn.traffic);
    warmring_close(churn.client);
    warmring_close(churn.cleaner);
    fixture_free(churn.fixture);
    tap_int(usage_now().blocks, 0, "%s: closed, no block is left", test_transport());
}

int main(void) {
    const char *text = getenv("TEST_SEED");
    seed = text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
    tap_note("TEST_SEED=%" PRIu64 ", %" PRIu64 " cycles", seed, cycles_to_do());
    usage_count_blocks();
    test_transports(run);
    return tap_done();
}
