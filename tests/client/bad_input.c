/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values, expirations and arguments that are wrong or at a limit: each
 * has its status and a text that quotes the bad piece, and costs nothing: the
 * next call works, over the connection that was there before.
 */
#include <string.h>
#include <time.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"
#include "tests/lib/transports.h"

enum { MEGABYTE = 1024 * 1024 };

typedef struct {
    fixture_t *fixture;
    warmring_t *client;
    uint64_t connects;
} plan_t;

/* The client still works, and with the connection it has had. */
static void check_unharmed(const plan_t *plan, const char *after) {
    tap_status(store_key(plan->client, "unharmed", after), WARMRING_OK, "a store after %s", after);
    answer_t answer = read_key(plan->client, "unharmed");
    tap_string(shown(&answer), after, "and a read");
    tap_int((int64_t)counters_of_seat(plan->client, 0).connects, (int64_t)plan->connects,
            "over the connection that was there");
}

/* ---- values ---------------------------------------------------------------------------- */

static char value[5 * MEGABYTE];

static void check_value(const plan_t *plan, const char *key, size_t length) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    tap_status(warmring_get(plan->client, key, strlen(key), &item, NULL), WARMRING_OK,
               "%zu bytes are read", length);
    tap_ok(item.value.data != NULL && item.value.length == length &&
               memcmp(item.value.data, value, length) == 0 && item.value.data[length] == '\0',
           "every one of them, and a NUL");
    warmring_item_clear(&item);
}

static void test_values(const plan_t *plan) {
    static const size_t lengths[] = {0, 1, 2, 65536, MEGABYTE - 512};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        tap_status(warmring_set(plan->client, "sized", 5, value, lengths[i], 0, 7, NULL),
                   WARMRING_OK, "a value of %zu bytes", lengths[i]);
        check_value(plan, "sized", lengths[i]);
    }
    tap_status(warmring_set(plan->client, "sized", 5, NULL, 0, 0, 7, NULL), WARMRING_OK,
               "an empty value without a pointer");
    check_value(plan, "sized", 0);
    tap_status(warmring_set(plan->client, "sized", 5, NULL, 3, 0, 7, NULL), WARMRING_BAD_ARGUMENT,
               "three bytes without a pointer");
    check_unharmed(plan, "values");
}

static void test_too_large(plan_t *plan) {
    static const size_t lengths[] = {MEGABYTE, sizeof value};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        tap_status(store_key(plan->client, "large", "small"), WARMRING_OK, "a small value");
        tap_status(warmring_set(plan->client, "large", 5, value, lengths[i], 0, 0, NULL),
                   WARMRING_TOO_LARGE, "a value of %zu bytes", lengths[i]);
        tap_contains(warmring_error_detail(), fixture_address(plan->fixture, 0),
                     "the text names the server");
        answer_t answer = read_key(plan->client, "large");
        tap_string(shown(&answer), NULL, "the key is gone");
        warmring_results_t *results = warmring_results_create();
        const warmring_entry_t entries[] = {{{"large", 5}, {value, lengths[i]}, 0, 0},
                                            {{"beside", 6}, {"value", 5}, 0, 0}};
        tap_status(warmring_set_multi(plan->client, entries, 2, results, NULL), WARMRING_TOO_LARGE,
                   "set_multi of it");
        tap_status(warmring_results_at(results, 1)->status, WARMRING_OK, "and of a small one");
        warmring_results_free(results);
        plan->connects = counters_of_seat(plan->client, 0).connects; /* the server may hang up */
        check_unharmed(plan, "a value above the server's limit");
    }
}

/* ---- expirations -------------------------------------------------------------------------- */

static void check_expiration(const plan_t *plan, int64_t expiration, int64_t least, int64_t most) {
    tap_status(warmring_set(plan->client, "ends", 4, "x", 1, expiration, 0, NULL), WARMRING_OK,
               "an expiration of %lld", (long long)expiration);
    raw_item_t item = raw_look(plan->fixture, 0, "ends");
    tap_ok(item.present && item.ttl >= least && item.ttl <= most,
           "the server gives it %lld s of %lld to %lld", (long long)item.ttl, (long long)least,
           (long long)most);
}

static void test_expirations(const plan_t *plan) {
    const int64_t day = 86400;
    check_expiration(plan, 0, -1, -1);
    check_expiration(plan, 100, 95, 100);
    check_expiration(plan, 30 * day, 30 * day - 5, 30 * day);
    check_expiration(plan, 30 * day + 1, 30 * day - 5, 30 * day + 3);
    check_expiration(plan, 31 * day, 31 * day - 5, 31 * day + 2);
    check_expiration(plan, 365 * day, 365 * day - 5, 365 * day + 2);
    check_expiration(plan, (int64_t)time(NULL) + 1000, 994, 1002);

    tap_status(warmring_set(plan->client, "ends", 4, "x", 1, 1, 0, NULL), WARMRING_OK,
               "one second");
    answer_t answer = read_key(plan->client, "ends");
    for (int i = 0; i < 500 && answer.status == WARMRING_OK; i++) {
        traffic_wait_ms(10);
        answer = read_key(plan->client, "ends");
    }
    tap_string(shown(&answer), NULL, "and the key is gone");
}

static void test_bad_expirations(const plan_t *plan) {
    static const int64_t bad[] = {-1, -100, INT64_MIN};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)bad[i]);
        const warmring_status_t got[] = {
            warmring_set(plan->client, "ends", 4, "x", 1, bad[i], 0, NULL),
            warmring_add(plan->client, "ends", 4, "x", 1, bad[i], 0, NULL),
            warmring_replace(plan->client, "ends", 4, "x", 1, bad[i], 0, NULL),
            warmring_touch(plan->client, "ends", 4, bad[i], NULL),
            warmring_increment(plan->client, "ends", 4, 1, NULL, bad[i], NULL, NULL),
        };
        for (size_t j = 0; j < sizeof got / sizeof got[0]; j++) {
            tap_status(got[j], WARMRING_BAD_ARGUMENT, "an expiration of %s, call %zu", text, j);
        }
        tap_contains(warmring_error_detail(), text, "the text quotes it");
    }
    const warmring_entry_t entries[] = {{{"ends", 4}, {"x", 1}, -1, 0},
                                        {{"beside", 6}, {"x", 1}, 0, 0}};
    warmring_results_t *results = warmring_results_create();
    tap_status(warmring_set_multi(plan->client, entries, 2, results, NULL), WARMRING_BAD_ARGUMENT,
               "set_multi with an expiration of -1");
    tap_status(warmring_results_at(results, 0)->status, WARMRING_BAD_ARGUMENT, "for its key");
    tap_status(warmring_results_at(results, 1)->status, WARMRING_OK, "not for the other");
    warmring_results_free(results);
    check_unharmed(plan, "bad expirations");
}

/* ---- the last argument ------------------------------------------------------------------- */

static void test_call(const plan_t *plan) {
    warmring_call_t call = WARMRING_CALL_INIT;
    call.mode = 0x100;
    tap_status(warmring_set(plan->client, "k", 1, "x", 1, 0, 0, &call), WARMRING_BAD_ARGUMENT,
               "an unknown mode");
    tap_contains(warmring_error_detail(), "0x100", "the text quotes it");
    call = (warmring_call_t)WARMRING_CALL_INIT;
    call.deadline_ms = 5001;
    tap_status(warmring_set(plan->client, "k", 1, "x", 1, 0, 0, &call), WARMRING_BAD_ARGUMENT,
               "a deadline above the maximum");
    tap_contains(warmring_error_detail(), "5001", "the text quotes it");
    tap_contains(warmring_error_detail(), "max_deadline_ms", "and names the option");
    call = (warmring_call_t){.deadline_ms = 100};
    tap_status(warmring_set(plan->client, "k", 1, "x", 1, 0, 0, &call), WARMRING_BAD_ARGUMENT,
               "a call without its size");
    tap_contains(warmring_error_detail(), "WARMRING_CALL_INIT", "the text says what to do");
    warmring_item_t item;
    memset(&item, 0, sizeof item);
    tap_status(warmring_get(plan->client, "k", 1, &item, NULL), WARMRING_BAD_ARGUMENT,
               "an item without its size");
    check_unharmed(plan, "bad calls");
}

static void test_zero_token(const plan_t *plan) {
    const warmring_token_t zero = {{0, 0, 0}}, half = {{0, 1, 1}};
    tap_status(warmring_cas(plan->client, "k", 1, "x", 1, 0, 0, &zero, NULL), WARMRING_BAD_ARGUMENT,
               "a zero token");
    tap_contains(warmring_error_detail(), "token", "the text says so");
    tap_status(warmring_cas(plan->client, "k", 1, "x", 1, 0, 0, &half, NULL), WARMRING_BAD_ARGUMENT,
               "a token of CAS value 0");
    check_unharmed(plan, "a zero token");
}

static void run_all(void) {
    for (size_t i = 0; i < sizeof value; i++) {
        value[i] = (char)(i * 31 + i / 251);
    }
    plan_t plan = {.fixture = fixture_start(1, NULL)};
    plan.client = steps_open(fixture_servers(plan.fixture), NULL);
    tap_status(store_key(plan.client, "first", "x"), WARMRING_OK, "the first call");
    plan.connects = counters_of_seat(plan.client, 0).connects;
    tap_int((int64_t)plan.connects, 1, "over the first connection");
    test_values(&plan);
    test_expirations(&plan);
    test_bad_expirations(&plan);
    test_call(&plan);
    test_zero_token(&plan);
    test_too_large(&plan);
    warmring_close(plan.client);
    fixture_free(plan.fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
