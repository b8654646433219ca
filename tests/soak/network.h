/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network of the test's own, in which packets can be held up and lost
 * without touching anybody else's: a network namespace and its loopback, which
 * takes root and iproute2.
 */
#ifndef TESTS_SOAK_NETWORK_H
#define TESTS_SOAK_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

typedef enum { NETWORK_DELAY, NETWORK_PARTITION, NETWORK_FAULTS } network_fault_t;

/* Goes into one, before any socket is made. False where that is not allowed,
 * and nothing has changed; network_lack() says why. */
bool network_isolate(void);
/* What this machine cannot do of a fault, "" where it can. */
const char *network_lack(network_fault_t fault);
/* How it is done here. */
const char *network_means(network_fault_t fault);

/* Packets from and to that port, until the end; false when tc fails. */
bool network_begin(network_fault_t fault, uint16_t port);
bool network_end(void);

#endif
