/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolving host names.
 *
 * getaddrinfo() knows no deadline. A name is therefore looked up by a thread
 * that shares a counted job with the caller: whoever leaves last frees it. A
 * numeric address or a path takes no thread.
 */
#include "net/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/fail.h"
#include "base/memory.h"

typedef struct {
    _Atomic int references;
    pthread_mutex_t mutex;
    pthread_cond_t done;
    bool finished;
    int code; /* of getaddrinfo() */
    int error;
    struct addrinfo *list;
    uint16_t port;
    char host[];
} job_t;

static warmring_status_t unix_address(const char *label, const char *path, wr_address_t *address) {
    struct sockaddr_un *name = (struct sockaddr_un *)&address->storage;
    size_t length = strlen(path);
    if (length >= sizeof name->sun_path || length >= sizeof address->text) {
        return wr_fail(WARMRING_RESOLVE_FAILED, "%s: path of a socket is longer than %zu bytes",
                       label, sizeof name->sun_path - 1);
    }
    memset(address, 0, sizeof *address);
    name->sun_family = AF_UNIX;
    memcpy(name->sun_path, path, length + 1);
    memcpy(address->text, path, length + 1);
    address->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
    return WARMRING_OK;
}

static int look_up(const char *host, uint16_t port, int flags, struct addrinfo **list) {
    char service[sizeof "65535"];
    snprintf(service, sizeof service, "%u", port);
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    return getaddrinfo(host, service, &hints, list);
}

static size_t copy_list(const struct addrinfo *list, uint16_t port, wr_address_t *addresses,
                        size_t capacity) {
    size_t count = 0;
    for (const struct addrinfo *a = list; a != NULL && count < capacity; a = a->ai_next) {
        wr_address_t *address = &addresses[count];
        if (a->ai_addrlen > sizeof address->storage) {
            continue;
        }
        memset(address, 0, sizeof *address);
        memcpy(&address->storage, a->ai_addr, a->ai_addrlen);
        address->length = a->ai_addrlen;
        address->port = port;
        if (getnameinfo(a->ai_addr, a->ai_addrlen, address->text, sizeof address->text, NULL, 0,
                        NI_NUMERICHOST) == 0) {
            count++;
        }
    }
    return count;
}

/* ---- the thread -------------------------------------------------------- */

static void leave(job_t *job) {
    if (atomic_fetch_sub_explicit(&job->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (job->list != NULL) {
        freeaddrinfo(job->list);
    }
    pthread_cond_destroy(&job->done);
    pthread_mutex_destroy(&job->mutex);
    wr_free(job);
}

static void *work(void *argument) {
    job_t *job = argument;
    sigset_t all;
    sigfillset(&all); /* the program's signals are for the program's threads */
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    struct addrinfo *list = NULL;
    int code = look_up(job->host, job->port, 0, &list);
    int error = errno;
    pthread_mutex_lock(&job->mutex);
    job->code = code;
    job->error = error;
    job->list = code == 0 ? list : NULL;
    job->finished = true;
    pthread_cond_signal(&job->done);
    pthread_mutex_unlock(&job->mutex);
    leave(job);
    return NULL;
}

static bool init_job(job_t *job) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    bool done = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(&job->done, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return done && pthread_mutex_init(&job->mutex, NULL) == 0;
}

static job_t *make_job(const char *host, uint16_t port) {
    size_t length = strlen(host);
    job_t *job = wr_calloc(1, sizeof *job + length + 1);
    if (job == NULL) {
        return NULL;
    }
    memcpy(job->host, host, length + 1);
    job->port = port;
    atomic_init(&job->references, 2);
    if (!init_job(job)) {
        wr_free(job);
        return NULL;
    }
    return job;
}

static bool start(job_t *job) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    pthread_t thread;
    bool started = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
                   pthread_create(&thread, &attributes, work, job) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

static bool wait_for(job_t *job, wr_deadline_t deadline) {
    struct timespec until = wr_deadline_timespec(deadline);
    pthread_mutex_lock(&job->mutex);
    while (!job->finished && pthread_cond_timedwait(&job->done, &job->mutex, &until) == 0) {
    }
    bool finished = job->finished;
    pthread_mutex_unlock(&job->mutex);
    return finished;
}

static warmring_status_t fail_lookup(const char *label, const char *host, int code, int error) {
    if (code == EAI_MEMORY) {
        return wr_fail_memory();
    }
    char buffer[128];
    const char *cause =
        code == EAI_SYSTEM ? wr_system_text(error, buffer, sizeof buffer) : gai_strerror(code);
    return wr_fail(WARMRING_RESOLVE_FAILED, "%s: cannot resolve \"%s\": %s", label, host, cause);
}

static warmring_status_t resolve_name(const char *label, const char *host, uint16_t port,
                                      wr_deadline_t deadline, wr_address_t *addresses,
                                      size_t capacity, size_t *count) {
    wr_time_t started = wr_now();
    job_t *job = make_job(host, port);
    if (job == NULL) {
        return wr_fail_memory();
    }
    if (!start(job)) {
        leave(job);
        leave(job);
        return wr_fail(WARMRING_OUT_OF_MEMORY, "%s: no thread to resolve the name with", label);
    }
    warmring_status_t status = WARMRING_OK;
    if (!wait_for(job, deadline)) {
        status = wr_fail(WARMRING_TIMEOUT, "%s: name not resolved within %lld ms", label,
                         wr_ms_between(started, deadline.at));
    } else if (job->code != 0) {
        status = fail_lookup(label, host, job->code, job->error);
    } else {
        *count = copy_list(job->list, port, addresses, capacity);
    }
    leave(job);
    return status;
}

warmring_status_t wr_resolve(const char *label, const char *host, uint16_t port,
                             wr_deadline_t deadline, wr_address_t *addresses, size_t capacity,
                             size_t *count) {
    *count = 1;
    if (host[0] == '/') {
        return unix_address(label, host, addresses);
    }
    struct addrinfo *list = NULL;
    warmring_status_t status = WARMRING_OK;
    if (look_up(host, port, AI_NUMERICHOST, &list) == 0) {
        *count = copy_list(list, port, addresses, capacity);
        freeaddrinfo(list);
    } else {
        status = resolve_name(label, host, port, deadline, addresses, capacity, count);
    }
    if (status == WARMRING_OK && *count == 0) {
        return wr_fail(WARMRING_RESOLVE_FAILED, "%s: \"%s\" has no address", label, host);
    }
    return status;
}
