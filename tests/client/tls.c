/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS, against memcached -Z with certificates of its own, and servers that
 * hang, close or speak something else. What memcached counts it is asked on a
 * second port, without TLS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <warmring/warmring.h>

#include "tests/lib/certificates.h"
#include "tests/lib/child.h"
#include "tests/lib/fake_memcached.h"
#include "tests/lib/fake_server.h"
#include "tests/lib/fixture.h"
#include "tests/lib/memcached.h"
#include "tests/lib/tap.h"

enum { SHORT_MS = 300, LONG_MS = 10000, KEYS = 60, LARGE = 300000 };

typedef struct {
    const char *name, *value;
} setting_t;

/* ---- clients ----------------------------------------------------------------- */

static warmring_options_t *options_of(const setting_t *settings) {
    warmring_options_t *options = warmring_options_create();
    for (; settings->name != NULL; settings++) {
        const char *value = settings->value;
        bool is_file = strlen(value) > 4 && strcmp(value + strlen(value) - 4, ".pem") == 0;
        if (warmring_options_set(options, settings->name,
                                 is_file ? certificate_path(value) : value) != WARMRING_OK) {
            tap_bail("%s", warmring_error_detail());
        }
    }
    return options;
}

static warmring_status_t try_client(const char *servers, const setting_t *settings,
                                    warmring_t **client) {
    warmring_options_t *options = options_of(settings);
    warmring_status_t status = warmring_open(client, servers, options);
    warmring_options_free(options);
    return status;
}

static warmring_t *client_of(const char *servers, const setting_t *settings) {
    warmring_t *client = NULL;
    if (try_client(servers, settings, &client) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    return client;
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static warmring_status_t get(warmring_t *client, const char *key, uint32_t ms) {
    warmring_call_t call = WARMRING_CALL_INIT;
    warmring_item_t item = WARMRING_ITEM_INIT;
    call.deadline_ms = ms;
    warmring_status_t status = warmring_get(client, key, strlen(key), &item, &call);
    warmring_item_clear(&item);
    return status;
}

#define PATIENT                     \
    {"max_deadline_ms", "20000"}, { \
        "failure_limit", "1000000"  \
    }
#define TLS {"tls", "1"}, PATIENT
#define CA \
    { "tls_ca_file", "ca.pem" }
#define END \
    { NULL, NULL }
static const setting_t usual[] = {TLS, CA, END};

/* ---- servers ------------------------------------------------------------------ */

typedef struct {
    fixture_t *fixture;
    uint16_t plain; /* its port without TLS */
    int holder;
} secure_t;

/* A memcached with this certificate; `more` options of its -o, or "". */
static secure_t secure_start(const char *certificate, const char *more) {
    secure_t server;
    char files[512];
    char listener[64];
    server.holder = hold_port(&server.plain);
    snprintf(files, sizeof files, "ssl_chain_cert=%s,ssl_key=%s%s", certificate_path(certificate),
             certificate_path("key.pem"), more);
    snprintf(listener, sizeof listener, "notls:127.0.0.1:%u", (unsigned)server.plain);
    const char *const arguments[] = {"-Z", "-o", files, "-l", listener, NULL};
    server.fixture = fixture_start(1, arguments);
    return server;
}

static void secure_free(secure_t *server) {
    fixture_free(server->fixture);
    close(server->holder);
}

static const char *address_of(const secure_t *server) {
    return fixture_address(server->fixture, 0);
}

static long counter(const secure_t *server, const char *name) {
    static char reply[8192];
    char line[64];
    memcached_t plain = {.port = server->plain, .holder = server->holder};
    const char *fault = memcached_ask(&plain, "stats\r\n", "END\r\n", reply, sizeof reply);
    snprintf(line, sizeof line, "STAT %s ", name);
    const char *found = strstr(reply, line);
    if (fault != NULL || found == NULL) {
        tap_bail("no counter %s: %s", name, fault != NULL ? fault : "unknown");
    }
    return strtol(found + strlen(line), NULL, 10);
}

/* ---- what works ---------------------------------------------------------------- */

static void test_values(warmring_t *client) {
    static char large[LARGE];
    warmring_item_t item = WARMRING_ITEM_INIT;
    for (size_t i = 0; i < LARGE; i++) {
        large[i] = (char)(i * 2654435761u >> 13);
    }
    static const size_t sizes[] = {0, 1, 511, 512, 513, 16383, 16384, 16385, 65536, LARGE};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        tap_status(warmring_set(client, "k", 1, large, sizes[i], 0, 7, NULL), WARMRING_OK,
                   "set of %zu bytes", sizes[i]);
        tap_status(warmring_get(client, "k", 1, &item, NULL), WARMRING_OK, "get");
        tap_bytes(item.value.data, item.value.length, large, sizes[i], "the value");
    }
    warmring_item_clear(&item);
    tap_status(warmring_delete(client, "k", 1, NULL), WARMRING_OK, "delete");
    tap_status(get(client, "k", LONG_MS), WARMRING_NOT_FOUND, "a miss");
}

static void test_good(void) {
    static const setting_t by_name[] = {TLS, CA, {"tls_server_name", "localhost"}, END};
    secure_t server = secure_start("good.pem", "");
    warmring_t *client = client_of(address_of(&server), usual);
    test_values(client);
    warmring_close(client);
    client = client_of(address_of(&server), by_name);
    tap_status(get(client, "k", LONG_MS), WARMRING_NOT_FOUND, "by the name in tls_server_name");
    warmring_close(client);
    char host[64];
    snprintf(host, sizeof host, "localhost:%u", (unsigned)fixture_port(server.fixture, 0));
    client = client_of(host, usual);
    tap_status(get(client, "k", LONG_MS), WARMRING_NOT_FOUND, "by the host as configured");
    warmring_close(client);
    tap_ok(counter(&server, "ssl_handshake_errors") <= 1, "no handshake failed but the fixture's");
    secure_free(&server);
}

/* A full handshake brings two tickets, a resumed one brings one. */
static void test_sessions(void) {
    static const setting_t brief[] = {TLS, CA, {"idle_close_ms", "0"}, END};
    secure_t server = secure_start("good.pem", ",ssl_session_cache");
    warmring_t *client = client_of(address_of(&server), brief);
    tap_status(get(client, "k", LONG_MS), WARMRING_NOT_FOUND, "the first connection");
    long first = counter(&server, "ssl_new_sessions");
    tap_int(first, 2, "a full handshake");
    for (int i = 1; i <= 3; i++) {
        (void)!warmring_tick(client, 1000); /* closes what is idle */
        tap_status(get(client, "k", LONG_MS), WARMRING_NOT_FOUND, "another connection");
        tap_int(counter(&server, "ssl_new_sessions"), first + i, "resumes");
    }
    tap_int(counter(&server, "total_connections") >= 4, 1, "these were connections of their own");
    warmring_close(client);
    secure_free(&server);
}

static void test_fork(void) {
    secure_t server = secure_start("good.pem", "");
    warmring_t *client = client_of(address_of(&server), usual);
    tap_status(warmring_set(client, "k", 1, "v", 1, 0, 0, NULL), WARMRING_OK, "the parent");
    pid_t child = child_fork(60);
    if (child == 0) {
        bool good = true;
        for (int i = 0; i < 20; i++) {
            good &= get(client, "k", LONG_MS) == WARMRING_OK;
        }
        warmring_close(client);
        _exit(good ? 0 : 1);
    }
    tap_int(child_wait(child), 0, "the child has connections of its own");
    warmring_snapshot_t *snapshot = NULL;
    warmring_server_counters_t counters = {.size = sizeof counters};
    tap_status(get(client, "k", LONG_MS), WARMRING_OK, "the parent goes on");
    tap_status(warmring_snapshot_create(client, &snapshot), WARMRING_OK, "counters");
    tap_status(warmring_snapshot_server(snapshot, 0, &counters), WARMRING_OK, "of the server");
    tap_int((int64_t)counters.connects, 1, "on the same connection");
    warmring_snapshot_free(snapshot);
    warmring_close(client);
    secure_free(&server);
}

static void make_keys(warmring_bytes_t keys[KEYS], char text[KEYS][16]) {
    for (size_t i = 0; i < KEYS; i++) {
        snprintf(text[i], sizeof text[i], "key-%zu", i);
        keys[i] = (warmring_bytes_t){text[i], strlen(text[i])};
    }
}

static void test_batches(void) {
    warmring_bytes_t keys[KEYS];
    char text[KEYS][16];
    char servers[256];
    static char value[5000];
    warmring_entry_t entries[KEYS];
    secure_t one = secure_start("good.pem", "");
    secure_t two = secure_start("good.pem", "");
    snprintf(servers, sizeof servers, "%s,%s", address_of(&one), address_of(&two));
    warmring_t *client = client_of(servers, usual);
    warmring_results_t *results = warmring_results_create();
    make_keys(keys, text);
    memset(value, 'v', sizeof value);
    for (size_t i = 0; i < KEYS; i++) {
        entries[i] = (warmring_entry_t){.key = keys[i], .value = {value, i * sizeof value / KEYS}};
    }
    tap_status(warmring_set_multi(client, entries, KEYS, results, NULL), WARMRING_OK, "set_multi");
    tap_status(warmring_get_multi(client, keys, KEYS, results, NULL), WARMRING_OK, "get_multi");
    for (size_t i = 0; i < KEYS; i++) {
        const warmring_item_t *item = warmring_results_at(results, i);
        tap_bytes(item->value.data, item->value.length, value, entries[i].value.length, "key %zu",
                  i);
    }
    tap_ok(counter(&one, "curr_items") > 0 && counter(&two, "curr_items") > 0, "both have some");
    tap_int(counter(&one, "curr_items") + counter(&two, "curr_items"), KEYS, "and all of them");
    warmring_results_free(results);
    warmring_close(client);
    secure_free(&one);
    secure_free(&two);
}

/* ---- what is refused ------------------------------------------------------------ */

static void expect(const char *address, const setting_t *settings, warmring_status_t status,
                   const char *text, const char *what) {
    warmring_t *client = client_of(address, settings);
    tap_status(get(client, "k", LONG_MS), status, "%s", what);
    tap_contains(warmring_error_detail(), text, "... the text has the remedy");
    tap_contains(warmring_error_detail(), address, "... and the server");
    warmring_close(client);
}

static void test_certificates(void) {
    static const setting_t other[] = {TLS, {"tls_ca_file", "other-ca.pem"}, END};
    static const setting_t system[] = {TLS, END};
    static const setting_t wrong[] = {TLS, CA, {"tls_server_name", "cache.example"}, END};
    secure_t good = secure_start("good.pem", "");
    expect(address_of(&good), other, WARMRING_CONNECT_FAILED, "set tls_ca_file", "another CA");
    expect(address_of(&good), system, WARMRING_CONNECT_FAILED, "set tls_ca_file", "the system's");
    expect(address_of(&good), wrong, WARMRING_CONNECT_FAILED, "set tls_server_name",
           "another name");
    secure_free(&good);
    secure_t named = secure_start("named.pem", "");
    expect(address_of(&named), usual, WARMRING_CONNECT_FAILED, "set tls_server_name",
           "a name where the address is meant");
    warmring_t *client = client_of(address_of(&named), wrong);
    tap_status(get(client, "k", LONG_MS), WARMRING_NOT_FOUND, "with the name it is good");
    warmring_close(client);
    secure_free(&named);
    secure_t expired = secure_start("expired.pem", "");
    expect(address_of(&expired), usual, WARMRING_CONNECT_FAILED, "certificate has expired",
           "an expired certificate");
    secure_free(&expired);
}

static void test_client_certificate(void) {
    static const setting_t with[] = {TLS, CA, {"tls_certificate", "client.pem"}, END};
    static const setting_t apart[] = {
        TLS, CA, {"tls_certificate", "good.pem"}, {"tls_key", "key.pem"}, END};
    char more[256];
    snprintf(more, sizeof more, ",ssl_verify_mode=2,ssl_ca_cert=%s", certificate_path("ca.pem"));
    secure_t server = secure_start("good.pem", more);
    warmring_t *client = client_of(address_of(&server), with);
    tap_status(get(client, "k", LONG_MS), WARMRING_NOT_FOUND, "a certificate of the client's");
    warmring_close(client);
    client = client_of(address_of(&server), apart);
    tap_status(get(client, "k", LONG_MS), WARMRING_NOT_FOUND, "with its key in another file");
    warmring_close(client);
    expect(address_of(&server), usual, WARMRING_AUTH_FAILED, "set tls_certificate", "without one");
    secure_free(&server);
}

static void test_plain(void) {
    static const setting_t plain[] = {{"transport", "meta"}, PATIENT, END};
    fixture_t *fixture = fixture_start(1, NULL);
    warmring_t *client = client_of(fixture_address(fixture, 0), usual);
    warmring_status_t status = get(client, "k", SHORT_MS); /* by what random bytes look like */
    tap_ok(status == WARMRING_TIMEOUT || status == WARMRING_CONNECT_FAILED,
           "TLS to a plain server: %s", warmring_status_name(status));
    tap_contains(warmring_error_detail(), "set tls=0", "... the text has the remedy");
    warmring_close(client);
    fixture_free(fixture);

    secure_t server = secure_start("good.pem", "");
    expect(address_of(&server), plain, WARMRING_CONNECTION_LOST, "set tls=1",
           "plain to a TLS server");
    secure_free(&server);
}

/* ---- servers at fault -------------------------------------------------------------- */

static void expect_fake(const fake_step_t *script, warmring_status_t status, const char *text,
                        const char *what) {
    fake_server_t *fake = script != NULL ? fake_server_start(script) : fake_server_start_deaf();
    warmring_t *client = client_of(fake_server_address(fake), usual);
    int64_t begun = now_ms();
    tap_status(get(client, "k", SHORT_MS), status, "%s", what);
    int64_t took = now_ms() - begun;
    tap_ok(took <= SHORT_MS + tap_slack_ms(), "... in time: %lld ms", (long long)took);
    tap_contains(warmring_error_detail(), text, "... the cause");
    warmring_close(client);
    fake_server_free(fake);
}

/* The first bytes of a handshake record that never ends, and an alert. */
#define HALF "\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03"
#define ALERT "\x15\x03\x03\x00\x02\x02\x28"

static void test_hanging(void) {
    static const fake_step_t half[] = {FAKE_SAY(HALF), FAKE_HANG()};
    static const fake_step_t drip[] = {FAKE_DRIP(HALF HALF HALF HALF HALF HALF, 40), FAKE_HANG()};
    static const fake_step_t closing[] = {FAKE_SAY(HALF), FAKE_END};
    static const fake_step_t reset[] = {FAKE_PAUSE(20), FAKE_RESET()};
    static const fake_step_t alert[] = {FAKE_SAY(ALERT), FAKE_HANG()};
    static const fake_step_t html[] = {FAKE_SAY("HTTP/1.1 400 Bad Request\r\n\r\n"), FAKE_HANG()};
    expect_fake(NULL, WARMRING_TIMEOUT, "TLS handshake timed out", "a server that says nothing");
    expect_fake(half, WARMRING_TIMEOUT, "TLS handshake timed out", "that stops half way");
    expect_fake(drip, WARMRING_TIMEOUT, "TLS handshake timed out", "that drips");
    expect_fake(closing, WARMRING_CONNECT_FAILED, "in the TLS handshake", "that closes");
    expect_fake(reset, WARMRING_CONNECT_FAILED, "in the TLS handshake", "that resets");
    expect_fake(alert, WARMRING_AUTH_FAILED, "set tls_certificate", "that refuses us");
    expect_fake(html, WARMRING_CONNECT_FAILED, "set tls=0", "that speaks something else");
}

/* One that hangs in the handshake delays no other. */
static void test_hanging_in_batch(void) {
    warmring_bytes_t keys[KEYS];
    char text[KEYS][16];
    char servers[256];
    int faults = 0;
    int misses = 0;
    warmring_call_t call = WARMRING_CALL_INIT;
    fake_server_t *deaf = fake_server_start_deaf();
    secure_t good = secure_start("good.pem", "");
    snprintf(servers, sizeof servers, "%s,%s", fake_server_address(deaf), address_of(&good));
    warmring_t *client = client_of(servers, usual);
    warmring_results_t *results = warmring_results_create();
    make_keys(keys, text);
    call.deadline_ms = 1500;
    int64_t begun = now_ms();
    tap_status(warmring_get_multi(client, keys, KEYS, results, &call), WARMRING_TIMEOUT,
               "one of two hangs in the handshake");
    tap_ok(now_ms() - begun <= 1500 + tap_slack_ms(), "... in time");
    for (size_t i = 0; i < KEYS; i++) {
        char owner[64];
        warmring_status_t status = warmring_results_at(results, i)->status;
        (void)!warmring_locate(client, text[i], keys[i].length, owner, sizeof owner, NULL);
        bool is_good = strcmp(owner, address_of(&good)) == 0;
        misses += is_good && status == WARMRING_NOT_FOUND;
        faults += !is_good && status == WARMRING_TIMEOUT;
    }
    tap_ok(misses > 0 && faults > 0, "each has keys");
    tap_int(misses + faults, KEYS, "and the good one has answered all of its own");
    warmring_results_free(results);
    warmring_close(client);
    secure_free(&good);
    fake_server_free(deaf);
}

/* Stopped, killed and restarted while connections are open. */
static void test_lost(void) {
    static char large[LARGE];
    warmring_call_t call = WARMRING_CALL_INIT;
    secure_t server = secure_start("good.pem", "");
    warmring_t *client = client_of(address_of(&server), usual);
    tap_status(warmring_set(client, "k", 1, large, LARGE, 0, 0, NULL), WARMRING_OK, "set");
    fixture_stop(server.fixture, 0);
    int64_t begun = now_ms();
    tap_status(get(client, "k", SHORT_MS), WARMRING_TIMEOUT, "stopped");
    tap_ok(now_ms() - begun <= SHORT_MS + tap_slack_ms(), "... in time");
    fixture_continue(server.fixture, 0);
    tap_status(get(client, "k", LONG_MS), WARMRING_OK, "goes on");
    fixture_restart(server.fixture, 0);
    call.deadline_ms = LONG_MS;
    tap_status(get(client, "k", LONG_MS), WARMRING_NOT_FOUND, "restarted");
    fixture_kill(server.fixture, 0);
    /* Whether something was sent depends on when the end of the old connection is seen. */
    warmring_status_t status = warmring_set(client, "k", 1, large, LARGE, 0, 0, &call);
    tap_ok(status == WARMRING_CONNECT_FAILED || status == WARMRING_CONNECTION_LOST, "killed: %s",
           warmring_status_name(status));
    tap_contains(warmring_error_detail(), "refused", "and why");
    warmring_close(client);
    secure_free(&server);
}

/* ---- options ------------------------------------------------------------------------ */

static void refuse(const setting_t *settings, warmring_status_t expected, const char *text) {
    warmring_t *client = NULL;
    tap_status(try_client("127.0.0.1", settings, &client), expected, "refused");
    tap_contains(warmring_error_detail(), text, "... with a text");
    tap_ok(client == NULL, "... and no client");
}

static void test_options(void) {
    static const setting_t no_file[] = {TLS, {"tls_ca_file", "none.pem"}, END};
    static const setting_t no_ca[] = {TLS, {"tls_ca_file", "key.pem"}, END};
    static const setting_t no_key[] = {TLS, CA, {"tls_certificate", "good.pem"}, END};
    static const setting_t other_key[] = {
        TLS, CA, {"tls_certificate", "good.pem"}, {"tls_key", "other-key.pem"}, END};
    static const setting_t locked[] = {
        TLS, CA, {"tls_certificate", "good.pem"}, {"tls_key", "locked.pem"}, END};
    static const setting_t plain[] = {CA, END};
    static const setting_t keyless[] = {TLS, {"tls_key", "key.pem"}, END};
    refuse(no_file, WARMRING_BAD_OPTION, "none.pem");
    refuse(no_ca, WARMRING_BAD_OPTION, "option tls_ca_file");
    refuse(no_key, WARMRING_BAD_OPTION, "option tls_key");
    refuse(other_key, WARMRING_BAD_OPTION, "option tls_key");
    refuse(locked, WARMRING_BAD_OPTION, "option tls_key");
    refuse(plain, WARMRING_BAD_OPTION, "tls_ca_file: it means nothing without tls=1");
    refuse(keyless, WARMRING_BAD_OPTION, "without tls_certificate");
#if WR_WITH_LIBMEMCACHED
    static const setting_t theirs[] = {TLS, {"transport", "libmemcached"}, END};
    refuse(theirs, WARMRING_NOT_SUPPORTED, "set transport=meta");
#endif
}

int main(void) {
    test_options();
    test_good();
    test_sessions();
    test_fork();
    test_batches();
    test_certificates();
    test_client_certificate();
    test_plain();
    test_hanging();
    test_hanging_in_batch();
    test_lost();
    return tap_done();
}
