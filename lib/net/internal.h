/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of net/ share: the inside of a server object.
 */
#ifndef WR_NET_INTERNAL_H
#define WR_NET_INTERNAL_H

#include <stdatomic.h>

#include "base/fail.h"
#include "net/health.h"
#include "net/pool.h"
#include "net/server.h"

enum {
#define WR_COUNTER_INDEX(name) WR_COUNT_##name,
    WARMRING_SERVER_COUNTER_LIST(WR_COUNTER_INDEX)
#undef WR_COUNTER_INDEX
        WR_SERVER_COUNTERS
};

/* Which of the two transports a server was found to know. It is forgotten
 * when its connections are lost, since another version may come back. */
typedef enum { WR_SPEECH_UNKNOWN, WR_SPEECH_FIRST, WR_SPEECH_OTHER } wr_speech_t;

struct wr_server {
    wr_server_head_t head;
    const wr_net_config_t *config;
    char *host;
    char *address;
    uint16_t port;
    _Atomic uint32_t references;
    _Atomic uint32_t speech; /* wr_speech_t */
    _Atomic(void *) session; /* NULL: none */
    wr_health_t health;
    wr_pool_t pool;
    _Atomic uint64_t counters[WR_SERVER_COUNTERS];
};

static inline void wr_count(wr_server_t *server, int counter, uint64_t number) {
    atomic_fetch_add_explicit(&server->counters[counter], number, memory_order_relaxed);
}

/* A failed try that is made good by another must leave no trace in the
 * thread's detail text. */
typedef struct {
    char text[WR_DETAIL_SIZE];
} wr_detail_t;

void wr_detail_save(wr_detail_t *detail);
void wr_detail_restore(const wr_detail_t *detail);

#endif
