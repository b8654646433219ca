/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw commands for single items. A meta get without `h`, `l` or `t` games
 * changes nothing on the server.
 */
#include "raw.h"

#include <warmring/client.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { COMMAND_SIZE = 640 };

/* The number behind " <letter>" among the flags of a reply's first line. */
static int64_t flag_of(const char *reply, char letter) {
    for (const char *at = strchr(reply, ' '); at != NULL; at = strchr(at + 1, ' ')) {
        if (at[1] == letter) {
            return strtoll(at + 2, NULL, 10);
        }
    }
    return 0;
}

raw_item_t raw_look(const fixture_t *fixture, size_t server, const char *key) {
    char command[COMMAND_SIZE], reply[COMMAND_SIZE];
    raw_item_t item = {.present = false};
    snprintf(command, sizeof command, "mg %s v f t c\r\nmn\r\n", key);
    fixture_raw(fixture, server, command, "MN\r\n", reply, sizeof reply);
    char *body = strstr(reply, "\r\n");
    if (strncmp(reply, "VA ", 3) != 0 || body == NULL) {
        return item;
    }
    *body = '\0';
    item.present = true;
    item.length = strtoul(reply + 3, NULL, 10);
    item.flags = (uint32_t)flag_of(reply + 3, 'f');
    item.ttl = flag_of(reply + 3, 't');
    item.cas = (uint64_t)flag_of(reply + 3, 'c');
    if (item.length >= sizeof item.value) {
        tap_bail("%s: a value of %zu bytes is too long to look at", key, item.length);
    }
    memcpy(item.value, body + 2, item.length);
    return item;
}

bool raw_was_read(const fixture_t *fixture, size_t server, const char *key) {
    char command[COMMAND_SIZE], reply[COMMAND_SIZE];
    snprintf(command, sizeof command, "me %s\r\nmn\r\n", key);
    fixture_raw(fixture, server, command, "MN\r\n", reply, sizeof reply);
    return strncmp(reply, "ME ", 3) == 0 && strstr(reply, " fetch=yes") != NULL;
}

void raw_store(const fixture_t *fixture, size_t server, const char *key, uint32_t flags,
               int64_t expiration, const char *value) {
    char command[COMMAND_SIZE], reply[COMMAND_SIZE];
    snprintf(command, sizeof command, "set %s %" PRIu32 " %" PRId64 " %zu\r\n%s\r\n", key, flags,
             expiration, strlen(value), value);
    fixture_raw(fixture, server, command, "\r\n", reply, sizeof reply);
    if (strcmp(reply, "STORED\r\n") != 0) {
        tap_bail("%s: server %zu does not store it: %s", key, server, reply);
    }
}

void raw_delete(const fixture_t *fixture, size_t server, const char *key) {
    char command[COMMAND_SIZE], reply[COMMAND_SIZE];
    snprintf(command, sizeof command, "delete %s\r\n", key);
    fixture_raw(fixture, server, command, "\r\n", reply, sizeof reply);
}

void raw_stub(const fixture_t *fixture, size_t server, const char *key, int64_t expiration) {
    raw_store(fixture, server, key, WARMRING_RESERVED_FLAGS, expiration, "");
}

bool raw_check(const char *file, int line, const fixture_t *fixture, size_t server, const char *key,
               const char *value, const char *what) {
    raw_item_t item = raw_look(fixture, server, key);
    bool stub = item.present && item.length == 0 && item.flags == WARMRING_RESERVED_FLAGS;
    return tap_check_string(file, line,
                            stub           ? "(a stub)"
                            : item.present ? item.value
                                           : NULL,
                            value, "%s: %s on server %zu", what, key, server);
}
