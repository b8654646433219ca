/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of faults share: a cluster of two fake servers, one of which
 * is at fault, and the operations that are tried on it.
 */
#ifndef TESTS_FAULTS_H
#define TESTS_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warmring/client.h>

#include "tests/lib/fake_memcached.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum {
    SHORT_MS = 150,  /* for servers that say nothing */
    SHARED_MS = 900, /* and of which another server has its share */
    DRIP_MS = 500,   /* for those that drip */
    LONG_MS = 5000,  /* for all others */
    KEY_SIZE = 32,
    VALUE_LIMIT = 1 << 20
};

/* ---- operations ---------------------------------------------------------------- */

typedef enum { GET, SET, INCREMENT, MULTI, OPERATIONS } operation_t;
extern const char *const operation_names[OPERATIONS];

/* One on `key`, within `ms`; the status. Values are checked: OK with another
 * one than FAKE_VALUE is a failed test. */
warmring_status_t operate(warmring_t *client, operation_t operation, const char *key, uint32_t ms);
/* A get of KEYS keys; their statuses. */
enum { KEYS = 3 };
void operate_on_all(warmring_t *client, const char *const keys[KEYS], uint32_t ms,
                    warmring_status_t status[KEYS]);

/* The next key, from number *next on, that `address` owns. */
void key_of(warmring_t *client, const char *address, unsigned *next, char *key);

/* A client with the transport in force, two options of these tests (nothing is
 * ever taken for down, values are limited) and `more`, NULL-terminated or
 * NULL. */
warmring_t *faults_open(const char *servers, const char *const *more);

/* The counters of one server. */
warmring_server_counters_t server_counters(warmring_t *client, const char *address);

/* How many sockets of this process are connected to a port. */
size_t sockets_to(uint16_t port);

int64_t now_ms(void);
/* Checks that what began then ended by its deadline; `whole`: and no sooner. */
bool in_time(int64_t begun, uint32_t ms, bool whole, const char *what);

/* ---- the table ----------------------------------------------------------------- */

typedef enum { SCRIPT, REFUSING, FULL, DEAF } manner_t;

/* What a fault makes of an operation. */
typedef struct {
    enum {
        NONE = 0, /* does not apply */
        ENDS,     /* with `status` */
        ABORTS,   /* the process */
        OUTLASTS  /* its deadline */
    } end;
    warmring_status_t status;
    const char *text; /* a piece of the detail; NULL: OK */
    bool keeps;       /* the connection */
    bool out_of_step; /* though it is of no use */
} outcome_t;

typedef struct {
    const char *name;
    manner_t manner;
    bool whole; /* takes the whole deadline */
    fake_step_t script[6];
    outcome_t outcome[TEST_TRANSPORTS][OPERATIONS];
} fault_t;

extern const fault_t faults[];
extern const size_t fault_count;

#endif
