/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate by itself: threads go in and out while views are published. A view
 * must never be freed or joined by a stranger while somebody is inside.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/gate.h"
#include "net/transport_libmemcached.h"
#include "tests/lib/child.h"
#include "tests/lib/tap.h"

enum { THREADS = 8 };

static wr_net_config_t net = {.pool_max = 1, .failure_limit = 1, .retry_ms = 1000};
static wr_gate_t gate;
static _Atomic bool stop;
static _Atomic uint64_t entered;
static _Atomic uint64_t too_far;         /* epochs more than one apart at a time */
static _Atomic uint64_t together;        /* other views in use where none may be */
static _Atomic uint64_t oldest[THREADS]; /* epoch a thread is inside with; 0 none */
static _Atomic bool exclusive;

static wr_view_t *make_view(uint64_t epoch) {
    warmring_topology_t *topology = NULL;
    if (warmring_topology_parse(&topology, "127.0.0.1", NULL, 10) != WARMRING_OK) {
        tap_bail("no topology: %s", warmring_error_detail());
    }
    for (uint64_t i = 1; i < epoch; i++) {
        warmring_topology_t *next = NULL;
        if (warmring_topology_replace(topology, topology, &next) != WARMRING_OK) {
            tap_bail("no edit: %s", warmring_error_detail());
        }
        warmring_topology_release(topology);
        topology = next;
    }
    wr_view_t *view = wr_view_create(topology, "", NULL, &net);
    warmring_topology_release(topology);
    return view;
}

static void *come_and_go(void *argument) {
    size_t self = (size_t)argument;
    while (!atomic_load(&stop)) {
        unsigned slot;
        wr_deadline_t deadline = wr_deadline_in_ms(10000);
        wr_view_t *view = wr_gate_enter(&gate, &deadline, &slot);
        if (view == NULL) {
            continue;
        }
        uint64_t epoch = warmring_topology_epoch(view->topology);
        atomic_store(&oldest[self], epoch);
        for (size_t i = 0; i < THREADS; i++) {
            uint64_t other = atomic_load(&oldest[i]);
            uint64_t apart = other > epoch ? other - epoch : epoch - other;
            if (other != 0 && apart > 1) {
                atomic_fetch_add(&too_far, 1);
            }
            if (other != 0 && apart > 0 && atomic_load(&exclusive)) {
                atomic_fetch_add(&together, 1);
            }
        }
        if (atomic_fetch_add(&entered, 1) % 1000 == 0) {
            usleep(100);
        }
        atomic_store(&oldest[self], 0);
        wr_gate_leave(&gate, slot);
    }
    return NULL;
}

static void publish_many(uint64_t first, uint64_t count, bool after_all) {
    uint64_t published = 0;
    for (uint64_t epoch = first; epoch < first + count; epoch++) {
        wr_view_t *view = make_view(epoch);
        if (!wr_gate_lock(&gate, wr_deadline_in_ms(10000))) {
            tap_bail("cannot lock the gate");
        }
        bool done = wr_gate_publish(&gate, view, after_all, wr_deadline_in_ms(10000));
        published += done;
        if (!done) {
            wr_view_free(view);
        }
        wr_gate_unlock(&gate);
        usleep(1000);
    }
    tap_int((int64_t)published, (int64_t)count, "all views were published");
}

static void test_traffic(void) {
    pthread_t threads[THREADS];
    tap_ok(wr_gate_open(&gate, make_view(1)), "open");
    for (size_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, come_and_go, (void *)i);
    }
    publish_many(2, 100, false);
    /* neighbours may still be in use together until both are out */
    wr_view_t *view = make_view(102);
    wr_gate_lock(&gate, wr_deadline_in_ms(10000));
    tap_ok(wr_gate_publish(&gate, view, true, wr_deadline_in_ms(10000)), "the first exclusive one");
    wr_gate_unlock(&gate);
    atomic_store(&exclusive, true);
    publish_many(103, 100, true);
    atomic_store(&stop, true);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    tap_ok(atomic_load(&entered) > 1000, "%llu entries", (unsigned long long)atomic_load(&entered));
    tap_int((int64_t)atomic_load(&too_far), 0, "at most neighbours are in use together");
    tap_int((int64_t)atomic_load(&together), 0, "with after_all, one view at a time");
    wr_gate_free(&gate);
}

/* Somebody who stays inside: neighbours pass, the one after the next waits. */
static void test_refusals(void) {
    unsigned slot;
    unsigned other;
    wr_gate_open(&gate, make_view(1));
    wr_deadline_t deadline = wr_deadline_in_ms(1000), passed = wr_deadline_in_ms(0);
    wr_view_t *inside = wr_gate_enter(&gate, &deadline, &slot);
    wr_view_t *second = make_view(2);
    wr_view_t *third = make_view(3);
    tap_ok(wr_gate_publish(&gate, second, false, wr_deadline_in_ms(0)), "a neighbour passes");
    tap_ok(!wr_gate_publish(&gate, third, false, wr_deadline_in_ms(20)),
           "the next waits for the first to end");
    tap_ok(wr_gate_present(&gate) == second, "the second stays in force");
    tap_ok(!wr_gate_publish(&gate, third, true, wr_deadline_in_ms(20)), "so does a stranger");
    tap_ok(wr_gate_enter(&gate, &passed, &other) == second, "the gate is open again");
    wr_gate_leave(&gate, other);
    tap_ok(warmring_topology_epoch(inside->topology) == 1, "the first is still whole");
    wr_gate_leave(&gate, slot);
    tap_ok(wr_gate_publish(&gate, third, false, wr_deadline_in_ms(0)), "then it passes");
    wr_gate_lock(&gate, wr_deadline_in_ms(0));
    tap_ok(!wr_gate_lock(&gate, wr_deadline_in_ms(20)), "one publisher at a time");
    wr_gate_unlock(&gate);
    wr_gate_free(&gate);
}

/* A child has none of the parent's operations to wait for. */
static void test_fork(void) {
    unsigned slot;
    wr_gate_open(&gate, make_view(1));
    wr_deadline_t deadline = wr_deadline_in_ms(1000);
    wr_gate_enter(&gate, &deadline, &slot);
    wr_gate_lock(&gate, wr_deadline_in_ms(0));
    pid_t child = child_fork(20);
    if (child == 0) {
        bool good = wr_gate_lock(&gate, wr_deadline_in_ms(0)) &&
                    wr_gate_publish(&gate, make_view(2), true, wr_deadline_in_ms(0));
        wr_gate_free(&gate);
        _exit(good ? 0 : 1);
    }
    tap_int(child_wait(child), 0, "the child publishes at once");
    wr_gate_unlock(&gate);
    wr_gate_leave(&gate, slot);
    wr_gate_free(&gate);
}

int main(void) {
    net.transport = &wr_transport_libmemcached;
    wr_fork_watch();
    test_refusals();
    test_fork();
    test_traffic();
    return tap_done();
}
