/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The faults are a table; the rest takes them from it, in an order that is
 * shuffled anew each time through, with rests in between.
 */
#include "tests/soak/trouble.h"

#include "tests/lib/tap.h"
#include "tests/soak/network.h"

enum { REST_MS = 600, SHORTEST_MS = 20 };
static const int64_t ms = 1000000;

static uint16_t port_of(const trouble_t *trouble, size_t server) {
    return server < DIRECT ? fixture_port(trouble->fixture, server)
                           : trouble->proxy->way[server - DIRECT].port;
}

static proxy_way_t *way_to(const trouble_t *trouble, size_t server) {
    return &trouble->proxy->way[server - DIRECT];
}

/* ---- the faults ------------------------------------------------------------------- */

static void do_nothing(trouble_t *trouble, size_t server) {
    (void)trouble;
    (void)server;
}

static void kill_it(trouble_t *trouble, size_t server) {
    fixture_kill(trouble->fixture, server);
}

static void start_again(trouble_t *trouble, size_t server) {
    fixture_restart(trouble->fixture, server);
}

static void stop_it(trouble_t *trouble, size_t server) {
    fixture_stop(trouble->fixture, server);
}

static void let_it_go(trouble_t *trouble, size_t server) {
    fixture_continue(trouble->fixture, server);
}

static void reset_connections(trouble_t *trouble, size_t server) {
    atomic_fetch_add(&way_to(trouble, server)->resets_wanted, 1);
}

static void begin_drip(trouble_t *trouble, size_t server) {
    atomic_store(&way_to(trouble, server)->drips, true);
}

static void end_drip(trouble_t *trouble, size_t server) {
    atomic_store(&way_to(trouble, server)->drips, false);
}

static void begin_network(const trouble_t *trouble, network_fault_t fault, size_t server) {
    if (!network_begin(fault, port_of(trouble, server))) {
        tap_bail("tc does not do what it did");
    }
}

static void begin_partition(trouble_t *trouble, size_t server) {
    begin_network(trouble, NETWORK_PARTITION, server);
}

static void begin_delay(trouble_t *trouble, size_t server) {
    begin_network(trouble, NETWORK_DELAY, server);
}

static void end_network(trouble_t *trouble, size_t server) {
    (void)trouble;
    (void)server;
    if (!network_end()) {
        tap_bail("tc does not undo what it did");
    }
}

typedef struct {
    const char *name;
    void (*begin)(trouble_t *trouble, size_t server);
    void (*end)(trouble_t *trouble, size_t server);
    uint32_t longest_ms;
    bool by_proxy;
    int network; /* network_fault_t, or -1 */
} fault_t;

static const fault_t faults[TROUBLES] = {
    {"a server killed", kill_it, start_again, 600, false, -1},
    {"a server restarted", start_again, do_nothing, 50, false, -1},
    {"a server stopped", stop_it, let_it_go, 400, false, -1},
    {"connections reset", reset_connections, do_nothing, 100, true, -1},
    {"bytes that drip", begin_drip, end_drip, 500, true, -1},
    {"packets lost", begin_partition, end_network, 800, false, NETWORK_PARTITION},
    {"packets delayed", begin_delay, end_network, 1000, false, NETWORK_DELAY},
};

const char *trouble_name(unsigned fault) {
    return faults[fault].name;
}

const char *trouble_lack(unsigned fault) {
    int network = faults[fault].network;
    return network >= 0 ? network_lack((network_fault_t)network) : "";
}

/* ---- one after another -------------------------------------------------------------- */

static void shuffle(trouble_t *trouble) {
    for (unsigned i = 0; i < TROUBLES; i++) {
        unsigned other = roll(&trouble->dice, i + 1);
        trouble->order[i] = trouble->order[other];
        trouble->order[other] = i;
    }
    trouble->next = 0;
}

static int64_t some_ms(trouble_t *trouble, uint32_t longest) {
    return (SHORTEST_MS + roll(&trouble->dice, longest)) * ms;
}

static void begin_next(trouble_t *trouble, int64_t now) {
    if (trouble->next == TROUBLES) {
        shuffle(trouble);
    }
    unsigned index = trouble->order[trouble->next++];
    const fault_t *fault = &faults[index];
    size_t server =
        fault->by_proxy ? DIRECT + roll(&trouble->dice, PROXY_WAYS) : roll(&trouble->dice, SERVERS);
    if (*trouble_lack(index) != '\0') {
        return;
    }
    fault->begin(trouble, server);
    trouble->made[index]++;
    trouble->present = (int)index;
    trouble->server = server;
    trouble->change = now + some_ms(trouble, fault->longest_ms);
}

static void end_present(void *context) {
    trouble_t *trouble = context;
    if (trouble->present >= 0) {
        faults[trouble->present].end(trouble, trouble->server);
        trouble->present = -1;
    }
}

static void make(void *context, int64_t now) {
    trouble_t *trouble = context;
    if (now < trouble->change) {
        return;
    }
    if (trouble->present < 0) {
        begin_next(trouble, now);
    } else {
        end_present(trouble);
        trouble->change = now + some_ms(trouble, REST_MS);
    }
}

const faults_t trouble_faults = {make, end_present};

void trouble_begin(trouble_t *trouble, fixture_t *fixture, proxy_t *proxy, uint64_t seed) {
    *trouble = (trouble_t){.fixture = fixture, .proxy = proxy, .dice = {seed}, .present = -1};
    shuffle(trouble);
    trouble->change = race_now() + 50 * ms;
}
