/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choices of the option `transport`.
 */
#include "client/transports.h"

#include <string.h>

#include "base/fail.h"
#include "net/transport_meta.h"
#if WR_WITH_LIBMEMCACHED
#include "net/transport_libmemcached.h"
#endif

typedef struct {
    const wr_transport_t *transport;
    void *(*make_context)(const warmring_options_t *options, const void *memc);
} speech_t;

static void *make_meta(const warmring_options_t *options, const void *memc) {
    (void)memc;
    return wr_meta_context((size_t)options->max_value_bytes);
}

static const speech_t meta = {&wr_transport_meta, make_meta};

#if WR_WITH_LIBMEMCACHED
static void *make_libmemcached(const warmring_options_t *options, const void *memc) {
    (void)options;
    return wr_libmemcached_context(memc);
}

static const speech_t libmemcached = {&wr_transport_libmemcached, make_libmemcached};
#endif

struct wr_transport_choice {
    const char *name;
    const speech_t *first;
    const speech_t *other; /* for servers that do not know the first */
};

static const wr_transport_choice_t choices[] = {
#if WR_WITH_LIBMEMCACHED
    {"auto", &meta, &libmemcached},
    {"meta", &meta, NULL},
    {"libmemcached", &libmemcached, NULL},
#else
    {"auto", &meta, NULL},
    {"meta", &meta, NULL},
#endif
};

const wr_transport_choice_t *wr_transport_choice(const char *name) {
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        if (strcmp(choices[i].name, name) == 0) {
            return &choices[i];
        }
    }
    return NULL;
}

warmring_status_t wr_transports_make(const warmring_options_t *options, const void *memc,
                                     wr_net_config_t *net) {
    const wr_transport_choice_t *choice = wr_transport_choice(options->transport);
    net->transport = choice->first->transport;
    net->context = choice->first->make_context(options, memc);
    if (choice->other != NULL) {
        net->other = choice->other->transport;
        net->other_context = choice->other->make_context(options, memc);
    }
    bool made = net->context != NULL && (net->other == NULL || net->other_context != NULL);
    return made ? WARMRING_OK : wr_fail_memory();
}

void wr_transports_free(wr_net_config_t *net) {
    if (net->context != NULL) {
        net->transport->free_context(net->context);
    }
    if (net->other_context != NULL) {
        net->other->free_context(net->other_context);
    }
}
