/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name resolution that fails, that is slow, and that never ends. The program
 * has a getaddrinfo() of its own, which the library then calls: no resolver
 * and no network are needed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"

#define HOST "cache.example"

static const fake_step_t good[] = {FAKE_MEMCACHED()};

/* ---- the resolver ------------------------------------------------------------------- */

static struct {
    _Atomic int delay_ms;
    _Atomic int addresses; /* of a name: the last is 127.0.0.1, the one before 127.0.0.2 */
    _Atomic int code;      /* of getaddrinfo() for a name */
    _Atomic int calls;     /* for names */
    _Atomic int busy;      /* of them, under way */
} resolver = {.addresses = 1};

/* One block for an answer: freeaddrinfo() below frees it. */
typedef struct {
    struct addrinfo info;
    struct sockaddr_in address;
} answer_t;

/* `count` addresses down to `last`. */
static int answer_with(in_addr_t last, size_t count, const char *service, struct addrinfo **list) {
    answer_t *answers = calloc(count, sizeof *answers);
    if (answers == NULL) {
        return EAI_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        answers[i].address = (struct sockaddr_in){
            .sin_family = AF_INET,
            .sin_port = htons((uint16_t)atoi(service)),
            .sin_addr = {htonl(ntohl(last) + (uint32_t)(count - 1 - i))},
        };
        answers[i].info = (struct addrinfo){
            .ai_family = AF_INET,
            .ai_socktype = SOCK_STREAM,
            .ai_addrlen = sizeof answers[i].address,
            .ai_addr = (struct sockaddr *)&answers[i].address,
            .ai_next = i + 1 < count ? &answers[i + 1].info : NULL,
        };
    }
    *list = &answers[0].info;
    return 0;
}

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int getaddrinfo(const char *restrict host, const char *restrict service,
                         const struct addrinfo *restrict hints, struct addrinfo **restrict list) {
    in_addr_t numeric = inet_addr(host);
    if (numeric != INADDR_NONE) {
        return answer_with(numeric, 1, service, list);
    }
    if ((hints->ai_flags & AI_NUMERICHOST) != 0) {
        return EAI_NONAME;
    }
    atomic_fetch_add(&resolver.calls, 1);
    atomic_fetch_add(&resolver.busy, 1);
    for (int waited = 0; waited < atomic_load(&resolver.delay_ms); waited += 2) {
        usleep(2000);
    }
    int code = atomic_load(&resolver.code);
    size_t count = (size_t)atomic_load(&resolver.addresses);
    code = code != 0 ? code : answer_with(htonl(INADDR_LOOPBACK), count, service, list);
    errno = 0;
    atomic_fetch_sub(&resolver.busy, 1);
    return code;
}

EXPORTED void freeaddrinfo(struct addrinfo *list) {
    free(list);
}

/* ---- the tests ------------------------------------------------------------------------ */

typedef struct {
    fake_server_t *named, *well;
    warmring_t *client;
    char address[128];
    char key[KEY_SIZE], well_key[KEY_SIZE];
} cluster_t;

static cluster_t start(int delay_ms, int code) {
    cluster_t cluster = {.named = fake_server_start(good), .well = fake_server_start(good)};
    char servers[256];
    unsigned next = 0;
    atomic_store(&resolver.delay_ms, delay_ms);
    atomic_store(&resolver.code, code);
    snprintf(cluster.address, sizeof cluster.address, HOST ":%u", fake_server_port(cluster.named));
    snprintf(servers, sizeof servers, "%s,%s", cluster.address, fake_server_address(cluster.well));
    cluster.client = faults_open(servers, NULL);
    key_of(cluster.client, cluster.address, &next, cluster.key);
    key_of(cluster.client, fake_server_address(cluster.well), &next, cluster.well_key);
    return cluster;
}

static void end(cluster_t *cluster) {
    warmring_close(cluster->client);
    atomic_store(&resolver.delay_ms, 0);
    while (atomic_load(&resolver.busy) != 0) {
        usleep(2000);
    }
    tap_int((int64_t)sockets_to(fake_server_port(cluster->named)), 0, "no socket is left");
    fake_server_free(cluster->named);
    fake_server_free(cluster->well);
}

static void expect_fault(const cluster_t *cluster, operation_t operation, uint32_t ms,
                         warmring_status_t status, const char *text) {
    int64_t begun = now_ms();
    tap_status(operate(cluster->client, operation, cluster->key, ms), status, "%s: %s", text,
               operation_names[operation]);
    in_time(begun, ms, status == WARMRING_TIMEOUT, operation_names[operation]);
    tap_contains(warmring_error_detail(), cluster->address, "... the server");
    tap_contains(warmring_error_detail(), text, "... the cause");
    tap_int(server_counters(cluster->client, cluster->address).connections, 0,
            "... no connection is counted");
    tap_status(operate(cluster->client, operation, cluster->well_key, LONG_MS), WARMRING_OK,
               "... the other server");
}

static void test_failure(void) {
    cluster_t cluster = start(0, EAI_NONAME);
    for (operation_t operation = 0; operation < OPERATIONS; operation++) {
        expect_fault(&cluster, operation, LONG_MS, WARMRING_RESOLVE_FAILED,
                     "cannot resolve \"" HOST "\"");
    }
    atomic_store(&resolver.code, 0);
    for (operation_t operation = 0; operation < OPERATIONS; operation++) {
        tap_status(operate(cluster.client, operation, cluster.key, LONG_MS), WARMRING_OK,
                   "when the name is known: %s", operation_names[operation]);
    }
    end(&cluster);
}

static void test_slow(void) {
    cluster_t cluster = start(60000, 0);
    for (operation_t operation = 0; operation < OPERATIONS; operation++) {
        expect_fault(&cluster, operation, SHORT_MS, WARMRING_TIMEOUT, "name not resolved within ");
    }
    atomic_store(&resolver.delay_ms, 0);
    for (operation_t operation = 0; operation < OPERATIONS; operation++) {
        tap_status(operate(cluster.client, operation, cluster.key, LONG_MS), WARMRING_OK,
                   "when the resolver answers: %s", operation_names[operation]);
    }
    end(&cluster);
}

/* A multi get does not wait for the name longer than its share. */
static void test_slow_multi(void) {
    cluster_t cluster = start(60000, 0);
    const char *const keys[KEYS] = {cluster.key, cluster.well_key, cluster.well_key};
    warmring_status_t status[KEYS];
    int64_t begun = now_ms();
    operate_on_all(cluster.client, keys, 4 * SHORT_MS, status);
    in_time(begun, 4 * SHORT_MS, false, "a multi get with a name that is not resolved");
    tap_status(status[0], WARMRING_TIMEOUT, "... its key");
    tap_status(status[1], WARMRING_OK, "... another's");
    end(&cluster);
}

/* An answer that takes its time, but less than the deadline, is remembered. */
static void test_late_but_in_time(void) {
    cluster_t cluster = start(30, 0);
    int before = atomic_load(&resolver.calls);
    for (int i = 0; i < 5; i++) {
        tap_status(operate(cluster.client, GET, cluster.key, LONG_MS), WARMRING_OK,
                   "a name that takes 30 ms");
    }
    tap_int(atomic_load(&resolver.calls) - before, 1, "is looked up once");
    end(&cluster);
}

/* Takes connections at 127.0.0.2, and never says anything. */
static int listen_deaf(uint16_t port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK + 1)}};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 16) != 0) {
        tap_bail("127.0.0.2:%u: %s", port, strerror(errno));
    }
    return listener;
}

/* The first of two addresses hangs, which leaves time for the second. */
static void test_two_addresses(void) {
    cluster_t cluster = start(0, 0);
    int deaf = listen_deaf((uint16_t)fake_server_port(cluster.named));
    atomic_store(&resolver.addresses, 2);
    tap_status(operate(cluster.client, GET, cluster.key, LONG_MS), WARMRING_OK,
               "a name whose first address hangs");
    tap_int((int64_t)server_counters(cluster.client, cluster.address).connect_errors, 0,
            "is no failure");
    atomic_store(&resolver.addresses, 1);
    close(deaf);
    end(&cluster);
}

static void run(void) {
    test_failure();
    test_slow();
    test_slow_multi();
    test_late_but_in_time();
    test_two_addresses();
}

int main(void) {
    test_transports(run);
    return tap_done();
}
