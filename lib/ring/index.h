/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding a member by bytes made from it (its name, endpoint or identity) in
 * constant time, since a list may hold 65,536.
 */
#ifndef WR_RING_INDEX_H
#define WR_RING_INDEX_H

#include "ring/member.h"

/* Writes the bytes that tell a member; at most WR_IDENTITY_SIZE. 0: none,
 * the member is left out. */
typedef size_t (*wr_member_bytes_t)(const wr_member_t *member, char *bytes);

typedef struct {
    const wr_members_t *members;
    wr_member_bytes_t bytes;
    uint32_t *slots;
    size_t mask;
} wr_index_t;

/* An empty index of `members`, which it borrows; false: no memory. */
bool wr_index_create(wr_index_t *index, const wr_members_t *members, wr_member_bytes_t bytes);
void wr_index_free(wr_index_t *index);

/* Adds a member, and returns it; or returns the one that has its bytes. */
uint32_t wr_index_add(wr_index_t *index, uint32_t member);

/* The member with these bytes, or WR_NO_MEMBER. */
uint32_t wr_index_find(const wr_index_t *index, const char *bytes, size_t length);

#endif
