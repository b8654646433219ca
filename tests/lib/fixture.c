/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real memcached processes for a test.
 *
 * Ports: each server's port is taken first, by a socket of ours that is bound
 * with SO_REUSEADDR but never listens, and kept as long as the fixture.
 * memcached binds with SO_REUSEADDR too, so it may listen there; nobody else
 * is given the port. So a killed server's port refuses connections for sure,
 * and a restarted server finds its port free, however many tests run at once.
 *
 * Ready: the server answers `stats` with the pid of our child.
 *
 * End: by pid, from fixture_free() or at exit(). PR_SET_PDEATHSIG ends a
 * server when the thread that started it dies, which covers a crash; it also
 * means that only the main thread, which lasts, may start servers.
 */
#include "fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

enum { PATH_SIZE = 256, REPLY_SIZE = 8192, LOG_LINES = 40, READY_SECONDS = 20, REPLY_MS = 5000 };

typedef struct {
    pid_t pid; /* 0: not running */
    uint16_t port;
    int holder;       /* keeps the port ours; -1 for a unix socket */
    char **arguments; /* argv of memcached */
    char address[PATH_SIZE];
    char socket_path[sizeof((struct sockaddr_un *)NULL)->sun_path];
    char log_path[PATH_SIZE];
} server_t;

struct fixture {
    fixture_t *next; /* in the list of those alive */
    pid_t owner;     /* a fork()ed child ends nobody's servers */
    size_t failures_before;
    size_t count;
    server_t *servers;
    char directory[64];
    char *all_addresses;
    char *first_addresses;
};

static fixture_t *alive;

static void *need(void *memory) {
    if (memory == NULL) {
        tap_bail("fixture: out of memory");
    }
    return memory;
}

static server_t *server_at(const fixture_t *fixture, size_t index) {
    if (index >= fixture->count) {
        tap_bail("fixture: no server %zu, there are %zu", index, fixture->count);
    }
    return &fixture->servers[index];
}

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

static const char *memcached_path(void) {
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

static int connect_to(const server_t *server) {
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
static const char *ask(const server_t *server, const char *command, const char *until, char *reply,
                       size_t capacity) {
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

void fixture_raw(const fixture_t *fixture, size_t index, const char *command, const char *until,
                 char *reply, size_t capacity) {
    const server_t *server = server_at(fixture, index);
    const char *fault = ask(server, command, until, reply, capacity);
    if (fault != NULL) {
        tap_bail("%s: %s after \"%s\"; reply so far: \"%s\"", server->address, fault, command,
                 reply);
    }
}

void fixture_flush(fixture_t *fixture) {
    char reply[REPLY_SIZE];
    for (size_t i = 0; i < fixture->count; i++) {
        if (fixture->servers[i].pid != 0) {
            fixture_raw(fixture, i, "flush_all\r\n", "OK\r\n", reply, sizeof reply);
        }
    }
}

/* ---- ports ---- */

/* A socket bound to a free loopback port, which it keeps from others. */
static int hold_port(uint16_t *port) {
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

uint16_t fixture_free_port(void) {
    uint16_t port;
    hold_port(&port); /* open until the program ends, so that it stays free */
    return port;
}

/* ---- processes ---- */

static void show_log(const server_t *server) {
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
static void become_memcached(const server_t *server, const char *path, pid_t parent, int log) {
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

/* Whether the server answers and is our child. */
static bool is_ready(const server_t *server) {
    char reply[REPLY_SIZE];
    if (ask(server, "stats\r\n", "END\r\n", reply, sizeof reply) != NULL) {
        return false;
    }
    char expected[64];
    snprintf(expected, sizeof expected, "STAT pid %d\r\n", (int)server->pid);
    return strstr(reply, expected) != NULL;
}

static void wait_until_ready(server_t *server) {
    const struct timespec pause = {.tv_nsec = 2000000};
    long end = milliseconds_now() + READY_SECONDS * 1000L;
    while (!is_ready(server)) {
        int status;
        if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
            show_log(server);
            server->pid = 0;
            tap_bail("memcached on %s ended with status %#x", server->address, (unsigned)status);
        }
        if (milliseconds_now() >= end) {
            show_log(server);
            tap_bail("memcached on %s is not ready after %d s", server->address, READY_SECONDS);
        }
        nanosleep(&pause, NULL);
    }
}

static void start(server_t *server) {
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

static void end(server_t *server) {
    if (server->pid != 0) {
        kill(server->pid, SIGKILL);
        while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        server->pid = 0;
    }
}

void fixture_kill(fixture_t *fixture, size_t index) {
    end(server_at(fixture, index));
}

void fixture_restart(fixture_t *fixture, size_t index) {
    server_t *server = server_at(fixture, index);
    end(server);
    start(server);
}

static void signal_server(fixture_t *fixture, size_t index, int signal) {
    const server_t *server = server_at(fixture, index);
    if (server->pid == 0 || kill(server->pid, signal) != 0) {
        tap_bail("%s: no process to send signal %d to", server->address, signal);
    }
}

void fixture_stop(fixture_t *fixture, size_t index) {
    signal_server(fixture, index, SIGSTOP);
}

void fixture_continue(fixture_t *fixture, size_t index) {
    signal_server(fixture, index, SIGCONT);
}

/* ---- adding servers ---- */

/* argv of a server: ours first, so that the test's arguments win. */
static char **make_arguments(const server_t *server, const char *const *more) {
    char port[16];
    snprintf(port, sizeof port, "%u", (unsigned)server->port);
    const struct passwd *user = getpwuid(geteuid());
    const char *ours[16] = {"memcached", "-U", "0", "-t", "2"};
    size_t count = 5;
    if (server->holder >= 0) {
        ours[count++] = "-p";
        ours[count++] = port;
        ours[count++] = "-l";
        ours[count++] = "127.0.0.1";
    } else {
        ours[count++] = "-s";
        ours[count++] = server->socket_path;
    }
    if (geteuid() == 0) {
        ours[count++] = "-u";
        ours[count++] = user != NULL ? user->pw_name : "root";
    }

    size_t extra = 0;
    while (more != NULL && more[extra] != NULL) {
        extra++;
    }
    char **arguments = need(calloc(count + extra + 1, sizeof *arguments));
    for (size_t i = 0; i < count + extra; i++) {
        arguments[i] = need(strdup(i < count ? ours[i] : more[i - count]));
    }
    return arguments;
}

/* "a,b,c" of the first `count` servers. */
static char *join_addresses(const fixture_t *fixture, size_t count) {
    char *text = need(malloc(count * (PATH_SIZE + 1) + 1));
    char *end_of_text = text;
    *text = '\0';
    for (size_t i = 0; i < count; i++) {
        end_of_text += sprintf(end_of_text, "%s%s", i != 0 ? "," : "", fixture->servers[i].address);
    }
    return text;
}

static size_t add(fixture_t *fixture, bool local, const char *const *arguments) {
    size_t index = fixture->count;
    fixture->servers = need(realloc(fixture->servers, (index + 1) * sizeof *fixture->servers));
    server_t *server = &fixture->servers[index];
    *server = (server_t){.holder = -1};
    snprintf(server->log_path, sizeof server->log_path, "%s/%zu.log", fixture->directory, index);
    if (local) {
        snprintf(server->socket_path, sizeof server->socket_path, "%s/%zu", fixture->directory,
                 index);
        snprintf(server->address, sizeof server->address, "unix:%s", server->socket_path);
    } else {
        server->holder = hold_port(&server->port);
        snprintf(server->address, sizeof server->address, "127.0.0.1:%u", (unsigned)server->port);
    }
    server->arguments = make_arguments(server, arguments);
    fixture->count++;
    start(server);
    free(fixture->all_addresses);
    fixture->all_addresses = join_addresses(fixture, fixture->count);
    return index;
}

size_t fixture_add(fixture_t *fixture, const char *const *arguments) {
    return add(fixture, false, arguments);
}

size_t fixture_add_unix(fixture_t *fixture) {
    return add(fixture, true, NULL);
}

/* ---- life ---- */

static void end_all(fixture_t *fixture) {
    for (size_t i = 0; i < fixture->count; i++) {
        server_t *server = &fixture->servers[i];
        end(server);
        unlink(server->log_path);
        if (server->socket_path[0] != '\0') {
            unlink(server->socket_path);
        }
    }
    rmdir(fixture->directory);
}

/* For tests that bail or return early. */
static void at_exit(void) {
    for (fixture_t *fixture = alive; fixture != NULL; fixture = fixture->next) {
        if (fixture->owner == getpid()) {
            end_all(fixture);
        }
    }
}

fixture_t *fixture_start(size_t count, const char *const *arguments) {
    static bool registered;
    memcached_path();
    if (!registered && atexit(at_exit) != 0) {
        tap_bail("fixture: atexit failed");
    }
    registered = true;

    fixture_t *fixture = need(calloc(1, sizeof *fixture));
    fixture->owner = getpid();
    fixture->failures_before = tap_failures();
    strcpy(fixture->directory, "/tmp/warmring-test-XXXXXX");
    if (mkdtemp(fixture->directory) == NULL) {
        tap_bail("%s: %s", fixture->directory, strerror(errno));
    }
    fixture->all_addresses = need(strdup(""));
    fixture->next = alive;
    alive = fixture;
    for (size_t i = 0; i < count; i++) {
        fixture_add(fixture, arguments);
    }
    return fixture;
}

static void free_memory(fixture_t *fixture) {
    for (size_t i = 0; i < fixture->count; i++) {
        server_t *server = &fixture->servers[i];
        for (char **argument = server->arguments; *argument != NULL; argument++) {
            free(*argument);
        }
        free(server->arguments);
        if (server->holder >= 0) {
            close(server->holder);
        }
    }
    free(fixture->servers);
    free(fixture->all_addresses);
    free(fixture->first_addresses);
    free(fixture);
}

void fixture_free(fixture_t *fixture) {
    if (fixture == NULL) {
        return;
    }
    for (size_t i = 0; i < fixture->count && tap_failures() > fixture->failures_before; i++) {
        show_log(&fixture->servers[i]);
    }
    if (fixture->owner == getpid()) {
        end_all(fixture);
    }
    fixture_t **link = &alive;
    while (*link != fixture) {
        link = &(*link)->next;
    }
    *link = fixture->next;
    free_memory(fixture);
}

/* ---- looking ---- */

uint16_t fixture_port(const fixture_t *fixture, size_t index) {
    return server_at(fixture, index)->port;
}

pid_t fixture_pid(const fixture_t *fixture, size_t index) {
    return server_at(fixture, index)->pid;
}

const char *fixture_address(const fixture_t *fixture, size_t index) {
    return server_at(fixture, index)->address;
}

const char *fixture_servers(const fixture_t *fixture) {
    return fixture->all_addresses;
}

const char *fixture_first_servers(fixture_t *fixture, size_t count) {
    if (count > fixture->count) {
        tap_bail("fixture: %zu servers wanted, there are %zu", count, fixture->count);
    }
    free(fixture->first_addresses);
    fixture->first_addresses = join_addresses(fixture, count);
    return fixture->first_addresses;
}
