/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake servers themselves: what the fake memcached says is compared with
 * what a real one says, and scripts do what they say.
 */
#include <string.h>

#include "fake_memcached.h"
#include "fixture.h"
#include "memcached.h"
#include "tap.h"

enum { REPLY_SIZE = 4096 };

/* Each with how its answer ends; in order, on one real server. */
static const struct {
    const char *command, *until;
} commands[] = {
    {"version\r\n", "\r\n"},
    {"mn\r\n", "\r\n"},
    {"blah\r\n", "\r\n"},
    {"set key 0 0 5\r\nvalue\r\n", "\r\n"},
    {"get key\r\n", "END\r\n"},
    {"get warmring:hello\r\n", "END\r\n"},
    {"mg key f t v s O17\r\n", "value\r\n"},
    {"ms key 5 O3\r\nvalue\r\n", "\r\n"},
    {"append key 0 0 0\r\n\r\n", "\r\n"},
    {"replace key 0 0 5\r\nvalue\r\n", "\r\n"},
    {"touch key 0\r\n", "\r\n"},
    {"md key O4\r\n", "\r\n"},
    {"add key 0 0 1\r\n6\r\n", "\r\n"},
    {"ma key O5 v\r\n", "7\r\n"},
    {"ms key 1\r\n6\r\n", "\r\n"},
    {"incr key 1\r\n", "\r\n"},
    {"delete key\r\n", "\r\n"},
    {"flush_all\r\n", "\r\n"},
};

static memcached_t as_memcached(const fake_server_t *server) {
    return (memcached_t){.port = fake_server_port(server)};
}

static const char *ask(const memcached_t *server, const char *command, const char *until,
                       char reply[REPLY_SIZE]) {
    return memcached_ask(server, command, until, reply, REPLY_SIZE);
}

static void test_as_a_real_one(void) {
    static const fake_step_t script[] = {FAKE_MEMCACHED()};
    fake_server_t *fake = fake_server_start(script);
    fixture_t *fixture = fixture_start(1, NULL);
    memcached_t server = as_memcached(fake);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char real[REPLY_SIZE], faked[REPLY_SIZE];
        fixture_raw(fixture, 0, commands[i].command, commands[i].until, real, sizeof real);
        ask(&server, commands[i].command, commands[i].until, faked);
        if (i == 0) { /* whichever version is installed */
            tap_ok(strncmp(real, faked, sizeof "VERSION 1" - 1) == 0, "a version, as in %s", faked);
        } else {
            tap_string(faked, real, "the answer to %.20s", commands[i].command);
        }
    }
    tap_int((int64_t)fake_server_commands(fake), sizeof commands / sizeof commands[0],
            "commands are counted");
    fixture_free(fixture);
    fake_server_free(fake);
}

static void test_until(void) {
    static const fake_step_t named[] = {FAKE_MEMCACHED_UNTIL("bad"), FAKE_SAY("no\r\n"), FAKE_END};
    static const fake_step_t greets[] = {FAKE_GREET(), FAKE_SAY("no\r\n"), FAKE_END};
    char reply[REPLY_SIZE];
    fake_server_t *fake = fake_server_start(named);
    memcached_t server = as_memcached(fake);
    ask(&server, "get good\r\nget bad\r\n", "no\r\n", reply);
    tap_string(reply, "VALUE good 0 5\r\nvalue\r\nEND\r\nno\r\n", "served until a key is named");
    fake_server_script(fake, greets);
    ask(&server, "version\r\nget good\r\n", "no\r\n", reply);
    tap_string(reply, "VERSION 1.6.18\r\nno\r\n", "or until more than a greeting comes");
    fake_server_free(fake);
}

static void test_drip(void) {
    static const fake_step_t script[] = {FAKE_AWAIT(), FAKE_DRIP_ANSWER(fake_memcached, NULL, 1),
                                         FAKE_END};
    char reply[REPLY_SIZE];
    fake_server_t *fake = fake_server_start(script);
    memcached_t server = as_memcached(fake);
    ask(&server, "mn\r\n", "MN\r\n", reply);
    tap_string(reply, "MN\r\n", "a dripped answer is whole");
    fake_server_free(fake);
}

static void test_wake(fake_server_t *fake, const char *what, bool connects) {
    static const fake_step_t script[] = {FAKE_MEMCACHED()};
    char reply[REPLY_SIZE];
    memcached_t server = as_memcached(fake);
    const char *fault = connects ? NULL : ask(&server, "mn\r\n", "MN\r\n", reply);
    tap_ok(connects || fault != NULL, "%s: %s", what, connects ? "not tried" : fault);
    fake_server_wake(fake, script);
    fault = ask(&server, "mn\r\n", "MN\r\n", reply);
    tap_ok(fault == NULL, "%s, woken: %s", what, fault != NULL ? fault : "answers");
    fake_server_free(fake);
}

/* A connection that ended leaves nothing behind. */
static void test_many_connections(void) {
    static const fake_step_t script[] = {FAKE_AWAIT(), FAKE_ANSWER(fake_memcached, NULL), FAKE_END};
    char reply[REPLY_SIZE];
    fake_server_t *fake = fake_server_start(script);
    memcached_t server = as_memcached(fake);
    size_t wrong = 0;
    for (int i = 0; i < 500; i++) {
        wrong += ask(&server, "mn\r\n", "MN\r\n", reply) != NULL;
    }
    tap_int((int64_t)wrong, 0, "five hundred connections, one after another");
    tap_int((int64_t)fake_server_connections(fake), 500, "are counted");
    fake_server_free(fake);
}

int main(void) {
    test_as_a_real_one();
    test_until();
    test_drip();
    test_wake(fake_server_start_refusing(), "one that refuses", false);
    test_wake(fake_server_start_deaf(), "one that is deaf", true);
    test_wake(fake_server_start_full(), "one with a full backlog", true);
    test_many_connections();
    return tap_done();
}
