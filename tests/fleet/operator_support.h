/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the operator's functions share: files that are taken
 * through a migration without waiting. Include it once.
 */
#ifndef TESTS_OPERATOR_SUPPORT_H
#define TESTS_OPERATOR_SUPPORT_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <warmring/admin.h>

#include "topology/file.h"

#include "../lib/fixture.h"
#include "../lib/raw.h"
#include "../lib/tap.h"
#include "../lib/transports.h"

static const warmring_file_settings_t quick = {sizeof quick, 1, 500, 60};

static int64_t wall_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static warmring_topology_t *parse(const char *servers) {
    warmring_topology_t *topology;
    if (warmring_topology_parse(&topology, servers, NULL, 0) != WARMRING_OK) {
        tap_bail("%s: %s", servers, warmring_error_detail());
    }
    return topology;
}

static inline warmring_file_t *create(const char *servers) {
    warmring_topology_t *topology = parse(servers);
    warmring_file_t *file;
    if (warmring_file_create(&file, topology, &quick, wall_ms()) != WARMRING_OK) {
        tap_bail("%s", warmring_error_detail());
    }
    warmring_topology_release(topology);
    return file;
}

/* As if its phase had begun so long ago. */
static inline void age(warmring_file_t *file, int64_t seconds) {
    file->since_ms -= seconds * 1000;
}

static inline warmring_status_t begin(const warmring_file_t *file, const char *servers,
                               warmring_file_t **next) {
    warmring_topology_t *target = parse(servers);
    warmring_options_t *options = test_options();
    warmring_status_t status = warmring_fleet_begin(file, target, options, 2000, next);
    warmring_options_free(options);
    warmring_topology_release(target);
    return status;
}

static warmring_status_t step(const warmring_file_t *file, warmring_step_t step_,
                              warmring_file_t **next) {
    warmring_options_t *options = test_options();
    warmring_status_t status = warmring_fleet_step(file, step_, options, 2000, next);
    warmring_options_free(options);
    return status;
}

/* Takes the file to its next phase, an hour later; bails when refused. */
static inline void advance(warmring_file_t **file, warmring_step_t step_) {
    warmring_file_t *next;
    age(*file, 3600);
    if (step(*file, step_, &next) != WARMRING_OK) {
        tap_bail("%s: %s", warmring_step_name(step_), warmring_error_detail());
    }
    warmring_file_free(*file);
    *file = next;
}

static inline warmring_file_t *prepare(const char *from, const char *to) {
    warmring_file_t *file = create(from), *next;
    if (begin(file, to, &next) != WARMRING_OK) {
        tap_bail("begin: %s", warmring_error_detail());
    }
    warmring_file_free(file);
    return next;
}

static inline warmring_phase_t phase_of(const warmring_file_t *file) {
    return warmring_topology_phase(warmring_file_topology(file));
}

#endif
