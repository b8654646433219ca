/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers of a ring: checked, copied, and told apart.
 */
#ifndef WR_RING_MEMBER_H
#define WR_RING_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warmring/ring.h>

enum {
    WR_NAME_MAX = 250,                   /* bytes of a name, and of a host */
    WR_IDENTITY_SIZE = WR_NAME_MAX + 10, /* brackets, NUL, :PORT, NUL */
    WR_LABEL_SIZE = WR_NAME_MAX + 16
};

#define WR_NO_MEMBER UINT32_MAX

typedef struct {
    const char *name; /* NULL: unnamed */
    const char *host;
    uint16_t port; /* as configured: 0 is "not written" */
    double weight;
    uint64_t points; /* that it asked for, before ties */
    uint64_t arc;    /* how many of the 2^32 hashes it owns */
} wr_member_t;

typedef struct {
    wr_member_t *list;
    uint32_t count;
    uint32_t live; /* those with a weight above 0 */
    double weight; /* of all; infinite when the sum overflows */
    double heaviest;
    char *text; /* what names and hosts point into */
    size_t text_size;
} wr_members_t;

/* Copies servers that wr_check_servers() has passed; false: no memory. Free
 * it in either case. */
bool wr_members_copy(wr_members_t *members, const warmring_server_t *servers, size_t count);
void wr_members_free(wr_members_t *members);

/* Whether a host is the path of a unix socket. */
bool wr_host_is_path(const char *host);

/* Whether a host is IPv6, and wears brackets in texts. */
bool wr_host_is_v6(const char *host);

/* The port a client connects to: 11211 when not written, 0 for a path. */
uint16_t wr_member_port(const wr_member_t *member);

/* HOST NUL PORT, or PATH NUL: equal for two members exactly when they are
 * one endpoint. Writes at most WR_IDENTITY_SIZE bytes, returns how many. */
size_t wr_member_endpoint(const wr_member_t *member, char *bytes);

/* The name and a NUL; nothing for an unnamed member. */
size_t wr_member_name(const wr_member_t *member, char *bytes);

/* "host:port", "[v6]:port" or "unix:/path" for people; `text` has
 * WR_LABEL_SIZE bytes and is returned. */
const char *wr_member_label(const wr_member_t *member, char *text);

/* HOST NUL and, unless `port` is 0, its digits. */
size_t wr_host_port(const char *host, uint16_t port, char *bytes);

#endif
