/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics and lists of keys from servers that misbehave: every answer is
 * read, refused or timed out, and the text names the server.
 */
#include "net.h"

#include <string.h>

#include "net/dump.h"
#include "net/lines.h"

enum { DEADLINE = 400 };

static wr_net_config_t config;

typedef struct {
    char text[4096];
    bool ends;
} seen_t;

static void see_stat(void *context, const char *name, const char *value) {
    seen_t *seen = context;
    size_t used = strlen(seen->text);
    snprintf(seen->text + used, sizeof seen->text - used, "%s=%s;", name, value);
}

static bool see_item(void *context, const wr_dump_item_t *item) {
    seen_t *seen = context;
    size_t used = strlen(seen->text);
    snprintf(seen->text + used, sizeof seen->text - used, "%.*s=%llu;", (int)item->key.length,
             item->key.data, (unsigned long long)item->cas);
    return !seen->ends;
}

typedef struct {
    const char *what;
    fake_step_t steps[6];
    warmring_status_t status;
    const char *seen, *detail;
} case_t;

#define LONG_LINE                                                                     \
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678" \
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678"

static const case_t stat_cases[] = {
    {"two",
     {FAKE_AWAIT(), FAKE_SAY("STAT a 1\r\nSTAT b x y\r\nEND\r\n"), FAKE_END},
     WARMRING_OK,
     "a=1;b=x y;",
     NULL},
    {"an empty value",
     {FAKE_AWAIT(), FAKE_SAY("STAT a \r\nSTAT b\r\nEND\r\n"), FAKE_END},
     WARMRING_OK,
     "a=;b=;",
     NULL},
    {"in pieces",
     {FAKE_AWAIT(), FAKE_DRIP("STAT a 1\r\nEND\r\n", 2), FAKE_END},
     WARMRING_OK,
     "a=1;",
     NULL},
    {"slowly",
     {FAKE_AWAIT(), FAKE_DRIP("STAT a 1\r\nSTAT b 2\r\nEND\r\n", 100), FAKE_END},
     WARMRING_TIMEOUT,
     "",
     "no answer in time"},
    {"not at all", {FAKE_AWAIT(), FAKE_HANG(), FAKE_END}, WARMRING_TIMEOUT, "", "in time"},
    {"an end too early",
     {FAKE_AWAIT(), FAKE_SAY("STAT a 1\r\nEN"), FAKE_END},
     WARMRING_CONNECTION_LOST,
     "a=1;",
     "closed by the server"},
    {"a reset",
     {FAKE_AWAIT(), FAKE_SAY("STAT a 1\r\n"), FAKE_PAUSE(50), FAKE_RESET(), FAKE_END},
     WARMRING_CONNECTION_LOST,
     "a=1;",
     "connection lost"},
    {"an error",
     {FAKE_AWAIT(), FAKE_SAY("ERROR\r\n"), FAKE_END},
     WARMRING_SERVER_ERROR,
     "",
     "ERROR"},
    {"a NUL",
     {FAKE_AWAIT(), FAKE_SAY("STAT a\0b 1\r\nEND\r\n"), FAKE_END},
     WARMRING_PROTOCOL_ERROR,
     "",
     "a byte 0"},
    {"no name",
     {FAKE_AWAIT(), FAKE_SAY("STAT  1\r\nEND\r\n"), FAKE_END},
     WARMRING_SERVER_ERROR,
     "",
     "STAT  1"},
    {"a name that is too long",
     {FAKE_AWAIT(), FAKE_SAY("STAT " LONG_LINE " 1\r\n"), FAKE_END},
     WARMRING_SERVER_ERROR,
     "",
     "STAT 0123"},
    {"no line end",
     {FAKE_AWAIT(), FAKE_FLOOD("0123456789"), FAKE_END},
     WARMRING_PROTOCOL_ERROR,
     "",
     "too long"},
};

static const case_t dump_cases[] = {
    {"two",
     {FAKE_AWAIT(),
      FAKE_SAY("key=a exp=-1 la=1 cas=7 fetch=no cls=1 size=6\n"
               "key=b%25%2fC exp=1 la=1 cas=8 fetch=no\r\nEND\r\n"),
      FAKE_END},
     WARMRING_OK,
     "a=7;b%/C=8;",
     NULL},
    {"none", {FAKE_AWAIT(), FAKE_SAY("END\r\n"), FAKE_END}, WARMRING_OK, "", NULL},
    {"busy",
     {FAKE_AWAIT(), FAKE_SAY("BUSY currently processing crawler request\r\n"), FAKE_END},
     WARMRING_TRY_AGAIN,
     "",
     "busy"},
    {"an error",
     {FAKE_AWAIT(), FAKE_SAY("ERROR\r\n"), FAKE_END},
     WARMRING_NOT_SUPPORTED,
     "",
     "ERROR"},
    {"a bad class",
     {FAKE_AWAIT(), FAKE_SAY("BADCLASS invalid class id\r\n"), FAKE_END},
     WARMRING_NOT_SUPPORTED,
     "",
     "BADCLASS"},
    {"junk",
     {FAKE_AWAIT(), FAKE_SAY("key=a exp=-1 cas=1\nwhat\n"), FAKE_END},
     WARMRING_PROTOCOL_ERROR,
     "a=1;",
     "what"},
    {"half a byte",
     {FAKE_AWAIT(), FAKE_SAY("key=a%2 exp=-1 cas=1\nEND\r\n"), FAKE_END},
     WARMRING_PROTOCOL_ERROR,
     "",
     "key=a%2"},
    {"no byte",
     {FAKE_AWAIT(), FAKE_SAY("key=a%g0 exp=-1 cas=1\nEND\r\n"), FAKE_END},
     WARMRING_PROTOCOL_ERROR,
     "",
     "key=a%g0"},
    {"no key",
     {FAKE_AWAIT(), FAKE_SAY("key= exp=-1 cas=1\nEND\r\n"), FAKE_END},
     WARMRING_PROTOCOL_ERROR,
     "",
     "key= "},
    {"no CAS",
     {FAKE_AWAIT(), FAKE_SAY("key=a exp=-1 la=1\nEND\r\n"), FAKE_END},
     WARMRING_PROTOCOL_ERROR,
     "",
     "key=a"},
    {"a CAS that is no number",
     {FAKE_AWAIT(), FAKE_SAY("key=a cas=-1\nEND\r\n"), FAKE_END},
     WARMRING_PROTOCOL_ERROR,
     "",
     "cas=-1"},
    {"a key that is too long",
     {FAKE_AWAIT(), FAKE_SAY("key=" LONG_LINE LONG_LINE " cas=1\nEND\r\n"), FAKE_END},
     WARMRING_PROTOCOL_ERROR,
     "",
     "key=0123"},
    {"a silence",
     {FAKE_AWAIT(), FAKE_SAY("key=a exp=-1 cas=1\n"), FAKE_HANG(), FAKE_END},
     WARMRING_TIMEOUT,
     "a=1;",
     "in time"},
    {"pauses that are short enough",
     {FAKE_AWAIT(), FAKE_SAY("key=a cas=1\n"), FAKE_PAUSE(250), FAKE_SAY("key=b cas=2\n"),
      FAKE_PAUSE(250), FAKE_SAY("END\r\n")},
     WARMRING_OK,
     "a=1;b=2;",
     NULL},
};

static void check(const case_t *row, bool dump) {
    seen_t seen = {.text = ""};
    fake_step_t steps[7];
    memcpy(steps, row->steps, sizeof row->steps);
    steps[6] = (fake_step_t)FAKE_END;
    fake_server_t *fake = fake_server_start(steps);
    wr_server_t *server = net_fake(fake, &config);
    wr_time_t begun = wr_now();
    warmring_status_t status =
        dump ? wr_server_dump(server, see_item, &seen, DEADLINE)
             : wr_server_stats(server, NULL, see_stat, &seen, wr_deadline_in_ms(DEADLINE));
    const char *kind = dump ? "dump" : "stats";
    tap_status(status, row->status, "%s: %s", kind, row->what);
    tap_ok(net_ms_since(begun) <= 2 * DEADLINE + tap_slack_ms(), "%s: %s: in time", kind,
           row->what);
    if (!(row->status == WARMRING_TIMEOUT && row->seen[0] == '\0')) {
        tap_string(seen.text, row->seen, "%s: %s: what was seen", kind, row->what);
    }
    if (row->detail != NULL) {
        tap_contains(warmring_error_detail(), row->detail, "%s: %s: why", kind, row->what);
        tap_contains(warmring_error_detail(), wr_server_address(server), "%s: %s: who", kind,
                     row->what);
    }
    wr_server_release(server);
    fake_server_free(fake);
}

static void check_stop(void) {
    static const fake_step_t steps[] = {FAKE_AWAIT(), FAKE_SAY("key=a cas=1\nkey=b cas=2\n"),
                                        FAKE_HANG(), FAKE_END};
    seen_t seen = {.ends = true};
    fake_server_t *fake = fake_server_start(steps);
    wr_server_t *server = net_fake(fake, &config);
    tap_status(wr_server_dump(server, see_item, &seen, DEADLINE), WARMRING_TRY_AGAIN,
               "the reader ends a list");
    tap_string(seen.text, "a=1;", "where it wants to");
    wr_server_release(server);
    fake_server_free(fake);
}

/* A server whose statistics cannot be had still has a counter. */
static size_t answer_but_stats(void *data, const char *command, char *answer, size_t capacity) {
    return strcmp(command, "stats") == 0 ? (size_t)snprintf(answer, capacity, "ERROR\r\n")
                                         : fake_memcached(data, command, answer, capacity);
}

static void check_probe(void) {
    static const fake_step_t steps[] = {FAKE_SERVE(answer_but_stats, NULL), FAKE_END};
    fake_server_t *fake = fake_server_start(steps);
    wr_server_t *server = net_fake(fake, &config);
    wr_probe_t probe = {0, 0};
    tap_status(wr_server_probe_cas(server, wr_deadline_in_ms(2000), &probe), WARMRING_OK,
               "a server that tells nothing of itself is probed");
    tap_ok(probe.cas > 0, "it has a counter");
    tap_int(probe.started, -1, "when it started is not known");
    wr_server_release(server);
    fake_server_free(fake);
}

int main(void) {
    config = net_config(NULL);
    size_t before = net_descriptors();
    for (size_t i = 0; i < sizeof stat_cases / sizeof stat_cases[0]; i++) {
        check(&stat_cases[i], false);
    }
    for (size_t i = 0; i < sizeof dump_cases / sizeof dump_cases[0]; i++) {
        check(&dump_cases[i], true);
    }
    check_stop();
    check_probe();
    tap_int((int64_t)net_descriptors(), (int64_t)before, "all sockets are closed");
    net_free(&config);
    return tap_done();
}
