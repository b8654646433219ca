/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools: a list of idle connections, newest first, so that a quiet server
 * keeps few connections and those warm, and a count that caps them.
 *
 * Locks and fork(). A pool is locked for a few instructions at a time, never
 * across I/O, an allocation or a callback. Any thread may fork while another
 * holds a pool's lock, which would stay locked in the child for ever. So the
 * locks do not live in the pools: there are a few for the process, each
 * shared by many servers, and a fork handler takes all of them before the
 * fork and lets go on both sides. The child's pools are then in order, but
 * what they list belongs to the parent. That is found by the fork generation
 * whenever a pool is locked: its list is taken off, to be abandoned after the
 * lock, its count starts at zero, since connections that other threads had in
 * hand will not come back, and the condition variable, on which threads that
 * do not exist here may be waiting, is made anew.
 */
#include "net/internal.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/fork.h"

enum { LOCKS = 32, ADDRESS_TTL_MS = 60000, NS_PER_MS = 1000000 };

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

bool wr_pool_init(wr_pool_t *pool, uint64_t id) {
    pthread_once(&once, set_up);
    pool->mutex = &locks[id % LOCKS];
    pool->generation = wr_fork_generation();
    return watched && init_condition(&pool->freed);
}

/* Locks; *doomed gets what must be disposed of after unlocking. */
static void lock(wr_pool_t *pool, wr_connection_t **doomed) {
    pthread_mutex_lock(pool->mutex);
    *doomed = NULL;
    if (pool->generation != wr_fork_generation()) {
        pool->generation = wr_fork_generation();
        *doomed = pool->idle;
        pool->idle = NULL;
        pool->open = 0;
        pool->waiting = 0;
        init_condition(&pool->freed);
    }
}

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

/* Cuts the list where `keep` first says no; returns the rest. Taken off the
 * count before they are closed: closing does not wait. */
static wr_connection_t *cut(wr_pool_t *pool, bool (*keep)(const wr_connection_t *, wr_time_t),
                            wr_time_t time) {
    wr_connection_t *removed = NULL;
    wr_connection_t **link = &pool->idle;
    while (*link != NULL) {
        wr_connection_t *connection = *link;
        if (keep(connection, time)) {
            link = &connection->next;
            continue;
        }
        *link = connection->next;
        connection->next = removed;
        removed = connection;
        pool->open--;
        pthread_cond_signal(&pool->freed);
    }
    return removed;
}

static bool opened_after(const wr_connection_t *connection, wr_time_t time) {
    return connection->opened_at > time;
}

static bool idle_after(const wr_connection_t *connection, wr_time_t time) {
    return connection->idle_since > time;
}

static wr_connection_t *join(wr_connection_t *first, wr_connection_t *second) {
    wr_connection_t **end = &first;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = second;
    return first;
}

void wr_pool_destroy(wr_pool_t *pool) {
    wr_connection_t *doomed;
    lock(pool, &doomed);
    doomed = join(doomed, pool->idle);
    pool->idle = NULL;
    pthread_mutex_unlock(pool->mutex);
    dispose(doomed);
    pthread_cond_destroy(&pool->freed);
}

/* Those idle for too long are doomed; looks at most four times in an idle
 * time. */
static void trim_locked(wr_server_t *server, wr_time_t now, wr_connection_t **doomed) {
    wr_pool_t *pool = &server->pool;
    wr_time_t limit = (wr_time_t)server->config->idle_close_ms * NS_PER_MS;
    if (now >= pool->trim_at) {
        pool->trim_at = now + limit / 4;
        *doomed = join(*doomed, cut(pool, idle_after, now - limit));
    }
}

static wr_connection_t *pop(wr_pool_t *pool, wr_time_t opened_before) {
    for (wr_connection_t **link = &pool->idle; *link != NULL; link = &(*link)->next) {
        wr_connection_t *connection = *link;
        if (opened_before == 0 || connection->opened_at <= opened_before) {
            *link = connection->next;
            connection->next = NULL;
            return connection;
        }
    }
    return NULL;
}

static uint32_t idle_count(const wr_pool_t *pool) {
    uint32_t count = 0;
    for (const wr_connection_t *connection = pool->idle; connection != NULL;
         connection = connection->next) {
        count++;
    }
    return count;
}

/* False when the time is over. */
static bool wait_freed(wr_pool_t *pool, const struct timespec *until) {
    pool->waiting++;
    bool in_time = pthread_cond_timedwait(&pool->freed, pool->mutex, until) == 0;
    pool->waiting--;
    return in_time;
}

static warmring_status_t wait_locked(wr_server_t *server, wr_deadline_t deadline, wr_time_t started,
                                     wr_connection_t **connection) {
    wr_pool_t *pool = &server->pool;
    struct timespec until = wr_deadline_timespec(deadline);
    bool late = false;
    for (;;) {
        *connection = pop(pool, 0);
        if (*connection != NULL) {
            return WARMRING_OK;
        }
        if (pool->open < server->config->pool_max) {
            pool->open++;
            return WARMRING_OK;
        }
        if (late) {
            return wr_fail(WARMRING_TIMEOUT, "%s: no free connection within %lld ms (pool_max %u)",
                           server->address,
                           (long long)((deadline.at - started + NS_PER_MS - 1) / NS_PER_MS),
                           server->config->pool_max);
        }
        late = !wait_freed(pool, &until);
    }
}

/* One opened by then, as long as any is out that may be. */
static wr_connection_t *wait_for_old(wr_pool_t *pool, wr_time_t opened_before,
                                     wr_deadline_t deadline) {
    struct timespec until = wr_deadline_timespec(deadline);
    wr_connection_t *connection = NULL;
    bool late = false;
    while (connection == NULL && !late && pool->open > idle_count(pool)) {
        late = !wait_freed(pool, &until);
        connection = pop(pool, opened_before);
    }
    if (connection == NULL) {
        pthread_cond_signal(&pool->freed); /* the one it was woken for is another's */
    }
    return connection;
}

/* ---- opening ----------------------------------------------------------- */

static bool known_addresses(wr_server_t *server, wr_resolved_t *resolved) {
    wr_pool_t *pool = &server->pool;
    pthread_mutex_lock(pool->mutex);
    bool known = pool->resolved.count != 0 && wr_now() < pool->resolved.until;
    if (known) {
        *resolved = pool->resolved;
    }
    pthread_mutex_unlock(pool->mutex);
    return known;
}

static void remember_addresses(wr_server_t *server, const wr_resolved_t *resolved) {
    pthread_mutex_lock(server->pool.mutex);
    server->pool.resolved = *resolved;
    pthread_mutex_unlock(server->pool.mutex);
}

static warmring_status_t resolve(wr_server_t *server, wr_deadline_t deadline,
                                 wr_resolved_t *resolved) {
    if (known_addresses(server, resolved)) {
        return WARMRING_OK;
    }
    resolved->first = 0;
    resolved->until = wr_deadline_in_ms(ADDRESS_TTL_MS).at;
    warmring_status_t status = wr_resolve(server->address, server->host, server->port, deadline,
                                          resolved->list, WR_MAX_ADDRESSES, &resolved->count);
    if (status == WARMRING_OK) {
        remember_addresses(server, resolved);
    }
    return status;
}

/* An equal share of what is left for each address yet to be tried. */
static wr_deadline_t share(const wr_server_t *server, wr_deadline_t deadline, size_t tries) {
    wr_deadline_t slice = wr_deadline_share(deadline, tries);
    uint32_t cap = server->config->connect_timeout_ms;
    return cap == 0 ? slice : wr_deadline_min(slice, wr_deadline_in_ms(cap));
}

static warmring_status_t open_as(const wr_transport_t *transport, const void *context,
                                 wr_server_t *server, const wr_address_t *address,
                                 wr_deadline_t deadline, wr_connection_t **connection) {
    warmring_status_t status = transport->open(context, server, address, deadline, connection);
    if (status == WARMRING_OK) {
        (*connection)->transport = transport;
    }
    return status;
}

/* With the first transport; asks the server whether it knows it, once. */
static warmring_status_t dial_first(wr_server_t *server, const wr_address_t *address,
                                    wr_deadline_t deadline, wr_connection_t **connection) {
    const wr_transport_t *transport = server->config->transport;
    warmring_status_t status =
        open_as(transport, server->config->context, server, address, deadline, connection);
    if (status != WARMRING_OK || transport->probe == NULL ||
        atomic_load(&server->speech) == WR_SPEECH_FIRST) {
        return status;
    }
    status = transport->probe(*connection, deadline);
    if (status == WARMRING_OK) {
        atomic_store(&server->speech, WR_SPEECH_FIRST);
    } else {
        transport->close(*connection);
        *connection = NULL;
    }
    return status;
}

static warmring_status_t dial(wr_server_t *server, const wr_address_t *address,
                              wr_deadline_t deadline, wr_connection_t **connection) {
    const wr_net_config_t *config = server->config;
    if (atomic_load(&server->speech) != WR_SPEECH_OTHER) {
        warmring_status_t status = dial_first(server, address, deadline, connection);
        if (status != WARMRING_NOT_SUPPORTED || config->other == NULL) {
            return status;
        }
        atomic_store(&server->speech, WR_SPEECH_OTHER);
    }
    return open_as(config->other, config->other_context, server, address, deadline, connection);
}

static warmring_status_t connect_any(wr_server_t *server, wr_resolved_t *resolved,
                                     wr_deadline_t deadline, wr_connection_t **connection) {
    warmring_status_t status = WARMRING_CONNECT_FAILED;
    size_t count = resolved->count;
    for (size_t i = 0; i < count; i++) {
        size_t index = (resolved->first + i) % count;
        status =
            dial(server, &resolved->list[index], share(server, deadline, count - i), connection);
        if (status == WARMRING_OK) {
            if (i != 0) {
                resolved->first = index;
                remember_addresses(server, resolved);
            }
            return WARMRING_OK;
        }
    }
    resolved->count = 0;
    remember_addresses(server, resolved);
    atomic_store(&server->speech, WR_SPEECH_UNKNOWN);
    return status;
}

static warmring_status_t open_one(wr_server_t *server, wr_deadline_t deadline,
                                  wr_connection_t **connection) {
    wr_detail_t detail;
    wr_detail_save(&detail);
    wr_resolved_t resolved;
    warmring_status_t status = resolve(server, deadline, &resolved);
    if (status == WARMRING_OK) {
        status = connect_any(server, &resolved, deadline, connection);
    }
    if (status != WARMRING_OK) {
        wr_count(server, WR_COUNT_connect_errors, 1);
        return status;
    }
    wr_detail_restore(&detail);
    wr_count(server, WR_COUNT_connects, 1);
    (*connection)->server = server;
    (*connection)->next = NULL;
    (*connection)->opened_at = wr_now();
    (*connection)->generation = wr_fork_generation();
    (*connection)->used = false;
    return WARMRING_OK;
}

static void uncount_one(wr_pool_t *pool) {
    wr_connection_t *doomed;
    lock(pool, &doomed);
    if (pool->open > 0) {
        pool->open--;
    }
    pthread_cond_signal(&pool->freed);
    pthread_mutex_unlock(pool->mutex);
    dispose(doomed);
}

/* Whether the process has no descriptor left, or the system: neither tells
 * about the server. */
static bool lacks_descriptors(void) {
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor >= 0) {
        close(descriptor);
    }
    return descriptor < 0;
}

static wr_verdict_t verdict_of_open(warmring_status_t status) {
    bool local = status == WARMRING_OUT_OF_MEMORY || status == WARMRING_AUTH_FAILED ||
                 status == WARMRING_NOT_SUPPORTED || lacks_descriptors();
    return local ? WR_VERDICT_NEUTRAL : WR_VERDICT_FAILED;
}

/* ---- taking and giving ------------------------------------------------- */

warmring_status_t wr_pool_take(wr_server_t *server, wr_time_t opened_before, bool patient,
                               wr_deadline_t deadline, wr_connection_t **connection,
                               wr_verdict_t *verdict) {
    wr_pool_t *pool = &server->pool;
    wr_time_t now = wr_about_now(deadline);
    wr_connection_t *doomed;
    *verdict = WR_VERDICT_NEUTRAL;
    lock(pool, &doomed);
    trim_locked(server, now, &doomed);
    *connection = pop(pool, opened_before);
    if (*connection == NULL && opened_before != 0 && patient) {
        *connection = wait_for_old(pool, opened_before, deadline);
    }
    warmring_status_t status = WARMRING_OK;
    if (*connection == NULL && opened_before == 0) {
        status = wait_locked(server, deadline, now, connection);
    }
    pthread_mutex_unlock(pool->mutex);
    dispose(doomed);
    if (status != WARMRING_OK || *connection != NULL) {
        return status;
    }
    if (opened_before != 0) {
        return wr_fail(WARMRING_CONNECTION_LOST, "%s: no connection is old enough for the token",
                       server->address);
    }
    status = open_one(server, deadline, connection);
    if (status != WARMRING_OK) {
        *connection = NULL; /* one that was opened and failed its probe */
        *verdict = verdict_of_open(status);
        uncount_one(pool);
    }
    return status;
}

/* Counts under the pool's lock, which is held anyway: so there is one writer,
 * and readers need no lock. */
static void add_locked(wr_server_t *server, int counter, uint32_t number) {
    _Atomic uint64_t *at = &server->counters[counter];
    atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) + number,
                          memory_order_relaxed);
}

static void count_locked(wr_server_t *server, const wr_tally_t *tally) {
    add_locked(server, WR_COUNT_requests, tally->requests);
    add_locked(server, WR_COUNT_hits, tally->hits);
    add_locked(server, WR_COUNT_misses, tally->misses);
}

/* False for another process's connection, which was never counted here. */
static bool put_back_locked(wr_pool_t *pool, wr_connection_t *connection) {
    bool ours = connection->generation == wr_fork_generation();
    if (ours && !connection->broken) {
        connection->next = pool->idle;
        pool->idle = connection;
        return true;
    }
    pool->open -= ours && pool->open > 0;
    return false;
}

void wr_pool_give(wr_server_t *server, wr_connection_t *connection, const wr_tally_t *tally) {
    wr_pool_t *pool = &server->pool;
    wr_connection_t *doomed;
    connection->idle_since = wr_about_now((wr_deadline_t){.at = 0});
    lock(pool, &doomed);
    count_locked(server, tally);
    trim_locked(server, connection->idle_since, &doomed);
    bool kept = put_back_locked(pool, connection);
    if (pool->waiting > 0) {
        pthread_cond_signal(&pool->freed);
    }
    pthread_mutex_unlock(pool->mutex);
    dispose(doomed);
    if (!kept) {
        dispose_one(connection);
    }
}

static void remove_idle(wr_server_t *server, bool (*keep)(const wr_connection_t *, wr_time_t),
                        wr_time_t time) {
    wr_connection_t *doomed;
    lock(&server->pool, &doomed);
    doomed = join(doomed, cut(&server->pool, keep, time));
    pthread_mutex_unlock(server->pool.mutex);
    dispose(doomed);
}

void wr_pool_flush(wr_server_t *server, wr_time_t time) {
    atomic_store(&server->speech, WR_SPEECH_UNKNOWN);
    remove_idle(server, opened_after, time);
}

void wr_pool_trim(wr_server_t *server) {
    remove_idle(server, idle_after,
                wr_now() - (wr_time_t)server->config->idle_close_ms * NS_PER_MS);
}

uint32_t wr_pool_open_count(const wr_server_t *server) {
    pthread_mutex_lock(server->pool.mutex);
    uint32_t open = server->pool.generation == wr_fork_generation() ? server->pool.open : 0;
    pthread_mutex_unlock(server->pool.mutex);
    return open;
}
