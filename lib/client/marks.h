/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client keeps of a migration besides its topology: which items on the
 * new owners do not count. One set for all views of one migration.
 */
#ifndef WR_CLIENT_MARKS_H
#define WR_CLIENT_MARKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "net/server.h"

#define WR_WATERMARK_UNKNOWN UINT64_MAX

/* Of one server. */
typedef struct {
    /*
     * The server's CAS counter when the migration began. An item of a moved
     * key at or below it was left by an earlier ring: a ghost. 0: none is.
     * WR_WATERMARK_UNKNOWN in a client that was not there then: the first
     * read takes the counter of that moment, so nothing old is believed.
     */
    _Atomic uint64_t watermark;
    _Atomic int64_t started;    /* the server, when that was its counter; -1 not known */
    _Atomic bool exact;         /* taken when the migration began, here or by the
                                   operator, whose file has it */
    _Atomic int64_t checked_at; /* when it was last seen not to have restarted */
    wr_probe_t taken;           /* what a file said last; for its reader */

    /*
     * Writes that were done on the old owner while the deletion here failed:
     * a copy here may be older. Until the doubt ends nothing here is read or
     * filled. It ends after the longest life of a lease, when no fill begun
     * before can be under way, by raising the watermark to the counter.
     */
    _Atomic uint64_t doubts;  /* how many there were */
    _Atomic uint64_t cleared; /* how many of them are over */
    _Atomic int64_t doubt_until;
    _Atomic int64_t doubted_at; /* the last one */
    _Atomic uint64_t raised;    /* how many of them the operator knew when the
                                   watermark was raised for all clients */
    uint64_t reported;          /* how many it can know of; for who reports */
} wr_mark_t;

/* What an item of a moved key is on its new owner. */
typedef enum {
    WR_ITEM_GOOD,
    WR_ITEM_GHOST,  /* to be removed */
    WR_ITEM_UNCLEAR /* perhaps a ghost, perhaps the only value: to be left alone */
} wr_item_t;

typedef struct {
    bool late; /* made when the new owners held values already, not copies:
                  what is older than the client is unclear, not a ghost, unless
                  the mark is exact */
    _Atomic uint32_t references;
    _Atomic int64_t settling_since; /* 0: not yet */
    uint32_t count;
    wr_mark_t mark[]; /* by endpoint */
} wr_marks_t;

/* All watermarks unknown. NULL when memory is out. */
wr_marks_t *wr_marks_create(uint32_t count, bool late);
wr_marks_t *wr_marks_retain(wr_marks_t *marks);
void wr_marks_release(wr_marks_t *marks);

/* Asks the server for its watermark. OK or the fault. */
warmring_status_t wr_mark_probe(wr_mark_t *mark, wr_server_t *server, wr_deadline_t deadline);

/*
 * Takes a watermark from a file. One of the same life of the server raises
 * what is known, one of a later life replaces it, one of an earlier life is
 * void. Raised, it ends the doubts that are older than `reported_by`. For one
 * caller at a time.
 */
void wr_mark_take(wr_mark_t *mark, const wr_probe_t *watermark, wr_time_t reported_by);

/* Whether there were failed deletions here that no raised watermark covers. */
bool wr_mark_wants_raise(const wr_mark_t *mark);

/*
 * What an item with `cas` is. The first to ask in a second makes sure that the
 * server was not restarted since the watermark was taken, which starts its
 * counter anew: its start time tells, or a counter below the watermark.
 */
wr_item_t wr_mark_judge(wr_marks_t *marks, uint32_t index, wr_server_t *server, uint64_t cas,
                        wr_deadline_t deadline);

/* A deletion failed on `server`. */
void wr_mark_doubt(wr_mark_t *mark, const wr_server_t *server);

/* Whether items here are in doubt; tries to end that when the time has come. */
bool wr_mark_in_doubt(wr_mark_t *mark, wr_server_t *server, wr_deadline_t deadline);

#endif
