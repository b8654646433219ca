/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real memcached processes for a test: on free loopback ports, ready before
 * the call returns, killed by pid when the test ends (also when it crashes:
 * they die with their parent). A missing memcached skips the whole test, or
 * fails it when CI is set. When a test failed, fixture_free() shows each
 * server's log as TAP diagnostics.
 */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct fixture fixture_t;

/* Starts `count` servers; `arguments` (NULL: none) is a NULL-terminated list
 * passed on to each memcached. Bails when one does not come up. This,
 * fixture_add() and fixture_restart() are for the main thread only; the
 * others may be called from any, one at a time. */
fixture_t *fixture_start(size_t count, const char *const *arguments);

/* Adds one server on a unix socket; returns its index. */
size_t fixture_add_unix(fixture_t *fixture);
/* Adds one more server on a free port; returns its index. */
size_t fixture_add(fixture_t *fixture, const char *const *arguments);

/* Ends all servers and frees; NULL is fine. */
void fixture_free(fixture_t *fixture);

uint16_t fixture_port(const fixture_t *fixture, size_t index);
pid_t fixture_pid(const fixture_t *fixture, size_t index);
/* "127.0.0.1:41234" or "unix:/tmp/...". */
const char *fixture_address(const fixture_t *fixture, size_t index);
/* All addresses, comma separated, as warmring_open() takes them. */
const char *fixture_servers(const fixture_t *fixture);
/* The first `count` of them. The string lives until the next such call. */
const char *fixture_first_servers(fixture_t *fixture, size_t count);

void fixture_kill(fixture_t *fixture, size_t index);     /* SIGKILL, waited for */
void fixture_stop(fixture_t *fixture, size_t index);     /* SIGSTOP, all of its threads stopped */
void fixture_continue(fixture_t *fixture, size_t index); /* SIGCONT */
/* Starts a killed server again on its port; ready on return. Kills it first
 * if it runs. */
void fixture_restart(fixture_t *fixture, size_t index);
void fixture_flush(fixture_t *fixture); /* flush_all on every server */

/* A free loopback port nobody listens on: it is ours until the program ends,
 * so connecting to it is refused; a listener of the test's own needs
 * SO_REUSEADDR (or rather binds to port 0). */
uint16_t fixture_free_port(void);

/* Sends `command` (with its CRLF) to a server over a raw socket of its own
 * and stores what comes back within five seconds, up to the first complete
 * reply ending in `until`, NUL-terminated. Bails on failure. For looking at a
 * server behind the library's back. */
void fixture_raw(const fixture_t *fixture, size_t index, const char *command, const char *until,
                 char *reply, size_t capacity);

#endif
