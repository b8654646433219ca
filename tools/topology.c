/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring topology init, check, import: making topology files, and asking
 * whether one is good.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "report.h"
#include "servers.h"
#include "topology.h"

int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int topology_file_read(const char *path, bool any_writer, warmring_file_t **file) {
    uint32_t mode = any_writer ? WARMRING_FILE_ANY_WRITER : 0;
    return warmring_file_read(file, path, mode) == WARMRING_OK
               ? ENDED_WELL
               : fail("%s", warmring_error_detail());
}

/* ---- a new file ---------------------------------------------------------------- */

typedef struct {
    const char *lag, *max_deadline, *max_ttl;
} settings_text_t;

static int read_settings(const settings_text_t *text, warmring_file_settings_t *settings) {
    double lag = settings->lag_s, deadline = settings->max_deadline_ms;
    double ttl = (double)settings->max_ttl_s;
    if (read_count("--lag", text->lag, 0, 86400, &lag) != ENDED_WELL ||
        read_count("--max-deadline", text->max_deadline, 0, 3600000, &deadline) != ENDED_WELL ||
        read_count("--max-ttl", text->max_ttl, 0, 4000000000, &ttl) != ENDED_WELL) {
        return MISUSED;
    }
    settings->lag_s = (uint32_t)lag;
    settings->max_deadline_ms = (uint32_t)deadline;
    settings->max_ttl_s = (uint64_t)ttl;
    return ENDED_WELL;
}

static int write_new(const char *path, const warmring_topology_t *topology,
                     const settings_text_t *text) {
    warmring_file_settings_t settings = WARMRING_FILE_SETTINGS_INIT;
    warmring_file_t *file;
    int result = read_settings(text, &settings);
    if (result != ENDED_WELL) {
        return result;
    }
    warmring_status_t status = warmring_file_create(&file, topology, &settings, now_ms());
    if (status == WARMRING_OK) {
        status = warmring_file_replace(file, path, NULL);
        warmring_file_free(file);
    }
    if (status != WARMRING_OK) {
        return status == WARMRING_BAD_ARGUMENT ? misuse("%s", warmring_error_detail())
                                               : fail("%s", warmring_error_detail());
    }
    const warmring_ring_t *ring = ring_of(topology);
    printf("%s: %zu servers, dialect %s, %llu points\n", path, warmring_ring_servers(ring),
           warmring_ring_dialect(ring), (unsigned long long)warmring_ring_points(ring));
    return ENDED_WELL;
}

/* ---- init ------------------------------------------------------------------------ */

enum { I_SERVERS, I_DIALECT, I_POINTS, I_MAX_POINTS, I_HASH, I_HASH_TAG, I_LAG, I_DEADLINE, I_TTL };

#define SETTINGS_OPTIONS(lag, deadline, ttl)                                            \
    [lag] = {"--lag", "S", "how many seconds late a client may read a change (5)"},     \
    [deadline] = {"--max-deadline", "MS", "the longest deadline of any client (5000)"}, \
    [ttl] = {"--max-ttl", "S", "the longest time any value lives (not declared)"}

static const option_t init_options[] = {
    [I_SERVERS] = {"--servers", "FILE", "the servers, one server string a line"},
    [I_DIALECT] = {"--dialect", "D", "how points are made (v2)"},
    [I_POINTS] = {"--points", "P", "points per weight unit (1000)"},
    [I_MAX_POINTS] = {"--max-points", "N", "the most points a ring may have (16000000)"},
    [I_HASH] = {"--hash", "H", "how keys are hashed (the dialect's way)"},
    [I_HASH_TAG] = {"--hash-tag", "T", "two characters, of keys between which only that is hashed"},
    SETTINGS_OPTIONS(I_LAG, I_DEADLINE, I_TTL),
    {0},
};

static int run_init(const char *const *values, const char *const *operands) {
    warmring_topology_t *topology;
    ring_choice_t choice = {.dialect_option = "--dialect",
                            .dialect = values[I_DIALECT],
                            .points_option = "--points",
                            .points = values[I_POINTS],
                            .max_points = values[I_MAX_POINTS],
                            .hash = values[I_HASH],
                            .hash_tag = values[I_HASH_TAG]};
    settings_text_t settings = {values[I_LAG], values[I_DEADLINE], values[I_TTL]};
    int result = servers_load(values[I_SERVERS], &choice, &topology);
    if (result == ENDED_WELL) {
        result = write_new(operands[0], topology, &settings);
    }
    warmring_topology_release(topology);
    return result;
}

const command_t topology_init_command = {
    .name = "topology init",
    .summary = "makes a topology file of a list of servers",
    .operands = "FILE",
    .options = init_options,
    .needed = I_SERVERS + 1,
    .text = "FILE must not be there yet. Servers may be -, standard input. Clients follow FILE\n"
            "once a copy of it is on their hosts: warmring_open_file().\n",
    .run = run_init,
};

/* ---- check ------------------------------------------------------------------------ */

enum { C_ANY_WRITER };

static const option_t check_options[] = {
    [C_ANY_WRITER] = {"--any-writer", NULL, "also a file that others may write to"},
    {0},
};

static int run_check(const char *const *values, const char *const *operands) {
    warmring_file_t *file;
    int result = topology_file_read(operands[0], values[C_ANY_WRITER] != NULL, &file);
    if (result == ENDED_WELL) {
        const warmring_topology_t *topology = warmring_file_topology(file);
        printf("%s: good, phase %s, epoch %llu\n", operands[0],
               warmring_phase_name(warmring_topology_phase(topology)),
               (unsigned long long)warmring_topology_epoch(topology));
    }
    warmring_file_free(file);
    return result;
}

const command_t topology_check_command = {
    .name = "topology check",
    .summary = "whether a topology file is good",
    .operands = "FILE",
    .options = check_options,
    .text = "Complains of the first thing that is wrong: file, line, path and piece, as\n"
            "fleet.json:12: ring.servers[3].weight: \"x\" is not a number\n",
    .run = run_check,
};

/* ---- import ------------------------------------------------------------------------ */

enum { M_SECTION, M_DIALECT, M_POINTS, M_MAX_POINTS, M_HASH, M_HASH_TAG, M_LAG, M_DEADLINE, M_TTL };

static const option_t import_options[] = {
    [M_SECTION] = {"--section", "NAME", "the pool or upstream, where there are several"},
    [M_DIALECT] = {"--dialect", "D", "of a list: how points are made (v2)"},
    [M_POINTS] = {"--points", "P", "of a list: points per weight unit (1000)"},
    [M_MAX_POINTS] = {"--max-points", "N", "of a list: the most points (16000000)"},
    [M_HASH] = {"--hash", "H", "of a list: how keys are hashed (the dialect's way)"},
    [M_HASH_TAG] = {"--hash-tag", "T", "of a list: two characters around what is hashed"},
    SETTINGS_OPTIONS(M_LAG, M_DEADLINE, M_TTL),
    {0},
};

/* The whole of a stream; NULL with errno. */
static char *read_stream(FILE *stream, size_t *length) {
    char *text = NULL;
    size_t capacity = 0;
    *length = 0;
    for (;;) {
        if (capacity - *length < 4096) {
            capacity = capacity * 2 + 8192;
            char *larger = realloc(text, capacity);
            if (larger == NULL) {
                free(text);
                return NULL;
            }
            text = larger;
        }
        size_t got = fread(text + *length, 1, capacity - *length, stream);
        *length += got;
        if (got == 0) {
            break;
        }
    }
    if (ferror(stream)) {
        free(text);
        return NULL;
    }
    return text;
}

static char *read_source(const char *source, size_t *length) {
    FILE *stream = strcmp(source, "-") == 0 ? stdin : fopen(source, "re");
    if (stream == NULL) {
        fail("%s: %s", source, strerror(errno));
        return NULL;
    }
    char *text = read_stream(stream, length);
    if (text == NULL) {
        fail("%s: cannot read: %s", source, strerror(errno));
    }
    if (stream != stdin) {
        fclose(stream);
    }
    return text;
}

/* What only a list does not tell itself. */
static int choose_import(const char *format, const char *const *values,
                         warmring_ring_options_t *ring) {
    ring_choice_t choice = {.dialect_option = "--dialect",
                            .dialect = values[M_DIALECT],
                            .points_option = "--points",
                            .points = values[M_POINTS],
                            .max_points = values[M_MAX_POINTS],
                            .hash = values[M_HASH],
                            .hash_tag = values[M_HASH_TAG]};
    for (int i = M_DIALECT; i <= M_HASH_TAG && strcmp(format, "list") != 0; i++) {
        if (values[i] != NULL) {
            return misuse("option \"%s\" is for lists; %s tells itself", import_options[i].name,
                          format);
        }
    }
    return choose_ring(&choice, ring);
}

static int import_source(const char *const *operands, const warmring_import_options_t *options,
                         const settings_text_t *settings) {
    warmring_import_t *import;
    size_t length;
    char *text = read_source(operands[1], &length);
    if (text == NULL) {
        return FAILED;
    }
    warmring_status_t status = warmring_import(&import, operands[0], text, length, options);
    free(text);
    if (status != WARMRING_OK) {
        return status == WARMRING_BAD_ARGUMENT ? misuse("%s", warmring_error_detail())
                                               : fail("%s", warmring_error_detail());
    }
    int result = write_new(operands[2], warmring_import_topology(import), settings);
    for (size_t i = 0; result == ENDED_WELL && warmring_import_note(import, i) != NULL; i++) {
        printf("note: %s\n", warmring_import_note(import, i));
    }
    warmring_import_free(import);
    return result;
}

static int run_import(const char *const *values, const char *const *operands) {
    warmring_ring_options_t ring = {.size = sizeof ring};
    settings_text_t settings = {values[M_LAG], values[M_DEADLINE], values[M_TTL]};
    int result = choose_import(operands[0], values, &ring);
    if (result != ENDED_WELL) {
        return result;
    }
    const char *name = strcmp(operands[1], "-") == 0 ? "standard input" : operands[1];
    warmring_import_options_t options = {sizeof options, name, values[M_SECTION], &ring};
    return import_source(operands, &options, &settings);
}

const command_t topology_import_command = {
    .name = "topology import",
    .summary = "makes a topology file of another program's configuration",
    .operands = "FORMAT SOURCE FILE",
    .options = import_options,
    .text = "FORMAT is libmemcached (a file with a configuration string), twemproxy (its YAML\n"
            "file), nginx (its configuration) or list (server strings). Every key has the owner\n"
            "on the new file's ring that it has there, so that a migration may begin from it.\n"
            "What is not carried over is printed; what would give keys other owners is refused.\n"
            "SOURCE may be -, standard input. FILE must not be there yet.\n",
    .run = run_import,
};
