/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers of a ring, copied into one list and one block of text.
 */
#include "ring/member.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "ring/check.h"

static size_t text_size(const char *text) {
    return text != NULL ? strlen(text) + 1 : 0;
}

static size_t all_text(const warmring_server_t *servers, size_t count) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        const warmring_server_t *server = wr_server_at(servers, i);
        size += text_size(server->name) + text_size(server->host);
    }
    return size;
}

static const char *append(char **end, const char *text) {
    char *start = *end;
    size_t size = text_size(text);
    memcpy(start, text, size);
    *end += size;
    return start;
}

static wr_member_t copy_one(const warmring_server_t *server, char **end) {
    wr_member_t member = {.port = server->port, .weight = server->weight};
    if (server->name != NULL && server->name[0] != '\0') {
        member.name = append(end, server->name);
    }
    member.host = append(end, server->host);
    return member;
}

bool wr_members_copy(wr_members_t *members, const warmring_server_t *servers, size_t count) {
    *members = (wr_members_t){.count = (uint32_t)count, .text_size = all_text(servers, count)};
    members->list = wr_calloc(count, sizeof *members->list);
    members->text = wr_malloc(members->text_size);
    if (members->list == NULL || members->text == NULL) {
        return false;
    }
    char *end = members->text;
    for (size_t i = 0; i < count; i++) {
        members->list[i] = copy_one(wr_server_at(servers, i), &end);
        double weight = members->list[i].weight;
        members->live += weight > 0;
        members->weight += weight;
        members->heaviest = weight > members->heaviest ? weight : members->heaviest;
    }
    return true;
}

void wr_members_free(wr_members_t *members) {
    wr_free(members->list);
    wr_free(members->text);
    *members = (wr_members_t){0};
}

bool wr_host_is_path(const char *host) {
    return host[0] == '/';
}

bool wr_host_is_v6(const char *host) {
    return !wr_host_is_path(host) && strchr(host, ':') != NULL;
}

uint16_t wr_member_port(const wr_member_t *member) {
    if (wr_host_is_path(member->host)) {
        return 0;
    }
    return member->port != 0 ? member->port : (uint16_t)WARMRING_DEFAULT_PORT;
}

size_t wr_host_port(const char *host, uint16_t port, char *bytes) {
    size_t length = strlen(host) + 1;
    memcpy(bytes, host, length);
    if (port != 0) {
        length += (size_t)snprintf(bytes + length, 6, "%u", (unsigned)port);
    }
    return length;
}

size_t wr_member_endpoint(const wr_member_t *member, char *bytes) {
    return wr_host_port(member->host, wr_member_port(member), bytes);
}

size_t wr_member_name(const wr_member_t *member, char *bytes) {
    return member->name != NULL ? wr_host_port(member->name, 0, bytes) : 0;
}

const char *wr_member_label(const wr_member_t *member, char *text) {
    unsigned port = wr_member_port(member);
    if (wr_host_is_path(member->host)) {
        snprintf(text, WR_LABEL_SIZE, "unix:%s", member->host);
    } else if (wr_host_is_v6(member->host)) {
        snprintf(text, WR_LABEL_SIZE, "[%s]:%u", member->host, port);
    } else {
        snprintf(text, WR_LABEL_SIZE, "%s:%u", member->host, port);
    }
    return text;
}
