/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations that are measured, done by warmring, by plain libmemcached, and
 * by the least that talks to a memcached at all, a blocking socket with one send
 * and one recv an operation: to owners that it knows beforehand, or that it
 * looks up on the ring. Each reads and writes the same keys and values.
 *
 * warmring is one handle that all threads share. A memcached_st and a raw
 * client are for one thread, so each thread has its own.
 */
#ifndef BENCH_WAYS_H
#define BENCH_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <warmring/warmring.h>

#define KEYS 1000
#define BATCH_KEYS 100
#define VALUE_SIZE 100
#define MAX_SERVERS 8

extern char names[KEYS][16];
extern size_t lengths[KEYS];
extern char value[VALUE_SIZE];

typedef struct {
    const char *servers; /* HOST:PORT,HOST:PORT,... */
    warmring_t *cache;
    unsigned server_count;
    int ports[MAX_SERVERS];     /* on loopback */
    warmring_ring_t *ring;      /* the same as the handle's */
    unsigned char owners[KEYS]; /* where it has each key, for the raw client */
} setup_t;

/* Makes the keys, opens the handle and finds the owners. False: *why says it. */
bool set_up(setup_t *setup, const char *servers, const char **why);
void tear_down(setup_t *setup);

/* An operation takes what the way's open() returned; see rounds.h. */
void *open_ours(const void *setup, unsigned thread);
bool get_ours(void *state);
bool set_ours(void *state);
bool get_many_ours(void *state);
void close_ours(void *state);

/* Weighted ketama and TCP_NODELAY. */
void *open_theirs(const void *setup, unsigned thread);
bool get_theirs(void *state);
bool set_theirs(void *state);
bool get_many_theirs(void *state);
void close_theirs(void *state);

void *open_raw(const void *setup, unsigned thread);
void *open_raw_on_ring(const void *setup, unsigned thread);
bool get_raw(void *state);
bool set_raw(void *state);
bool get_many_raw(void *state);
void close_raw(void *state);

#endif
