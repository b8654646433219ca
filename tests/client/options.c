/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options by name: what is taken, what is refused, and that the refusal names
 * the option and quotes the value.
 */
#include <string.h>

#include <warmring/warmring.h>

#include "tests/lib/tap.h"

static const struct {
    const char *name, *value;
    warmring_status_t status;
    const char *text; /* a piece of the detail */
} cases[] = {
    {"deadline_ms", "1", WARMRING_OK, NULL},
    {"deadline_ms", "3600000", WARMRING_OK, NULL},
    {"deadline_ms", "0", WARMRING_BAD_OPTION, "deadline_ms: '0'"},
    {"deadline_ms", "3600001", WARMRING_BAD_OPTION, "'3600001'"},
    {"deadline_ms", "-1", WARMRING_BAD_OPTION, "'-1'"},
    {"deadline_ms", "1.5", WARMRING_BAD_OPTION, "'1.5'"},
    {"deadline_ms", "", WARMRING_BAD_OPTION, "''"},
    {"deadline_ms", " 7", WARMRING_BAD_OPTION, "' 7'"},
    {"deadline_ms", "99999999999999999999999", WARMRING_BAD_OPTION, "from 1 to 3600000"},
    {"pool_max", "1024", WARMRING_OK, NULL},
    {"pool_max", "1025", WARMRING_BAD_OPTION, "pool_max"},
    {"tcp_keepalive", "1", WARMRING_OK, NULL},
    {"tcp_keepalive", "yes", WARMRING_BAD_OPTION, "'yes'"},
    {"points_per_weight", "0.5", WARMRING_OK, NULL},
    {"points_per_weight", "0", WARMRING_BAD_OPTION, "points_per_weight: '0'"},
    {"points_per_weight", "nan", WARMRING_BAD_OPTION, "'nan'"},
    {"points_per_weight", "inf", WARMRING_BAD_OPTION, "'inf'"},
    {"max_points", "4294967295", WARMRING_OK, NULL},
    {"max_points", "4294967296", WARMRING_BAD_OPTION, "'4294967296'"},
    {"dialect", "nginx", WARMRING_OK, NULL},
#if WR_WITH_LIBMEMCACHED
    {"dialect", "libmemcached-weighted", WARMRING_OK, NULL},
    {"transport", "libmemcached", WARMRING_OK, NULL},
#else
    {"dialect", "libmemcached-weighted", WARMRING_BAD_OPTION, "dialect: 'libmemcached-weighted'"},
    {"transport", "libmemcached", WARMRING_BAD_OPTION, "libmemcached is not built in"},
#endif
    {"dialect", "v3", WARMRING_BAD_OPTION, "dialect: 'v3'"},
    {"prefix", "shop:", WARMRING_OK, NULL},
    {"prefix", "", WARMRING_OK, NULL},
    {"prefix", "a b", WARMRING_BAD_OPTION, "prefix: 'a b'"},
    {"prefix", "a\r\nb", WARMRING_BAD_OPTION, "prefix: 'a??b'"},
    {"scope", "eu-west.1", WARMRING_OK, NULL},
    {"scope", "eu/west", WARMRING_BAD_OPTION, "scope: 'eu/west'"},
    {"tls", "2", WARMRING_BAD_OPTION, "tls: '2'"},
    {"tls_server_name", "cache.example", WARMRING_OK, NULL},
    {"tls_server_name", "", WARMRING_OK, NULL},
    {"tls_server_name", "a/b", WARMRING_BAD_OPTION, "tls_server_name: 'a/b'"},
    {"Deadline_ms", "1", WARMRING_BAD_OPTION, "'Deadline_ms'"},
    {"", "1", WARMRING_BAD_OPTION, "''"},
};

int main(void) {
    warmring_options_t *options = warmring_options_create();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        warmring_status_t status = warmring_options_set(options, cases[i].name, cases[i].value);
        tap_status(status, cases[i].status, "%s=%s", cases[i].name, cases[i].value);
        if (cases[i].text != NULL) {
            tap_contains(warmring_error_detail(), cases[i].text, "the text quotes it");
        }
    }
    char long_prefix[WARMRING_MAX_KEY + 1];
    memset(long_prefix, 'p', sizeof long_prefix);
    long_prefix[WARMRING_MAX_KEY] = '\0';
    tap_status(warmring_options_set(options, "prefix", long_prefix), WARMRING_BAD_OPTION,
               "a prefix that leaves no room for a key");
    tap_status(warmring_options_set(options, "prefix", long_prefix + 1), WARMRING_OK,
               "one that leaves a byte");
    tap_status(warmring_options_set(NULL, "prefix", ""), WARMRING_BAD_ARGUMENT, "no options");
    tap_status(warmring_options_set(options, NULL, ""), WARMRING_BAD_ARGUMENT, "no name");
    tap_status(warmring_options_set(options, "prefix", NULL), WARMRING_BAD_ARGUMENT, "no value");

    warmring_t *client = NULL;
    tap_status(warmring_options_set(options, "deadline_ms", "6000"), WARMRING_OK, "6 s");
    tap_status(warmring_open(&client, "127.0.0.1", options), WARMRING_BAD_OPTION,
               "a deadline above the longest");
    tap_contains(warmring_error_detail(), "6000", "the text quotes it");
    tap_ok(client == NULL, "no client");
    tap_status(warmring_options_set(options, "max_deadline_ms", "6000"), WARMRING_OK, "raise it");
    tap_status(warmring_open(&client, "127.0.0.1", options), WARMRING_OK, "then it opens");
    warmring_close(client);
#if WR_WITH_LIBMEMCACHED
    tap_status(warmring_options_set(options, "dialect", "modula"), WARMRING_OK, "modula");
    tap_status(warmring_options_set(options, "hash", "md4"), WARMRING_OK, "a hash by name");
    tap_status(warmring_open(&client, "127.0.0.1", options), WARMRING_BAD_OPTION, "unknown");
    tap_contains(warmring_error_detail(), "md4", "the text quotes it");
    tap_status(warmring_options_set(options, "hash", "md5"), WARMRING_OK, "one that is known");
    tap_status(warmring_open(&client, "127.0.0.1", options), WARMRING_OK, "opens");
    warmring_close(client);
    tap_status(warmring_options_set(options, "hash_tag", "{"), WARMRING_OK, "half a hash tag");
    tap_status(warmring_open(&client, "127.0.0.1", options), WARMRING_BAD_OPTION, "is refused");
#endif
    tap_status(warmring_options_set(options, "tls", "1"), WARMRING_OK, "TLS");
    tap_status(warmring_options_set(options, "transport", "auto"), WARMRING_OK, "and auto");
#if WR_WITH_LIBMEMCACHED
    tap_status(warmring_options_set(options, "hash_tag", ""), WARMRING_OK, "no hash tag");
#endif
#if WR_WITH_OPENSSL
    tap_status(warmring_open(&client, "127.0.0.1", options), WARMRING_OK, "opens");
    warmring_close(client);
#else
    tap_status(warmring_open(&client, "127.0.0.1", options), WARMRING_BAD_OPTION, "is refused");
    tap_contains(warmring_error_detail(), "OpenSSL, which is not built in", "the text says why");
#endif
    warmring_options_free(options);

    size_t names = 0;
    while (warmring_option_name(names) != NULL) {
        names++;
    }
    tap_int((int64_t)names, 28, "options");
    return tap_done();
}
