/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process between clients and servers that passes bytes on, and does what
 * networks do: it lets them drip, and resets connections in the middle of an
 * answer.
 *
 * A reset is one that a server could have made: what it was sent before has
 * been carried out or never will be when the client sees it. (The proxy ends
 * its own connection to the server first, and waits for the server's end.)
 */
#ifndef TESTS_SOAK_PROXY_H
#define TESTS_SOAK_PROXY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROXY_WAYS = 2 };

/* The way to one server; what both processes share. */
typedef struct {
    uint16_t server;                  /* the port it listens on */
    uint16_t port;                    /* of the proxy */
    char address[32];                 /* and "127.0.0.1:port" */
    _Atomic bool drips;               /* a byte a millisecond, both ways */
    _Atomic uint32_t resets_wanted;   /* raise it to have connections reset */
    _Atomic uint64_t resets, dripped; /* done: connections, bytes */
    _Atomic int64_t alive;            /* counts the rounds of the loop */
} proxy_way_t;

typedef struct {
    proxy_way_t way[PROXY_WAYS];
    pid_t process;
} proxy_t;

/* Starts it, for those servers, with so long to live. Bails when it cannot. */
proxy_t *proxy_start(const uint16_t servers[PROXY_WAYS], unsigned seconds, uint64_t seed);
/* Ends it; false when it had ended by itself. */
bool proxy_end(proxy_t *proxy);

#endif
