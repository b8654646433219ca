/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ten thousand reconnects: a server that closes each connection after one
 * answer. Descriptors and memory stay as they are, and no call fails.
 */
#include "faults.h"
#include "tests/lib/usage.h"

enum { RECONNECTS = 10000, WARM_UP = 500 };

static const fake_step_t one_answer[] = {FAKE_GREET(), FAKE_ANSWER(fake_memcached, NULL), FAKE_END};

static size_t wrong(warmring_t *client, size_t calls) {
    size_t count = 0;
    for (size_t i = 0; i < calls; i++) {
        count += operate(client, i % 2 == 0 ? GET : SET, "key", LONG_MS) != WARMRING_OK;
    }
    return count;
}

/* Those of the client; the fake server may still be about to close its. */
static void test_flat(void) {
    fake_server_t *server = fake_server_start(one_answer);
    warmring_t *client = faults_open(fake_server_address(server), NULL);
    tap_int((int64_t)wrong(client, WARM_UP), 0, "the first calls work");
    long blocks_before = usage_now().blocks;
    size_t sockets_before = sockets_to(fake_server_port(server));
    size_t connections_before = fake_server_connections(server);
    tap_int((int64_t)wrong(client, RECONNECTS), 0, "%d calls work", RECONNECTS);
    tap_int((int64_t)(fake_server_connections(server) - connections_before), RECONNECTS,
            "each on a connection of its own");
    tap_int(usage_now().blocks, blocks_before, "memory is as it was: %ld blocks", blocks_before);
    tap_int((int64_t)sockets_to(fake_server_port(server)), (int64_t)sockets_before,
            "so are sockets");
    tap_ok(server_counters(client, fake_server_address(server)).connections <= 1,
           "and what is counted");
    warmring_close(client);
    tap_int((int64_t)sockets_to(fake_server_port(server)), 0, "none is left");
    tap_int(usage_now().blocks, 0, "nor a block");
    fake_server_free(server);
}

int main(void) {
    usage_count_blocks();
    test_use_transport("meta");
    test_flat();
    return tap_done();
}
