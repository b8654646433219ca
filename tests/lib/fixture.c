/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real memcached processes for a test: a list of them, their private
 * directory, and their end, from fixture_free() or at exit().
 */
#include "fixture.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memcached.h"
#include "tap.h"

enum { REPLY_SIZE = 256 };

struct fixture {
    fixture_t *next; /* in the list of those alive */
    pid_t owner;     /* a fork()ed child ends nobody's servers */
    size_t failures_before;
    size_t count;
    memcached_t *servers;
    char directory[64];
    char *all_addresses;
    char *first_addresses;
};

static fixture_t *alive;

static void *need(void *memory) {
    if (memory == NULL) {
        tap_bail("fixture: out of memory");
    }
    return memory;
}

static memcached_t *server_at(const fixture_t *fixture, size_t index) {
    if (index >= fixture->count) {
        tap_bail("fixture: no server %zu, there are %zu", index, fixture->count);
    }
    return &fixture->servers[index];
}

/* ---- adding servers ---- */

/* argv of a server: ours first, so that the test's arguments win. */
static char **make_arguments(const memcached_t *server, const char *const *more) {
    char port[16];
    snprintf(port, sizeof port, "%u", (unsigned)server->port);
    const struct passwd *user = getpwuid(geteuid());
    const char *ours[16] = {"memcached", "-U", "0", "-t", "2"};
    size_t count = 5;
    if (server->holder >= 0) {
        ours[count++] = "-p";
        ours[count++] = port;
        ours[count++] = "-l";
        ours[count++] = "127.0.0.1";
    } else {
        ours[count++] = "-s";
        ours[count++] = server->socket_path;
    }
    if (geteuid() == 0) {
        ours[count++] = "-u";
        ours[count++] = user != NULL ? user->pw_name : "root";
    }

    size_t extra = 0;
    while (more != NULL && more[extra] != NULL) {
        extra++;
    }
    char **arguments = need(calloc(count + extra + 1, sizeof *arguments));
    for (size_t i = 0; i < count + extra; i++) {
        arguments[i] = need(strdup(i < count ? ours[i] : more[i - count]));
    }
    return arguments;
}

/* "a,b,c" of the first `count` servers. */
static char *join_addresses(const fixture_t *fixture, size_t count) {
    char *text = need(malloc(count * (PATH_SIZE + 1) + 1));
    char *end_of_text = text;
    *text = '\0';
    for (size_t i = 0; i < count; i++) {
        end_of_text += sprintf(end_of_text, "%s%s", i != 0 ? "," : "", fixture->servers[i].address);
    }
    return text;
}

static size_t add(fixture_t *fixture, bool local, const char *const *arguments) {
    size_t index = fixture->count;
    fixture->servers = need(realloc(fixture->servers, (index + 1) * sizeof *fixture->servers));
    memcached_t *server = &fixture->servers[index];
    *server = (memcached_t){.holder = -1};
    snprintf(server->log_path, sizeof server->log_path, "%s/%zu.log", fixture->directory, index);
    if (local) {
        snprintf(server->socket_path, sizeof server->socket_path, "%s/%zu", fixture->directory,
                 index);
        snprintf(server->address, sizeof server->address, "unix:%s", server->socket_path);
    } else {
        server->holder = hold_port(&server->port);
        snprintf(server->address, sizeof server->address, "127.0.0.1:%u", (unsigned)server->port);
    }
    server->arguments = make_arguments(server, arguments);
    fixture->count++;
    memcached_start(server);
    free(fixture->all_addresses);
    fixture->all_addresses = join_addresses(fixture, fixture->count);
    return index;
}

size_t fixture_add(fixture_t *fixture, const char *const *arguments) {
    return add(fixture, false, arguments);
}

size_t fixture_add_unix(fixture_t *fixture) {
    return add(fixture, true, NULL);
}

/* ---- using them ---- */

void fixture_raw(const fixture_t *fixture, size_t index, const char *command, const char *until,
                 char *reply, size_t capacity) {
    const memcached_t *server = server_at(fixture, index);
    const char *fault = memcached_ask(server, command, until, reply, capacity);
    if (fault != NULL) {
        tap_bail("%s: %s after \"%s\"; reply so far: \"%s\"", server->address, fault, command,
                 reply);
    }
}

void fixture_flush(fixture_t *fixture) {
    char reply[REPLY_SIZE];
    for (size_t i = 0; i < fixture->count; i++) {
        if (fixture->servers[i].pid != 0) {
            fixture_raw(fixture, i, "flush_all\r\n", "OK\r\n", reply, sizeof reply);
        }
    }
}

void fixture_kill(fixture_t *fixture, size_t index) {
    memcached_end(server_at(fixture, index));
}

void fixture_restart(fixture_t *fixture, size_t index) {
    memcached_t *server = server_at(fixture, index);
    memcached_end(server);
    memcached_start(server);
}

static void signal_server(const memcached_t *server, int signal) {
    if (server->pid == 0 || kill(server->pid, signal) != 0) {
        tap_bail("%s: no process to send signal %d to", server->address, signal);
    }
}

void fixture_stop(fixture_t *fixture, size_t index) {
    memcached_t *server = server_at(fixture, index);
    if (!server->stopped) {
        signal_server(server, SIGSTOP);
        /* Its threads run on until each has seen the signal. */
        while (waitpid(server->pid, NULL, WUNTRACED) < 0 && errno == EINTR) {
        }
    }
    server->stopped = true;
}

void fixture_continue(fixture_t *fixture, size_t index) {
    memcached_t *server = server_at(fixture, index);
    signal_server(server, SIGCONT);
    server->stopped = false;
}

uint16_t fixture_free_port(void) {
    uint16_t port;
    hold_port(&port); /* open until the program ends, so that it stays free */
    return port;
}

/* ---- life ---- */

static void end_all(fixture_t *fixture) {
    for (size_t i = 0; i < fixture->count; i++) {
        memcached_t *server = &fixture->servers[i];
        memcached_end(server);
        unlink(server->log_path);
        if (server->socket_path[0] != '\0') {
            unlink(server->socket_path);
        }
    }
    rmdir(fixture->directory);
}

/* For tests that bail or return early. */
static void at_exit(void) {
    for (fixture_t *fixture = alive; fixture != NULL; fixture = fixture->next) {
        if (fixture->owner == getpid()) {
            end_all(fixture);
        }
    }
}

fixture_t *fixture_start(size_t count, const char *const *arguments) {
    static bool registered;
    memcached_path();
    if (!registered && atexit(at_exit) != 0) {
        tap_bail("fixture: atexit failed");
    }
    registered = true;

    fixture_t *fixture = need(calloc(1, sizeof *fixture));
    fixture->owner = getpid();
    fixture->failures_before = tap_failures();
    strcpy(fixture->directory, "/tmp/warmring-test-XXXXXX");
    if (mkdtemp(fixture->directory) == NULL) {
        tap_bail("%s: %s", fixture->directory, strerror(errno));
    }
    fixture->all_addresses = need(strdup(""));
    fixture->next = alive;
    alive = fixture;
    for (size_t i = 0; i < count; i++) {
        fixture_add(fixture, arguments);
    }
    return fixture;
}

static void free_memory(fixture_t *fixture) {
    for (size_t i = 0; i < fixture->count; i++) {
        memcached_t *server = &fixture->servers[i];
        for (char **argument = server->arguments; *argument != NULL; argument++) {
            free(*argument);
        }
        free(server->arguments);
        if (server->holder >= 0) {
            close(server->holder);
        }
    }
    free(fixture->servers);
    free(fixture->all_addresses);
    free(fixture->first_addresses);
    free(fixture);
}

void fixture_free(fixture_t *fixture) {
    if (fixture == NULL) {
        return;
    }
    for (size_t i = 0; i < fixture->count && tap_failures() > fixture->failures_before; i++) {
        memcached_show_log(&fixture->servers[i]);
    }
    if (fixture->owner == getpid()) {
        end_all(fixture);
    }
    fixture_t **link = &alive;
    while (*link != fixture) {
        link = &(*link)->next;
    }
    *link = fixture->next;
    free_memory(fixture);
}

/* ---- looking ---- */

uint16_t fixture_port(const fixture_t *fixture, size_t index) {
    return server_at(fixture, index)->port;
}

pid_t fixture_pid(const fixture_t *fixture, size_t index) {
    return server_at(fixture, index)->pid;
}

const char *fixture_address(const fixture_t *fixture, size_t index) {
    return server_at(fixture, index)->address;
}

const char *fixture_servers(const fixture_t *fixture) {
    return fixture->all_addresses;
}

const char *fixture_first_servers(fixture_t *fixture, size_t count) {
    if (count > fixture->count) {
        tap_bail("fixture: %zu servers wanted, there are %zu", count, fixture->count);
    }
    free(fixture->first_addresses);
    fixture->first_addresses = join_addresses(fixture, count);
    return fixture->first_addresses;
}
