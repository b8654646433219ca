/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet for a test.
 */
#include "tests/fleet/support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

static void demand(warmring_status_t status, const char *what) {
    if (status != WARMRING_OK) {
        tap_bail("%s: %s: %s", what, warmring_status_name(status), warmring_error_detail());
    }
}

/* ---- time ---------------------------------------------------------------------- */

static int64_t read_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

int64_t fleet_now_ms(void) {
    return read_ms(CLOCK_REALTIME);
}

unsigned fleet_clock_ms(void) {
    return (unsigned)read_ms(CLOCK_MONOTONIC);
}

void fleet_sleep_ms(unsigned milliseconds) {
    struct timespec pause = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

/* ---- the file --------------------------------------------------------------------- */

void fleet_put_text(const char *path, const char *text) {
    char beside[256];
    snprintf(beside, sizeof beside, "%s.new", path);
    FILE *file = fopen(beside, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0 || rename(beside, path) != 0) {
        tap_bail("%s: %m", path);
    }
}

void fleet_put(fleet_t *fleet, warmring_file_t *next) {
    fleet_put_text(fleet->path, warmring_file_text(next));
    warmring_file_free(fleet->file);
    fleet->file = next;
}

static warmring_topology_t *parse(const char *servers) {
    warmring_topology_t *topology = NULL;
    demand(warmring_topology_parse(&topology, servers, NULL, 0), servers);
    return topology;
}

fleet_t *fleet_start(size_t count, size_t used, uint32_t lag_s) {
    fleet_t *fleet = calloc(1, sizeof *fleet);
    warmring_file_settings_t settings = {sizeof settings, lag_s, 2000, 0};
    if (fleet == NULL) {
        tap_bail("no memory");
    }
    fleet->fixture = fixture_start(count, NULL);
    fleet->count = count;
    snprintf(fleet->directory, sizeof fleet->directory, "/tmp/warmring-fleet-XXXXXX");
    if (mkdtemp(fleet->directory) == NULL) {
        tap_bail("%s: %m", fleet->directory);
    }
    snprintf(fleet->path, sizeof fleet->path, "%s/topology.json", fleet->directory);
    warmring_topology_t *topology = parse(fixture_first_servers(fleet->fixture, used));
    warmring_file_t *file = NULL;
    demand(warmring_file_create(&file, topology, &settings, fleet_now_ms()), "create");
    warmring_topology_release(topology);
    fleet_put(fleet, file);
    return fleet;
}

void fleet_free(fleet_t *fleet) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", fleet->directory);
    if (system(command) != 0) {
        tap_note("%s is left behind", fleet->directory);
    }
    warmring_file_free(fleet->file);
    fixture_free(fleet->fixture);
    free(fleet);
}

/* ---- the operator ------------------------------------------------------------------- */

static void put_step(fleet_t *fleet, warmring_topology_t *topology, wr_watermark_t *watermarks,
                     size_t count) {
    warmring_file_t parts = *fleet->file;
    warmring_file_t *next = NULL;
    parts.topology = topology;
    parts.steps++;
    parts.since_ms = fleet_now_ms();
    parts.watermarks = watermarks;
    parts.watermark_count = count;
    demand(wr_file_make(&next, &parts), "file");
    warmring_topology_release(topology);
    fleet_put(fleet, next);
}

void fleet_flip(fleet_t *fleet, const char *servers) {
    warmring_topology_t *topology = parse(servers);
    warmring_file_t *next = NULL;
    demand(warmring_file_edit(fleet->file, topology, fleet_now_ms(), &next), "edit");
    warmring_topology_release(topology);
    fleet_put(fleet, next);
}

uint64_t fleet_stat(const fleet_t *fleet, size_t server, const char *name) {
    char reply[8192];
    char line[64];
    uint64_t number = 0;
    fixture_raw(fleet->fixture, server, "stats\r\n", "END\r\n", reply, sizeof reply);
    snprintf(line, sizeof line, "STAT %s ", name);
    const char *found = strstr(reply, line);
    if (found == NULL || sscanf(found + strlen(line), "%" SCNu64, &number) != 1) {
        tap_bail("no %s in stats", name);
    }
    return number;
}

static wr_watermark_t watermark_of(const fleet_t *fleet, size_t server) {
    char reply[256];
    uint64_t cas = 0;
    fixture_raw(fleet->fixture, server, "set probe 0 60 1\r\nx\r\n", "STORED\r\n", reply,
                sizeof reply);
    fixture_raw(fleet->fixture, server, "gets probe\r\n", "END\r\n", reply, sizeof reply);
    if (sscanf(reply, "VALUE probe 0 1 %" SCNu64, &cas) != 1) {
        tap_bail("no cas in: %s", reply);
    }
    return (wr_watermark_t){.cas = cas,
                            .started = (int64_t)(fleet_stat(fleet, server, "time") -
                                                 fleet_stat(fleet, server, "uptime"))};
}

/* The fixture's server that a server of a ring is. */
static size_t find_server(const fleet_t *fleet, const char *address) {
    size_t i = 0;
    while (strcmp(fixture_address(fleet->fixture, i), address) != 0) {
        i++;
    }
    return i;
}

void fleet_begin_to(fleet_t *fleet, const warmring_topology_t *target) {
    wr_watermark_t watermarks[16];
    warmring_topology_t *next = NULL;
    demand(warmring_topology_migrate(fleet->file->topology, target, &next), "migrate");
    size_t count = wr_cluster_count(next->cluster[WARMRING_NEW_RING]);
    for (size_t i = 0; i < count; i++) {
        const char *address = wr_cluster_server(next->cluster[WARMRING_NEW_RING], i)->address;
        watermarks[i] = watermark_of(fleet, find_server(fleet, address));
    }
    put_step(fleet, next, watermarks, count);
}

void fleet_begin(fleet_t *fleet, const char *servers) {
    warmring_topology_t *target = parse(servers);
    fleet_begin_to(fleet, target);
    warmring_topology_release(target);
}

void fleet_step(fleet_t *fleet, warmring_step_t step) {
    warmring_topology_t *next = NULL;
    demand(warmring_topology_step(fleet->file->topology, step, &next), warmring_step_name(step));
    put_step(fleet, next, fleet->file->watermarks, fleet->file->watermark_count);
}

void fleet_rollout(fleet_t *fleet, uint32_t basis_points, uint32_t ramp_s) {
    warmring_file_t *next = NULL;
    demand(warmring_file_rollout(fleet->file, NULL, basis_points, ramp_s, fleet_now_ms(), &next),
           "rollout");
    fleet_put(fleet, next);
}

void fleet_raise(fleet_t *fleet, size_t server) {
    wr_watermark_t watermarks[16];
    warmring_topology_t *next = NULL;
    warmring_file_t parts = *fleet->file;
    warmring_file_t *raised = NULL;
    for (size_t i = 0; i < parts.watermark_count; i++) {
        watermarks[i] = parts.watermarks[i];
        if (find_server(fleet, watermarks[i].address) == server) {
            const char *address = watermarks[i].address;
            watermarks[i] = watermark_of(fleet, server);
            watermarks[i].address = address;
        }
    }
    uint32_t rollout = warmring_topology_get_rollout(parts.topology, NULL);
    demand(warmring_topology_rollout(parts.topology, NULL, rollout, &next), "next epoch");
    parts.topology = next;
    parts.watermarks = watermarks;
    demand(wr_file_make(&raised, &parts), "file");
    warmring_topology_release(next);
    fleet_put(fleet, raised);
}

void fleet_announce(const fleet_t *fleet) {
    char command[128];
    char digits[24];
    char reply[64];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, fleet->file->steps);
    snprintf(command, sizeof command, "set warmring:%016" PRIx64 ":steps 0 0 %d\r\n%s\r\n",
             fleet->file->id, length, digits);
    for (size_t i = 0; i < fleet->count; i++) {
        if (fixture_pid(fleet->fixture, i) != 0) {
            fixture_raw(fleet->fixture, i, command, "STORED\r\n", reply, sizeof reply);
        }
    }
}

/* ---- clients --------------------------------------------------------------------------- */

warmring_t *fleet_open_copy(const char *path, const char *const *options) {
    warmring_t *client = NULL;
    warmring_options_t *set = test_options();
    demand(warmring_options_set(set, "deadline_ms", "2000"), "deadline_ms");
    for (; options != NULL && *options != NULL; options += 2) {
        demand(warmring_options_set(set, options[0], options[1]), options[0]);
    }
    demand(warmring_open_file(&client, path, set), "open");
    warmring_options_free(set);
    return client;
}

warmring_t *fleet_open(const fleet_t *fleet, const char *const *options) {
    return fleet_open_copy(fleet->path, options);
}

uint64_t fleet_epoch(warmring_t *client) {
    warmring_topology_t *topology = NULL;
    demand(warmring_acquire(client, &topology), "acquire");
    uint64_t epoch = warmring_topology_epoch(topology);
    warmring_topology_release(topology);
    return epoch;
}

unsigned fleet_await(warmring_t *client, uint64_t epoch) {
    unsigned began = fleet_clock_ms();
    warmring_item_t item = WARMRING_ITEM_INIT;
    while (fleet_epoch(client) != epoch) {
        if (fleet_clock_ms() - began > 10000) {
            tap_bail("epoch %" PRIu64 " did not come", epoch);
        }
        fleet_sleep_ms(5);
        (void)!warmring_get(client, "await", 5, &item, NULL);
        warmring_item_clear(&item);
    }
    return fleet_clock_ms() - began;
}

warmring_counters_t fleet_counters(warmring_t *client) {
    warmring_counters_t counters = {.size = sizeof counters};
    warmring_snapshot_t *snapshot = NULL;
    demand(warmring_snapshot_create(client, &snapshot), "snapshot");
    demand(warmring_snapshot_client(snapshot, -1, &counters), "counters");
    warmring_snapshot_free(snapshot);
    return counters;
}
