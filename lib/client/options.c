/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options by name: one table says what each takes, where it is kept and what
 * it is when nobody sets it.
 */
#include "client/options.h"

#include <stddef.h>
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "base/number.h"
#include "client/transports.h"

typedef enum {
    NUMBER,
    REAL,
    KEY_TEXT,
    NAME_TEXT,
    DIALECT_TEXT,
    TRANSPORT_TEXT,
    PATH_TEXT,
    HOST_TEXT,
    USER_TEXT,
    SECRET_TEXT
} kind_t;

typedef struct {
    const char *name;
    kind_t kind;
    size_t offset;
    uint64_t least, most; /* NUMBER, REAL; `most` is the longest text otherwise */
    const char *initial;
} option_t;

#define FIELD(name) offsetof(struct warmring_options, name)

static const option_t table[] = {
    {"deadline_ms", NUMBER, FIELD(deadline_ms), 1, 3600000, "1000"},
    {"max_deadline_ms", NUMBER, FIELD(max_deadline_ms), 1, 3600000, "5000"},
    {"connect_timeout_ms", NUMBER, FIELD(connect_timeout_ms), 0, 3600000, "0"},
    {"pool_max", NUMBER, FIELD(pool_max), 1, 1024, "16"},
    {"idle_close_ms", NUMBER, FIELD(idle_close_ms), 0, 86400000, "60000"},
    {"failure_limit", NUMBER, FIELD(failure_limit), 1, 1000000, "2"},
    {"retry_ms", NUMBER, FIELD(retry_ms), 1, 60000, "500"},
    {"prefix", KEY_TEXT, FIELD(prefix), 0, WARMRING_MAX_KEY - 1, ""},
    {"scope", NAME_TEXT, FIELD(scope), 0, 63, ""},
    {"dialect", DIALECT_TEXT, FIELD(dialect), 1, 63, "v2"},
    {"hash", NAME_TEXT, FIELD(hash), 0, 31, ""},
    {"hash_tag", KEY_TEXT, FIELD(hash_tag), 0, 2, ""},
    {"points_per_weight", REAL, FIELD(points_per_weight), 0, 4294967295, "1000"},
    {"max_points", NUMBER, FIELD(max_points), 1, 4294967295, "16000000"},
    {"max_ttl_s", NUMBER, FIELD(max_ttl_s), 0, 4000000000, "0"},
    {"fill_ttl_s", NUMBER, FIELD(fill_ttl_s), 1, 2592000, "60"},
    {"tcp_keepalive", NUMBER, FIELD(tcp_keepalive), 0, 1, "0"},
    {"transport", TRANSPORT_TEXT, FIELD(transport), 1, 15, "auto"},
    {"max_value_bytes", NUMBER, FIELD(max_value_bytes), 1, 1u << 30, "134217728"},
    {"any_writer", NUMBER, FIELD(any_writer), 0, 1, "0"},
    {"reload_thread", NUMBER, FIELD(reload_thread), 0, 1, "0"},
    {"tls", NUMBER, FIELD(tls), 0, 1, "0"},
    {"tls_ca_file", PATH_TEXT, FIELD(tls_ca_file), 0, WR_PATH_SIZE - 1, ""},
    {"tls_certificate", PATH_TEXT, FIELD(tls_certificate), 0, WR_PATH_SIZE - 1, ""},
    {"tls_key", PATH_TEXT, FIELD(tls_key), 0, WR_PATH_SIZE - 1, ""},
    {"tls_server_name", HOST_TEXT, FIELD(tls_server_name), 0, 253, ""},
    {"user", USER_TEXT, FIELD(user), 0, 255, ""},
    {"password", SECRET_TEXT, FIELD(password), 0, 255, ""},
};

enum { OPTIONS = sizeof table / sizeof table[0] };

const char *warmring_option_name(size_t index) {
    return index < OPTIONS ? table[index].name : NULL;
}

bool wr_is_key_text(const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)bytes[i] <= 0x20 || bytes[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

static bool is_name_text(const char *text) {
    return text[strspn(
               text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")] == '\0';
}

static bool is_host(const char *text) {
    return text[strspn(
               text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:_-")] == '\0';
}

static bool is_path(const char *text) {
    (void)text;
    return true;
}

/* One line. */
static bool is_line(const char *text) {
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            return false;
        }
    }
    return true;
}

static bool is_user(const char *text) {
    return wr_is_key_text(text, strlen(text)) && strchr(text, ':') == NULL;
}

static bool is_dialect(const char *text) {
    for (size_t i = 0; warmring_dialect_name(i) != NULL; i++) {
        if (strcmp(warmring_dialect_name(i), text) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_transport(const char *text) {
    return wr_transport_choice(text) != NULL;
}

static warmring_status_t set_number(const option_t *option, const char *value, void *field) {
    uint64_t number = 0;
    if (!wr_parse_uint(value, strlen(value), option->most, &number) || number < option->least) {
        return wr_fail(WARMRING_BAD_OPTION,
                       "option %s: '%.60s' is not a whole number from %llu to %llu", option->name,
                       value, (unsigned long long)option->least, (unsigned long long)option->most);
    }
    memcpy(field, &number, sizeof number);
    return WARMRING_OK;
}

static warmring_status_t set_real(const option_t *option, const char *value, void *field) {
    double number = 0;
    if (!wr_parse_real(value, strlen(value), &number) || !(number > 0) ||
        number > (double)option->most) {
        return wr_fail(WARMRING_BAD_OPTION,
                       "option %s: '%.60s' is not a number above 0 and up to %llu", option->name,
                       value, (unsigned long long)option->most);
    }
    memcpy(field, &number, sizeof number);
    return WARMRING_OK;
}

static const struct {
    bool (*allows)(const char *text);
    const char *rule;
} text_rules[] = {
    [KEY_TEXT] = {NULL, "bytes that may stand in a key"},
    [NAME_TEXT] = {is_name_text, "letters, digits, '.', '_' and '-'"},
#if WR_WITH_LIBMEMCACHED
    [TRANSPORT_TEXT] = {is_transport, "auto, meta or libmemcached"},
#else
    [TRANSPORT_TEXT] = {is_transport, "auto or meta (libmemcached is not built in)"},
#endif
    [DIALECT_TEXT] = {is_dialect, "the name of a dialect, such as v2 or nginx"},
    [PATH_TEXT] = {is_path, "bytes of a path"},
    [HOST_TEXT] = {is_host, "a host name or an address, without brackets"},
    [USER_TEXT] = {is_user, "bytes without blanks and ':'"},
    [SECRET_TEXT] = {is_line, "bytes of one line"},
};

static warmring_status_t set_text(const option_t *option, const char *value, void *field) {
    size_t length = strlen(value);
    bool (*allows)(const char *text) = text_rules[option->kind].allows;
    bool allowed = allows != NULL ? allows(value) : wr_is_key_text(value, length);
    if (length > option->most || length < option->least || !allowed) {
        const char *shown = option->kind == SECRET_TEXT ? "..." : value;
        return wr_fail(WARMRING_BAD_OPTION, "option %s: '%.60s' is not up to %llu of: %s",
                       option->name, shown, (unsigned long long)option->most,
                       text_rules[option->kind].rule);
    }
    memcpy(field, value, length + 1);
    return WARMRING_OK;
}

static warmring_status_t set_option(warmring_options_t *options, const option_t *option,
                                    const char *value) {
    static warmring_status_t (*const setters[])(const option_t *, const char *, void *) = {
        [NUMBER] = set_number,    [REAL] = set_real,         [KEY_TEXT] = set_text,
        [NAME_TEXT] = set_text,   [DIALECT_TEXT] = set_text, [TRANSPORT_TEXT] = set_text,
        [PATH_TEXT] = set_text,   [HOST_TEXT] = set_text,    [USER_TEXT] = set_text,
        [SECRET_TEXT] = set_text,
    };
    return setters[option->kind](option, value, (char *)options + option->offset);
}

warmring_status_t warmring_options_set(warmring_options_t *options, const char *name,
                                       const char *value) {
    if (WR_HAS_NULL(options, name, value)) {
        return WARMRING_BAD_ARGUMENT;
    }
    for (size_t i = 0; i < OPTIONS; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return set_option(options, &table[i], value);
        }
    }
    return wr_fail(WARMRING_BAD_OPTION, "no option is called '%.60s'", name);
}

void wr_options_init(warmring_options_t *options) {
    memset(options, 0, sizeof *options);
    for (size_t i = 0; i < OPTIONS; i++) {
        (void)!set_option(options, &table[i], table[i].initial);
    }
}

/* What means nothing without another. */
static warmring_status_t check_secure(const warmring_options_t *options) {
    const struct {
        const char *name;
        bool is_set;
        const char *other;
        bool is_met;
    } needs[] = {
        {"tls_ca_file", options->tls_ca_file[0] != '\0', "tls=1", options->tls != 0},
        {"tls_certificate", options->tls_certificate[0] != '\0', "tls=1", options->tls != 0},
        {"tls_server_name", options->tls_server_name[0] != '\0', "tls=1", options->tls != 0},
        {"tls_key", options->tls_key[0] != '\0', "tls_certificate",
         options->tls_certificate[0] != '\0'},
        {"user", options->user[0] != '\0', "password", options->password[0] != '\0'},
        {"password", options->password[0] != '\0', "user", options->user[0] != '\0'},
    };
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        if (needs[i].is_set && !needs[i].is_met) {
            return wr_fail(WARMRING_BAD_OPTION, "option %s: it means nothing without %s",
                           needs[i].name, needs[i].other);
        }
    }
    return WARMRING_OK;
}

warmring_status_t wr_options_check(warmring_options_t *options) {
    if (options->deadline_ms > options->max_deadline_ms) {
        return wr_fail(
            WARMRING_BAD_OPTION, "option deadline_ms: %llu is above max_deadline_ms, %llu",
            (unsigned long long)options->deadline_ms, (unsigned long long)options->max_deadline_ms);
    }
    options->prefix_length = strlen(options->prefix);
    return check_secure(options);
}

void wr_options_wipe(warmring_options_t *options) {
    wr_wipe(options->password, sizeof options->password);
}

warmring_options_t *warmring_options_create(void) {
    warmring_options_t *options = wr_malloc(sizeof *options);
    if (options != NULL) {
        wr_options_init(options);
    }
    return options;
}

void warmring_options_free(warmring_options_t *options) {
    if (options != NULL) {
        wr_options_wipe(options);
    }
    wr_free(options);
}
