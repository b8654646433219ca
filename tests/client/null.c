/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NULL in the calls of client.h and libmemcached.h. No server is needed:
 * nothing is sent.
 */
#include <warmring/libmemcached.h>

#include "tests/lib/null.h"

#define OPTION_LIST(X)                                        \
    X("options", warmring_options_set(NULL, "prefix", "x"))   \
    X("name", warmring_options_set(options, NULL, "x"))       \
    X("value", warmring_options_set(options, "prefix", NULL)) \
    X("client", warmring_open(NULL, "a", NULL))               \
    X("servers", warmring_open(&made, NULL, NULL))            \
    X("client", warmring_open_topology(NULL, topology, NULL)) \
    X("topology", warmring_open_topology(&made, NULL, NULL))  \
    X("client", warmring_open_from(NULL, memc, "a", NULL))    \
    X("memc", warmring_open_from(&made, NULL, "a", NULL))     \
    X("servers", warmring_open_from(&made, memc, NULL, NULL))

#define SINGLE_LIST(X)                                                    \
    X("client", warmring_get(NULL, "k", 1, &item, NULL))                  \
    X("item", warmring_get(client, "k", 1, NULL, NULL))                   \
    X("client", warmring_get_into(NULL, "k", 1, buffer, 4, &item, NULL))  \
    X("buffer", warmring_get_into(client, "k", 1, NULL, 4, &item, NULL))  \
    X("item", warmring_get_into(client, "k", 1, buffer, 4, NULL, NULL))   \
    X("client", warmring_get_or_lease(NULL, "k", 1, 1, &item, NULL))      \
    X("item", warmring_get_or_lease(client, "k", 1, 1, NULL, NULL))       \
    X("client", warmring_get_and_touch(NULL, "k", 1, 0, &item, NULL))     \
    X("item", warmring_get_and_touch(client, "k", 1, 0, NULL, NULL))      \
    X("client", warmring_set(NULL, "k", 1, "x", 1, 0, 0, NULL))           \
    X("value", warmring_set(client, "k", 1, NULL, 1, 0, 0, NULL))         \
    X("client", warmring_add(NULL, "k", 1, "x", 1, 0, 0, NULL))           \
    X("value", warmring_add(client, "k", 1, NULL, 1, 0, 0, NULL))         \
    X("client", warmring_replace(NULL, "k", 1, "x", 1, 0, 0, NULL))       \
    X("value", warmring_replace(client, "k", 1, NULL, 1, 0, 0, NULL))     \
    X("client", warmring_append(NULL, "k", 1, "x", 1, NULL))              \
    X("value", warmring_append(client, "k", 1, NULL, 1, NULL))            \
    X("client", warmring_prepend(NULL, "k", 1, "x", 1, NULL))             \
    X("value", warmring_prepend(client, "k", 1, NULL, 1, NULL))           \
    X("client", warmring_cas(NULL, "k", 1, "x", 1, 0, 0, &token, NULL))   \
    X("value", warmring_cas(client, "k", 1, NULL, 1, 0, 0, &token, NULL)) \
    X("token", warmring_cas(client, "k", 1, "x", 1, 0, 0, NULL, NULL))    \
    X("client", warmring_delete(NULL, "k", 1, NULL))                      \
    X("client", warmring_touch(NULL, "k", 1, 0, NULL))                    \
    X("client", warmring_increment(NULL, "k", 1, 1, NULL, 0, NULL, NULL)) \
    X("client", warmring_decrement(NULL, "k", 1, 1, NULL, 0, NULL, NULL)) \
    X("client", warmring_flush(NULL, NULL))

#define MANY_LIST(X)                                                  \
    X("client", warmring_get_multi(NULL, &key, 1, results, NULL))     \
    X("input", warmring_get_multi(client, NULL, 1, results, NULL))    \
    X("results", warmring_get_multi(client, &key, 1, NULL, NULL))     \
    X("client", warmring_set_multi(NULL, &entry, 1, results, NULL))   \
    X("input", warmring_set_multi(client, NULL, 1, results, NULL))    \
    X("results", warmring_set_multi(client, &entry, 1, NULL, NULL))   \
    X("client", warmring_delete_multi(NULL, &key, 1, results, NULL))  \
    X("input", warmring_delete_multi(client, NULL, 1, results, NULL)) \
    X("results", warmring_delete_multi(client, &key, 1, NULL, NULL))  \
    X("results", warmring_results_server(NULL, 0, &name))

#define WHOLE_LIST(X)                                                        \
    X("client", warmring_acquire(NULL, &acquired))                           \
    X("topology", warmring_acquire(client, NULL))                            \
    X("client", warmring_apply(NULL, topology, 0))                           \
    X("topology", warmring_apply(client, NULL, 0))                           \
    X("client", warmring_locate(NULL, "k", 1, buffer, sizeof buffer, NULL))  \
    X("address", warmring_locate(client, "k", 1, NULL, sizeof buffer, NULL)) \
    X("client", warmring_tick(NULL, 1))                                      \
    X("client", warmring_snapshot_create(NULL, &taken))                      \
    X("snapshot", warmring_snapshot_create(client, NULL))                    \
    X("snapshot", warmring_snapshot_client(NULL, -1, &counters))             \
    X("counters", warmring_snapshot_client(snapshot, -1, NULL))              \
    X("snapshot", warmring_snapshot_server(NULL, 0, &server))                \
    X("server", warmring_snapshot_server(snapshot, 0, NULL))

static void demand(warmring_status_t status) {
    if (status != WARMRING_OK) {
        tap_bail("%s: %s", warmring_strerror(status), warmring_error_detail());
    }
}

static void check_options(const warmring_topology_t *topology) {
    warmring_options_t *options = warmring_options_create();
    memcached_st *memc = memcached_create(NULL);
    warmring_t *made = (void *)&made;
    OPTION_LIST(NULL_CHECK)
    tap_ok(made == NULL, "no client");
    warmring_options_free(options);
    memcached_free(memc);
}

static void check_single(warmring_t *client) {
    const warmring_token_t token = {{1, 1, 1}};
    warmring_item_t item = WARMRING_ITEM_INIT;
    char buffer[4];
    SINGLE_LIST(NULL_CHECK)
    tap_status(warmring_get(client, NULL, 1, &item, NULL), WARMRING_BAD_KEY, "a key without bytes");
}

static void check_many(warmring_t *client) {
    warmring_results_t *results = warmring_results_create();
    const warmring_bytes_t key = {"k", 1};
    const warmring_entry_t entry = {key, {"x", 1}, 0, 0};
    const char *name = "";
    MANY_LIST(NULL_CHECK)
    tap_ok(name == NULL, "no name");
    tap_status(warmring_get_multi(client, NULL, 0, results, NULL), WARMRING_OK, "no keys at all");
    tap_int((int64_t)warmring_results_count(results), 0, "no results");
    warmring_results_free(results);
}

static void check_whole(warmring_t *client, const warmring_topology_t *topology) {
    warmring_topology_t *acquired = (void *)&acquired;
    warmring_snapshot_t *snapshot = NULL, *taken = (void *)&taken;
    warmring_counters_t counters = {.size = sizeof counters};
    warmring_server_counters_t server = {.size = sizeof server};
    char buffer[64];
    demand(warmring_snapshot_create(client, &snapshot));
    WHOLE_LIST(NULL_CHECK)
    tap_ok(acquired == NULL && taken == NULL, "nothing is left in place");
    warmring_snapshot_free(snapshot);
}

int main(void) {
    warmring_topology_t *topology = NULL;
    warmring_t *client = NULL;
    demand(warmring_topology_parse(&topology, "a", NULL, 0));
    demand(warmring_open_topology(&client, topology, NULL));
    check_options(topology);
    check_single(client);
    check_many(client);
    check_whole(client, topology);
    warmring_results_free(NULL);
    warmring_item_clear(NULL);
    warmring_snapshot_free(NULL);
    warmring_options_free(NULL);
    warmring_close(NULL);
    warmring_close(client);
    warmring_topology_release(topology);
    return tap_done();
}
