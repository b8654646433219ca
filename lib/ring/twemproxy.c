/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ketama as twemproxy does it: the weighted points of ketama.c but for a
 * server's identity and the last step of its count.
 */
#include <math.h>
#include <string.h>

#include "ring/ring.h"

/* Its name where it has one; a unix socket is known by its path alone. */
size_t wr_twemproxy_identity(const wr_member_t *member, char *bytes) {
    if (member->name == NULL && !wr_host_is_path(member->host)) {
        return wr_ketama_identity(member, bytes);
    }
    const char *text = member->name != NULL ? member->name : member->host;
    size_t length = strlen(text);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): these bytes have a length */
    memcpy(bytes, text, length);
    return length;
}

/* Each product is rounded to a float; what is added at the end is a double,
 * and the sum is rounded once. */
double wr_twemproxy_count(const wr_members_t *members, const wr_member_t *member,
                          double points_per_server) {
    volatile float step = (float)member->weight;
    volatile float total = (float)members->weight;
    step = step / total;
    step = step * (float)points_per_server;
    step = step / 4;
    step = step * (float)members->live;
    volatile double sum = (double)step + 0.0000000001;
    step = (float)sum;
    return floor((double)step) * 4;
}
