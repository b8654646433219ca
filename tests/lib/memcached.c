/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One memcached process.
 *
 * Ports: each server's port is taken first, by a socket of ours that is bound
 * with SO_REUSEADDR but never listens, and kept as long as the fixture.
 * memcached binds with SO_REUSEADDR too, so it may listen there; nobody else
 * is given the port. So a killed server's port refuses connections for sure,
 * and a restarted server finds its port free, however many tests run at once.
 *
 * Ready: the server answers `stats` with the pid of our child.
 *
 * End: by pid. PR_SET_PDEATHSIG ends a server when the thread that started it
 * dies, which covers a crash; it also means that only the main thread, which
 * lasts, may start servers.
 */
#include "memcached.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

enum { REPLY_SIZE = 8192, LOG_LINES = 40, READY_SECONDS = 20, REPLY_MS = 5000 };

/* ---- finding memcached ---- */

/* The path of memcached: $MEMCACHED, or the first one in PATH. */
static const char *find_memcached(char path[PATH_SIZE]) {
    const char *given = getenv("MEMCACHED");
    if (given != NULL && *given != '\0') {
        return given;
    }
    const char *directories = getenv("PATH");
    for (const char *d = directories; d != NULL && *d != '\0';) {
        size_t length = strcspn(d, ":");
        snprintf(path, PATH_SIZE, "%.*s/memcached", (int)length, d);
        if (length != 0 && access(path, X_OK) == 0) {
            return path;
        }
        d += length + (d[length] == ':');
    }
    return NULL;
}

const char *memcached_path(void) {
    static char buffer[PATH_SIZE];
    static const char *path;
    if (path == NULL) {
        path = find_memcached(buffer);
    }
    if (path == NULL && getenv("CI") != NULL) {
        tap_bail("memcached is missing; on Debian: apt-get install memcached");
    }
    if (path == NULL) {
        tap_skip_all("memcached is missing; on Debian: apt-get install memcached");
    }
    return path;
}

/* ---- talking to a server ---- */

static int connect_to(const memcached_t *server) {
    struct sockaddr_in inet = {.sin_family = AF_INET,
                               .sin_port = htons(server->port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    memcpy(local.sun_path, server->socket_path, sizeof local.sun_path);
    bool is_local = server->holder < 0;

    int fd = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int failed = is_local ? connect(fd, (struct sockaddr *)&local, sizeof local)
                          : connect(fd, (struct sockaddr *)&inet, sizeof inet);
    if (fd >= 0 && failed != 0) {
        int error = errno;
        close(fd);
        errno = error;
        fd = -1;
    }
    return fd;
}

static long milliseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether `reply` ends in `until`. */
static bool ends_in(const char *reply, size_t length, const char *until) {
    size_t tail = strlen(until);
    return length >= tail && memcmp(reply + length - tail, until, tail) == 0;
}

/* One command and its reply; NULL, or what went wrong. */
const char *memcached_ask(const memcached_t *server, const char *command, const char *until,
                          char *reply, size_t capacity) {
    reply[0] = '\0';
    int fd = connect_to(server);
    if (fd < 0) {
        return strerror(errno);
    }
    const char *fault = NULL;
    size_t length = 0;
    long end = milliseconds_now() + REPLY_MS;
    if (send(fd, command, strlen(command), MSG_NOSIGNAL) != (ssize_t)strlen(command)) {
        fault = "cannot send";
    }
    while (fault == NULL && !ends_in(reply, length, until)) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        long left = end - milliseconds_now();
        if (left <= 0 || poll(&wait, 1, (int)left) == 0) {
            fault = "no complete reply in time";
            break;
        }
        ssize_t got = recv(fd, reply + length, capacity - 1 - length, MSG_DONTWAIT);
        if (got > 0) {
            length += (size_t)got;
            reply[length] = '\0';
        } else if (got == 0) {
            fault = length + 1 == capacity ? "reply too long" : "connection closed";
        } else if (errno != EINTR && errno != EAGAIN) {
            fault = strerror(errno);
        }
    }
    close(fd);
    return fault;
}

/* ---- ports ---- */

/* A socket bound to a free loopback port, which it keeps from others. */
int hold_port(uint16_t *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        tap_bail("no free loopback port: %s", strerror(errno));
    }
    *port = ntohs(address.sin_port);
    return fd;
}

/* ---- processes ---- */

void memcached_show_log(const memcached_t *server) {
    FILE *log = fopen(server->log_path, "re");
    char line[512];
    long lines = 0;
    while (log != NULL && fgets(line, sizeof line, log) != NULL) {
        lines++;
    }
    tap_note("log of %s (pid %d), %ld lines:", server->address, (int)server->pid, lines);
    if (log == NULL) {
        return;
    }
    rewind(log);
    for (long i = 0; fgets(line, sizeof line, log) != NULL; i++) {
        line[strcspn(line, "\r\n")] = '\0';
        if (i >= lines - LOG_LINES) {
            tap_note("  %s", line);
        }
    }
    fclose(log);
}

/* In the child of a program with threads: only async-signal-safe calls. */
static void become_memcached(const memcached_t *server, const char *path, pid_t parent, int log) {
    sigset_t none;
    sigemptyset(&none);
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || input < 0 ||
        dup2(input, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
        dup2(log, STDERR_FILENO) < 0 || sigprocmask(SIG_SETMASK, &none, NULL) != 0) {
        _exit(126);
    }
#ifdef SYS_close_range
    syscall(SYS_close_range, 3U, ~0U, 0U); /* what the test forgot to close on exec */
#endif
    execv(path, server->arguments);
    _exit(127);
}

/* Started with -B binary, TLS or a login: it answers not everybody's text. */
static bool is_closed_up(const memcached_t *server) {
    static const char *const reasons[] = {"binary", "-Z", "-Y"};
    for (char **argument = server->arguments; *argument != NULL; argument++) {
        for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
            if (strcmp(*argument, reasons[i]) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool accepts(const memcached_t *server) {
    int fd = connect_to(server);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

/* Whether the server answers and is our child. One that answers no text has
 * to be, since the port is ours. */
static bool is_ready(const memcached_t *server) {
    if (is_closed_up(server)) {
        return accepts(server);
    }
    char reply[REPLY_SIZE];
    if (memcached_ask(server, "stats\r\n", "END\r\n", reply, sizeof reply) != NULL) {
        return false;
    }
    char expected[64];
    snprintf(expected, sizeof expected, "STAT pid %d\r\n", (int)server->pid);
    return strstr(reply, expected) != NULL;
}

static void wait_until_ready(memcached_t *server) {
    const struct timespec pause = {.tv_nsec = 2000000};
    long end = milliseconds_now() + READY_SECONDS * 1000L;
    while (!is_ready(server)) {
        int status;
        if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
            memcached_show_log(server);
            server->pid = 0;
            tap_bail("memcached on %s ended with status %#x", server->address, (unsigned)status);
        }
        if (milliseconds_now() >= end) {
            memcached_show_log(server);
            tap_bail("memcached on %s is not ready after %d s", server->address, READY_SECONDS);
        }
        nanosleep(&pause, NULL);
    }
}

void memcached_start(memcached_t *server) {
    if (gettid() != getpid()) {
        tap_bail("fixture: only the main thread may start servers: they end with their thread");
    }
    const char *path = memcached_path();
    int log = open(server->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0) {
        tap_bail("%s: %s", server->log_path, strerror(errno));
    }
    pid_t parent = getpid();
    server->pid = fork();
    if (server->pid == 0) {
        become_memcached(server, path, parent, log);
    }
    close(log);
    if (server->pid < 0) {
        server->pid = 0;
        tap_bail("fork: %s", strerror(errno));
    }
    wait_until_ready(server);
}

void memcached_end(memcached_t *server) {
    if (server->pid != 0) {
        kill(server->pid, SIGKILL);
        while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        server->pid = 0;
        server->stopped = false;
    }
}
