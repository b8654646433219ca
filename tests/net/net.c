/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of net/ share.
 */
#include "net.h"

#include <dirent.h>
#include <string.h>

wr_net_config_t net_config(const memcached_st *memc) {
    bool meta = memc == NULL && test_is_meta();
    return (wr_net_config_t){
        .transport = meta ? &wr_transport_meta : &wr_transport_libmemcached,
        .context = meta ? wr_meta_context(0) : wr_libmemcached_context(memc),
        .pool_max = 16,
        .idle_close_ms = 60000,
        .failure_limit = 2,
        .retry_ms = 500,
        .stub_lifetime_s = 6,
    };
}

void net_free(wr_net_config_t *config) {
    config->transport->free_context((void *)(uintptr_t)config->context);
}

wr_server_t *net_server(const fixture_t *fixture, size_t index, const wr_net_config_t *config) {
    const char *address = fixture_address(fixture, index);
    if (strncmp(address, "unix:", 5) == 0) {
        return wr_server_create(address + 5, 0, config);
    }
    return wr_server_create("127.0.0.1", fixture_port(fixture, index), config);
}

wr_server_t *net_fake(const fake_server_t *fake, const wr_net_config_t *config) {
    return wr_server_create("127.0.0.1", fake_server_port(fake), config);
}

static char *reserve(wr_sink_t *sink, size_t length) {
    net_call_t *call = (net_call_t *)sink;
    return length <= call->capacity ? call->room : NULL;
}

void net_call(net_call_t *call, wr_server_t *server, wr_verb_t verb, const char *key,
              const char *value) {
    memset(call, 0, sizeof *call);
    call->sink.reserve = reserve;
    call->sink.refusal = WARMRING_BUFFER_TOO_SMALL;
    call->room = call->small;
    call->capacity = sizeof call->small;
    call->request.server = server;
    call->request.verb = verb;
    call->request.sink = &call->sink;
    if (key != NULL) {
        call->request.key = (warmring_bytes_t){key, strlen(key)};
    }
    if (value != NULL) {
        call->request.value = (warmring_bytes_t){value, strlen(value)};
    }
}

warmring_status_t net_run(net_call_t *call, uint32_t deadline_ms) {
    wr_run_one(&call->request, wr_deadline_in_ms(deadline_ms));
    return call->request.status;
}

warmring_status_t net_do(net_call_t *call, wr_server_t *server, wr_verb_t verb, const char *key,
                         const char *value) {
    net_call(call, server, verb, key, value);
    return net_run(call, 5000);
}

warmring_server_counters_t net_counters(const wr_server_t *server) {
    warmring_server_counters_t counters;
    memset(&counters, 0, sizeof counters);
    wr_server_count(server, &counters);
    return counters;
}

double net_ms_since(wr_time_t start) {
    return (double)(wr_now() - start) / 1e6;
}

size_t net_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    size_t count = 0;
    while (directory != NULL && readdir(directory) != NULL) {
        count++;
    }
    if (directory != NULL) {
        closedir(directory);
    }
    return count;
}
