/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every operation on one key, on real servers: values, flags, answers and
 * tokens as a user of memcached expects them.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <warmring/warmring.h>

#include "tests/lib/fixture.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

#define KEY(text) (text), strlen(text)

static warmring_t *client;

static void expect_value(const char *key, const char *value, uint32_t flags) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    tap_status(warmring_get(client, KEY(key), &item, NULL), WARMRING_OK, "get %s", key);
    tap_bytes(item.value.data, item.value.length, value, strlen(value), "%s has its value", key);
    tap_int(item.flags, flags, "%s has its flags", key);
    tap_ok(item.value.data != NULL && item.value.data[item.value.length] == '\0', "%s ends in NUL",
           key);
    warmring_item_clear(&item);
}

static void expect_miss(const char *key) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    tap_status(warmring_get(client, KEY(key), &item, NULL), WARMRING_NOT_FOUND, "no %s", key);
    tap_ok(item.value.data == NULL && item.owned == NULL, "a miss owns nothing");
}

static void test_set_get_delete(void) {
    expect_miss("fruit");
    tap_status(warmring_set(client, KEY("fruit"), KEY("apple"), 0, 7, NULL), WARMRING_OK, "set");
    expect_value("fruit", "apple", 7);
    tap_status(warmring_set(client, KEY("fruit"), KEY("pear"), 0, 0xffffffffu, NULL), WARMRING_OK,
               "set again");
    expect_value("fruit", "pear", 0xffffffffu);
    tap_status(warmring_delete(client, KEY("fruit"), NULL), WARMRING_OK, "delete");
    expect_miss("fruit");
    tap_status(warmring_delete(client, KEY("fruit"), NULL), WARMRING_NOT_FOUND, "delete again");
}

static void test_empty_value(void) {
    tap_status(warmring_set(client, KEY("empty"), NULL, 0, 0, 3, NULL), WARMRING_OK, "set nothing");
    expect_value("empty", "", 3);
    tap_status(warmring_set(client, KEY("empty"), "", 0, 0, WARMRING_RESERVED_FLAGS, NULL),
               WARMRING_BAD_ARGUMENT, "an empty value with the reserved flags");
    tap_status(warmring_set(client, KEY("empty"), "x", 1, 0, WARMRING_RESERVED_FLAGS, NULL),
               WARMRING_BAD_ARGUMENT, "another value with them");
    expect_value("empty", "", 3);
}

static void test_conditional_stores(void) {
    tap_status(warmring_replace(client, KEY("lock"), KEY("a"), 0, 0, NULL), WARMRING_NOT_STORED,
               "replace nothing");
    tap_status(warmring_append(client, KEY("lock"), KEY("a"), NULL), WARMRING_NOT_STORED,
               "append to nothing");
    tap_status(warmring_prepend(client, KEY("lock"), KEY("a"), NULL), WARMRING_NOT_STORED,
               "prepend to nothing");
    tap_status(warmring_add(client, KEY("lock"), KEY("b"), 0, 5, NULL), WARMRING_OK, "add");
    tap_status(warmring_add(client, KEY("lock"), KEY("c"), 0, 0, NULL), WARMRING_NOT_STORED,
               "add again");
    expect_value("lock", "b", 5);
    tap_status(warmring_replace(client, KEY("lock"), KEY("d"), 0, 6, NULL), WARMRING_OK, "replace");
    tap_status(warmring_append(client, KEY("lock"), KEY("ef"), NULL), WARMRING_OK, "append");
    tap_status(warmring_prepend(client, KEY("lock"), KEY("bc"), NULL), WARMRING_OK, "prepend");
    expect_value("lock", "bcdef", 6);
}

static void test_cas(void) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    tap_status(warmring_set(client, KEY("cas"), KEY("1"), 0, 0, NULL), WARMRING_OK, "set");
    tap_status(warmring_get(client, KEY("cas"), &item, NULL), WARMRING_OK, "get with a token");
    warmring_token_t token = item.token;
    warmring_item_clear(&item);
    tap_status(warmring_cas(client, KEY("cas"), KEY("2"), 0, 9, &token, NULL), WARMRING_OK, "cas");
    expect_value("cas", "2", 9);
    tap_status(warmring_cas(client, KEY("cas"), KEY("3"), 0, 0, &token, NULL), WARMRING_EXISTS,
               "cas with a token that is used up");
    expect_value("cas", "2", 9);
    tap_status(warmring_delete(client, KEY("cas"), NULL), WARMRING_OK, "delete");
    tap_status(warmring_cas(client, KEY("cas"), KEY("3"), 0, 0, &token, NULL), WARMRING_NOT_FOUND,
               "cas on a key that is gone");
    token.word[1]++;
    tap_status(warmring_cas(client, KEY("cas"), KEY("3"), 0, 0, &token, NULL), WARMRING_EXISTS,
               "a token of another server");
    token = (warmring_token_t){{0, 0, 0}};
    tap_status(warmring_cas(client, KEY("cas"), KEY("3"), 0, 0, &token, NULL),
               WARMRING_BAD_ARGUMENT, "a zero token");
}

static void test_counters(void) {
    uint64_t number = 0;
    uint64_t initial = 40;
    tap_status(warmring_increment(client, KEY("n"), 1, NULL, 0, &number, NULL), WARMRING_NOT_FOUND,
               "increment nothing");
    tap_status(warmring_increment(client, KEY("n"), 1, &initial, 0, &number, NULL), WARMRING_OK,
               "increment with an initial value");
    tap_int((int64_t)number, 40, "the initial value");
    tap_status(warmring_increment(client, KEY("n"), 2, &initial, 0, &number, NULL), WARMRING_OK,
               "increment");
    tap_int((int64_t)number, 42, "added");
    tap_status(warmring_decrement(client, KEY("n"), 50, NULL, 0, &number, NULL), WARMRING_OK,
               "decrement below zero");
    tap_int((int64_t)number, 0, "stops at 0");
    tap_status(warmring_set(client, KEY("n"), KEY("18446744073709551615"), 0, 0, NULL), WARMRING_OK,
               "set 2^64-1");
    tap_status(warmring_increment(client, KEY("n"), 1, NULL, 0, &number, NULL), WARMRING_OK,
               "increment it");
    tap_ok(number == 0, "wraps");
    tap_status(warmring_set(client, KEY("n"), KEY("word"), 0, 0, NULL), WARMRING_OK, "set a word");
    tap_status(warmring_increment(client, KEY("n"), 1, NULL, 0, &number, NULL),
               WARMRING_NOT_NUMERIC, "increment a word");
    expect_value("n", "word", 0);
    tap_status(warmring_decrement(client, KEY("m"), 1, &initial, 0, NULL, NULL), WARMRING_OK,
               "decrement with an initial value, result not wanted");
    expect_value("m", "40", 0);
}

static void test_touch(void) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    tap_status(warmring_touch(client, KEY("t"), 100, NULL), WARMRING_NOT_FOUND, "touch nothing");
    tap_status(warmring_get_and_touch(client, KEY("t"), 100, &item, NULL), WARMRING_NOT_FOUND,
               "get and touch nothing");
    tap_status(warmring_set(client, KEY("t"), KEY("v"), 0, 4, NULL), WARMRING_OK, "set");
    tap_status(warmring_touch(client, KEY("t"), 100, NULL), WARMRING_OK, "touch");
    tap_status(warmring_get_and_touch(client, KEY("t"), 1, &item, NULL), WARMRING_OK,
               "get and touch");
    tap_bytes(item.value.data, item.value.length, "v", 1, "its value");
    tap_int(item.flags, 4, "its flags");
    warmring_item_clear(&item);
    sleep(3); /* memcached's clock ticks once a second */
    expect_miss("t");
}

static void test_get_into(void) {
    char buffer[8];
    warmring_item_t item = WARMRING_ITEM_INIT;
    tap_status(warmring_set(client, KEY("into"), KEY("12345678"), 0, 2, NULL), WARMRING_OK, "set");
    tap_status(warmring_get_into(client, KEY("into"), buffer, 8, &item, NULL), WARMRING_OK,
               "get into a buffer that just fits");
    tap_ok(item.value.data == buffer && item.value.length == 8 && item.owned == NULL,
           "the value is in the buffer");
    tap_bytes(buffer, 8, "12345678", 8, "all of it");
    tap_status(warmring_get_into(client, KEY("into"), buffer, 7, &item, NULL),
               WARMRING_BUFFER_TOO_SMALL, "get into one that does not");
    tap_ok(item.value.data == NULL && item.value.length == 8, "what it takes is told");
    tap_contains(warmring_error_detail(), "8 bytes", "the text says so");
    tap_status(warmring_get_into(client, KEY("none"), buffer, 8, &item, NULL), WARMRING_NOT_FOUND,
               "get a miss into a buffer");
    tap_status(warmring_set(client, KEY("into"), "", 0, 0, 0, NULL), WARMRING_OK, "set nothing");
    tap_status(warmring_get_into(client, KEY("into"), NULL, 0, &item, NULL), WARMRING_OK,
               "get nothing into no buffer");
    tap_ok(item.value.data != NULL && item.value.length == 0, "an empty value is a hit");
}

static void test_group(void) {
    warmring_call_t call = WARMRING_CALL_INIT;
    char here[64];
    char there[64];
    call.group = (warmring_bytes_t){"tenant-7", 8};
    warmring_locate(client, KEY("tenant-7"), here, sizeof here, NULL);
    int elsewhere = 0;
    for (int i = 0; i < 50; i++) {
        char key[32];
        snprintf(key, sizeof key, "member-%d", i);
        warmring_locate(client, KEY(key), there, sizeof there, NULL);
        elsewhere += strcmp(here, there) != 0;
        warmring_locate(client, KEY(key), there, sizeof there, &call);
        if (strcmp(here, there) != 0) {
            tap_string(there, here, "the group chooses the server");
        }
        warmring_status_t status = warmring_set(client, KEY(key), KEY(key), 0, 0, &call);
        if (status != WARMRING_OK) {
            tap_status(status, WARMRING_OK, "set in a group");
        }
    }
    tap_ok(elsewhere > 20, "%d of 50 keys live elsewhere by themselves", elsewhere);
    warmring_item_t item = WARMRING_ITEM_INIT;
    tap_status(warmring_get(client, KEY("member-3"), &item, &call), WARMRING_OK,
               "get in the group");
    warmring_item_clear(&item);
}

static void test_noreply(void) {
    warmring_call_t call = WARMRING_CALL_INIT;
    call.mode = WARMRING_NOREPLY;
    for (int i = 0; i < 100; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        if (warmring_set(client, KEY("quiet"), KEY(value), 0, 0, &call) != WARMRING_OK) {
            tap_ok(false, "set without reply: %s", warmring_error_detail());
        }
    }
    expect_value("quiet", "99", 0);
    tap_status(warmring_delete(client, KEY("quiet"), &call), WARMRING_OK, "delete without reply");
    expect_miss("quiet");
}

static void test_flush(void) {
    tap_status(warmring_set(client, KEY("flush"), KEY("v"), 0, 0, NULL), WARMRING_OK, "set");
    tap_status(warmring_flush(client, NULL), WARMRING_OK, "flush");
    expect_miss("flush");
}

static void test_snapshot(void) {
    warmring_snapshot_t *snapshot = NULL;
    warmring_counters_t counters = {.size = sizeof counters};
    warmring_server_counters_t server = {.size = sizeof server};
    tap_status(warmring_snapshot_create(client, &snapshot), WARMRING_OK, "snapshot");
    tap_status(warmring_snapshot_client(snapshot, -1, &counters), WARMRING_OK, "client counters");
    tap_ok(counters.reads > 0 && counters.reads == counters.hits_old + counters.misses,
           "%llu reads are hits and misses", (unsigned long long)counters.reads);
    tap_int((int64_t)counters.hits_new, 0, "no new ring");
    uint64_t requests = 0;
    size_t servers = 0;
    while (warmring_snapshot_server(snapshot, servers, &server) == WARMRING_OK) {
        requests += server.requests;
        servers++;
    }
    tap_int((int64_t)servers, 4, "servers");
    tap_ok(requests >= counters.reads + counters.writes - counters.try_again - 20,
           "requests cover reads and writes");
    tap_int(warmring_snapshot_phase(snapshot), WARMRING_STABLE, "phase");
    tap_int((int64_t)warmring_snapshot_epoch(snapshot), 1, "epoch");
    tap_ok(warmring_snapshot_ring_bytes(snapshot) > 4000 * 2, "ring bytes");
    tap_status(warmring_snapshot_client(snapshot, 7, &counters), WARMRING_BAD_ARGUMENT,
               "no phase 7");
    warmring_snapshot_free(snapshot);
}

static void test_prefix(const char *servers) {
    warmring_t *plain = client;
    warmring_options_t *options = test_options();
    tap_status(warmring_options_set(options, "prefix", "shop:"), WARMRING_OK, "option prefix");
    tap_status(warmring_open(&client, servers, options), WARMRING_OK, "open with a prefix");
    warmring_options_free(options);
    tap_status(warmring_set(client, KEY("k"), KEY("prefixed"), 0, 1, NULL), WARMRING_OK, "set");
    expect_value("k", "prefixed", 1);
    warmring_t *with_prefix = client;
    client = plain;
    expect_value("shop:k", "prefixed", 1);
    expect_miss("k");
    client = with_prefix;
    char key[WARMRING_MAX_KEY + 1];
    memset(key, 'k', sizeof key);
    tap_status(warmring_set(client, key, 245, KEY("v"), 0, 0, NULL), WARMRING_OK,
               "245 bytes and the prefix of 5");
    tap_status(warmring_set(client, key, 246, KEY("v"), 0, 0, NULL), WARMRING_BAD_KEY,
               "246 are too many");
    warmring_close(client);
    client = plain;
}

static void run_all(void) {
    fixture_t *fixture = fixture_start(4, NULL);
    client = test_open(fixture_servers(fixture));
    test_set_get_delete();
    test_empty_value();
    test_conditional_stores();
    test_cas();
    test_counters();
    test_touch();
    test_get_into();
    test_group();
    test_noreply();
    test_flush();
    test_snapshot();
    test_prefix(fixture_servers(fixture));
    warmring_close(client);
    fixture_free(fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
