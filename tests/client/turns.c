/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a batch waits for a server, whatever the number of its keys. A
 * turn is what is sent to a server after it has answered; the program counts
 * them in the calls that the library makes.
 *
 * In WARMING the new server is asked, leased and filled, an old one asked for
 * what is its own and for what the new one misses; without a migration each is
 * asked once. A set reaches the old owner, and ends what the new one has.
 */
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <warmring/warmring.h>

#include "tests/lib/fixture.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

enum { SERVERS = 4, NEW = SERVERS - 1, KEYS = 200, FEW = 60, DESCRIPTORS = 1024 };

/* ---- what goes over the descriptors ---------------------------------------------- */

static atomic_bool heard[DESCRIPTORS]; /* the server spoke last */
static unsigned turns[SERVERS];
static uint16_t port[SERVERS];

static void note_sent(int descriptor) {
    struct sockaddr_in peer;
    socklen_t length = sizeof peer;
    if (descriptor >= DESCRIPTORS || !atomic_exchange(&heard[descriptor], false) ||
        getpeername(descriptor, (struct sockaddr *)&peer, &length) != 0) {
        return;
    }
    for (size_t i = 0; i < SERVERS; i++) {
        turns[i] += ntohs(peer.sin_port) == port[i];
    }
}

static ssize_t note_heard(int descriptor, ssize_t length) {
    if (descriptor < DESCRIPTORS && length > 0) {
        atomic_store(&heard[descriptor], true);
    }
    return length;
}

/* Before the C library's, in the library's eyes. */
#define CALLED_FIRST __attribute__((visibility("default")))
/* The true function behind one of this program's. */
#define BEHIND(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

CALLED_FIRST ssize_t send(int descriptor, const void *bytes, size_t length, int flags) {
    note_sent(descriptor);
    return BEHIND(send)(descriptor, bytes, length, flags);
}

CALLED_FIRST ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    note_sent(descriptor);
    return BEHIND(sendmsg)(descriptor, message, flags);
}

CALLED_FIRST ssize_t recv(int descriptor, void *bytes, size_t length, int flags) {
    return note_heard(descriptor, BEHIND(recv)(descriptor, bytes, length, flags));
}

CALLED_FIRST ssize_t recvmsg(int descriptor, struct msghdr *message, int flags) {
    return note_heard(descriptor, BEHIND(recvmsg)(descriptor, message, flags));
}

/* ---- batches ------------------------------------------------------------------------ */

static char text[KEYS][24];
static warmring_bytes_t keys[KEYS];
static warmring_entry_t entries[KEYS];
static warmring_results_t *results;
static unsigned generation;

/* Keys that nobody has. */
static void make_keys(void) {
    generation++;
    for (int i = 0; i < KEYS; i++) {
        snprintf(text[i], sizeof text[i], "turns:%u:%d", generation, i);
        keys[i] = (warmring_bytes_t){text[i], strlen(text[i])};
        entries[i] = (warmring_entry_t){.key = keys[i], .value = keys[i]};
    }
}

static warmring_status_t get(warmring_t *client, size_t count) {
    return warmring_get_multi(client, keys, count, results, NULL);
}

static warmring_status_t set(warmring_t *client, size_t count) {
    return warmring_set_multi(client, entries, count, results, NULL);
}

static warmring_status_t delete (warmring_t *client, size_t count) {
    return warmring_delete_multi(client, keys, count, results, NULL);
}

typedef warmring_status_t call_t(warmring_t *client, size_t count);

/* `old` and `new`: the most turns with an old server, and those with the new. */
static void check(warmring_t *client, call_t *call, size_t count, unsigned old, unsigned new,
                  const char *what) {
    unsigned most = 0;
    memset(turns, 0, sizeof turns);
    tap_status(call(client, count), WARMRING_OK, "%s, %zu keys", what, count);
    for (size_t i = 0; i < NEW; i++) {
        most = turns[i] > most ? turns[i] : most;
    }
    tap_int(most, old, "%s, %zu keys: %u turns with an old server", what, count, old);
    tap_int(turns[NEW], new, "%s, %zu keys: %u turns with the new one", what, count, new);
}

static size_t hits(void) {
    size_t found = 0;
    for (size_t index = SIZE_MAX; warmring_results_next_hit(results, &index);) {
        found++;
    }
    return found;
}

static void run(void) {
    fixture_t *fixture = fixture_start(SERVERS, NULL);
    for (size_t i = 0; i < SERVERS; i++) {
        port[i] = fixture_port(fixture, i);
    }
    warmring_t *client = steps_open(fixture_first_servers(fixture, NEW), NULL);
    make_keys();
    tap_status(set(client, KEYS), WARMRING_OK, "connections are open");
    check(client, get, KEYS, 1, 0, "a get");
    check(client, set, KEYS, 1, 0, "a set");
    steps_begin(client, fixture_servers(fixture));
    steps_forward(client, WARMRING_WARMING);
    tap_status(set(client, KEYS), WARMRING_OK, "to the new server too");
    const size_t counts[] = {KEYS, FEW};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        make_keys();
        check(client, get, counts[i], 2, 3, "a get that misses everywhere");
        check(client, set, counts[i], 1, 1, "a set");
        check(client, get, counts[i], 2, 3, "a get with copies");
        check(client, get, counts[i], 1, 1, "the next get");
        tap_int((int64_t)hits(), (int64_t)counts[i], "which finds all");
        check(client, delete, counts[i], 1, 1, "a delete");
    }
    warmring_close(client);
    fixture_free(fixture);
}

int main(void) {
    results = warmring_results_create();
    test_use_transport("meta");
    run();
    warmring_results_free(results);
    return tap_done();
}
