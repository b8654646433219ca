/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which transports a client uses: the option `transport` put into practice.
 */
#ifndef WR_CLIENT_TRANSPORTS_H
#define WR_CLIENT_TRANSPORTS_H

#include "client/options.h"
#include "net/server.h"

/* A row of the table of choices; NULL when no choice has that name. */
typedef struct wr_transport_choice wr_transport_choice_t;
const wr_transport_choice_t *wr_transport_choice(const char *name);

/*
 * Sets the transports of `net` and makes their contexts, after `memc` (a
 * memcached_st, NULL: none) where it concerns them. OK, NOT_SUPPORTED,
 * BAD_OPTION for files that cannot be used, or OUT_OF_MEMORY; in any case
 * wr_transports_free() is due.
 */
warmring_status_t wr_transports_make(const warmring_options_t *options, const void *memc,
                                     wr_net_config_t *net);
void wr_transports_free(wr_net_config_t *net);

#endif
