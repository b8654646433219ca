/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The border with libmemcached: clients that are configured as a memcached_st,
 * and what its return codes are as statuses.
 */
#include <string.h>

#include <warmring/libmemcached.h>
#include <warmring/warmring.h>

#include "tests/lib/fixture.h"
#include "tests/lib/tap.h"

static const struct {
    memcached_return_t code;
    warmring_status_t status;
} codes[] = {
    {MEMCACHED_SUCCESS, WARMRING_OK},
    {MEMCACHED_NOTFOUND, WARMRING_NOT_FOUND},
    {MEMCACHED_NOTSTORED, WARMRING_NOT_STORED},
    {MEMCACHED_DATA_EXISTS, WARMRING_EXISTS},
    {MEMCACHED_TIMEOUT, WARMRING_TIMEOUT},
    {MEMCACHED_BAD_KEY_PROVIDED, WARMRING_BAD_KEY},
    {MEMCACHED_KEY_TOO_BIG, WARMRING_BAD_KEY},
    {MEMCACHED_INVALID_ARGUMENTS, WARMRING_BAD_ARGUMENT},
    {MEMCACHED_NO_SERVERS, WARMRING_BAD_SERVER},
    {MEMCACHED_MEMORY_ALLOCATION_FAILURE, WARMRING_OUT_OF_MEMORY},
    {MEMCACHED_MAXIMUM_RETURN, WARMRING_PROTOCOL_ERROR},
};

static void test_codes(void) {
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        tap_status(warmring_status_from_libmemcached(codes[i].code), codes[i].status, "%s",
                   memcached_strerror(NULL, codes[i].code));
    }
}

/* Stores `value` through a client made after `memc` and looks for it on the
 * server under `key`. */
static void check_key(const fixture_t *fixture, const memcached_st *memc,
                      const warmring_options_t *options, const char *key, const char *value) {
    char command[64], expected[96], reply[256];
    warmring_t *client;
    warmring_status_t status = warmring_open_from(&client, memc, fixture_servers(fixture), options);
    tap_status(status, WARMRING_OK, "%s: open", value);
    if (status != WARMRING_OK) {
        return;
    }
    tap_status(warmring_set(client, "k", 1, value, strlen(value), 0, 5, NULL), WARMRING_OK,
               "%s: set", value);
    snprintf(command, sizeof command, "get %s\r\n", key);
    snprintf(expected, sizeof expected, "VALUE %s 5 %zu\r\n%s\r\nEND\r\n", key, strlen(value),
             value);
    fixture_raw(fixture, 0, command, "END\r\n", reply, sizeof reply);
    tap_string(reply, expected, "%s: what is on the server", value);
    warmring_close(client);
}

static void test_namespace(const fixture_t *fixture) {
    memcached_st *memc = memcached_create(NULL);
    warmring_options_t *options = warmring_options_create();
    check_key(fixture, memc, NULL, "k", "no namespace");
    memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, "ns:");
    check_key(fixture, memc, NULL, "ns:k", "namespace");
    tap_status(warmring_options_set(options, "prefix", "own:"), WARMRING_OK, "a prefix");
    check_key(fixture, memc, options, "own:k", "options first");
    warmring_options_free(options);
    memcached_free(memc);
}

int main(void) {
    fixture_t *fixture = fixture_start(1, NULL);
    test_codes();
    test_namespace(fixture);
    fixture_free(fixture);
    return tap_done();
}
