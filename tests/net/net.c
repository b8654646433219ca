/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of net/ share.
 */
#include "net.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

wr_net_config_t net_config(const memcached_st *memc) {
    return (wr_net_config_t){
        .transport = &wr_transport_libmemcached,
        .context = wr_libmemcached_context(memc),
        .pool_max = 16,
        .idle_close_ms = 60000,
        .failure_limit = 2,
        .retry_ms = 500,
        .stub_lifetime_s = 6,
    };
}

void net_free(wr_net_config_t *config) {
    config->transport->free_context((void *)(uintptr_t)config->context);
}

wr_server_t *net_server(const fixture_t *fixture, size_t index, const wr_net_config_t *config) {
    const char *address = fixture_address(fixture, index);
    if (strncmp(address, "unix:", 5) == 0) {
        return wr_server_create(address + 5, 0, config);
    }
    return wr_server_create("127.0.0.1", fixture_port(fixture, index), config);
}

static char *reserve(wr_sink_t *sink, size_t length) {
    net_call_t *call = (net_call_t *)sink;
    return length <= call->capacity ? call->room : NULL;
}

void net_call(net_call_t *call, wr_server_t *server, wr_verb_t verb, const char *key,
              const char *value) {
    memset(call, 0, sizeof *call);
    call->sink.reserve = reserve;
    call->sink.refusal = WARMRING_BUFFER_TOO_SMALL;
    call->room = call->small;
    call->capacity = sizeof call->small;
    call->request.server = server;
    call->request.verb = verb;
    call->request.sink = &call->sink;
    if (key != NULL) {
        call->request.key = (warmring_bytes_t){key, strlen(key)};
    }
    if (value != NULL) {
        call->request.value = (warmring_bytes_t){value, strlen(value)};
    }
}

warmring_status_t net_run(net_call_t *call, uint32_t deadline_ms) {
    wr_run_one(&call->request, wr_deadline_in_ms(deadline_ms));
    return call->request.status;
}

warmring_status_t net_do(net_call_t *call, wr_server_t *server, wr_verb_t verb, const char *key,
                         const char *value) {
    net_call(call, server, verb, key, value);
    return net_run(call, 5000);
}

warmring_server_counters_t net_counters(const wr_server_t *server) {
    warmring_server_counters_t counters;
    memset(&counters, 0, sizeof counters);
    wr_server_count(server, &counters);
    return counters;
}

double net_ms_since(wr_time_t start) {
    return (double)(wr_now() - start) / 1e6;
}

size_t net_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    size_t count = 0;
    while (directory != NULL && readdir(directory) != NULL) {
        count++;
    }
    if (directory != NULL) {
        closedir(directory);
    }
    return count;
}

/* ---- the fake ---------------------------------------------------------- */

enum { FAKE_CONNECTIONS = 64, FAKE_TEXT = 4096 };

struct fake {
    pthread_t thread;
    pthread_mutex_t mutex;
    int listener;
    uint16_t port;
    atomic_bool stop;
    fake_mode_t mode;
    char text[FAKE_TEXT];
};

static void say(int fd, const char *text) {
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) {
        tap_note("the fake server could not answer");
    }
}

static void drop(struct pollfd *poller, bool reset) {
    struct linger linger = {.l_onoff = reset, .l_linger = 0};
    setsockopt(poller->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(poller->fd);
    poller->fd = -1;
}

/* One read is one command: the tests send short ones. */
static void serve(fake_t *fake, struct pollfd *poller) {
    char command[FAKE_TEXT];
    ssize_t length = recv(poller->fd, command, sizeof command - 1, 0);
    if (length <= 0) {
        drop(poller, false);
        return;
    }
    command[length] = '\0';
    pthread_mutex_lock(&fake->mutex);
    if (fake->mode != FAKE_MUTE && strstr(command, "warmring:hello") != NULL) {
        say(poller->fd, "END\r\n");
    } else if (fake->mode == FAKE_RESET) {
        drop(poller, true);
    } else if (fake->mode != FAKE_MUTE) {
        say(poller->fd, fake->text);
        if (fake->mode == FAKE_CLOSE) {
            drop(poller, false);
        }
    }
    pthread_mutex_unlock(&fake->mutex);
}

static void *fake_work(void *argument) {
    fake_t *fake = argument;
    struct pollfd pollers[FAKE_CONNECTIONS];
    nfds_t count = 1;
    pollers[0] = (struct pollfd){.fd = fake->listener, .events = POLLIN};
    while (!atomic_load(&fake->stop)) {
        if (poll(pollers, count, 20) <= 0) {
            continue;
        }
        for (nfds_t i = 1; i < count; i++) {
            if (pollers[i].fd >= 0 && pollers[i].revents != 0) {
                serve(fake, &pollers[i]);
            }
        }
        if (pollers[0].revents != 0 && count < FAKE_CONNECTIONS) {
            pollers[count++] =
                (struct pollfd){.fd = accept(fake->listener, NULL, NULL), .events = POLLIN};
        }
    }
    for (nfds_t i = 1; i < count; i++) {
        if (pollers[i].fd >= 0) {
            close(pollers[i].fd);
        }
    }
    return NULL;
}

fake_t *fake_start(fake_mode_t mode, const char *text) {
    fake_t *fake = calloc(1, sizeof *fake);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    if (fake == NULL) {
        tap_bail("out of memory");
    }
    fake->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fake->listener, (struct sockaddr *)&name, sizeof name) != 0 ||
        listen(fake->listener, 16) != 0 ||
        getsockname(fake->listener, (struct sockaddr *)&name, &length) != 0) {
        tap_bail("cannot start a fake server");
    }
    fake->port = ntohs(name.sin_port);
    pthread_mutex_init(&fake->mutex, NULL);
    fake_set(fake, mode, text);
    if (pthread_create(&fake->thread, NULL, fake_work, fake) != 0) {
        tap_bail("cannot start a thread");
    }
    return fake;
}

void fake_set(fake_t *fake, fake_mode_t mode, const char *text) {
    pthread_mutex_lock(&fake->mutex);
    fake->mode = mode;
    strncpy(fake->text, text, sizeof fake->text - 1);
    pthread_mutex_unlock(&fake->mutex);
}

uint16_t fake_port(const fake_t *fake) {
    return fake->port;
}

void fake_stop(fake_t *fake) {
    atomic_store(&fake->stop, true);
    pthread_join(fake->thread, NULL);
    close(fake->listener);
    pthread_mutex_destroy(&fake->mutex);
    free(fake);
}
