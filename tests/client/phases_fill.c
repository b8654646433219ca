/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fill: how a value gets to the new owner, and when it must not.
 *
 * The old ring is server 0 (O) alone, the new one both: moved keys go to 1
 * (N). To stand between the lease on N and the fill, O is stopped: the reader
 * has left its stub on N and waits for O, and whatever is done to N then is
 * done in the middle of the fill.
 */
#include <pthread.h>
#include <string.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"
#include "tests/lib/transports.h"

enum { O = 0, N = 1, FILL_TTL = 7, WAIT_MS = 30000 };

static const char *const options[] = {"fill_ttl_s",      "7",     "deadline_ms", "30000",
                                      "max_deadline_ms", "60000", NULL};

typedef struct {
    fixture_t *fixture;
    char before[64];
    const char *after;
    warmring_t *client;
    unsigned next;
} plan_t;

static const warmring_phase_t filling[] = {WARMRING_WARMING, WARMRING_HANDOVER, WARMRING_DRAINING};
static const warmring_phase_t closing[] = {WARMRING_CLOSING, WARMRING_SETTLING};

static const char *phase_of(const plan_t *plan) {
    return warmring_phase_name(steps_phase(plan->client));
}

static void moved_key(plan_t *plan, char *key) {
    choose_key(plan->client, "fill", true, &plan->next, key);
}

static uint64_t counted(const plan_t *plan, size_t counter) {
    warmring_snapshot_t *snapshot = NULL;
    warmring_counters_t counters = {.size = sizeof counters};
    if (warmring_snapshot_create(plan->client, &snapshot) != WARMRING_OK ||
        warmring_snapshot_client(snapshot, -1, &counters) != WARMRING_OK) {
        tap_bail("no snapshot: %s", warmring_error_detail());
    }
    warmring_snapshot_free(snapshot);
    uint64_t value;
    memcpy(&value, (const char *)&counters + counter, sizeof value);
    return value;
}

#define COUNTED(plan, counter) counted(plan, offsetof(warmring_counters_t, counter))

/* Whether the transport can tell what is left of a value's life. */
static bool tells_ttl(void) {
    return test_is_meta();
}

/* ---- copies --------------------------------------------------------------------- */

static void check_copy(const plan_t *plan, const char *key, const char *way) {
    raw_item_t copy = raw_look(plan->fixture, N, key);
    raw_holds(plan->fixture, N, key, "value", "copied");
    tap_int(copy.flags, 123456, "%s in %s: the copy has the flags", way, phase_of(plan));
    if (tells_ttl()) {
        tap_int(copy.ttl, -1, "and never ends, as the value");
    } else {
        tap_ok(copy.ttl > 0 && copy.ttl <= FILL_TTL, "and a life of %lld s, at most the cap, %d s",
               (long long)copy.ttl, FILL_TTL);
    }
    raw_holds(plan->fixture, O, key, "value", "the original stays");
}

static void test_copies(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    for (size_t i = 0; i < READ_WAYS; i++) {
        uint64_t fills = COUNTED(plan, fills), fallbacks = COUNTED(plan, fallbacks);
        moved_key(plan, key);
        raw_store(plan->fixture, O, key, 123456, 0, "value");
        answer_t answer = read_ways[i].call(plan->client, key, 0);
        tap_string(shown(&answer), "value", "%s in %s", read_ways[i].name, phase_of(plan));
        tap_int(answer.flags, 123456, "with its flags");
        check_copy(plan, key, read_ways[i].name);
        tap_int((int64_t)(COUNTED(plan, fills) - fills), 1, "one fill is counted");
        tap_ok(COUNTED(plan, fallbacks) > fallbacks, "and a fallback");

        raw_store(plan->fixture, O, key, 0, 0, "not asked");
        answer = read_ways[i].call(plan->client, key, 0);
        tap_string(shown(&answer), "value", "the next %s is answered by the new owner",
                   read_ways[i].name);
    }
}

/* A copy ends with the value where its end is known, or up to three seconds
 * before it, else after the cap. The original is looked at last: whatever time
 * has passed meanwhile is in both. */
static void test_short_life(plan_t *plan) {
    static const int64_t lives[] = {2000, 100, 40};
    for (size_t i = 0; i < sizeof lives / sizeof lives[0]; i++) {
        char key[CALLS_KEY_SIZE];
        moved_key(plan, key);
        raw_store(plan->fixture, O, key, 5, lives[i], "value");
        answer_t answer = read_key(plan->client, key);
        raw_item_t copy = raw_look(plan->fixture, N, key);
        raw_item_t original = raw_look(plan->fixture, O, key);
        int64_t most = tells_ttl() ? original.ttl : FILL_TTL;
        tap_string(shown(&answer), "value", "in %s a value with %lld s left", phase_of(plan),
                   (long long)lives[i]);
        tap_ok(copy.present && copy.ttl >= most - 3 && copy.ttl <= most,
               "its copy has %lld s left, %lld to %lld", (long long)copy.ttl, (long long)most - 3,
               (long long)most);
    }
}

/* A value with a second left is returned, but not copied. (It may end before
 * it is read, since seconds of a server end together.) */
static void test_last_second(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    answer_t answer;
    int tries = 0;
    do {
        moved_key(plan, key);
        raw_store(plan->fixture, O, key, 5, 1, "value");
        answer = read_key(plan->client, key);
    } while (shown(&answer) == NULL && ++tries < 20);
    tap_string(shown(&answer), "value", "in %s a value with 1 s left", phase_of(plan));
    if (tells_ttl()) {
        raw_holds(plan->fixture, N, key, NULL, "no copy of it");
    }
}

static void test_empty_value(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    for (size_t i = 0; i < READ_WAYS; i++) {
        moved_key(plan, key);
        raw_store(plan->fixture, O, key, 9, 0, "");
        answer_t answer = read_ways[i].call(plan->client, key, 0);
        tap_string(shown(&answer), "", "%s of an empty value in %s is a hit", read_ways[i].name,
                   phase_of(plan));
        raw_holds(plan->fixture, N, key, "", "copied too");
    }
}

static void test_large_value(plan_t *plan) {
    enum { SIZE = 700 * 1024 };
    static char value[SIZE];
    char key[CALLS_KEY_SIZE];
    memset(value, 'v', SIZE);
    moved_key(plan, key);
    steps_back(plan->client);
    tap_status(warmring_set(plan->client, key, strlen(key), value, SIZE, 0, 1, NULL), WARMRING_OK,
               "700 KB on the old ring");
    steps_begin(plan->client, plan->after);
    steps_forward(plan->client, WARMRING_WARMING);
    for (int i = 0; i < 2; i++) {
        warmring_item_t item = WARMRING_ITEM_INIT;
        tap_status(warmring_get(plan->client, key, strlen(key), &item, NULL), WARMRING_OK,
                   "read %s", i == 0 ? "over" : "from the new owner");
        tap_ok(item.value.length == SIZE && memcmp(item.value.data, value, SIZE) == 0,
               "every byte of it");
        warmring_item_clear(&item);
        raw_delete(plan->fixture, O, key);
    }
}

static void test_no_fill(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    for (size_t i = 0; i < READ_WAYS; i++) {
        moved_key(plan, key);
        raw_store(plan->fixture, O, key, 0, 0, "value");
        answer_t answer = read_ways[i].call(plan->client, key, WARMRING_NO_FILL);
        tap_string(shown(&answer), "value", "%s with NO_FILL in %s", read_ways[i].name,
                   phase_of(plan));
        raw_holds(plan->fixture, N, key, NULL, "no copy, no stub");
    }
}

/* A value that does not fit the caller's buffer is not copied, nor is the
 * lease kept. */
static void test_small_buffer(plan_t *plan) {
    char key[CALLS_KEY_SIZE], buffer[2];
    warmring_item_t item = WARMRING_ITEM_INIT;
    moved_key(plan, key);
    raw_store(plan->fixture, O, key, 0, 0, "value");
    tap_status(
        warmring_get_into(plan->client, key, strlen(key), buffer, sizeof buffer, &item, NULL),
        WARMRING_BUFFER_TOO_SMALL, "get_into with two bytes in %s", phase_of(plan));
    tap_int((int64_t)item.value.length, 5, "says what it takes");
    raw_holds(plan->fixture, N, key, NULL, "no copy, no stub");
}

static void test_misses(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    for (size_t i = 0; i < READ_WAYS; i++) {
        moved_key(plan, key);
        answer_t answer = read_ways[i].call(plan->client, key, 0);
        tap_string(shown(&answer), NULL, "%s of nothing in %s", read_ways[i].name, phase_of(plan));
        raw_holds(plan->fixture, N, key, NULL, "no stub stays");
    }
}

/* Keys that are not rolled in have nothing to do with the new owner. */
static void test_rolled_out(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    for (size_t i = 0; i < READ_WAYS; i++) {
        moved_key(plan, key);
        raw_store(plan->fixture, O, key, 0, 0, "value");
        raw_store(plan->fixture, N, key, 0, 0, "other");
        answer_t answer = read_ways[i].call(plan->client, key, 0);
        tap_string(shown(&answer), "value", "%s at 0 %% in WARMING", read_ways[i].name);
        raw_holds(plan->fixture, N, key, "other", "untouched");
    }
}

/* ---- stubs of others -------------------------------------------------------------- */

static void test_stub_on_new(plan_t *plan, bool falls_back) {
    char key[CALLS_KEY_SIZE];
    for (size_t i = 0; i < READ_WAYS; i++) {
        moved_key(plan, key);
        raw_stub(plan->fixture, N, key, 0);
        answer_t answer = read_ways[i].call(plan->client, key, 0);
        tap_string(shown(&answer), NULL, "%s of a stub in %s is a miss", read_ways[i].name,
                   phase_of(plan));
        raw_store(plan->fixture, O, key, 0, 0, "value");
        answer = read_ways[i].call(plan->client, key, 0);
        tap_string(shown(&answer), falls_back ? "value" : NULL,
                   "%s of a stub and a value on the old owner", read_ways[i].name);
        raw_holds(plan->fixture, N, key, "(a stub)", "left to who put it there");
    }
}

static void test_stub_on_old(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    for (size_t i = 0; i < READ_WAYS; i++) {
        moved_key(plan, key);
        raw_stub(plan->fixture, O, key, 0);
        answer_t answer = read_ways[i].call(plan->client, key, 0);
        tap_string(shown(&answer), NULL, "%s of a stub on the old owner in %s is a miss",
                   read_ways[i].name, phase_of(plan));
        raw_holds(plan->fixture, N, key, NULL, "not copied");
    }
}

/* Writes end a stub. */
static void test_stub_written(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    bool stores = steps_phase(plan->client) >= WARMRING_DRAINING;
    for (size_t i = 0; i < STORE_WAYS; i++) {
        moved_key(plan, key);
        raw_stub(plan->fixture, N, key, 0);
        tap_status(store_ways[i].call(plan->client, key, "value", 0, 0), WARMRING_OK,
                   "%s over a stub in %s", store_ways[i].name, phase_of(plan));
        raw_holds(plan->fixture, N, key, stores ? "value" : NULL, "no stub stays");
    }
    for (size_t i = 0; i < ERASE_WAYS; i++) {
        moved_key(plan, key);
        raw_stub(plan->fixture, N, key, 0);
        (void)!erase_ways[i].call(plan->client, key, 0);
        raw_holds(plan->fixture, N, key, NULL, erase_ways[i].name);
    }
}

static void test_stub_ends(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    moved_key(plan, key);
    raw_store(plan->fixture, O, key, 0, 0, "value");
    raw_stub(plan->fixture, N, key, 1);
    for (int i = 0; i < WAIT_MS / 50 && raw_look(plan->fixture, N, key).present; i++) {
        traffic_wait_ms(50);
    }
    answer_t answer = read_key(plan->client, key);
    tap_string(shown(&answer), "value", "after the stub's end");
    raw_holds(plan->fixture, N, key, "value", "the key is copied");
}

static void test_reserved(const plan_t *plan) {
    for (size_t i = 0; i < STORE_WAYS; i++) {
        tap_status(store_ways[i].call(plan->client, "reserved", "", WARMRING_RESERVED_FLAGS, 0),
                   WARMRING_BAD_ARGUMENT, "%s of an empty value with the reserved flags",
                   store_ways[i].name);
        tap_contains(warmring_error_detail(), "0x57524c53", "the text has the flags");
        tap_status(store_ways[i].call(plan->client, "reserved", "x", WARMRING_RESERVED_FLAGS, 0),
                   WARMRING_BAD_ARGUMENT, "%s of another value with them", store_ways[i].name);
        tap_status(store_ways[i].call(plan->client, "reserved", "", WARMRING_RESERVED_FLAGS + 1, 0),
                   WARMRING_OK, "%s of an empty value with others", store_ways[i].name);
    }
}

/* ---- between lease and fill --------------------------------------------------------- */

typedef struct {
    const plan_t *plan;
    const read_way_t *way;
    const char *key;
    answer_t answer;
} reader_t;

static void *read_in_thread(void *argument) {
    reader_t *reader = argument;
    reader->answer = reader->way->call(reader->plan->client, reader->key, 0);
    return NULL;
}

/* What happens on N in the middle, and what is there then. */
typedef struct {
    const char *name;
    void (*happens)(plan_t *plan, const char *key, uint64_t token);
    const char *left; /* on N; NULL: nothing */
} incident_t;

static void nothing_happens(plan_t *plan, const char *key, uint64_t token) {
    (void)plan, (void)key, (void)token;
}

static void stub_deleted(plan_t *plan, const char *key, uint64_t token) {
    (void)token;
    raw_delete(plan->fixture, N, key);
}

static void stub_overwritten(plan_t *plan, const char *key, uint64_t token) {
    (void)token;
    raw_store(plan->fixture, N, key, 0, 0, "newer");
}

/* Somebody else's lease is in its place. */
static void stub_replaced(plan_t *plan, const char *key, uint64_t token) {
    (void)token;
    raw_delete(plan->fixture, N, key);
    raw_stub(plan->fixture, N, key, 0);
}

static void stored_and_deleted(plan_t *plan, const char *key, uint64_t token) {
    (void)token;
    raw_store(plan->fixture, N, key, 0, 0, "newer");
    raw_delete(plan->fixture, N, key);
}

static void flushed(plan_t *plan, const char *key, uint64_t token) {
    char reply[64];
    (void)key, (void)token;
    fixture_raw(plan->fixture, N, "flush_all\r\n", "OK\r\n", reply, sizeof reply);
}

/* The CAS counter starts anew; the key is stored until its CAS value is the
 * one that the lease had. */
static void restarted(plan_t *plan, const char *key, uint64_t token) {
    fixture_restart(plan->fixture, N);
    uint64_t cas = 0;
    while (cas < token) {
        raw_store(plan->fixture, N, key, 0, 0, "newer");
        cas = raw_look(plan->fixture, N, key).cas;
    }
    tap_int((int64_t)cas, (int64_t)token, "the restarted server gives the lease's number again");
}

static const incident_t incidents[] = {
    {"nothing happens", nothing_happens, "value"},
    {"the stub is deleted", stub_deleted, NULL},
    {"the stub is overwritten", stub_overwritten, "newer"},
    {"the stub is another's", stub_replaced, "(a stub)"},
    {"the key is stored and deleted", stored_and_deleted, NULL},
    {"N is flushed", flushed, NULL},
    {"N is restarted", restarted, "newer"},
};

/* Until the reader has its token: on the classic protocol it leaves the stub
 * first and reads its number after. */
static uint64_t wait_for_stub(const plan_t *plan, const char *key) {
    bool told = test_is_meta();
    for (int i = 0; i < WAIT_MS / 2; i++) {
        if (!told && !raw_was_read(plan->fixture, N, key)) {
            traffic_wait_ms(2);
            continue;
        }
        raw_item_t item = raw_look(plan->fixture, N, key);
        if (item.present) {
            tap_ok(item.length == 0 && item.flags == WARMRING_RESERVED_FLAGS, "a stub is on N");
            tap_ok(item.ttl > 0, "it ends, in %lld s", (long long)item.ttl);
            return item.cas;
        }
        traffic_wait_ms(2);
    }
    tap_bail("no stub appeared on N");
}

static void test_incident(plan_t *plan, const read_way_t *way, const incident_t *incident) {
    char key[CALLS_KEY_SIZE];
    pthread_t thread;
    moved_key(plan, key);
    raw_store(plan->fixture, O, key, 0, 0, "value");
    tap_ok(read_key(plan->client, "connects:to:both:1").status == WARMRING_NOT_FOUND, "warmed up");

    reader_t reader = {.plan = plan, .way = way, .key = key};
    fixture_stop(plan->fixture, O);
    if (pthread_create(&thread, NULL, read_in_thread, &reader) != 0) {
        tap_bail("cannot start a thread");
    }
    incident->happens(plan, key, wait_for_stub(plan, key));
    fixture_continue(plan->fixture, O);
    pthread_join(thread, NULL);
    tap_string(shown(&reader.answer), "value", "%s in %s while %s: what the old owner had",
               way->name, phase_of(plan), incident->name);
    raw_holds(plan->fixture, N, key, incident->left, incident->name);
}

/* ---- all ------------------------------------------------------------------------------ */

static void test_filling_phase(plan_t *plan) {
    test_copies(plan);
    test_short_life(plan);
    test_last_second(plan);
    test_empty_value(plan);
    test_no_fill(plan);
    test_small_buffer(plan);
    test_misses(plan);
    test_stub_on_new(plan, true);
    test_stub_on_old(plan);
    test_stub_written(plan);
    for (size_t i = 0; i < sizeof incidents / sizeof incidents[0]; i++) {
        for (size_t way = 0; way < READ_WAYS; way++) {
            test_incident(plan, &read_ways[way], &incidents[i]);
        }
    }
}

static void run_all(void) {
    plan_t plan = {.fixture = fixture_start(2, NULL)};
    snprintf(plan.before, sizeof plan.before, "%s", fixture_address(plan.fixture, O));
    plan.after = fixture_servers(plan.fixture);
    plan.client = steps_open(plan.before, options);
    test_reserved(&plan);
    steps_begin(plan.client, plan.after);
    steps_take(plan.client, WARMRING_WARM);
    test_rolled_out(&plan);
    steps_rollout(plan.client, WARMRING_ROLLOUT_ALL);
    test_large_value(&plan);
    test_stub_ends(&plan);
    for (size_t i = 0; i < sizeof filling / sizeof filling[0]; i++) {
        steps_forward(plan.client, filling[i]);
        test_filling_phase(&plan);
    }
    for (size_t i = 0; i < sizeof closing / sizeof closing[0]; i++) {
        steps_forward(plan.client, closing[i]);
        test_stub_on_new(&plan, false);
    }
    warmring_close(plan.client);
    fixture_free(plan.fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
