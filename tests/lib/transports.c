/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport in force is that of the whole test program: threads of a test
 * only read it.
 */
#include "transports.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

const char *const test_transport_names[TEST_TRANSPORTS] = {"meta", "libmemcached"};

static const char *present;

void test_use_transport(const char *name) {
    present = name;
}

void test_transports(void (*run)(void)) {
    for (size_t i = 0; i < TEST_TRANSPORTS_BUILT; i++) {
        test_use_transport(test_transport_names[i]);
        tap_note("transport %s", present);
        run();
    }
}

const char *test_transport(void) {
    const char *wanted = getenv("TEST_TRANSPORT");
    return present != NULL ? present : wanted != NULL ? wanted : "auto";
}

bool test_is_meta(void) {
    return strcmp(test_transport(), "libmemcached") != 0;
}

warmring_options_t *test_options(void) {
    warmring_options_t *options = warmring_options_create();
    if (options == NULL ||
        warmring_options_set(options, "transport", test_transport()) != WARMRING_OK) {
        tap_bail("no options: %s", warmring_error_detail());
    }
    return options;
}

warmring_t *test_open(const char *servers) {
    warmring_options_t *options = test_options();
    warmring_t *client = NULL;
    if (warmring_options_set(options, "deadline_ms", "5000") != WARMRING_OK ||
        warmring_open(&client, servers, options) != WARMRING_OK) {
        tap_bail("cannot open %s: %s", servers, warmring_error_detail());
    }
    warmring_options_free(options);
    return client;
}
