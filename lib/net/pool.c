/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools: a berth for each connection that may be open.
 *
 * A connection has one berth from before it is opened until it is closed. An
 * idle one lies there; who wants any takes it by one compare-and-swap, and
 * lays it back by one store, without a lock. Berths are looked at in their
 * order, so that a quiet server keeps few connections and those warm. What a
 * connection did is counted in its berth, by whoever has the connection: so
 * there is one writer, and threads on different connections share no memory
 * that is written to.
 *
 * The lock guards which berths are given away, and waiting. Who waits counts
 * itself in `waiting` and then looks at the berths; who lays a connection back
 * looks at `waiting` after that. Both are sequentially consistent, so one sees
 * the other. Who takes connections only to look at them holds the lock, and
 * who finds none looks again under it: so none is overlooked.
 *
 * Waking costs more than all the rest. So one caller at a time is on its way:
 * it takes what it finds, and wakes the next if there is more. Threads that
 * are running meanwhile may be faster; there are as many connections in use
 * either way, and fewer changes of threads.
 *
 * Locks and fork(). A pool is locked for a few instructions at a time, never
 * across I/O, an allocation or a callback. Any thread may fork while another
 * holds a pool's lock, which would stay locked in the child for ever. So the
 * locks do not live in the pools: there are a few for the process, each
 * shared by many servers, and a fork handler takes all of them before the
 * fork and lets go on both sides. The child's pools are then in order, but
 * what lies in them belongs to the parent. That is found by the fork
 * generation whenever a pool is used: all berths are cleared, their
 * connections abandoned, those that other threads had in hand will not come
 * back, and the condition variable, on which threads that do not exist here
 * may be waiting, is made anew.
 */
#include "net/internal.h"

#include "base/fork.h"
#include "base/memory.h"
#include "net/dial.h"

enum { LOCKS = 32, NS_PER_MS = 1000000 };
static const wr_time_t short_idle = 30000000000; /* half a minute */

static pthread_mutex_t locks[LOCKS];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool watched;

static void before_fork(void) {
    for (int i = 0; i < LOCKS; i++) {
        pthread_mutex_lock(&locks[i]);
    }
}

static void after_fork(void) {
    for (int i = 0; i < LOCKS; i++) {
        pthread_mutex_unlock(&locks[i]);
    }
}

static void set_up(void) {
    for (int i = 0; i < LOCKS; i++) {
        pthread_mutex_init(&locks[i], NULL);
    }
    watched = wr_fork_watch() == 0 && pthread_atfork(before_fork, after_fork, after_fork) == 0;
}

static bool init_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    bool done = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return done;
}

static bool init_conditions(wr_pool_t *pool) {
    if (!init_condition(&pool->freed)) {
        return false;
    }
    if (!init_condition(&pool->returned)) {
        pthread_cond_destroy(&pool->freed);
        return false;
    }
    return true;
}

/* Berths start where the memory they share with nobody else does. */
static bool init_berths(wr_pool_t *pool, uint32_t size) {
    pool->block = wr_calloc((size_t)size + 1, sizeof *pool->berths);
    uintptr_t start = (uintptr_t)pool->block + _Alignof(wr_berth_t) - 1;
    pool->berths = (wr_berth_t *)(start / _Alignof(wr_berth_t) * _Alignof(wr_berth_t));
    pool->size = size;
    return pool->block != NULL;
}

bool wr_pool_init(wr_pool_t *pool, uint64_t id, uint32_t size, uint32_t idle_ms) {
    pthread_once(&once, set_up);
    pool->idle_limit = (wr_time_t)idle_ms * NS_PER_MS;
    pool->mutex = &locks[id % LOCKS];
    atomic_init(&pool->generation, wr_fork_generation());
    if (!watched || !init_berths(pool, size)) {
        return false;
    }
    if (!init_conditions(pool)) {
        wr_free(pool->block);
        return false;
    }
    return true;
}

/* ---- berths -------------------------------------------------------------- */

static void lay_down(wr_pool_t *pool, wr_connection_t *connection) {
    atomic_store(&pool->berths[connection->berth].idle, connection);
}

static inline wr_connection_t *pick_up(wr_berth_t *berth) {
    wr_connection_t *connection = atomic_load(&berth->idle);
    return connection != NULL && atomic_compare_exchange_strong(&berth->idle, &connection, NULL)
               ? connection
               : NULL;
}

static inline uint32_t berths_used(const wr_pool_t *pool) {
    return atomic_load_explicit(&pool->used, memory_order_acquire);
}

static inline wr_connection_t *pick_any(wr_pool_t *pool) {
    uint32_t used = berths_used(pool);
    wr_connection_t *connection = NULL;
    for (uint32_t i = 0; i < used && connection == NULL; i++) {
        connection = pick_up(&pool->berths[i]);
    }
    return connection;
}

static wr_connection_t *pick_old_locked(wr_pool_t *pool, wr_time_t opened_before) {
    for (uint32_t i = 0; i < berths_used(pool); i++) {
        wr_connection_t *connection = pick_up(&pool->berths[i]);
        if (connection != NULL && connection->opened_at <= opened_before) {
            return connection;
        }
        if (connection != NULL) {
            lay_down(pool, connection);
        }
    }
    return NULL;
}

/* False when all are given away. */
static bool give_away_locked(wr_pool_t *pool, uint32_t *number) {
    for (uint32_t i = 0; i < pool->size && pool->open < pool->size; i++) {
        if (!pool->berths[i].taken) {
            pool->berths[i].taken = true;
            pool->open++;
            if (i >= pool->used) {
                atomic_store_explicit(&pool->used, i + 1, memory_order_release);
            }
            *number = i;
            return true;
        }
    }
    return false;
}

/* To be called when a connection was laid down, or a berth is free. */
static void wake_locked(wr_pool_t *pool) {
    if (atomic_load(&pool->waiting) > 0 && !atomic_load(&pool->woken)) {
        atomic_store(&pool->woken, true);
        pthread_cond_signal(&pool->freed);
    }
    if (atomic_load(&pool->patient) > 0) {
        pthread_cond_broadcast(&pool->returned);
    }
}

static void free_berth_locked(wr_pool_t *pool, uint32_t number) {
    pool->berths[number].taken = false;
    pool->open--;
    wake_locked(pool);
}

/* ---- disposal ------------------------------------------------------------- */

static void dispose_one(wr_connection_t *connection) {
    if (connection->generation == wr_fork_generation()) {
        connection->transport->close(connection);
    } else {
        connection->transport->abandon(connection);
    }
}

static void dispose(wr_connection_t *list) {
    while (list != NULL) {
        wr_connection_t *next = list->next;
        dispose_one(list);
        list = next;
    }
}

static wr_connection_t *clear_berths_locked(wr_pool_t *pool) {
    wr_connection_t *list = NULL;
    for (uint32_t i = 0; i < pool->used; i++) {
        wr_connection_t *connection = pick_up(&pool->berths[i]);
        pool->berths[i].taken = false;
        if (connection != NULL) {
            connection->next = list;
            list = connection;
        }
    }
    pool->open = 0;
    return list;
}

static bool is_own(const wr_pool_t *pool) {
    return atomic_load_explicit(&pool->generation, memory_order_acquire) == wr_fork_generation();
}

static void renew(wr_pool_t *pool) {
    wr_connection_t *doomed = NULL;
    pthread_mutex_lock(pool->mutex);
    if (!is_own(pool)) {
        doomed = clear_berths_locked(pool);
        atomic_store(&pool->waiting, 0);
        atomic_store(&pool->patient, 0);
        atomic_store(&pool->woken, false);
        init_conditions(pool);
        atomic_store_explicit(&pool->generation, wr_fork_generation(), memory_order_release);
    }
    pthread_mutex_unlock(pool->mutex);
    dispose(doomed);
}

/* The way into everything: sees to it that the pool is this process's own. */
static inline void own(wr_pool_t *pool) {
    if (!is_own(pool)) {
        renew(pool);
    }
}

void wr_pool_destroy(wr_pool_t *pool) {
    own(pool);
    dispose(clear_berths_locked(pool));
    pthread_cond_destroy(&pool->freed);
    pthread_cond_destroy(&pool->returned);
    wr_free(pool->block);
}

static bool opened_after(const wr_connection_t *connection, wr_time_t time) {
    return connection->opened_at > time;
}

static bool active_after(const wr_connection_t *connection, wr_time_t time) {
    return connection->active_at > time;
}

/* Closes the idle ones that `keep` says no to. Their berths are free before:
 * closing does not wait. */
static void remove_idle(wr_pool_t *pool, bool (*keep)(const wr_connection_t *, wr_time_t),
                        wr_time_t time) {
    wr_connection_t *doomed = NULL;
    pthread_mutex_lock(pool->mutex);
    for (uint32_t i = 0; i < berths_used(pool); i++) {
        wr_connection_t *connection = pick_up(&pool->berths[i]);
        if (connection != NULL && keep(connection, time)) {
            lay_down(pool, connection);
        } else if (connection != NULL) {
            free_berth_locked(pool, i);
            connection->next = doomed;
            doomed = connection;
        }
    }
    pthread_mutex_unlock(pool->mutex);
    dispose(doomed);
}

/* Looks at most four times in an idle time. */
static inline void trim_now_and_then(wr_pool_t *pool, wr_time_t now) {
    if (now >= atomic_load_explicit(&pool->trim_at, memory_order_relaxed)) {
        wr_time_t limit = pool->idle_limit;
        atomic_store_explicit(&pool->trim_at, now + limit / 4, memory_order_relaxed);
        remove_idle(pool, active_after, now - limit);
    }
}

void wr_pool_flush(wr_server_t *server, wr_time_t time) {
    atomic_store(&server->speech, WR_SPEECH_UNKNOWN);
    own(&server->pool);
    remove_idle(&server->pool, opened_after, time);
}

void wr_pool_trim(wr_server_t *server) {
    own(&server->pool);
    remove_idle(&server->pool, active_after, wr_now() - server->pool.idle_limit);
}

uint32_t wr_pool_open_count(const wr_server_t *server) {
    const wr_pool_t *pool = &server->pool;
    pthread_mutex_lock(pool->mutex);
    uint32_t open = is_own(pool) ? pool->open : 0;
    pthread_mutex_unlock(pool->mutex);
    return open;
}

void wr_pool_add_up(const wr_pool_t *pool, wr_totals_t *totals) {
    *totals = (wr_totals_t){0, 0, 0};
    for (uint32_t i = 0; i < berths_used(pool); i++) {
        const wr_berth_t *berth = &pool->berths[i];
        totals->requests += atomic_load_explicit(&berth->requests, memory_order_relaxed);
        totals->hits += atomic_load_explicit(&berth->hits, memory_order_relaxed);
        totals->misses += atomic_load_explicit(&berth->misses, memory_order_relaxed);
    }
}

/* ---- waiting --------------------------------------------------------------- */

/* Whether somebody waits whom nobody has woken. */
static inline bool must_wake(const wr_pool_t *pool) {
    return (atomic_load(&pool->waiting) > 0 && !atomic_load(&pool->woken)) ||
           atomic_load(&pool->patient) > 0;
}

static void wake(wr_pool_t *pool) {
    pthread_mutex_lock(pool->mutex);
    wake_locked(pool);
    pthread_mutex_unlock(pool->mutex);
}

static uint32_t idle_count(const wr_pool_t *pool) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < berths_used(pool); i++) {
        count += atomic_load(&pool->berths[i].idle) != NULL;
    }
    return count;
}

/* False when the time is over. */
static bool wait_freed(wr_pool_t *pool, const struct timespec *until) {
    bool in_time = pthread_cond_timedwait(&pool->freed, pool->mutex, until) == 0;
    atomic_store(&pool->woken, false);
    return in_time;
}

/* An idle connection, or else a berth for a new one, which there may be none
 * of until another connection is laid back or closed. */
static warmring_status_t wait_locked(wr_server_t *server, wr_deadline_t deadline,
                                     wr_connection_t **connection, uint32_t *berth) {
    wr_pool_t *pool = &server->pool;
    struct timespec until = wr_deadline_timespec(deadline);
    bool late = false;
    for (;;) {
        *connection = pick_any(pool);
        if (*connection != NULL || give_away_locked(pool, berth)) {
            return WARMRING_OK;
        }
        if (late) {
            return wr_fail(WARMRING_TIMEOUT, "%s: no free connection within %lld ms (pool_max %u)",
                           server->address, wr_ms_between(deadline.made, deadline.at),
                           server->config->pool_max);
        }
        late = !wait_freed(pool, &until);
    }
}

/* One opened by then; if `patient`, as long as any is out that may be. */
static wr_connection_t *find_old_locked(wr_pool_t *pool, wr_time_t opened_before, bool patient,
                                        wr_deadline_t deadline) {
    struct timespec until = wr_deadline_timespec(deadline);
    wr_connection_t *connection = pick_old_locked(pool, opened_before);
    bool late = !patient;
    while (connection == NULL && !late && pool->open > idle_count(pool)) {
        late = pthread_cond_timedwait(&pool->returned, pool->mutex, &until) != 0;
        connection = pick_old_locked(pool, opened_before);
    }
    return connection;
}

/* ---- taking and giving ------------------------------------------------------ */

static void free_berth(wr_pool_t *pool, uint32_t berth) {
    pthread_mutex_lock(pool->mutex);
    free_berth_locked(pool, berth);
    pthread_mutex_unlock(pool->mutex);
}

/* What became of a berth's connection. */
static warmring_status_t settle(wr_dial_t *dial, wr_connection_t **connection,
                                wr_verdict_t *verdict) {
    *connection = dial->connection;
    if (dial->status == WARMRING_OK) {
        (*connection)->berth = dial->berth;
        (*connection)->active_at = (*connection)->opened_at;
        *verdict = WR_VERDICT_NEUTRAL;
    } else {
        *verdict = wr_dial_verdict(dial->status);
        free_berth(&dial->server->pool, dial->berth);
    }
    return dial->status;
}

static warmring_status_t open_in(wr_server_t *server, uint32_t berth, wr_deadline_t deadline,
                                 wr_connection_t **connection, wr_verdict_t *verdict) {
    wr_dial_t dial = {.berth = berth};
    wr_detail_t detail;
    wr_detail_save(&detail);
    wr_dial_start(&dial, server, deadline, deadline);
    if (wr_dial_finish(&dial, deadline) == WARMRING_OK) {
        wr_detail_restore(&detail);
    }
    return settle(&dial, connection, verdict);
}

warmring_status_t wr_pool_opened(wr_dial_t *opening, wr_connection_t **connection,
                                 wr_verdict_t *verdict) {
    warmring_status_t status = settle(opening, connection, verdict);
    wr_free(opening);
    return status;
}

static warmring_status_t take_old(wr_server_t *server, wr_time_t opened_before, bool patient,
                                  wr_deadline_t deadline, wr_connection_t **connection) {
    wr_pool_t *pool = &server->pool;
    pthread_mutex_lock(pool->mutex);
    atomic_fetch_add(&pool->patient, 1);
    *connection = find_old_locked(pool, opened_before, patient, deadline);
    atomic_fetch_sub(&pool->patient, 1);
    pthread_mutex_unlock(pool->mutex);
    return *connection != NULL
               ? WARMRING_OK
               : wr_fail(WARMRING_CONNECTION_LOST, "%s: no connection is old enough for the token",
                         server->address);
}

static warmring_status_t take_or_wait(wr_server_t *server, wr_deadline_t deadline,
                                      wr_connection_t **connection, uint32_t *berth) {
    wr_pool_t *pool = &server->pool;
    pthread_mutex_lock(pool->mutex);
    atomic_fetch_add(&pool->waiting, 1);
    warmring_status_t status = wait_locked(server, deadline, connection, berth);
    atomic_fetch_sub(&pool->waiting, 1);
    if (idle_count(pool) > 0 || pool->open < pool->size) {
        wake_locked(pool);
    }
    pthread_mutex_unlock(pool->mutex);
    return status;
}

/* From now on it is not idle; `deadline` was made about now. */
static inline void note_active(wr_connection_t *connection, wr_deadline_t deadline) {
    if (connection != NULL) {
        connection->active_at = deadline.made;
    }
}

/* The quick way to one. */
static inline wr_connection_t *take_idle(wr_server_t *server, wr_time_t opened_before,
                                         wr_deadline_t deadline) {
    own(&server->pool);
    trim_now_and_then(&server->pool, deadline.made);
    wr_connection_t *connection = opened_before == 0 ? pick_any(&server->pool) : NULL;
    note_active(connection, deadline);
    return connection;
}

static warmring_status_t wait_or_open(wr_server_t *server, wr_deadline_t deadline,
                                      wr_connection_t **connection, wr_verdict_t *verdict) {
    uint32_t berth = 0;
    warmring_status_t status = take_or_wait(server, deadline, connection, &berth);
    return status != WARMRING_OK || *connection != NULL
               ? status
               : open_in(server, berth, deadline, connection, verdict);
}

warmring_status_t wr_pool_take(wr_server_t *server, wr_time_t opened_before, bool patient,
                               wr_deadline_t *deadline, wr_connection_t **connection,
                               wr_verdict_t *verdict) {
    *verdict = WR_VERDICT_NEUTRAL;
    *connection = take_idle(server, opened_before, *deadline);
    if (*connection != NULL) {
        return WARMRING_OK;
    }
    warmring_status_t status = opened_before != 0
                                   ? take_old(server, opened_before, patient, *deadline, connection)
                                   : wait_or_open(server, *deadline, connection, verdict);
    *deadline = wr_deadline_seen(*deadline);
    note_active(*connection, *deadline);
    return status;
}

static warmring_status_t wait_or_start(wr_server_t *server, wr_deadline_t by,
                                       wr_deadline_t deadline, wr_connection_t **connection,
                                       wr_dial_t **opening) {
    uint32_t berth = 0;
    warmring_status_t status = take_or_wait(server, by, connection, &berth);
    if (status != WARMRING_OK || *connection != NULL) {
        return status;
    }
    *opening = wr_malloc(sizeof **opening);
    if (*opening == NULL) {
        free_berth(&server->pool, berth);
        return wr_fail_memory();
    }
    (*opening)->berth = berth;
    wr_dial_start(*opening, server, by, deadline);
    return WARMRING_OK;
}

warmring_status_t wr_pool_take_opening(wr_server_t *server, wr_time_t opened_before, bool patient,
                                       wr_deadline_t *by, wr_deadline_t deadline,
                                       wr_connection_t **connection, wr_dial_t **opening) {
    *opening = NULL;
    *connection = take_idle(server, opened_before, *by);
    if (*connection != NULL) {
        return WARMRING_OK;
    }
    warmring_status_t status = opened_before != 0
                                   ? take_old(server, opened_before, patient, *by, connection)
                                   : wait_or_start(server, *by, deadline, connection, opening);
    *by = wr_deadline_seen(*by);
    note_active(*connection, *by);
    return status;
}

static inline void add(_Atomic uint64_t *counter, uint32_t number) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + number,
                          memory_order_relaxed);
}

static inline void count(wr_berth_t *berth, const wr_tally_t *tally) {
    add(&berth->requests, tally->requests);
    add(&berth->hits, tally->hits);
    add(&berth->misses, tally->misses);
}

static void close_one(wr_pool_t *pool, wr_connection_t *connection) {
    pthread_mutex_lock(pool->mutex);
    free_berth_locked(pool, connection->berth);
    pthread_mutex_unlock(pool->mutex);
    dispose_one(connection);
}

/* Idle from now on: to save a look at the clock it counts from when it was taken,
 * unless the idle time is so short that a call may take as long. */
static inline void note_given(const wr_pool_t *pool, wr_connection_t *connection) {
    if (pool->idle_limit < short_idle) {
        connection->active_at = wr_about_now((wr_deadline_t){.at = 0});
    }
}

void wr_pool_give(wr_server_t *server, wr_connection_t *connection, const wr_tally_t *tally) {
    wr_pool_t *pool = &server->pool;
    own(pool);
    if (connection->generation != wr_fork_generation()) { /* its berth is another's here */
        dispose_one(connection);
        return;
    }
    count(&pool->berths[connection->berth], tally);
    if (connection->broken) {
        close_one(pool, connection);
        return;
    }
    note_given(pool, connection);
    lay_down(pool, connection);
    if (must_wake(pool)) {
        wake(pool);
    }
}
