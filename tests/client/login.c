/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The login of `memcached -Y`, with options user and password: who is let in,
 * and that the password stands in no text and in no memory that is given back.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <warmring/memory.h>
#include <warmring/warmring.h>

#include "tests/lib/certificates.h"
#include "tests/lib/fake_server.h"
#include "tests/lib/fixture.h"
#include "tests/lib/tap.h"

#define USER "ring"
#define PASSWORD "hush-Xyzzy-2718281828"

enum { LONG_MS = 5000, SHORT_MS = 200, KEYS = 20 };

static char file[] = "/tmp/warmring-login-XXXXXX";

static void write_file(void) {
    static const char line[] = USER ":" PASSWORD "\n";
    int descriptor = mkstemp(file);
    if (descriptor < 0 || write(descriptor, line, sizeof line - 1) != sizeof line - 1) {
        tap_bail("no file for a login");
    }
    close(descriptor);
}

/* ---- memory ------------------------------------------------------------------- */

/* Blocks with their size in front, so that they can be searched at the end. */
enum { HEAD = 64 }; /* keeps what alignment there is */
static _Atomic size_t leaks;

static void *allocate(size_t size) {
    char *block = malloc(size + HEAD);
    if (block == NULL) {
        return NULL;
    }
    memcpy(block, &size, sizeof size);
    return block + HEAD;
}

static size_t size_of(const char *block) {
    size_t size;
    memcpy(&size, block - HEAD, sizeof size);
    return size;
}

static void release(void *block) {
    if (block != NULL) {
        leaks += memmem(block, size_of(block), PASSWORD, strlen(PASSWORD)) != NULL;
        free((char *)block - HEAD);
    }
}

static void *resize(void *block, size_t size) {
    void *larger = allocate(size);
    if (larger != NULL && block != NULL) {
        size_t before = size_of(block);
        memcpy(larger, block, before < size ? before : size);
        release(block);
    }
    return larger;
}

/* ---- clients ------------------------------------------------------------------- */

static void set_option(warmring_options_t *options, const char *name, const char *value) {
    if (value != NULL && warmring_options_set(options, name, value) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
}

/* NULL: the option is left alone. */
static warmring_t *client_of(const char *servers, const char *user, const char *password,
                             const char *ca_file) {
    warmring_options_t *options = warmring_options_create();
    warmring_t *client = NULL;
    set_option(options, "failure_limit", "1000000");
    set_option(options, "user", user);
    set_option(options, "password", password);
    set_option(options, "tls", ca_file != NULL ? "1" : "0");
    set_option(options, "tls_ca_file", ca_file);
    if (warmring_open(&client, servers, options) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    warmring_options_free(options);
    return client;
}

static void check_text(const char *piece) {
    tap_contains(warmring_error_detail(), piece, "... the text");
    tap_ok(strstr(warmring_error_detail(), PASSWORD) == NULL, "... without the password");
}

static void expect(const char *address, const char *user, const char *password, uint32_t ms,
                   warmring_status_t status, const char *text, const char *what) {
    warmring_call_t call = WARMRING_CALL_INIT;
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_t *client = client_of(address, user, password, NULL);
    call.deadline_ms = ms;
    tap_status(warmring_get(client, "k", 1, &item, &call), status, "%s", what);
    check_text(text);
    warmring_close(client);
}

/* ---- servers that want one --------------------------------------------------------- */

static void test_batch(warmring_t *client) {
    warmring_bytes_t keys[KEYS];
    char text[KEYS][16];
    warmring_results_t *results = warmring_results_create();
    for (size_t i = 0; i < KEYS; i++) {
        snprintf(text[i], sizeof text[i], "key-%zu", i);
        keys[i] = (warmring_bytes_t){text[i], strlen(text[i])};
    }
    tap_status(warmring_get_multi(client, keys, KEYS, results, NULL), WARMRING_OK, "get_multi");
    tap_status(warmring_results_server(results, 1, NULL), WARMRING_OK, "two servers were asked");
    warmring_results_free(results);
}

static void test_wanted(void) {
    const char *const arguments[] = {"-Y", file, NULL};
    fixture_t *fixture = fixture_start(2, arguments);
    warmring_t *client = client_of(fixture_servers(fixture), USER, PASSWORD, NULL);
    test_batch(client);
    warmring_close(client);

    const char *address = fixture_address(fixture, 0);
    warmring_item_t item = WARMRING_ITEM_INIT;
    client = client_of(address, USER, PASSWORD, NULL);
    tap_status(warmring_set(client, "k", 1, "v", 1, 0, 0, NULL), WARMRING_OK, "let in");
    fixture_restart(fixture, 0);
    tap_status(warmring_get(client, "k", 1, &item, NULL), WARMRING_NOT_FOUND, "and in again");
    warmring_close(client);

    expect(address, USER, "wrong", LONG_MS, WARMRING_AUTH_FAILED, "check the options user",
           "a wrong password");
    expect(address, "ping", PASSWORD, LONG_MS, WARMRING_AUTH_FAILED, "check the options user",
           "a wrong user");
    expect(address, NULL, NULL, LONG_MS, WARMRING_AUTH_FAILED, "set user and password", "nobody");
    fixture_free(fixture);
}

#if WR_WITH_OPENSSL
static void test_both(void) {
    char files[512];
    snprintf(files, sizeof files, "ssl_chain_cert=%s,ssl_key=%s", certificate_path("good.pem"),
             certificate_path("key.pem"));
    const char *const arguments[] = {"-Y", file, "-Z", "-o", files, NULL};
    fixture_t *fixture = fixture_start(2, arguments);
    warmring_t *client =
        client_of(fixture_servers(fixture), USER, PASSWORD, certificate_path("ca.pem"));
    test_batch(client);
    warmring_close(client);
    fixture_free(fixture);
}
#endif

/* ---- servers that do not -------------------------------------------------------------- */

/* It takes the login for a store: nothing may be left of it. */
static void test_unwanted(void) {
    char reply[64];
    warmring_item_t item = WARMRING_ITEM_INIT;
    fixture_t *fixture = fixture_start(1, NULL);
    warmring_t *client = client_of(fixture_address(fixture, 0), USER, PASSWORD, NULL);
    tap_status(warmring_get(client, "k", 1, &item, NULL), WARMRING_NOT_FOUND, "an open server");
    warmring_close(client);
    fixture_raw(fixture, 0, "get warmring:login\r\n", "END\r\n", reply, sizeof reply);
    tap_string(reply, "END\r\n", "keeps no password");
    fixture_free(fixture);
}

static void test_at_fault(void) {
    static const fake_step_t repeating[] = {
        FAKE_AWAIT(), FAKE_SAY("CLIENT_ERROR " USER " " PASSWORD "\r\n"), FAKE_END};
    static const fake_step_t other[] = {FAKE_AWAIT(), FAKE_SAY("VALUE " PASSWORD "\r\n"), FAKE_END};
    static const fake_step_t endless[] = {FAKE_AWAIT(), FAKE_FLOOD(PASSWORD), FAKE_END};
    static const fake_step_t closing[] = {FAKE_AWAIT(), FAKE_END};
    static const fake_step_t drip[] = {FAKE_AWAIT(), FAKE_DRIP("STORED STORED STORED STORED", 40),
                                       FAKE_END};
    const struct {
        const fake_step_t *script;
        warmring_status_t status;
        const char *text;
    } cases[] = {{repeating, WARMRING_AUTH_FAILED, "refused the login"},
                 {other, WARMRING_PROTOCOL_ERROR, "unexpected answer to the login"},
                 {endless, WARMRING_PROTOCOL_ERROR, "unexpected answer to the login"},
                 {closing, WARMRING_CONNECTION_LOST, "closed by the server"},
                 {drip, WARMRING_TIMEOUT, "no answer to the login within "}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fake_server_t *fake = fake_server_start(cases[i].script);
        expect(fake_server_address(fake), USER, PASSWORD, i == 4 ? SHORT_MS : LONG_MS,
               cases[i].status, cases[i].text, "a server at fault");
        fake_server_free(fake);
    }
}

/* ---- options ----------------------------------------------------------------------------- */

static void refuse(const char *name, const char *value, const char *text) {
    warmring_options_t *options = warmring_options_create();
    tap_status(warmring_options_set(options, name, value), WARMRING_BAD_OPTION, "option %s", name);
    check_text(text);
    warmring_options_free(options);
}

static void test_options(void) {
    warmring_options_t *options = warmring_options_create();
    warmring_t *client = NULL;
    refuse("user", "a b", "user: 'a b'");
    refuse("user", "a:b", "user: 'a:b'");
    refuse("password", PASSWORD "\r\n", "password: '...'");
    set_option(options, "password", PASSWORD);
    tap_status(warmring_open(&client, "127.0.0.1", options), WARMRING_BAD_OPTION, "no user");
    check_text("without user");
    set_option(options, "password", "");
    set_option(options, "user", USER);
    tap_status(warmring_open(&client, "127.0.0.1", options), WARMRING_BAD_OPTION, "no password");
    check_text("without password");
#if WR_WITH_LIBMEMCACHED
    set_option(options, "password", PASSWORD);
    set_option(options, "transport", "libmemcached");
    tap_status(warmring_open(&client, "127.0.0.1", options), WARMRING_NOT_SUPPORTED,
               "through libmemcached");
    check_text("set transport=meta");
#endif
    warmring_options_free(options);
}

int main(void) {
    warmring_set_memory_functions(allocate, resize, release);
    write_file();
    test_options();
    test_wanted();
    test_unwanted();
    test_at_fault();
#if WR_WITH_OPENSSL
    test_both();
#endif
    unlink(file);
    tap_int((int64_t)leaks, 0, "the password is in no memory that was given back");
    void *planted = allocate(sizeof PASSWORD);
    memcpy(planted, PASSWORD, sizeof PASSWORD);
    release(planted);
    tap_int((int64_t)leaks, 1, "where it would be found");
    return tap_done();
}
