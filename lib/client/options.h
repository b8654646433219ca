/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a client, as values.
 */
#ifndef WR_CLIENT_OPTIONS_H
#define WR_CLIENT_OPTIONS_H

#include <stdint.h>

#include <warmring/client.h>

enum { WR_PATH_SIZE = 1024 };

struct warmring_options {
    uint64_t deadline_ms;
    uint64_t max_deadline_ms;
    uint64_t connect_timeout_ms;
    uint64_t pool_max;
    uint64_t idle_close_ms;
    uint64_t failure_limit;
    uint64_t retry_ms;
    uint64_t max_points;
    uint64_t fill_ttl_s;
    uint64_t max_ttl_s;
    uint64_t tcp_keepalive;
    uint64_t max_value_bytes;
    uint64_t any_writer;
    uint64_t reload_thread;
    uint64_t tls;
    double points_per_weight;
    size_t prefix_length; /* set by wr_options_check() */
    char prefix[WARMRING_MAX_KEY];
    char scope[64];
    char dialect[64];
    char hash[32];
    char hash_tag[4];
    char transport[16];
    char tls_ca_file[WR_PATH_SIZE];
    char tls_certificate[WR_PATH_SIZE];
    char tls_key[WR_PATH_SIZE];
    char tls_server_name[256];
    char user[256];
    char password[256];
};

/* All at their defaults. */
void wr_options_init(warmring_options_t *options);

/* What options must hold between them (BAD_OPTION), and what follows from
 * them. */
warmring_status_t wr_options_check(warmring_options_t *options);

/* Overwrites what is secret in options that are no longer used. */
void wr_options_wipe(warmring_options_t *options);

/* Whether every byte may stand in a key: none up to 0x20, no 0x7f. */
bool wr_is_key_text(const char *bytes, size_t length);

#endif
