/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a client that follows a topology file.
 */
#include <string.h>

#include "fleet/follower.h"
#include "fleet/read.h"

static void lower(uint64_t *value, uint64_t most) {
    *value = *value < most ? *value : most;
}

/* What all clients of the file keep to. */
static void take_settings(warmring_options_t *options, const warmring_file_t *file) {
    lower(&options->max_deadline_ms, file->max_deadline_ms);
    lower(&options->deadline_ms, options->max_deadline_ms);
    if (file->max_ttl_s != 0) {
        options->max_ttl_s = file->max_ttl_s;
    }
}

/* A client with the topology of follower->file, not yet following. */
static warmring_status_t make_client(warmring_t **client, const wr_file_follower_t *follower,
                                     warmring_options_t *options) {
    take_settings(options, follower->file);
    warmring_status_t status = wr_client_create(client, follower->file->topology, options, NULL);
    if (status == WARMRING_OK) {
        status = wr_client_adopt(*client, follower->file,
                                 wr_deadline_in_ms((uint32_t)options->deadline_ms));
    }
    if (status == WARMRING_OK) {
        wr_client_ramp(*client, follower->file);
    }
    return status;
}

/* The first operation looks again, and asks the servers whether the file is
 * not an old copy: look_at and looked_at are 0. */
static warmring_status_t open_file(warmring_t **client, wr_file_follower_t *follower,
                                   warmring_options_t *options) {
    follower->confirmed_at = wr_boot_now();
    follower->seen = wr_stamp(follower->path);
    warmring_status_t status = wr_file_read(&follower->file, follower->path, follower->mode, NULL);
    if (status != WARMRING_OK) {
        return status;
    }
    follower->lag = (wr_time_t)follower->file->lag_s * 1000000000;
    status = make_client(client, follower, options);
    if (status == WARMRING_OK && options->reload_thread != 0) {
        follower->client = *client;
        status = wr_thread_start(follower);
    }
    return status;
}

warmring_status_t warmring_open_file(warmring_t **client, const char *path,
                                     const warmring_options_t *options) {
    warmring_options_t taken;
    wr_file_follower_t *follower = NULL;
    if (WR_EMPTY_OR_NULL(client, path)) {
        return WARMRING_BAD_ARGUMENT;
    }
    warmring_status_t status = wr_options_take(options, &taken);
    if (status == WARMRING_OK) {
        status = wr_file_follower_create(&follower, path,
                                         taken.any_writer != 0 ? WARMRING_FILE_ANY_WRITER : 0);
    }
    if (status == WARMRING_OK) {
        status = open_file(client, follower, &taken);
    }
    if (status == WARMRING_OK) {
        (*client)->follower = &follower->base;
        return WARMRING_OK;
    }
    wr_file_follower_free(follower);
    warmring_close(*client);
    *client = NULL;
    return status;
}
