/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entering, leaving and publishing views; the protocol is in gate.h.
 */
#include "client/gate.h"

#include <string.h>

static bool make_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return made;
}

static bool make_locks(wr_gate_t *gate) {
    if (pthread_mutex_init(&gate->mutex, NULL) != 0) {
        return false;
    }
    if (!make_condition(&gate->changed)) {
        pthread_mutex_destroy(&gate->mutex);
        return false;
    }
    return true;
}

bool wr_gate_open(wr_gate_t *gate, wr_view_t *view) {
    memset(gate, 0, sizeof *gate);
    if (!make_locks(gate)) {
        return false;
    }
    gate->slot[0].view = view;
    atomic_store(&gate->generation, wr_fork_generation());
    return true;
}

static void renew(wr_gate_t *gate) {
    for (unsigned i = 0; i < WR_GATE_SLOTS; i++) {
        atomic_store(&gate->slot[i].users, 0);
    }
    atomic_store(&gate->waiting, 0);
    gate->publishing = false;
    atomic_store(&gate->current, atomic_load(&gate->last));
    make_locks(gate);
}

static void make_own(wr_gate_t *gate) {
    wr_fork_lock();
    if (atomic_load(&gate->generation) != wr_fork_generation()) {
        renew(gate);
        atomic_store(&gate->generation, wr_fork_generation());
    }
    wr_fork_unlock();
}

/* The way into everything: sees to it that the gate is this process's own. */
static inline void own(wr_gate_t *gate) {
    if (atomic_load(&gate->generation) != wr_fork_generation()) {
        make_own(gate);
    }
}

void wr_gate_free(wr_gate_t *gate) {
    own(gate);
    for (unsigned i = 0; i < WR_GATE_SLOTS; i++) {
        wr_view_free(gate->slot[i].view);
    }
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->mutex);
}

/* Waits for a signal that came after `seen` was found to be true. */
static bool wait_while(wr_gate_t *gate, bool (*seen)(const wr_gate_t *, unsigned), unsigned slot,
                       wr_deadline_t deadline) {
    struct timespec until = wr_deadline_timespec(deadline);
    bool in_time = true;
    pthread_mutex_lock(&gate->mutex);
    atomic_fetch_add(&gate->waiting, 1);
    while (seen(gate, slot) && in_time) {
        in_time = pthread_cond_timedwait(&gate->changed, &gate->mutex, &until) == 0;
    }
    atomic_fetch_sub(&gate->waiting, 1);
    bool still = seen(gate, slot);
    pthread_mutex_unlock(&gate->mutex);
    return !still;
}

static void signal_change(wr_gate_t *gate) {
    if (atomic_load(&gate->waiting) != 0) {
        pthread_mutex_lock(&gate->mutex);
        pthread_cond_broadcast(&gate->changed);
        pthread_mutex_unlock(&gate->mutex);
    }
}

static bool is_closed(const wr_gate_t *gate, unsigned slot) {
    (void)slot;
    return atomic_load(&gate->current) == WR_GATE_CLOSED;
}

static bool is_used(const wr_gate_t *gate, unsigned slot) {
    return atomic_load(&gate->slot[slot].users) != 0;
}

/* Counts an operation into `slot`, and out again unless `names` still names
 * that slot. */
static bool count_in(wr_gate_t *gate, const _Atomic uint32_t *names, unsigned slot) {
    atomic_fetch_add(&gate->slot[slot].users, 1);
    if (atomic_load(names) == slot) {
        return true;
    }
    wr_gate_leave(gate, slot);
    return false;
}

wr_view_t *wr_gate_enter(wr_gate_t *gate, wr_deadline_t *deadline, unsigned *slot) {
    own(gate);
    for (;;) {
        unsigned current = atomic_load(&gate->current);
        if (current == WR_GATE_CLOSED) {
            if (!wait_while(gate, is_closed, 0, *deadline)) {
                return NULL;
            }
            *deadline = wr_deadline_seen(*deadline);
            continue;
        }
        if (count_in(gate, &gate->current, current)) {
            *slot = current;
            return gate->slot[current].view;
        }
    }
}

wr_view_t *wr_gate_look(wr_gate_t *gate, unsigned *slot) {
    own(gate);
    do {
        *slot = atomic_load(&gate->last);
    } while (!count_in(gate, &gate->last, *slot));
    return gate->slot[*slot].view;
}

void wr_gate_leave(wr_gate_t *gate, unsigned slot) {
    if (atomic_fetch_sub(&gate->slot[slot].users, 1) == 1) {
        signal_change(gate);
    }
}

bool wr_gate_lock(wr_gate_t *gate, wr_deadline_t deadline) {
    struct timespec until = wr_deadline_timespec(deadline);
    bool in_time = true;
    own(gate);
    pthread_mutex_lock(&gate->mutex);
    while (gate->publishing && in_time) {
        in_time = pthread_cond_timedwait(&gate->changed, &gate->mutex, &until) == 0;
    }
    bool locked = !gate->publishing;
    gate->publishing = true;
    pthread_mutex_unlock(&gate->mutex);
    return locked;
}

void wr_gate_unlock(wr_gate_t *gate) {
    pthread_mutex_lock(&gate->mutex);
    gate->publishing = false;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

const wr_view_t *wr_gate_present(const wr_gate_t *gate) {
    return gate->slot[atomic_load(&gate->last)].view;
}

static void let_in(wr_gate_t *gate, unsigned slot) {
    atomic_store(&gate->last, slot);
    atomic_store(&gate->current, slot);
    signal_change(gate);
}

bool wr_gate_publish(wr_gate_t *gate, wr_view_t *next, bool after_all, wr_deadline_t deadline) {
    unsigned present = atomic_load(&gate->last);
    unsigned other = 1 - present;
    if (after_all) {
        atomic_store(&gate->current, WR_GATE_CLOSED);
    }
    if (!wait_while(gate, is_used, other, deadline) ||
        (after_all && !wait_while(gate, is_used, present, deadline))) {
        let_in(gate, present);
        return false;
    }
    wr_view_t *past = gate->slot[other].view;
    gate->slot[other].view = next; /* a fork at any moment finds a whole view */
    let_in(gate, other);
    wr_view_free(past);
    return true;
}
