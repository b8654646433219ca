/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ketama as libmemcached does it with weights.
 *
 * The points of a server are the MD5 words of "IDENTITY-0", "IDENTITY-1" and
 * so on, four from each. How many it has depends on its share of the total
 * weight, which is why a change of one weight moves keys between servers that
 * were not touched.
 *
 * The count is computed in 32-bit floats, and its rounding shows: it decides
 * whether a server has four points more or less. Each step is therefore
 * stored in a volatile float. One operation on floats, done in any wider
 * format and then rounded to float, gives the same as done in float; several
 * in a row do not.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "ring/ring.h"

enum { WORDS = 4 };

/* "HOST" on the default port, "HOST:PORT" on others; a unix socket has port
 * 0 there, and it is written. */
size_t wr_ketama_identity(const wr_member_t *member, char *bytes) {
    uint16_t port = wr_member_port(member);
    size_t length = strlen(member->host);
    memcpy(bytes, member->host, length);
    if (port != WARMRING_DEFAULT_PORT) {
        length += (size_t)snprintf(bytes + length, 7, ":%u", (unsigned)port);
    }
    return length;
}

double wr_ketama_count(const wr_members_t *members, const wr_member_t *member,
                       double points_per_server) {
    volatile float step = (float)member->weight;
    volatile float total = (float)members->weight;
    step = step / total;
    step = step * (float)points_per_server;
    step = step / (float)WORDS;
    step = step * (float)members->live;
    step = step + 1e-10f;
    return floor((double)step) * WORDS;
}

void wr_ketama_make(const warmring_ring_t *ring, uint32_t index, wr_raw_point_t *points) {
    const wr_member_t *member = &ring->members.list[index];
    char text[WR_IDENTITY_SIZE + 24];
    size_t identity = ring->dialect->identity(member, text);
    for (uint64_t i = 0; i < member->points; i += WORDS) {
        int digits = snprintf(text + identity, 24, "-%llu", (unsigned long long)(i / WORDS));
        uint32_t words[WORDS];
        wr_md5_words(text, identity + (size_t)digits, words);
        for (uint64_t j = 0; j < WORDS; j++) {
            points[i + j] = wr_raw_point(words[j], index);
        }
    }
}
