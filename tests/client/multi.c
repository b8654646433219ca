/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many keys at once: input order, a status per key and per server, reuse of
 * the results, bad keys among good ones, servers that are away.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <warmring/warmring.h>

#include "tests/lib/fixture.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { KEYS = 300 };

static char text[KEYS][24];
static warmring_bytes_t keys[KEYS];
static warmring_entry_t entries[KEYS];

static void make_keys(void) {
    for (int i = 0; i < KEYS; i++) {
        snprintf(text[i], sizeof text[i], "multi:%d", i);
        keys[i] = (warmring_bytes_t){text[i], strlen(text[i])};
        entries[i] = (warmring_entry_t){
            .key = keys[i], .value = {text[i], i == 7 ? 0 : strlen(text[i])}, .flags = (uint32_t)i};
    }
}

/* How many items differ from status, own key and own value. */
static int wrong_items(const warmring_results_t *results, warmring_status_t status) {
    int wrong = 0;
    for (size_t i = 0; i < KEYS; i++) {
        const warmring_item_t *item = warmring_results_at(results, i);
        bool good = item != NULL && item->status == status && item->key.data == keys[i].data;
        if (good && status == WARMRING_OK && item->value.data != NULL) {
            good = item->value.length == entries[i].value.length && item->flags == i &&
                   memcmp(item->value.data, text[i], item->value.length) == 0 &&
                   item->value.data[item->value.length] == '\0';
        }
        wrong += !good;
    }
    return wrong;
}

static void test_round(warmring_t *client, warmring_results_t *results) {
    tap_status(warmring_get_multi(client, keys, KEYS, results, NULL), WARMRING_OK, "all misses");
    tap_int(wrong_items(results, WARMRING_NOT_FOUND), 0, "each is NOT_FOUND");
    size_t index = SIZE_MAX;
    tap_ok(!warmring_results_next_hit(results, &index), "no hit");
    tap_status(warmring_set_multi(client, entries, KEYS, results, NULL), WARMRING_OK, "set all");
    tap_int(wrong_items(results, WARMRING_OK), 0, "each is OK");
    tap_status(warmring_get_multi(client, keys, KEYS, results, NULL), WARMRING_OK, "get all");
    tap_int(wrong_items(results, WARMRING_OK), 0, "each has its value, in input order");
    int hits = 0;
    index = SIZE_MAX;
    while (warmring_results_next_hit(results, &index)) {
        hits += index == (size_t)hits;
    }
    tap_int(hits, KEYS, "hits are walked in order, the empty value too");
    tap_int((int64_t)warmring_results_count(results), KEYS, "count");
    tap_ok(warmring_results_at(results, KEYS) == NULL, "nothing past the last");
    const char *name;
    size_t servers = 0;
    while (warmring_results_server(results, servers, &name), name != NULL) {
        tap_status(warmring_results_server(results, servers, NULL), WARMRING_OK, "%s is well",
                   name);
        servers++;
    }
    tap_int((int64_t)servers, 4, "servers asked");
    tap_status(warmring_delete_multi(client, keys, KEYS, results, NULL), WARMRING_OK, "delete all");
    tap_int(wrong_items(results, WARMRING_OK), 0, "each is OK");
    tap_status(warmring_delete_multi(client, keys, KEYS, results, NULL), WARMRING_OK,
               "delete all again");
    tap_int(wrong_items(results, WARMRING_NOT_FOUND), 0, "each is NOT_FOUND");
}

static void test_bad_among_good(warmring_t *client, warmring_results_t *results) {
    warmring_bytes_t mixed[] = {keys[0], {"a b", 3}, keys[1], {"", 0}, keys[0]};
    warmring_entry_t stores[] = {
        {.key = keys[0], .value = {"v", 1}},
        {.key = {"a b", 3}, .value = {"v", 1}},
        {.key = keys[1], .value = {"v", 1}, .expiration = -1},
        {.key = keys[2], .value = {"v", 1}},
    };
    static const warmring_status_t stored[] = {WARMRING_OK, WARMRING_BAD_KEY, WARMRING_BAD_ARGUMENT,
                                               WARMRING_OK};
    tap_status(warmring_set_multi(client, stores, 4, results, NULL), WARMRING_BAD_KEY,
               "the first fault is the call's");
    tap_contains(warmring_error_detail(), "'a b'", "with its text, not that of a later one");
    for (size_t i = 0; i < 4; i++) {
        tap_status(warmring_results_at(results, i)->status, stored[i], "store %zu", i);
    }
    static const warmring_status_t read[] = {WARMRING_OK, WARMRING_BAD_KEY, WARMRING_NOT_FOUND,
                                             WARMRING_BAD_KEY, WARMRING_OK};
    tap_status(warmring_get_multi(client, mixed, 5, results, NULL), WARMRING_BAD_KEY, "get mixed");
    for (size_t i = 0; i < 5; i++) {
        tap_status(warmring_results_at(results, i)->status, read[i], "key %zu", i);
    }
    tap_bytes(warmring_results_at(results, 4)->value.data,
              warmring_results_at(results, 4)->value.length, "v", 1, "a key given twice");
    tap_status(warmring_get_multi(client, NULL, 0, results, NULL), WARMRING_OK, "no keys");
    tap_int((int64_t)warmring_results_count(results), 0, "no results");
    tap_status(warmring_get_multi(client, NULL, 1, results, NULL), WARMRING_BAD_ARGUMENT,
               "NULL keys");
    tap_status(warmring_get_multi(client, keys, 1, NULL, NULL), WARMRING_BAD_ARGUMENT,
               "NULL results");
}

/* One server killed: its keys fail, all others are served. */
static void test_server_away(warmring_t *client, warmring_results_t *results, fixture_t *fixture) {
    tap_status(warmring_set_multi(client, entries, KEYS, results, NULL), WARMRING_OK, "set all");
    fixture_kill(fixture, 2);
    const char *dead = fixture_address(fixture, 2);
    warmring_status_t status = warmring_get_multi(client, keys, KEYS, results, NULL);
    tap_ok(status != WARMRING_OK, "the call tells of it: %s", warmring_status_name(status));
    int wrong = 0;
    int failed = 0;
    for (size_t i = 0; i < KEYS; i++) {
        char owner[64];
        warmring_locate(client, keys[i].data, keys[i].length, owner, sizeof owner, NULL);
        bool here = strcmp(owner, dead) == 0;
        const warmring_item_t *item = warmring_results_at(results, i);
        wrong += here == (item->status == WARMRING_OK);
        failed += here;
    }
    tap_int(wrong, 0, "only the keys of the dead server fail");
    tap_ok(failed > 20, "%d keys of it", failed);
    const char *name;
    for (size_t i = 0; warmring_results_server(results, i, &name), name != NULL; i++) {
        bool well = warmring_results_server(results, i, NULL) == WARMRING_OK;
        tap_ok(well == (strcmp(name, dead) != 0), "%s is %s", name, well ? "well" : "not well");
    }
}

/* What stands on the servers has the prefix, what the caller sees has not; all
 * of it counts for the length of a key. */
static void test_prefix(warmring_t *bare, const char *servers, warmring_results_t *results) {
    warmring_options_t *options = test_options();
    tap_status(warmring_options_set(options, "prefix", "app:"), WARMRING_OK, "prefix");
    warmring_t *client;
    if (warmring_open(&client, servers, options) != WARMRING_OK) {
        tap_bail("cannot open: %s", warmring_error_detail());
    }
    warmring_options_free(options);
    tap_status(warmring_set_multi(client, entries, KEYS, results, NULL), WARMRING_OK,
               "prefix: set all");
    tap_int(wrong_items(results, WARMRING_OK), 0, "prefix: each is OK, under its own key");
    tap_status(warmring_get_multi(bare, keys, KEYS, results, NULL), WARMRING_OK,
               "prefix: without it");
    tap_int(wrong_items(results, WARMRING_NOT_FOUND), 0, "prefix: nothing is there");
    warmring_item_t item = WARMRING_ITEM_INIT;
    tap_status(warmring_get(bare, "app:multi:9", 11, &item, NULL), WARMRING_OK,
               "prefix: written out");
    tap_bytes(item.value.data, item.value.length, "multi:9", 7, "prefix: its value");
    warmring_item_clear(&item);
    tap_status(warmring_get_multi(client, keys, KEYS, results, NULL), WARMRING_OK,
               "prefix: get all");
    tap_int(wrong_items(results, WARMRING_OK), 0, "prefix: each has its value");
    static char longest[WARMRING_MAX_KEY];
    memset(longest, 'k', sizeof longest);
    warmring_bytes_t two[] = {{longest, sizeof longest - 4}, {longest, sizeof longest - 3}};
    tap_status(warmring_get_multi(client, two, 2, results, NULL), WARMRING_BAD_KEY,
               "prefix: it counts");
    tap_status(warmring_results_at(results, 0)->status, WARMRING_NOT_FOUND, "prefix: 250 bytes");
    tap_status(warmring_results_at(results, 1)->status, WARMRING_BAD_KEY, "prefix: 251 bytes");
    tap_status(warmring_delete_multi(client, keys, KEYS, results, NULL), WARMRING_OK,
               "prefix: delete all");
    tap_int(wrong_items(results, WARMRING_OK), 0, "prefix: each was there");
    warmring_close(client);
}

static void run_all(void) {
    fixture_t *fixture = fixture_start(4, NULL);
    warmring_results_t *results = warmring_results_create();
    warmring_t *client = test_open(fixture_servers(fixture));
    make_keys();
    test_round(client, results);
    test_round(client, results);
    test_bad_among_good(client, results);
    fixture_flush(fixture);
    test_prefix(client, fixture_servers(fixture), results);
    test_server_away(client, results, fixture);
    warmring_close(client);
    warmring_results_free(results);
    fixture_free(fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
