/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public reports about memcached clients, as cases of our own: keys, values,
 * expirations and tokens, and that what was stored is there. docs/reports.md
 * lists all cases; numbers are those of issues on GitHub.
 */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <warmring/warmring.h>
#if WR_WITH_LIBMEMCACHED
#include <warmring/libmemcached.h>
#endif

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

#define TEXT(text) text, strlen(text)

enum { DAY = 24 * 3600, QUIET = 200 };

static fixture_t *fixture;
static warmring_t *client;

/* ---- keys -------------------------------------------------------------------- */

/* Symptom: the length of a key is checked without its prefix; the server then
 * refuses the line, and where no answer was awaited its complaint is taken for
 * the answer to the next command (php-memcached #556). Here the prefix counts:
 * the key is refused before anything is sent, and the connection stays in step. */
static void the_prefix_counts(void) {
    static const char *const options[] = {"prefix", "0123456789", NULL};
    char key[WARMRING_MAX_KEY + 1];
    memset(key, 'k', sizeof key);
    warmring_t *prefixed = steps_open(fixture_servers(fixture), options);
    warmring_call_t quiet = {.size = sizeof quiet, .mode = WARMRING_NOREPLY};
    warmring_item_t item = WARMRING_ITEM_INIT;
    tap_status(warmring_set(prefixed, key, 240, TEXT("fits"), 0, 0, NULL), WARMRING_OK,
               "%s: 240 bytes and a prefix of 10", test_transport());
    uint64_t requests = counters_of_seat(prefixed, 0).requests;
    tap_status(warmring_set(prefixed, key, 241, TEXT("no"), 0, 0, &quiet), WARMRING_BAD_KEY,
               "241 bytes, without waiting for an answer");
    tap_status(warmring_set(prefixed, key, 250, TEXT("no"), 0, 0, NULL), WARMRING_BAD_KEY, "250");
    tap_status(warmring_get(prefixed, key, 241, &item, NULL), WARMRING_BAD_KEY, "a read of 241");
    tap_int((int64_t)(counters_of_seat(prefixed, 0).requests - requests), 0, "nothing was sent");
    tap_status(warmring_get(prefixed, key, 240, &item, NULL), WARMRING_OK, "and on");
    tap_bytes(item.value.data, item.value.length, TEXT("fits"), "with its own answer");
    tap_int((int64_t)counters_of_seat(prefixed, 0).connects, 1, "over the same connection");
    warmring_item_clear(&item);
    warmring_close(prefixed);
}

/* ---- values ------------------------------------------------------------------ */

/* Symptom: a value of no bytes is read back as "no value" (HHVM #4175,
 * EnyimMemcachedCore #147, arcus-c-client #360: libmemcached's get returns
 * NULL). Here it is a hit whose value is there, and has the length 0. */
static void a_value_of_no_bytes(void) {
    warmring_bytes_t keys[2] = {{TEXT("empty")}, {TEXT("missing")}};
    warmring_results_t *results = warmring_results_create();
    warmring_item_t item = WARMRING_ITEM_INIT;
    char buffer[4];
    tap_status(warmring_set(client, TEXT("empty"), "", 0, 0, 3, NULL), WARMRING_OK, "%s: stored",
               test_transport());
    tap_status(warmring_get(client, TEXT("empty"), &item, NULL), WARMRING_OK, "get: a hit");
    tap_ok(item.value.data != NULL && item.value.length == 0 && item.value.data[0] == '\0',
           "with a value of length 0");
    tap_int(item.flags, 3, "and its flags");
    tap_status(warmring_get_into(client, TEXT("empty"), buffer, sizeof buffer, &item, NULL),
               WARMRING_OK, "get_into: a hit");
    tap_ok(item.value.data == buffer && item.value.length == 0, "with a value of length 0");
    tap_status(warmring_get_multi(client, keys, 2, results, NULL), WARMRING_OK, "get_multi");
    const warmring_item_t *one = warmring_results_at(results, 0);
    tap_status(one->status, WARMRING_OK, "a hit");
    tap_ok(one->value.data != NULL && one->value.length == 0, "with a value of length 0");
    tap_status(warmring_results_at(results, 1)->status, WARMRING_NOT_FOUND,
               "beside a key that is missing");
    tap_status(warmring_get(client, TEXT("missing"), &item, NULL), WARMRING_NOT_FOUND, "a miss");
    tap_ok(item.value.data == NULL, "which has no value");
    warmring_item_clear(&item);
    warmring_results_free(results);
}

/* ---- expirations --------------------------------------------------------------- */

static warmring_status_t with_expiration(size_t call, int64_t expiration) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    uint64_t initial = 1;
    warmring_status_t status;
    switch (call) {
    case 0:
        return warmring_set(client, TEXT("lasting"), TEXT("new"), expiration, 0, NULL);
    case 1:
        return warmring_add(client, TEXT("absent"), TEXT("new"), expiration, 0, NULL);
    case 2:
        return warmring_replace(client, TEXT("lasting"), TEXT("new"), expiration, 0, NULL);
    case 3:
        return warmring_touch(client, TEXT("lasting"), expiration, NULL);
    case 4:
        return warmring_increment(client, TEXT("absent"), 1, &initial, expiration, NULL, NULL);
    default:
        status = warmring_get_and_touch(client, TEXT("lasting"), expiration, &item, NULL);
        warmring_item_clear(&item);
        return status;
    }
}

/* Symptom: a negative expiration means "gone at once" to one protocol, a huge
 * number or "out of memory" to another, and costs the connection its step
 * (pylibmc #154, libmemcached #125, memcached #142). Here it is BAD_ARGUMENT in
 * each call that takes one, before anything is sent. */
static void negative_expirations(void) {
    tap_status(store_key(client, "lasting", "old"), WARMRING_OK, "%s: a value", test_transport());
    uint64_t requests = counters_of_seat(client, 0).requests;
    for (size_t call = 0; call < 6; call++) {
        tap_status(with_expiration(call, -1), WARMRING_BAD_ARGUMENT, "call %zu: -1", call);
        tap_contains(warmring_error_detail(), "-1", "the text quotes it");
    }
    tap_int((int64_t)(counters_of_seat(client, 0).requests - requests), 0, "nothing was sent");
    raw_holds(fixture, 0, "lasting", "old", "the value is as it was");
    raw_holds(fixture, 0, "absent", NULL, "and none was made");
}

/* Symptom: an expiration of 31 days is sent as it is, and the server takes what
 * is beyond 30 days for a date in 1970: stored, and never seen again
 * (play2-memcached #36, node-memcached #303). Here it is sent as the date it
 * means. */
static void thirty_one_days(void) {
    static const int64_t days[] = {30, 31, 365};
    for (size_t i = 0; i < sizeof days / sizeof days[0]; i++) {
        tap_status(with_expiration(0, days[i] * DAY), WARMRING_OK, "%s: set for %d days",
                   test_transport(), (int)days[i]);
        raw_item_t item = raw_look(fixture, 0, "lasting");
        tap_ok(item.present && item.ttl > days[i] * DAY - 60 && item.ttl <= days[i] * DAY,
               "it has %lld s left", (long long)item.ttl);
        tap_status(with_expiration(3, (days[i] + 10) * DAY), WARMRING_OK, "touched: ten days more");
        item = raw_look(fixture, 0, "lasting");
        tap_ok(item.present && item.ttl > (days[i] + 10) * DAY - 60, "it has %lld s left",
               (long long)item.ttl);
    }
}

/* ---- tokens -------------------------------------------------------------------- */

/* Symptom: a CAS value of 0, as one has it before the first read, is sent, and
 * makes a plain store of a conditional one, or puts the connection out of step
 * (libmemcached #60 and its docs); a server run with -C gives 0 for every key
 * (memcached #219). Here a zero token is BAD_ARGUMENT, whatever it comes from,
 * and stores nothing. */
static void a_zero_token(const char *servers, size_t seat, const char *which) {
    static const warmring_token_t zero;
    warmring_t *caller = test_open(servers);
    warmring_item_t item = WARMRING_ITEM_INIT;
    tap_status(store_key(caller, "cas", "old"), WARMRING_OK, "%s, %s: a value", test_transport(),
               which);
    tap_status(warmring_cas(caller, TEXT("cas"), TEXT("new"), 0, 0, &zero, NULL),
               WARMRING_BAD_ARGUMENT, "a token that was never taken");
    tap_status(warmring_get(caller, TEXT("cas"), &item, NULL), WARMRING_OK, "a read");
    tap_bytes(item.value.data, item.value.length, TEXT("old"), "finds the value as it was");
    warmring_status_t status =
        warmring_cas(caller, TEXT("cas"), TEXT("new"), 0, 0, &item.token, NULL);
    tap_status(status, seat == 0 ? WARMRING_OK : WARMRING_BAD_ARGUMENT, "the token of that read");
    raw_holds(fixture, seat, "cas", seat == 0 ? "new" : "old", "and what that did");
    tap_int((int64_t)counters_of_seat(caller, 0).connects, 1, "one connection, in step to the end");
    warmring_item_clear(&item);
    warmring_close(caller);
}

/* ---- what was stored is there --------------------------------------------------- */

/* Symptom: stores are kept in a buffer and reported as done; they are lost when
 * the process ends or the connection does, and a read does not find them
 * (pgmemcache #30, php-memcached #78, libmemcached #95). Here OK means that the
 * server said so; stores without an answer are sent, not kept; and the buffering
 * of a memcached_st is not taken over. */
static void a_store_is_no_promise(void) {
    char key[CALLS_KEY_SIZE];
    warmring_t *other = test_open(fixture_servers(fixture));
    for (size_t i = 0; i < STORE_WAYS; i++) {
        tap_status(store_ways[i].call(other, "stored", store_ways[i].name, 0, 0), WARMRING_OK,
                   "%s: %s", test_transport(), store_ways[i].name);
        raw_holds(fixture, 0, "stored", store_ways[i].name, "another connection sees it at once");
    }
    int refused = 0, lost = 0;
    for (unsigned i = 0; i < QUIET; i++) {
        snprintf(key, sizeof key, "quiet:%u", i);
        refused += store_ways[0].call(other, key, key, 0, WARMRING_NOREPLY) != WARMRING_OK;
    }
    warmring_close(other);
    tap_int(refused, 0, "%d stores that wait for no answer", QUIET);
    for (unsigned i = 0; i < QUIET; i++) {
        snprintf(key, sizeof key, "quiet:%u", i);
        for (int tries = 0; tries < 100 && !raw_look(fixture, 0, key).present; tries++) {
            usleep(10000); /* the server may have yet to read them */
        }
        lost += strcmp(raw_look(fixture, 0, key).value, key) != 0;
    }
    tap_int(lost, 0, "are all there after the client was closed");
}

#if WR_WITH_LIBMEMCACHED
static void a_buffering_template(void) {
    warmring_t *other = NULL;
    warmring_options_t *options = test_options();
    memcached_st *memc = memcached_create(NULL);
    memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 1);
    tap_status(warmring_open_from(&other, memc, fixture_servers(fixture), options), WARMRING_OK,
               "%s: configured as one that buffers", test_transport());
    tap_status(store_key(other, "buffered", "no"), WARMRING_OK, "a store");
    raw_holds(fixture, 0, "buffered", "no", "another connection sees it at once");
    warmring_close(other);
    warmring_options_free(options);
    memcached_free(memc);
}
#endif

/* ---- IPv6 ------------------------------------------------------------------------ */

static bool has_ipv6(void) {
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return has;
}

/* Symptom: an address in brackets is looked up with its brackets, or one without
 * is cut at its first colon, so IPv6 servers cannot be used at all (libmemcached
 * #106, pylibmc #44, python-binary-memcached #258). Here [V6]:PORT is one form
 * everywhere: in lists (rings.c has them), on the wire, and in what people see. */
static void a_server_with_ipv6(void) {
    static const char *const also[] = {"-l", "::1", NULL};
    if (!has_ipv6()) {
        tap_skip("no IPv6 on this machine");
        return;
    }
    fixture_t *six = fixture_start(1, also);
    char servers[64], address[64];
    snprintf(servers, sizeof servers, "[::1]:%u", fixture_port(six, 0));
    warmring_t *over_six = test_open(servers);
    tap_status(store_key(over_six, "six", "over IPv6"), WARMRING_OK, "%s: a store to %s",
               test_transport(), servers);
    raw_holds(six, 0, "six", "over IPv6", "is on that server");
    answer_t answer = read_key(over_six, "six");
    tap_string(shown(&answer), "over IPv6", "and read");
    tap_status(warmring_locate(over_six, TEXT("six"), address, sizeof address, NULL), WARMRING_OK,
               "its owner");
    tap_string(address, servers, "has brackets");
    fixture_kill(six, 0);
    tap_ok(read_key(over_six, "six").status != WARMRING_OK, "when it is gone");
    tap_contains(warmring_error_detail(), servers, "the error has them, too");
    warmring_close(over_six);
    fixture_free(six);
}

static void run(void) {
    static const char *const without_cas[] = {"-C", NULL};
    fixture = fixture_start(1, NULL);
    client = test_open(fixture_servers(fixture));
    the_prefix_counts();
    a_value_of_no_bytes();
    negative_expirations();
    thirty_one_days();
    a_store_is_no_promise();
#if WR_WITH_LIBMEMCACHED
    a_buffering_template();
#endif
    a_server_with_ipv6();
    a_zero_token(fixture_servers(fixture), 0, "a server with CAS");
    size_t seat = fixture_add(fixture, without_cas);
    a_zero_token(fixture_address(fixture, seat), seat, "a server without");
    warmring_close(client);
    fixture_free(fixture);
}

int main(void) {
    test_transports(run);
    return tap_done();
}
