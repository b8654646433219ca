/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys that are wrong or at a limit, in every call that takes one: each has
 * its status and a text that quotes the bad piece, nothing is sent, and the
 * next call works over the connection that was there before.
 */
#include <string.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

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

/* ---- keys --------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    warmring_bytes_t key;
    const char *piece;
} bad_key_t;

static char long_key[252];

static const bad_key_t bad_keys[] = {
    {"a key with a space", {"two words", 9}, "two words"},
    {"a key with a newline", {"two\nlines", 9}, "0x0a"},
    {"a key with CRLF and a command", {"a\r\nflush_all", 12}, "0x0d"},
    {"a key with NUL", {"nul\0nul", 7}, "0x00"},
    {"a key with a tab", {"tab\ttab", 7}, "0x09"},
    {"a key with 0x7f", {"del\x7f", 4}, "0x7f"},
    {"a key with 0x01", {"\x01", 1}, "0x01"},
    {"a key of 251 bytes", {long_key, 251}, "251"},
    {"an empty key", {"", 0}, "empty"},
    {"no key", {NULL, 0}, "empty"},
};

/* Every call that takes a key. */
typedef warmring_status_t key_call_t(warmring_t *client, const char *key, size_t length);

static warmring_status_t k_get(warmring_t *client, const char *key, size_t length) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_status_t status = warmring_get(client, key, length, &item, NULL);
    return item.status == status ? status : WARMRING_PROTOCOL_ERROR;
}
static warmring_status_t k_get_into(warmring_t *client, const char *key, size_t length) {
    char buffer[8];
    warmring_item_t item = WARMRING_ITEM_INIT;
    return warmring_get_into(client, key, length, buffer, sizeof buffer, &item, NULL);
}
static warmring_status_t k_gat(warmring_t *client, const char *key, size_t length) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    return warmring_get_and_touch(client, key, length, 1, &item, NULL);
}
static warmring_status_t k_set(warmring_t *client, const char *key, size_t length) {
    return warmring_set(client, key, length, "x", 1, 0, 0, NULL);
}
static warmring_status_t k_add(warmring_t *client, const char *key, size_t length) {
    return warmring_add(client, key, length, "x", 1, 0, 0, NULL);
}
static warmring_status_t k_replace(warmring_t *client, const char *key, size_t length) {
    return warmring_replace(client, key, length, "x", 1, 0, 0, NULL);
}
static warmring_status_t k_append(warmring_t *client, const char *key, size_t length) {
    return warmring_append(client, key, length, "x", 1, NULL);
}
static warmring_status_t k_prepend(warmring_t *client, const char *key, size_t length) {
    return warmring_prepend(client, key, length, "x", 1, NULL);
}
static warmring_status_t k_cas(warmring_t *client, const char *key, size_t length) {
    const warmring_token_t token = {{1, 1, 1}};
    return warmring_cas(client, key, length, "x", 1, 0, 0, &token, NULL);
}
static warmring_status_t k_delete(warmring_t *client, const char *key, size_t length) {
    return warmring_delete(client, key, length, NULL);
}
static warmring_status_t k_touch(warmring_t *client, const char *key, size_t length) {
    return warmring_touch(client, key, length, 1, NULL);
}
static warmring_status_t k_increment(warmring_t *client, const char *key, size_t length) {
    return warmring_increment(client, key, length, 1, NULL, 0, NULL, NULL);
}
static warmring_status_t k_decrement(warmring_t *client, const char *key, size_t length) {
    return warmring_decrement(client, key, length, 1, NULL, 0, NULL, NULL);
}
static warmring_status_t k_locate(warmring_t *client, const char *key, size_t length) {
    char address[64];
    return warmring_locate(client, key, length, address, sizeof address, NULL);
}
static warmring_status_t k_group(warmring_t *client, const char *key, size_t length) {
    warmring_call_t call = WARMRING_CALL_INIT;
    call.group = (warmring_bytes_t){key != NULL ? key : "", length};
    return warmring_set(client, "good", 4, "x", 1, 0, 0, &call);
}

static const struct {
    const char *name;
    key_call_t *call;
} key_calls[] = {
    {"get", k_get},
    {"get_into", k_get_into},
    {"get_and_touch", k_gat},
    {"set", k_set},
    {"add", k_add},
    {"replace", k_replace},
    {"append", k_append},
    {"prepend", k_prepend},
    {"cas", k_cas},
    {"delete", k_delete},
    {"touch", k_touch},
    {"increment", k_increment},
    {"decrement", k_decrement},
    {"locate", k_locate},
    {"a group", k_group},
};

static void test_keys(const plan_t *plan) {
    for (size_t i = 0; i < sizeof bad_keys / sizeof bad_keys[0]; i++) {
        const bad_key_t *bad = &bad_keys[i];
        uint64_t requests = counters_of_seat(plan->client, 0).requests;
        for (size_t j = 0; j < sizeof key_calls / sizeof key_calls[0]; j++) {
            tap_status(key_calls[j].call(plan->client, bad->key.data, bad->key.length),
                       WARMRING_BAD_KEY, "%s: %s", key_calls[j].name, bad->name);
            tap_contains(warmring_error_detail(), bad->piece, "the text quotes it");
        }
        tap_int((int64_t)counters_of_seat(plan->client, 0).requests, (int64_t)requests,
                "nothing is sent");
        check_unharmed(plan, bad->name);
    }
}

/* A bad key among good ones costs the others nothing. */
static void test_keys_of_multi(const plan_t *plan) {
    enum { KEYS = sizeof bad_keys / sizeof bad_keys[0] };
    warmring_bytes_t keys[KEYS + 1];
    warmring_entry_t entries[KEYS + 1];
    for (size_t i = 0; i <= KEYS; i++) {
        keys[i] = i < KEYS ? bad_keys[i].key : (warmring_bytes_t){"good", 4};
        entries[i] = (warmring_entry_t){keys[i], {"value", 5}, 0, 0};
    }
    warmring_results_t *results = warmring_results_create();
    for (int way = 0; way < 3; way++) {
        static const char *const names[] = {"set_multi", "get_multi", "delete_multi"};
        warmring_status_t status =
            way == 0   ? warmring_set_multi(plan->client, entries, KEYS + 1, results, NULL)
            : way == 1 ? warmring_get_multi(plan->client, keys, KEYS + 1, results, NULL)
                       : warmring_delete_multi(plan->client, keys, KEYS + 1, results, NULL);
        tap_status(status, WARMRING_BAD_KEY, "%s answers with the first fault", names[way]);
        tap_int((int64_t)warmring_results_count(results), KEYS + 1, "with a result for each key");
        for (size_t i = 0; i < KEYS; i++) {
            tap_status(warmring_results_at(results, i)->status, WARMRING_BAD_KEY, "%s: %s",
                       names[way], bad_keys[i].name);
        }
        tap_status(warmring_results_at(results, KEYS)->status, WARMRING_OK,
                   "the good key is served");
    }
    warmring_results_free(results);
    check_unharmed(plan, "multi calls with bad keys");
}

static void test_good_keys(const plan_t *plan) {
    char key[251];
    memset(key, 'k', 250);
    key[250] = '\0';
    tap_status(store_key(plan->client, key, "longest"), WARMRING_OK, "a key of 250 bytes");
    answer_t answer = read_key(plan->client, key);
    tap_string(shown(&answer), "longest", "is found again");
    const char *utf8 = "schl\xc3\xbcssel\xe2\x82\xac";
    tap_status(store_key(plan->client, utf8, "UTF-8"), WARMRING_OK, "a key in UTF-8");
    answer = read_key(plan->client, utf8);
    tap_string(shown(&answer), "UTF-8", "is found again");
}

/* The prefix counts. */
static void test_prefix(const plan_t *plan) {
    const char *options[] = {"prefix", "tenant:", NULL};
    char key[252];
    memset(key, 'p', sizeof key);
    warmring_t *client = steps_open(fixture_servers(plan->fixture), options);
    tap_status(warmring_set(client, key, 243, "x", 1, 0, 0, NULL), WARMRING_OK,
               "243 bytes after a prefix of 7");
    tap_status(warmring_set(client, key, 244, "x", 1, 0, 0, NULL), WARMRING_BAD_KEY, "244 bytes");
    tap_contains(warmring_error_detail(), "243", "the text says how long it may be");
    tap_status(warmring_set(client, "", 0, "x", 1, 0, 0, NULL), WARMRING_BAD_KEY,
               "an empty key with a prefix");
    tap_status(store_key(client, "key", "prefixed"), WARMRING_OK, "a short key");
    raw_holds(plan->fixture, 0, "tenant:key", "prefixed", "sent with the prefix");
    warmring_close(client);
}

static void run_all(void) {
    memset(long_key, 'l', 251);
    plan_t plan = {.fixture = fixture_start(1, NULL)};
    plan.client = steps_open(fixture_servers(plan.fixture), NULL);
    tap_status(store_key(plan.client, "first", "x"), WARMRING_OK, "the first call");
    plan.connects = counters_of_seat(plan.client, 0).connects;
    tap_int((int64_t)plan.connects, 1, "over the first connection");
    test_keys(&plan);
    test_keys_of_multi(&plan);
    test_good_keys(&plan);
    test_prefix(&plan);
    warmring_close(plan.client);
    fixture_free(plan.fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
