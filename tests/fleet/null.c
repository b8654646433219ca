/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NULL in the calls of fleet.h.
 */
#include <warmring/fleet.h>

#include "../lib/null.h"

#define NULL_LIST(X)                                                      \
    X("file", warmring_file_create(NULL, topology, NULL, 0))              \
    X("topology", warmring_file_create(&result, NULL, NULL, 0))           \
    X("file", warmring_file_parse(NULL, "{}", 2, "f"))                    \
    X("text", warmring_file_parse(&result, NULL, 2, "f"))                 \
    X("name", warmring_file_parse(&result, "{}", 2, NULL))                \
    X("file", warmring_file_read(NULL, "/", 0))                           \
    X("path", warmring_file_read(&result, NULL, 0))                       \
    X("file", warmring_file_replace(NULL, "/none/x", NULL))               \
    X("path", warmring_file_replace(file, NULL, NULL))                    \
    X("file", warmring_file_settings(NULL, &settings))                    \
    X("settings", warmring_file_settings(file, NULL))                     \
    X("file", warmring_file_edit(NULL, topology, 0, &result))             \
    X("topology", warmring_file_edit(file, NULL, 0, &result))             \
    X("result", warmring_file_edit(file, topology, 0, NULL))              \
    X("file", warmring_file_rollout(NULL, NULL, 0, 0, 0, &result))        \
    X("result", warmring_file_rollout(file, NULL, 0, 0, 0, NULL))         \
    X("file", warmring_fleet_begin(NULL, topology, NULL, 0, &result))     \
    X("target", warmring_fleet_begin(file, NULL, NULL, 0, &result))       \
    X("result", warmring_fleet_begin(file, topology, NULL, 0, NULL))      \
    X("file", warmring_fleet_step(NULL, WARMRING_WARM, NULL, 0, &result)) \
    X("result", warmring_fleet_step(file, WARMRING_WARM, NULL, 0, NULL))  \
    X("file", warmring_fleet_announce(NULL, NULL, 0))                     \
    X("client", warmring_open_file(NULL, "/", NULL))                      \
    X("path", warmring_open_file(&client, NULL, NULL))                    \
    X("import", warmring_import(NULL, "list", "h", 1, NULL))              \
    X("format", warmring_import(&import, NULL, "h", 1, NULL))             \
    X("text", warmring_import(&import, "list", NULL, 1, NULL))

int main(void) {
    warmring_topology_t *topology;
    warmring_file_t *file, *result = (void *)&result;
    warmring_import_t *import = (void *)&import;
    warmring_t *client = (void *)&client;
    warmring_file_settings_t settings = WARMRING_FILE_SETTINGS_INIT;
    if (warmring_topology_parse(&topology, "a", NULL, 1) != WARMRING_OK ||
        warmring_file_create(&file, topology, NULL, 0) != WARMRING_OK) {
        tap_bail("no file: %s", warmring_error_detail());
    }
    NULL_LIST(NULL_CHECK)
    tap_ok(result == NULL, "no file");
    tap_ok(import == NULL, "no import");
    tap_ok(client == NULL, "no client");
    warmring_file_free(NULL);
    warmring_file_free(file);
    warmring_topology_release(topology);
    return tap_done();
}
