/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread, one loop over poll(): pairs of connections, each with what was
 * read from one side and not yet taken by the other.
 */
#include "tests/soak/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/child.h"
#include "tests/lib/tap.h"
#include "tests/race/race.h"

enum { PAIRS = 256, BUFFER = 16384, TICK_MS = 1, CUT_WITHIN = 60 };
enum { CLIENT, SERVER, SIDES };

/* What came from one side. */
typedef struct {
    char bytes[BUFFER];
    size_t from, to;
    bool ended;
} stream_t;

typedef struct {
    proxy_way_t *way; /* NULL: free */
    int fd[SIDES];
    stream_t stream[SIDES];
    uint32_t resets_seen;
    long answer_left; /* bytes until it is cut; negative: it is not */
    bool cut;         /* the server is being waited for */
} pair_t;

typedef struct {
    proxy_t *proxy;
    int listener[PROXY_WAYS];
    pair_t *pairs;
    dice_t dice;
} loop_t;

/* ---- sockets --------------------------------------------------------------------- */

static struct sockaddr_in at_port(uint16_t port) {
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int listen_on(uint16_t *port) {
    struct sockaddr_in address = at_port(0);
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0 || listen(fd, 128) != 0) {
        tap_bail("no port for a proxy: %m");
    }
    *port = ntohs(address.sin_port);
    return fd;
}

static int connect_to(uint16_t port) {
    struct sockaddr_in address = at_port(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void close_with_reset(int fd) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(fd);
}

/* ---- pairs ------------------------------------------------------------------------- */

static pair_t *free_pair(const loop_t *loop) {
    for (size_t i = 0; i < PAIRS; i++) {
        if (loop->pairs[i].way == NULL) {
            return &loop->pairs[i];
        }
    }
    return NULL;
}

/* Connects to the server first: where there is none the client's is reset. */
static void accept_one(loop_t *loop, size_t number) {
    proxy_way_t *way = &loop->proxy->way[number];
    int client = accept4(loop->listener[number], NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) {
        return;
    }
    pair_t *pair = free_pair(loop);
    int server = pair != NULL ? connect_to(way->server) : -1;
    if (server < 0) {
        close_with_reset(client);
        return;
    }
    pair->way = way;
    pair->fd[CLIENT] = client;
    pair->fd[SERVER] = server;
    for (int side = 0; side < SIDES; side++) {
        pair->stream[side].from = pair->stream[side].to = 0;
        pair->stream[side].ended = false;
    }
    pair->resets_seen = atomic_load(&way->resets_wanted);
    pair->answer_left = -1;
    pair->cut = false;
}

static void end_pair(pair_t *pair, bool with_reset) {
    close(pair->fd[SERVER]);
    if (with_reset) {
        close_with_reset(pair->fd[CLIENT]);
    } else {
        close(pair->fd[CLIENT]);
    }
    pair->way = NULL;
}

static bool is_empty(const stream_t *stream) {
    return stream->from == stream->to;
}

/* Reads what there is; what the server still says after a cut is dropped. */
static void take_in(pair_t *pair, int side) {
    stream_t *stream = &pair->stream[side];
    ssize_t got = recv(pair->fd[side], stream->bytes, sizeof stream->bytes, MSG_DONTWAIT);
    if (got > 0) {
        stream->from = 0;
        stream->to = pair->cut ? 0 : (size_t)got;
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        stream->ended = true;
    }
}

static void begin_cut(pair_t *pair) {
    pair->cut = true;
    pair->answer_left = -1;
    pair->stream[SERVER].from = pair->stream[SERVER].to = 0;
    shutdown(pair->fd[SERVER], SHUT_WR);
}

/* At most `limit` bytes that came from `side` go on. */
static void pass_on(pair_t *pair, int side, size_t limit) {
    stream_t *stream = &pair->stream[side];
    size_t length = stream->to - stream->from;
    length = length < limit ? length : limit;
    bool counts = side == SERVER && pair->answer_left >= 0;
    if (counts && length > (size_t)pair->answer_left) {
        length = (size_t)pair->answer_left;
    }
    ssize_t sent =
        send(pair->fd[1 - side], stream->bytes + stream->from, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
        stream->from += (size_t)sent;
        pair->answer_left -= counts ? sent : 0;
    } else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        stream->from = stream->to = 0; /* nobody is there to take it */
    }
    if (pair->answer_left == 0) {
        begin_cut(pair);
    }
}

/* Some are cut at once, some within the next answer, some not at all. */
static void see_resets(loop_t *loop, pair_t *pair) {
    uint32_t wanted = atomic_load(&pair->way->resets_wanted);
    if (pair->resets_seen != wanted && !pair->cut) {
        uint32_t way = roll(&loop->dice, 4);
        pair->answer_left = way == 0 ? -1 : (long)roll(&loop->dice, CUT_WITHIN);
        if (way == 1 || pair->answer_left == 0) {
            begin_cut(pair);
        }
    }
    pair->resets_seen = wanted;
}

/* What becomes of a pair of which a side has ended. */
static void see_ends(pair_t *pair) {
    stream_t *client = &pair->stream[CLIENT], *server = &pair->stream[SERVER];
    if (server->ended && (pair->cut || is_empty(server))) {
        atomic_fetch_add(&pair->way->resets, pair->cut);
        end_pair(pair, pair->cut);
    } else if (client->ended && is_empty(client)) {
        shutdown(pair->fd[SERVER], SHUT_WR);
    }
}

/* ---- the loop ------------------------------------------------------------------------ */

static short events_of(const pair_t *pair, int side, bool drips) {
    const stream_t *in = &pair->stream[side], *out = &pair->stream[1 - side];
    bool reads = is_empty(in) && !in->ended && !(pair->cut && side == CLIENT);
    bool writes = !drips && !is_empty(out) && !(pair->cut);
    return (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
}

static void serve_pair(loop_t *loop, pair_t *pair, const struct pollfd *polled) {
    bool drips = atomic_load(&pair->way->drips);
    see_resets(loop, pair);
    for (int side = 0; side < SIDES; side++) {
        bool waits = (events_of(pair, side, drips) & POLLIN) != 0;
        if (waits && polled[side].revents != 0) {
            take_in(pair, side);
        }
        if (!is_empty(&pair->stream[side]) && !(pair->cut)) {
            atomic_fetch_add(&pair->way->dripped, drips);
            pass_on(pair, side, drips ? 1 : BUFFER);
        }
    }
    see_ends(pair);
}

/* A descriptor of which nothing is wanted must not wake the loop by its end. */
static int wanted(int fd, short events) {
    return events != 0 ? fd : -1;
}

static void do_round(loop_t *loop) {
    static struct pollfd polled[PROXY_WAYS + SIDES * PAIRS];
    struct pollfd *of_pairs = polled + PROXY_WAYS;
    for (size_t i = 0; i < PROXY_WAYS; i++) {
        polled[i] = (struct pollfd){.fd = loop->listener[i], .events = POLLIN};
    }
    for (size_t i = 0; i < PAIRS; i++) {
        const pair_t *pair = &loop->pairs[i];
        for (int side = 0; side < SIDES; side++) {
            short events =
                pair->way == NULL ? 0 : events_of(pair, side, atomic_load(&pair->way->drips));
            of_pairs[SIDES * i + (size_t)side] =
                (struct pollfd){.fd = wanted(pair->fd[side], events), .events = events};
        }
    }
    poll(polled, PROXY_WAYS + SIDES * PAIRS, TICK_MS);
    for (size_t i = 0; i < PAIRS; i++) {
        if (loop->pairs[i].way != NULL) {
            serve_pair(loop, &loop->pairs[i], &of_pairs[SIDES * i]);
        }
    }
    for (size_t i = 0; i < PROXY_WAYS; i++) {
        if (polled[i].revents != 0) {
            accept_one(loop, i);
        }
    }
}

static void take_turns(loop_t *loop) {
    for (;;) {
        int64_t begun = race_now();
        do_round(loop);
        bool drips = false;
        for (size_t i = 0; i < PROXY_WAYS; i++) {
            drips |= atomic_load(&loop->proxy->way[i].drips);
            atomic_fetch_add(&loop->proxy->way[i].alive, 1);
        }
        int64_t left_us = TICK_MS * 1000 - (race_now() - begun) / 1000;
        if (drips && left_us > 0) {
            race_sleep_us((uint32_t)left_us);
        }
    }
}

/* ---- its life ------------------------------------------------------------------------- */

proxy_t *proxy_start(const uint16_t servers[PROXY_WAYS], unsigned seconds, uint64_t seed) {
    static pair_t pairs[PAIRS];
    loop_t loop = {.pairs = pairs, .dice = {seed}};
    loop.proxy =
        mmap(NULL, sizeof *loop.proxy, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (loop.proxy == MAP_FAILED) {
        tap_bail("no memory for a proxy");
    }
    for (size_t i = 0; i < PROXY_WAYS; i++) {
        proxy_way_t *way = &loop.proxy->way[i];
        way->server = servers[i];
        loop.listener[i] = listen_on(&way->port);
        snprintf(way->address, sizeof way->address, "127.0.0.1:%u", way->port);
    }
    pid_t process = child_fork(seconds);
    if (process == 0) {
        take_turns(&loop);
    }
    for (size_t i = 0; i < PROXY_WAYS; i++) {
        close(loop.listener[i]);
    }
    loop.proxy->process = process;
    return loop.proxy;
}

bool proxy_end(proxy_t *proxy) {
    int status = 0;
    bool runs = waitpid(proxy->process, &status, WNOHANG) == 0;
    if (runs) {
        kill(proxy->process, SIGKILL);
        child_wait(proxy->process);
    } else {
        tap_note("the proxy ended with status %#x", (unsigned)status);
    }
    munmap(proxy, sizeof *proxy);
    return runs;
}
