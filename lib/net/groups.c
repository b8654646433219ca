/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grouping in time that grows with the requests alone: each finds its group
 * by the server's id in a hash table with open addressing; then the groups,
 * which are few, are sorted, and the requests moved to their places.
 */
#include "net/groups.h"

#include <string.h>

#include "base/memory.h"
#include "net/internal.h"

/* What it takes besides the groups, in the same block. */
typedef struct {
    wr_group_t *found; /* as they are met */
    wr_group_t **order;
    wr_request_t **space;  /* first for groups, then for requests */
    wr_group_t **group_of; /* each request's, in `found` */
    wr_group_t **table;    /* NULL: free */
    size_t mask;
} room_t;

static size_t table_size(size_t count) {
    size_t size = 4;
    while (size < 2 * count) {
        size *= 2;
    }
    return size;
}

static bool take_room(room_t *room, wr_groups_t *groups, size_t count) {
    size_t places = table_size(count);
    size_t each = 2 * sizeof *room->found + sizeof *groups->parts + sizeof *room->order +
                  sizeof *room->space + sizeof *room->group_of;
    if (count > UINT32_MAX / 4) {
        return false;
    }
    char *block = wr_malloc(count * each + places * sizeof *room->table);
    if (block == NULL) {
        return false;
    }
    groups->groups = (wr_group_t *)block;
    room->found = groups->groups + count;
    groups->parts = (wr_batch_part_t *)(room->found + count);
    room->order = (wr_group_t **)(groups->parts + count);
    room->space = (wr_request_t **)(room->order + count);
    room->group_of = (wr_group_t **)(room->space + count);
    room->table = room->group_of + count;
    room->mask = places - 1;
    memset(room->table, 0, places * sizeof *room->table);
    return true;
}

static wr_group_t *add_group(const room_t *room, size_t number, wr_server_t *server) {
    wr_group_t *group = &room->found[number];
    *group = (wr_group_t){.server = server};
    room->order[number] = group;
    return group;
}

/* Of a server in the table; or the free place where it belongs. */
static inline wr_group_t **find_group(const room_t *room, const wr_server_t *server) {
    size_t place = (size_t)wr_server_id(server) & room->mask;
    while (room->table[place] != NULL && room->table[place]->server != server) {
        place = (place + 1) & room->mask;
    }
    return &room->table[place];
}

static size_t count_groups(const room_t *room, wr_request_t *const *requests, size_t count) {
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        wr_group_t **place = find_group(room, requests[i]->server);
        if (*place == NULL) {
            *place = add_group(room, known++, requests[i]->server);
        }
        room->group_of[i] = *place;
        (*place)->count++;
    }
    return known;
}

/* Of two groups, the one whose server is older comes first. */
static void merge_sort(wr_group_t **order, size_t count, wr_group_t **space) {
    size_t half = count / 2;
    if (count < 2) {
        return;
    }
    merge_sort(order, half, space);
    merge_sort(order + half, count - half, space);
    memcpy(space, order, half * sizeof *space);
    for (size_t i = 0, left = 0, right = half; left < half; i++) {
        bool take_left = right == count ||
                         wr_server_id(space[left]->server) < wr_server_id(order[right]->server);
        order[i] = take_left ? space[left++] : order[right++];
    }
}

/* While they move, `requests` of a group is where its next one goes. */
static void move_requests(const room_t *room, size_t known, wr_request_t **requests, size_t count) {
    wr_request_t **next = requests;
    for (size_t i = 0; i < known; i++) {
        room->order[i]->requests = next;
        next += room->order[i]->count;
    }
    memcpy(room->space, requests, count * sizeof *requests);
    for (size_t i = 0; i < count; i++) {
        *room->group_of[i]->requests++ = room->space[i];
    }
    for (size_t i = 0; i < known; i++) {
        room->order[i]->requests -= room->order[i]->count;
    }
}

bool wr_groups_make(wr_groups_t *groups, wr_request_t **requests, size_t count) {
    room_t room;
    if (!take_room(&room, groups, count)) {
        return false;
    }
    groups->count = count_groups(&room, requests, count);
    merge_sort(room.order, groups->count, (wr_group_t **)room.space);
    move_requests(&room, groups->count, requests, count);
    for (size_t i = 0; i < groups->count; i++) {
        groups->groups[i] = *room.order[i];
    }
    return true;
}

void wr_groups_free(wr_groups_t *groups) {
    wr_free(groups->groups);
}
