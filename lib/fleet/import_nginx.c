/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nginx: an upstream block with `hash KEY consistent`, wherever it stands in
 * the configuration.
 *
 * A server that is `down` has points in nginx, but its keys go on to the next
 * server on the ring; one left out of the list does the same, as points do not
 * depend on other servers. A `backup` has no points. Without a port nginx
 * hashes none, and connects to 80, which is no port of memcached.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/number.h"
#include "fleet/import.h"
#include "topology/server_text.h"

enum { QUOTED = 60, WORDS = 24 };

/* A word without its quotes, or one of ; { } and the end, of length 0. */
typedef struct {
    const char *at;
    size_t length;
    char mark; /* 'w', or what it is; 'e' is the end */
} token_t;

typedef struct {
    wr_import_t *import;
    const char *next;
    token_t words[WORDS]; /* of a directive */
    size_t count;
    bool hashed;
} reading_t;

static int shown(token_t token) {
    return token.length < QUOTED ? (int)token.length : QUOTED;
}

static bool is(token_t token, const char *text) {
    return token.mark == 'w' && token.length == strlen(text) &&
           memcmp(token.at, text, token.length) == 0;
}

static bool starts_with(token_t token, const char *text) {
    return token.length >= strlen(text) && memcmp(token.at, text, strlen(text)) == 0;
}

__attribute__((format(printf, 4, 5))) static warmring_status_t
refuse(const reading_t *reading, warmring_status_t status, token_t token, const char *why, ...) {
    char reason[200];
    va_list arguments;
    va_start(arguments, why);
    vsnprintf(reason, sizeof reason, why, arguments);
    va_end(arguments);
    return wr_import_fail(reading->import, status, wr_import_line(reading->import, token.at),
                          "\"%.*s\": %s", shown(token), token.at, reason);
}

/* ---- tokens --------------------------------------------------------------------- */

static const char blanks[] = " \t\r\n";

static const char *skip_blanks(const char *text) {
    for (;;) {
        text += strspn(text, blanks);
        if (*text != '#') {
            return text;
        }
        text += strcspn(text, "\n");
    }
}

/* A quote that is not closed ends with the text. */
static token_t next_token(reading_t *reading) {
    const char *text = skip_blanks(reading->next);
    token_t token = {text, 0, *text != '\0' ? *text : 'e'};
    if (*text == '\0' || strchr(";{}", *text) != NULL) {
        token.length = *text != '\0';
        reading->next = text + token.length;
        return token;
    }
    token.mark = 'w';
    if (*text == '"' || *text == '\'') {
        token.at++;
        while (token.at[token.length] != '\0' && token.at[token.length] != *text) {
            bool escaped = token.at[token.length] == '\\' && token.at[token.length + 1] != '\0';
            token.length += escaped ? 2 : 1;
        }
        reading->next = token.at + token.length + (token.at[token.length] != '\0');
        return token;
    }
    token.length = strcspn(text, " \t\r\n;{}");
    while (text[token.length] == '{' && token.length > 0 && text[token.length - 1] == '$') {
        token.length += strcspn(text + token.length, "}"); /* ${name} */
        token.length += text[token.length] == '}';
        token.length += strcspn(text + token.length, " \t\r\n;{}");
    }
    reading->next = text + token.length;
    return token;
}

/* ---- one directive --------------------------------------------------------------- */

static warmring_status_t note(reading_t *reading, token_t what, const char *why) {
    return wr_import_note(reading->import, "line %zu: %.*s: %s",
                          wr_import_line(reading->import, what.at), shown(what), what.at, why);
}

static warmring_status_t take_hash(reading_t *reading) {
    if (reading->count != 3 || !is(reading->words[2], "consistent")) {
        return refuse(reading, WARMRING_NOT_SUPPORTED, reading->words[0],
                      "only `hash KEY consistent` makes a ring");
    }
    reading->hashed = true;
    return is(reading->words[1], "$memcached_key")
               ? WARMRING_OK
               : note(reading, reading->words[1],
                      "what nginx hashes; clients have to use the same bytes as keys");
}

/* What stands behind a server's address. */
typedef struct {
    uint64_t weight;
    bool down, backup;
} parameters_t;

static warmring_status_t take_parameter(reading_t *reading, token_t word, parameters_t *server) {
    if (is(word, "down")) {
        server->down = true;
        return note(reading, reading->words[1], "down, left out");
    }
    if (is(word, "backup")) {
        server->backup = true;
        return note(reading, reading->words[1], "backup, which owns no keys, left out");
    }
    if (!starts_with(word, "weight=")) {
        return note(reading, word, "not carried over, it concerns nginx");
    }
    size_t length = strlen("weight=");
    if (!wr_parse_uint(word.at + length, word.length - length, UINT32_MAX, &server->weight) ||
        server->weight == 0) {
        return refuse(reading, WARMRING_BAD_FILE, word, "not a whole number from 1 to %u",
                      UINT32_MAX);
    }
    return WARMRING_OK;
}

static warmring_status_t add_server(reading_t *reading, token_t address, uint64_t weight) {
    char text[512];
    wr_server_list_t list;
    if (address.length >= sizeof text) {
        return refuse(reading, WARMRING_BAD_FILE, address, "too long");
    }
    memcpy(text, address.at, address.length);
    text[address.length] = '\0';
    warmring_status_t status = wr_address_parse(&list, text);
    if (status != WARMRING_OK) {
        return status == WARMRING_BAD_SERVER
                   ? wr_import_wrap(reading->import, WARMRING_BAD_FILE,
                                    wr_import_line(reading->import, address.at))
                   : status;
    }
    list.servers[0].weight = (double)weight;
    if (list.servers[0].port == 0 && list.servers[0].host[0] != '/') {
        status = note(reading, address,
                      "without a port nginx connects to port 80, clients of this ring to 11211");
    }
    if (status == WARMRING_OK) {
        status = wr_import_add(reading->import, &list.servers[0]);
    }
    wr_server_list_free(&list);
    return status;
}

static warmring_status_t take_server(reading_t *reading) {
    parameters_t server = {.weight = 1};
    warmring_status_t status = WARMRING_OK;
    if (reading->count < 2) {
        return refuse(reading, WARMRING_BAD_FILE, reading->words[0], "it needs an address");
    }
    for (size_t i = 2; i < reading->count && status == WARMRING_OK; i++) {
        status = take_parameter(reading, reading->words[i], &server);
    }
    if (status != WARMRING_OK || server.down || server.backup) {
        return status;
    }
    return add_server(reading, reading->words[1], server.weight);
}

static warmring_status_t take_directive(reading_t *reading) {
    static const char *const methods[] = {"least_conn", "least_time", "ip_hash", "random"};
    token_t name = reading->words[0];
    if (is(name, "server")) {
        return take_server(reading);
    }
    if (is(name, "hash")) {
        return take_hash(reading);
    }
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (is(name, methods[i])) {
            return refuse(reading, WARMRING_NOT_SUPPORTED, name,
                          "no key has an owner then; only `hash KEY consistent` makes a ring");
        }
    }
    return note(reading, name, "not carried over, it concerns nginx");
}

/* ---- the block -------------------------------------------------------------------- */

static warmring_status_t read_block(reading_t *reading) {
    warmring_status_t status = WARMRING_OK;
    for (;;) {
        token_t token = next_token(reading);
        if (token.mark == '}' && reading->count == 0) {
            return WARMRING_OK;
        }
        if (token.mark == 'w' && reading->count < WORDS) {
            reading->words[reading->count++] = token;
        } else if (token.mark == ';') {
            status = reading->count > 0 ? take_directive(reading) : WARMRING_OK;
            reading->count = 0;
        } else if (token.mark == 'e') {
            return wr_import_fail(reading->import, WARMRING_BAD_FILE,
                                  wr_import_line(reading->import, token.at),
                                  "the upstream block is not closed");
        } else {
            status = refuse(reading, WARMRING_BAD_FILE, token, "unexpected here");
        }
        if (status != WARMRING_OK) {
            return status;
        }
    }
}

/* Goes behind the next `upstream NAME {` and returns the name; the end where
 * there is none. */
static token_t next_upstream(reading_t *reading) {
    bool at_start = true; /* of a directive */
    for (;;) {
        token_t token = next_token(reading);
        if (token.mark == 'e') {
            return token;
        }
        if (at_start && is(token, "upstream")) {
            const char *before = reading->next;
            token_t name = next_token(reading);
            if (name.mark == 'w' && next_token(reading).mark == '{') {
                return name;
            }
            reading->next = before;
        }
        at_start = token.mark != 'w';
    }
}

/* The block to read: the one of that name, or the only one. Leaves `next`
 * behind its brace. */
static warmring_status_t choose_block(reading_t *reading) {
    wr_import_t *import = reading->import;
    char names[200] = "";
    size_t count = 0, used = 0;
    const char *inside = NULL;
    for (token_t name = next_upstream(reading); name.mark == 'w'; name = next_upstream(reading)) {
        bool wanted = import->section == NULL || is(name, import->section);
        inside = wanted && inside == NULL ? reading->next : inside;
        count += wanted;
        int length = snprintf(names + used, sizeof names - used, "%s%.*s", used > 0 ? ", " : "",
                              shown(name), name.at);
        used += length > 0 ? (size_t)length : 0;
        used = used < sizeof names ? used : sizeof names - 1;
    }
    if (count == 1) {
        reading->next = inside;
        return WARMRING_OK;
    }
    if (import->section != NULL) {
        return wr_fail(WARMRING_BAD_FILE, "%s: %s upstream \"%.100s\"%s%s", import->name,
                       count == 0 ? "no" : "more than one", import->section,
                       names[0] != '\0' ? "; there are: " : "", names);
    }
    return wr_fail(WARMRING_BAD_FILE, "%s: %s%s", import->name,
                   count == 0 ? "no upstream block" : "choose one of the upstream blocks: ", names);
}

static warmring_status_t read_upstream(wr_import_t *import) {
    reading_t reading = {.import = import, .next = import->text};
    import->ring.dialect = "nginx";
    warmring_status_t status = choose_block(&reading);
    if (status == WARMRING_OK) {
        status = read_block(&reading);
    }
    if (status == WARMRING_OK && !reading.hashed) {
        status = wr_fail(WARMRING_NOT_SUPPORTED,
                         "%s: the upstream block has no `hash KEY consistent`, so no key has an "
                         "owner",
                         import->name);
    }
    return status;
}

const wr_importer_t wr_import_nginx = {"nginx", read_upstream};
