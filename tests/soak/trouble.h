/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of servers and of the way to them, one after another, by chance.
 */
#ifndef TESTS_SOAK_TROUBLE_H
#define TESTS_SOAK_TROUBLE_H

#include "tests/race/drive.h"
#include "tests/soak/proxy.h"

/* The servers from this one on are behind the proxy. */
enum { DIRECT = SERVERS - PROXY_WAYS };

enum { TROUBLES = 7 };

typedef struct {
    fixture_t *fixture;
    proxy_t *proxy;
    dice_t dice;
    unsigned made[TROUBLES];
    unsigned order[TROUBLES], next; /* all of them in turn, each time in another order */
    int present;                    /* fault under way; -1: none */
    size_t server;                  /* which has it */
    int64_t change;                 /* when it ends, or the next begins */
} trouble_t;

extern const faults_t trouble_faults; /* the context is a trouble_t */

void trouble_begin(trouble_t *trouble, fixture_t *fixture, proxy_t *proxy, uint64_t seed);
const char *trouble_name(unsigned fault);
/* Why this machine cannot make it; "" where it can. */
const char *trouble_lack(unsigned fault);

#endif
