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
    warmring_status_t (*make_context)(const warmring_options_t *options, const void *memc,
                                      void **context);
} speech_t;

static warmring_status_t make_meta(const warmring_options_t *options, const void *memc,
                                   void **context) {
    (void)memc;
    *context = wr_meta_context((size_t)options->max_value_bytes);
    if (*context == NULL) {
        return wr_fail_memory();
    }
    warmring_status_t status = WARMRING_OK;
    if (options->tls != 0) {
        wr_tls_options_t tls = {options->tls_ca_file, options->tls_certificate, options->tls_key,
                                options->tls_server_name};
        status = wr_meta_context_tls(*context, &tls);
    }
    return status == WARMRING_OK && options->user[0] != '\0'
               ? wr_meta_context_login(*context, options->user, options->password)
               : status;
}

static const speech_t meta = {&wr_transport_meta, make_meta};

#if WR_WITH_LIBMEMCACHED
static warmring_status_t make_libmemcached(const warmring_options_t *options, const void *memc,
                                           void **context) {
    (void)options;
    *context = wr_libmemcached_context(memc);
    return *context != NULL ? WARMRING_OK : wr_fail_memory();
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

/* What only the native transport has. */
static const char *needs_meta(const warmring_options_t *options) {
    return options->tls != 0 ? "tls" : options->user[0] != '\0' ? "user" : NULL;
}

warmring_status_t wr_transports_make(const warmring_options_t *options, const void *memc,
                                     wr_net_config_t *net) {
    const wr_transport_choice_t *choice = wr_transport_choice(options->transport);
    const char *special = needs_meta(options);
    /* NOLINTNEXTLINE(-Wanalyzer-null-dereference): an option that names none is refused */
    net->transport = choice->first->transport;
    if (special != NULL && choice->first != &meta) {
        return wr_fail(WARMRING_NOT_SUPPORTED,
                       "option %s: not through libmemcached: set transport=meta", special);
    }
    warmring_status_t status = choice->first->make_context(options, memc, &net->context);
    if (status == WARMRING_OK && choice->other != NULL && special == NULL) {
        net->other = choice->other->transport;
        status = choice->other->make_context(options, memc, &net->other_context);
    }
    return status;
}

void wr_transports_free(wr_net_config_t *net) {
    if (net->context != NULL) {
        net->transport->free_context(net->context);
    }
    if (net->other_context != NULL) {
        net->other->free_context(net->other_context);
    }
}
