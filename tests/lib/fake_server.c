/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scriptable fake server: one thread accepts, one more serves each
 * connection, and ends with it. Every wait also watches a pipe whose other end is closed when
 * the server ends, so that ending never waits for a script.
 */
#include "fake_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tap.h"

enum { LINE_MAX_BYTES = 16384, MAX_FILLERS = 64 };

struct fake_server {
    int listener;
    int stop[2]; /* [0] becomes readable when the server ends */
    bool accepts;
    pthread_t acceptor;
    uint16_t port;
    char path[64];
    char directory[48];
    char address[96];
    int fillers[MAX_FILLERS];
    size_t filler_count;

    pthread_mutex_t lock; /* of what follows */
    const fake_step_t *script;
    pthread_cond_t left; /* a thread ended */
    size_t threads;
    size_t connections;
    size_t commands;
    char last[LINE_MAX_BYTES];
};

typedef struct {
    fake_server_t *server;
    const fake_step_t *script;
    int descriptor;
    char line[LINE_MAX_BYTES];
} client_t;

/* ---- waiting --------------------------------------------------------------- */

/* Whether `events` came; false when the server ends or time is up. A
 * descriptor of -1 only passes time. */
static bool wait_for(const fake_server_t *server, int descriptor, short events, int ms) {
    struct pollfd waits[2] = {{.fd = server->stop[0], .events = POLLIN},
                              {.fd = descriptor, .events = events}};
    int ready;
    do {
        ready = poll(waits, 2, ms);
    } while (ready < 0 && errno == EINTR);
    return ready > 0 && waits[0].revents == 0;
}

static bool is_stopping(const fake_server_t *server) {
    struct pollfd wait = {.fd = server->stop[0], .events = POLLIN};
    return poll(&wait, 1, 0) != 0;
}

static bool send_all(client_t *client, const char *bytes, size_t length) {
    while (length > 0) {
        if (!wait_for(client->server, client->descriptor, POLLOUT, -1)) {
            return false;
        }
        ssize_t sent = send(client->descriptor, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        }
        bytes += sent > 0 ? sent : 0;
        length -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

static bool receive_byte(client_t *client, char *byte) {
    for (;;) {
        if (!wait_for(client->server, client->descriptor, POLLIN, -1)) {
            return false;
        }
        ssize_t got = recv(client->descriptor, byte, 1, MSG_DONTWAIT);
        if (got == 1) {
            return true;
        }
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            return false;
        }
    }
}

/* ---- steps: each returns whether the script goes on --------------------------- */

static size_t value_length(const char *line) {
    size_t length = 0;
    if (sscanf(line, "ms %*s %zu", &length) == 1) {
        return length + 2;
    }
    char word[8];
    bool stores = sscanf(line, "%7s %*s %*s %*s %zu", word, &length) == 2 &&
                  strstr(" set add replace append prepend cas ", word) != NULL;
    return stores ? length + 2 : 0;
}

static bool skip_value(client_t *client) {
    char bytes[LINE_MAX_BYTES];
    for (size_t left = value_length(client->line); left > 0;) {
        if (!wait_for(client->server, client->descriptor, POLLIN, -1)) {
            return false;
        }
        ssize_t got = recv(client->descriptor, bytes, left < sizeof bytes ? left : sizeof bytes,
                           MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
            return false;
        }
        left -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool await_line(client_t *client) {
    size_t length = 0;
    char byte = 0;
    while (byte != '\n') {
        if (!receive_byte(client, &byte)) {
            return false;
        }
        if (length < sizeof client->line - 1) {
            client->line[length++] = byte;
        }
    }
    client->line[length] = '\0';
    client->line[strcspn(client->line, "\r\n")] = '\0';
    pthread_mutex_lock(&client->server->lock);
    client->server->commands++;
    memcpy(client->server->last, client->line, sizeof client->line);
    pthread_mutex_unlock(&client->server->lock);
    return true;
}

static bool await_command(client_t *client) {
    return await_line(client) && skip_value(client);
}

static bool drip(client_t *client, const char *bytes, size_t length, uint32_t ms) {
    for (size_t i = 0; i < length; i++) {
        if (!send_all(client, bytes + i, 1)) {
            return false;
        }
        wait_for(client->server, -1, 0, (int)ms);
        if (is_stopping(client->server)) {
            return false;
        }
    }
    return true;
}

static bool flood(client_t *client, const fake_step_t *step) {
    while (send_all(client, step->bytes, step->length)) {
    }
    return false;
}

static bool answer(client_t *client, const fake_step_t *step) {
    char bytes[LINE_MAX_BYTES];
    size_t length = step->answer(step->data, client->line, bytes, sizeof bytes);
    return step->action == FAKE_ACTION_DRIP_ANSWER ? drip(client, bytes, length, step->number)
                                                   : send_all(client, bytes, length);
}

static bool serve_commands(client_t *client, const fake_step_t *step) {
    char bytes[LINE_MAX_BYTES];
    while (await_line(client)) {
        size_t length = step->answer(step->data, client->line, bytes, sizeof bytes);
        if (length == FAKE_NO_ANSWER) {
            return step->number == FAKE_VALUE_UNREAD || skip_value(client);
        }
        if (!skip_value(client)) {
            return false;
        }
        if (!send_all(client, bytes, length)) {
            return false;
        }
    }
    return false;
}

static bool pass_time(client_t *client, int ms) {
    wait_for(client->server, -1, 0, ms);
    return !is_stopping(client->server);
}

static bool reset(client_t *client) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    setsockopt(client->descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    return false;
}

static bool run_step(client_t *client, const fake_step_t *step) {
    switch (step->action) {
    case FAKE_ACTION_AWAIT:
        return await_command(client);
    case FAKE_ACTION_SAY:
        return send_all(client, step->bytes, step->length);
    case FAKE_ACTION_DRIP:
        return drip(client, step->bytes, step->length, step->number);
    case FAKE_ACTION_FLOOD:
        return flood(client, step);
    case FAKE_ACTION_ANSWER:
    case FAKE_ACTION_DRIP_ANSWER:
        return answer(client, step);
    case FAKE_ACTION_SERVE:
        return serve_commands(client, step);
    case FAKE_ACTION_PAUSE:
        return pass_time(client, (int)step->number);
    case FAKE_ACTION_HANG:
        return pass_time(client, -1);
    case FAKE_ACTION_RESET:
        return reset(client);
    case FAKE_ACTION_AGAIN:
    case FAKE_ACTION_END:
        break;
    }
    return false;
}

static void *serve(void *argument) {
    client_t *client = argument;
    const fake_step_t *step = client->script;
    for (;;) {
        if (step->action == FAKE_ACTION_AGAIN) {
            step = client->script;
        } else if (run_step(client, step)) {
            step++;
        } else {
            break;
        }
    }
    fake_server_t *server = client->server;
    close(client->descriptor);
    free(client);
    pthread_mutex_lock(&server->lock);
    server->threads--;
    pthread_cond_signal(&server->left);
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

/* ---- accepting --------------------------------------------------------------- */

static bool start_client(fake_server_t *server, int descriptor) {
    client_t *client = calloc(1, sizeof *client);
    if (client == NULL) {
        return false;
    }
    client->server = server;
    client->descriptor = descriptor;
    client->script = server->script;
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, client) != 0) {
        free(client);
        return false;
    }
    pthread_detach(thread);
    server->threads++;
    server->connections++;
    return true;
}

static void *accept_all(void *argument) {
    fake_server_t *server = argument;
    while (wait_for(server, server->listener, POLLIN, -1)) {
        int descriptor = accept(server->listener, NULL, NULL);
        if (descriptor < 0) {
            continue;
        }
        pthread_mutex_lock(&server->lock);
        bool started = start_client(server, descriptor);
        pthread_mutex_unlock(&server->lock);
        if (!started) {
            close(descriptor);
        }
    }
    return NULL;
}

/* ---- starting and ending -------------------------------------------------------- */

static fake_server_t *create(const fake_step_t *script) {
    fake_server_t *server = calloc(1, sizeof *server);
    if (server == NULL || pipe(server->stop) != 0) {
        tap_bail("no fake server: %s", strerror(errno));
    }
    server->script = script;
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->left, NULL);
    return server;
}

static void bind_tcp(fake_server_t *server) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->listener < 0 ||
        bind(server->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &length) != 0) {
        tap_bail("no port for a fake server: %s", strerror(errno));
    }
    server->port = ntohs(address.sin_port);
    snprintf(server->address, sizeof server->address, "127.0.0.1:%u", server->port);
}

static void listen_now(fake_server_t *server, int backlog) {
    if (listen(server->listener, backlog) != 0) {
        tap_bail("a fake server cannot listen: %s", strerror(errno));
    }
}

static void listen_tcp(fake_server_t *server, int backlog) {
    bind_tcp(server);
    listen_now(server, backlog);
}

static void listen_unix(fake_server_t *server) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(server->directory, sizeof server->directory, "/tmp/warmring-fake-XXXXXX");
    if (mkdtemp(server->directory) == NULL) {
        tap_bail("no directory for a fake server: %s", strerror(errno));
    }
    snprintf(server->path, sizeof server->path, "%s/s", server->directory);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", server->path);
    server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->listener < 0 ||
        bind(server->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(server->listener, 64) != 0) {
        tap_bail("no unix socket for a fake server: %s", strerror(errno));
    }
    snprintf(server->address, sizeof server->address, "unix:%s", server->path);
}

static fake_server_t *accept_in_thread(fake_server_t *server) {
    server->accepts = pthread_create(&server->acceptor, NULL, accept_all, server) == 0;
    if (!server->accepts) {
        tap_bail("no thread for a fake server");
    }
    return server;
}

fake_server_t *fake_server_start(const fake_step_t *script) {
    fake_server_t *server = create(script);
    listen_tcp(server, 64);
    return accept_in_thread(server);
}

fake_server_t *fake_server_start_unix(const fake_step_t *script) {
    fake_server_t *server = create(script);
    listen_unix(server);
    return accept_in_thread(server);
}

fake_server_t *fake_server_start_deaf(void) {
    fake_server_t *server = create(NULL);
    listen_tcp(server, 64);
    return server;
}

/* Connects without waiting; whether that was done at once or within 100 ms. */
static bool fill_one(fake_server_t *server) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(server->port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int filler = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (filler < 0) {
        tap_bail("no socket to fill a backlog: %s", strerror(errno));
    }
    server->fillers[server->filler_count++] = filler;
    return connect(filler, (struct sockaddr *)&address, sizeof address) == 0 ||
           wait_for(server, filler, POLLOUT, 100);
}

fake_server_t *fake_server_start_full(void) {
    fake_server_t *server = create(NULL);
    listen_tcp(server, 0);
    while (fill_one(server)) {
        if (server->filler_count == MAX_FILLERS) {
            tap_bail("a backlog of 0 does not get full");
        }
    }
    return server;
}

fake_server_t *fake_server_start_refusing(void) {
    fake_server_t *server = create(NULL);
    bind_tcp(server);
    return server;
}

static void close_fillers(fake_server_t *server) {
    while (server->filler_count > 0) {
        close(server->fillers[--server->filler_count]);
    }
}

void fake_server_wake(fake_server_t *server, const fake_step_t *script) {
    server->script = script;
    close_fillers(server);
    listen_now(server, 64);
    accept_in_thread(server);
}

void fake_server_script(fake_server_t *server, const fake_step_t *script) {
    pthread_mutex_lock(&server->lock);
    server->script = script;
    pthread_mutex_unlock(&server->lock);
}

void fake_server_free(fake_server_t *server) {
    if (server == NULL) {
        return;
    }
    close(server->stop[1]);
    if (server->accepts) {
        pthread_join(server->acceptor, NULL);
    }
    pthread_mutex_lock(&server->lock);
    while (server->threads > 0) {
        pthread_cond_wait(&server->left, &server->lock);
    }
    pthread_mutex_unlock(&server->lock);
    close_fillers(server);
    close(server->listener);
    close(server->stop[0]);
    if (server->path[0] != '\0') {
        unlink(server->path);
        rmdir(server->directory);
    }
    pthread_cond_destroy(&server->left);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

/* ---- asking --------------------------------------------------------------------- */

uint16_t fake_server_port(const fake_server_t *server) {
    return server->port;
}

const char *fake_server_address(const fake_server_t *server) {
    return server->address;
}

const char *fake_server_path(const fake_server_t *server) {
    return server->path[0] != '\0' ? server->path : NULL;
}

static size_t read_count(fake_server_t *server, const size_t *count) {
    pthread_mutex_lock(&server->lock);
    size_t value = *count;
    pthread_mutex_unlock(&server->lock);
    return value;
}

size_t fake_server_connections(fake_server_t *server) {
    return read_count(server, &server->connections);
}

size_t fake_server_commands(fake_server_t *server) {
    return read_count(server, &server->commands);
}

void fake_server_last_command(fake_server_t *server, char *line, size_t capacity) {
    pthread_mutex_lock(&server->lock);
    snprintf(line, capacity, "%s", server->last);
    pthread_mutex_unlock(&server->lock);
}
