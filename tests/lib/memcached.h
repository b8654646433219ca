/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One memcached process: what fixture.c is made of.
 */
#ifndef TESTS_MEMCACHED_H
#define TESTS_MEMCACHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

enum { PATH_SIZE = 256 };

typedef struct {
    pid_t pid; /* 0: not running */
    bool stopped;
    uint16_t port;
    int holder;       /* keeps the port ours; -1 for a unix socket */
    char **arguments; /* argv of memcached */
    char address[PATH_SIZE];
    char socket_path[sizeof((struct sockaddr_un *)NULL)->sun_path];
    char log_path[PATH_SIZE];
} memcached_t;

/* The path of memcached: $MEMCACHED, or the first one in PATH. Without one it
 * skips the whole test, or bails when CI is set. */
const char *memcached_path(void);

/* A socket bound to a free loopback port, which it keeps from others. */
int hold_port(uint16_t *port);

/* Starts it, ready on return, or bails; for the main thread only. */
void memcached_start(memcached_t *server);
/* SIGKILL, waited for; nothing when it does not run. */
void memcached_end(memcached_t *server);

/* One command on a connection of its own and its reply up to `until`; NULL,
 * or what went wrong. */
const char *memcached_ask(const memcached_t *server, const char *command, const char *until,
                          char *reply, size_t capacity);

/* The end of its log, as TAP diagnostics. */
void memcached_show_log(const memcached_t *server);

#endif
