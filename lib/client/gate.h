/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate: which view is in force, and who still works with which.
 *
 * There are two slots. `current` names the one in force, or is CLOSED. To
 * enter, an operation counts itself into the slot it read from `current` and
 * looks again: if `current` still names that slot it is in, otherwise it
 * steps back and tries anew. No lock is taken while the gate is open.
 *
 * A publisher puts the next view into the other slot, after the operations
 * in it have ended: so at most two views, neighbours, are ever in use. When
 * next and present view must not be in use together it closes the gate first
 * and waits for the present one to empty too; operations that arrive
 * meanwhile wait within their deadlines.
 *
 * A fork leaves the child with the counts of threads it does not have. Whoever
 * comes first in the child clears them, before anybody is counted there.
 *
 * Both sides write one variable and then read the other's (count, current),
 * which needs sequential consistency: either the publisher sees the count or
 * the operation sees the new `current`.
 */
#ifndef WR_CLIENT_GATE_H
#define WR_CLIENT_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "base/fork.h"
#include "client/view.h"

enum { WR_GATE_SLOTS = 2, WR_GATE_CLOSED = WR_GATE_SLOTS };

typedef struct {
    _Atomic uint32_t current;
    _Atomic uint32_t last; /* as `current`, but for the closed gate */
    char before[56];       /* wherever this lies, `current` and the users of each slot
                              are in different lines of cache */
    struct {
        _Atomic uint64_t users;
        wr_view_t *view;
        char behind[48];
    } slot[WR_GATE_SLOTS];
    _Atomic uint32_t generation; /* of the process, see base/fork.h */
    _Atomic uint32_t waiting;    /* publishers and operations that want a signal */
    pthread_mutex_t mutex;       /* never held for long */
    pthread_cond_t changed;
    bool publishing; /* one at a time; guarded by `mutex` */
} wr_gate_t;

/* Puts `view` in force; takes it over. False when the system lacks what a
 * mutex takes. */
bool wr_gate_open(wr_gate_t *gate, wr_view_t *view);

/* Frees everything; nobody may be inside. */
void wr_gate_free(wr_gate_t *gate);

/* The view in force, kept alive until wr_gate_leave(); NULL when the gate
 * stayed closed until the deadline. If it waits, `made` is the present then. */
wr_view_t *wr_gate_enter(wr_gate_t *gate, wr_deadline_t *deadline, unsigned *slot);
void wr_gate_leave(wr_gate_t *gate, unsigned slot);

/* The same for who only looks and sends nothing: enters the view in force, or
 * the last one while the gate is closed. */
wr_view_t *wr_gate_look(wr_gate_t *gate, unsigned *slot);

/*
 * Publishing: lock (false when the deadline passes), look at the view in
 * force, publish, unlock. wr_gate_publish() takes `next` over when it returns
 * true; false when operations did not end by the deadline, and all is as it
 * was.
 */
bool wr_gate_lock(wr_gate_t *gate, wr_deadline_t deadline);
const wr_view_t *wr_gate_present(const wr_gate_t *gate);
bool wr_gate_publish(wr_gate_t *gate, wr_view_t *next, bool after_all, wr_deadline_t deadline);
void wr_gate_unlock(wr_gate_t *gate);

#endif
