/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers that do not know the meta commands: what `transport` meta and auto
 * make of them, and when they are asked again.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "tests/lib/fixture.h"

/* ---- a server of any version ------------------------------------------------------ */

/* One before the meta commands, or one that knows them, counting how often it
 * is asked. */
typedef struct {
    const char *version;
    bool knows_meta;
    const char *hangs_up_on; /* a command, once; NULL: none */
    _Atomic int hang_ups, probes, meta_commands, classic_commands;
} speaker_t;

static bool is_meta(const char *command) {
    return command[0] == 'm' && strchr("gsdan", command[1]) != NULL;
}

static size_t speak(void *data, const char *command, char *answer, size_t capacity) {
    speaker_t *speaker = data;
    if (speaker->hangs_up_on != NULL && strcmp(command, speaker->hangs_up_on) == 0 &&
        atomic_fetch_add(&speaker->hang_ups, 1) == 0) {
        return FAKE_NO_ANSWER;
    }
    if (strcmp(command, "version") == 0) {
        atomic_fetch_add(&speaker->probes, 1);
        return fake_memcached((void *)(uintptr_t)speaker->version, command, answer, capacity);
    }
    bool meta = is_meta(command);
    bool greets = strcmp(command, "mn") == 0 || strstr(command, " warmring:") != NULL;
    if (!greets) {
        atomic_fetch_add(meta ? &speaker->meta_commands : &speaker->classic_commands, 1);
    }
    if (meta && !speaker->knows_meta) {
        memcpy(answer, "ERROR\r\n", 7);
        return 7;
    }
    return fake_memcached(NULL, command, answer, capacity);
}

static void expect_refusal(fake_server_t *server, const char *version, const char *remedy) {
    warmring_t *client = faults_open(fake_server_address(server), NULL);
    for (operation_t operation = 0; operation < OPERATIONS; operation++) {
        int64_t begun = now_ms();
        tap_status(operate(client, operation, "key", LONG_MS), WARMRING_NOT_SUPPORTED, "%s",
                   operation_names[operation]);
        in_time(begun, LONG_MS, false, operation_names[operation]);
        tap_contains(warmring_error_detail(), fake_server_address(server), "... the server");
        tap_contains(warmring_error_detail(), version, "... its version");
        tap_contains(warmring_error_detail(), remedy, "... the remedy");
    }
    warmring_server_counters_t counters = server_counters(client, fake_server_address(server));
    tap_int(counters.connections, 0, "no connection is kept");
    tap_ok(!counters.down, "nor is it down");
    warmring_close(client);
}

static void test_too_old(void) {
    speaker_t old = {.version = "1.4.5"};
    const fake_step_t script[] = {FAKE_SERVE(speak, &old)};
    fake_server_t *server = fake_server_start(script);
    test_use_transport("meta");
    expect_refusal(server, "version 1.4.5", "1.6.13 or later, or set transport=libmemcached");
    tap_int(old.meta_commands, 0, "and no command of ours was sent");
    fake_server_free(server);
}

static void test_proxy(void) {
    static const fake_step_t script[] = {FAKE_AWAIT(), FAKE_SAY("VERSION 0.5.0\r\n"), FAKE_AWAIT(),
                                         FAKE_END};
    static const fake_step_t mute[] = {FAKE_AWAIT(), FAKE_AWAIT(), FAKE_END};
    test_use_transport("meta");
    fake_server_t *server = fake_server_start(script);
    expect_refusal(server, "version 0.5.0", "set transport=libmemcached");
    fake_server_script(server, mute);
    expect_refusal(server, "closed the connection on a meta command", "transport=libmemcached");
    fake_server_free(server);
}

/* A real one run with -B binary: it hears nothing, so the deadline tells. */
static void test_binary(void) {
    static const char *const arguments[] = {"-B", "binary", NULL};
    fixture_t *fixture = fixture_start(1, arguments);
    const char *address = fixture_address(fixture, 0);
    test_use_transport("meta");
    warmring_t *client = faults_open(address, NULL);
    for (operation_t operation = 0; operation < OPERATIONS; operation++) {
        int64_t begun = now_ms();
        warmring_status_t status = operate(client, operation, "key", SHORT_MS);
        tap_ok(status == WARMRING_TIMEOUT || status == WARMRING_NOT_SUPPORTED, "%s: %s",
               operation_names[operation], warmring_status_name(status));
        in_time(begun, SHORT_MS, false, operation_names[operation]);
        tap_contains(warmring_error_detail(), address, "... the server");
        tap_contains(warmring_error_detail(), "transport=libmemcached", "... the remedy");
        tap_note("%s", warmring_error_detail());
    }
    warmring_close(client);
    fixture_free(fixture);
}

/* ---- auto --------------------------------------------------------------------------- */

static void all_well(warmring_t *client, const char *what) {
    for (operation_t operation = 0; operation < OPERATIONS; operation++) {
        tap_status(operate(client, operation, "key", LONG_MS), WARMRING_OK, "%s: %s", what,
                   operation_names[operation]);
    }
}

static void test_falls_back(void) {
    static const fake_step_t gone[] = {FAKE_END};
    speaker_t old = {.version = "1.4.5"};
    speaker_t new = {.version = "1.6.18", .knows_meta = true};
    const fake_step_t old_script[] = {FAKE_SERVE(speak, &old)};
    const fake_step_t new_script[] = {FAKE_SERVE(speak, &new)};
    fake_server_t *server = fake_server_start(old_script);
    test_use_transport("auto");
    const char *const options[] = {"idle_close_ms", "0", NULL};
    warmring_t *client = faults_open(fake_server_address(server), options);
    for (int i = 0; i < 10; i++) {
        all_well(client, "an old server");
        (void)!warmring_tick(client, 100); /* closes what is idle */
    }
    tap_ok(fake_server_connections(server) > 5, "over %zu connections",
           fake_server_connections(server));
    tap_int(old.probes, 1, "it was asked once");
    tap_int(old.meta_commands, 0, "and spoken to in its own words");
    tap_ok(old.classic_commands >= 40, "all the time");

    /* gone for a moment, and back as another */
    fake_server_script(server, gone);
    tap_ok(operate(client, GET, "key", LONG_MS) != WARMRING_OK, "the server is gone");
    fake_server_script(server, new_script);
    all_well(client, "back as a new one");
    tap_int(new.probes, 1, "it is asked again");
    tap_int(new.classic_commands, 1, "and spoken to in meta commands, but for the list of keys");
    tap_ok(new.meta_commands >= 3, "from then on");

    (void)!warmring_tick(client, 100);
    fake_server_script(server, gone);
    tap_ok(operate(client, GET, "key", LONG_MS) != WARMRING_OK, "the server is gone again");
    fake_server_script(server, old_script);
    all_well(client, "back as the old one");
    tap_int(old.probes, 2, "it is asked again");
    tap_int(old.meta_commands, 0, "before anything is sent");
    warmring_close(client);
    fake_server_free(server);
}

/* Replaced by an older one while no connection was open to notice it. */
static void test_unnoticed(void) {
    speaker_t old = {.version = "1.4.5"};
    speaker_t new = {.version = "1.6.18", .knows_meta = true};
    const fake_step_t old_script[] = {FAKE_SERVE(speak, &old)};
    const fake_step_t new_script[] = {FAKE_SERVE(speak, &new)};
    fake_server_t *server = fake_server_start(new_script);
    const char *const options[] = {"idle_close_ms", "0", NULL};
    test_use_transport("auto");
    warmring_t *client = faults_open(fake_server_address(server), options);
    tap_status(operate(client, GET, "key", LONG_MS), WARMRING_OK, "a new server");
    (void)!warmring_tick(client, 100);
    fake_server_script(server, old_script);
    tap_status(operate(client, GET, "key", LONG_MS), WARMRING_PROTOCOL_ERROR,
               "an old one in its place is found out by one command");
    all_well(client, "and then known");
    tap_int(old.probes, 1, "it was asked once");
    tap_int(old.meta_commands, 1, "after the one command");
    warmring_close(client);
    fake_server_free(server);
}

/* One that ends while it is asked, as what is behind a balancer of connections
 * does, is no proxy that does not know the commands. */
static void test_hangs_up(const char *transport, const char *command, fake_step_t end) {
    speaker_t speaker = {.version = "1.6.18", .knows_meta = true, .hangs_up_on = command};
    const fake_step_t script[] = {FAKE_SERVE(speak, &speaker), end, FAKE_END};
    fake_server_t *server = fake_server_start(script);
    test_use_transport(transport);
    warmring_t *client = faults_open(fake_server_address(server), NULL);
    tap_status(operate(client, GET, "key", LONG_MS), WARMRING_OK,
               "%s: hung up on at %s, it asks again", transport, command);
    tap_int(speaker.hang_ups, 2, "... once");
    all_well(client, transport);
    tap_ok(speaker.meta_commands >= 4, "... in meta commands, %d", speaker.meta_commands);
    warmring_close(client);
    fake_server_free(server);
}

static void test_hang_ups(void) {
    static const char *const transports[] = {"meta", "auto"};
    for (size_t i = 0; i < 2; i++) {
        test_hangs_up(transports[i], "version", (fake_step_t)FAKE_AWAIT());
        test_hangs_up(transports[i], "mn", (fake_step_t)FAKE_END);
        test_hangs_up(transports[i], "mn", (fake_step_t)FAKE_RESET());
    }
}

/* The same with real servers: what a restart loses is asked for again. */
static void test_restart(void) {
    fixture_t *fixture = fixture_start(1, NULL);
    for (size_t i = 0; i < TEST_TRANSPORTS + 1; i++) {
        test_use_transport(i < TEST_TRANSPORTS ? test_transport_names[i] : "auto");
        warmring_t *client = faults_open(fixture_address(fixture, 0), NULL);
        tap_status(operate(client, SET, "key", LONG_MS), WARMRING_OK, "%s", test_transport());
        fixture_restart(fixture, 0);
        tap_status(operate(client, SET, "key", LONG_MS), WARMRING_OK, "%s after a restart",
                   test_transport());
        warmring_close(client);
    }
    fixture_free(fixture);
}

int main(void) {
    test_too_old();
    test_proxy();
    test_falls_back();
    test_unnoticed();
    test_hang_ups();
    test_restart();
    test_binary();
    return tap_done();
}
