/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NULL in the calls of topology.h.
 */
#include "tests/lib/null.h"
#include "support.h"

#define NULL_LIST(X)                                                         \
    X("topology", warmring_topology_parse(NULL, "a", NULL, 0))               \
    X("servers", warmring_topology_parse(&result, NULL, NULL, 0))            \
    X("text", warmring_server_parse(NULL, &server, strings, sizeof strings)) \
    X("server", warmring_server_parse("a", NULL, strings, sizeof strings))   \
    X("strings", warmring_server_parse("a", &server, NULL, sizeof strings))  \
    X("topology", warmring_topology_create(NULL, &server, 1, NULL))          \
    X("servers", warmring_topology_create(&result, NULL, 1, NULL))           \
    X("topology", warmring_topology_set_weight(NULL, "a", 1, &result))       \
    X("name", warmring_topology_set_weight(stable, NULL, 1, &result))        \
    X("result", warmring_topology_set_weight(stable, "a", 1, NULL))          \
    X("topology", warmring_topology_add_server(NULL, "b", &result))          \
    X("server", warmring_topology_add_server(stable, NULL, &result))         \
    X("result", warmring_topology_add_server(stable, "b", NULL))             \
    X("topology", warmring_topology_remove_server(NULL, "a", &result))       \
    X("name", warmring_topology_remove_server(stable, NULL, &result))        \
    X("result", warmring_topology_remove_server(stable, "a", NULL))          \
    X("topology", warmring_topology_set_address(NULL, "a", "b", &result))    \
    X("name", warmring_topology_set_address(stable, NULL, "b", &result))     \
    X("address", warmring_topology_set_address(stable, "a", NULL, &result))  \
    X("result", warmring_topology_set_address(stable, "a", "b", NULL))       \
    X("topology", warmring_topology_replace(NULL, stable, &result))          \
    X("target", warmring_topology_replace(stable, NULL, &result))            \
    X("result", warmring_topology_replace(stable, stable, NULL))             \
    X("topology", warmring_topology_migrate(NULL, stable, &result))          \
    X("target", warmring_topology_migrate(stable, NULL, &result))            \
    X("result", warmring_topology_migrate(stable, stable, NULL))             \
    X("topology", warmring_topology_step(NULL, WARMRING_WARM, &result))      \
    X("result", warmring_topology_step(warming, WARMRING_COMMIT, NULL))      \
    X("topology", warmring_topology_rollout(NULL, NULL, 1, &result))         \
    X("result", warmring_topology_rollout(warming, NULL, 1, NULL))           \
    X("now", warmring_topology_preview(NULL, stable, &preview))              \
    X("next", warmring_topology_preview(stable, NULL, &preview))             \
    X("preview", warmring_topology_preview(stable, stable, NULL))            \
    X("preview", warmring_preview_server(NULL, 0, &row))                     \
    X("server", warmring_preview_server(good, 0, NULL))

static void check(const warmring_topology_t *stable, const warmring_topology_t *warming,
                  const warmring_preview_t *good) {
    warmring_topology_t *result = (void *)&result;
    warmring_preview_t *preview = (void *)&preview;
    warmring_preview_server_t row = {.size = sizeof row};
    warmring_server_t server = {.size = sizeof server};
    char strings[WARMRING_SERVER_STRINGS];
    NULL_LIST(NULL_CHECK)
    tap_ok(result == NULL, "no topology");
    tap_ok(preview == NULL, "no preview");
}

int main(void) {
    warmring_topology_t *stable = parse("a:1");
    warmring_topology_t *warming = in_phase(stable, stable, WARMRING_WARMING);
    warmring_preview_t *good = NULL;
    if (warmring_topology_preview(stable, stable, &good) != WARMRING_OK) {
        tap_bail("no preview: %s", warmring_error_detail());
    }
    check(stable, warming, good);
    warmring_preview_free(NULL);
    warmring_topology_release(NULL);
    warmring_preview_free(good);
    warmring_topology_release(warming);
    warmring_topology_release(stable);
    return tap_done();
}
