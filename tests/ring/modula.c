/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash mod servers: shares, walks, and what moves, against arithmetic.
 */
#include <math.h>

#include <warmring/plan.h>

#include "../lib/tap.h"
#include "ring/ring.h"
#include "sample.h"

enum { HASHES = 200000 };

static const double hash_space = 4294967296.0;

static warmring_ring_t *modula(size_t count, size_t drained) {
    sample_t sample;
    sample_fill(&sample, count, 1);
    if (drained < count) {
        sample.servers[drained].weight = 0;
    }
    return sample_ring(sample.servers, count, "modula", 0);
}

static void test_shares(void) {
    for (uint32_t servers = 1; servers <= 40; servers += 3) {
        warmring_ring_t *ring = modula(servers, SAMPLE_MAX);
        double sum = 0;
        unsigned wrong = 0;
        for (uint32_t i = 0; i < servers; i++) {
            double share = warmring_ring_share(ring, i);
            wrong += fabs(share * hash_space - ceil((hash_space - i) / servers)) > 0.25;
            sum += share;
        }
        tap_int(wrong, 0, "%u servers: each has the hashes with its rest", servers);
        tap_near(sum, 1, 0, "%u servers: shares add up to 1", servers);
        tap_int((int64_t)warmring_ring_points(ring), 0, "%u servers: no points", servers);
        warmring_ring_free(ring);
    }
}

static void test_owners(void) {
    enum { SERVERS = 7, DRAINED = 2 };
    static const uint32_t live[] = {0, 1, 3, 4, 5, 6};
    warmring_ring_t *all = modula(SERVERS, SAMPLE_MAX), *some = modula(SERVERS, DRAINED);
    unsigned wrong = 0, walks = 0;
    for (uint32_t hash = 0; hash < 100; hash++) {
        wrong += wr_ring_owner(all, hash) != hash % SERVERS;
        wrong += wr_ring_owner(some, hash) != live[hash % (SERVERS - 1)];
    }
    for (uint32_t i = 0; i < 100; i++) {
        char key[SAMPLE_TEXT];
        uint32_t walk[SERVERS];
        size_t length = sample_key(key, i);
        walks += warmring_ring_walk(all, key, length, walk, SERVERS) != SERVERS;
        for (uint32_t k = 0; k < SERVERS; k++) {
            walks += walk[k] != (warmring_ring_locate(all, key, length) + k) % SERVERS;
        }
        walks += warmring_ring_walk(some, key, length, walk, SERVERS) != SERVERS - 1;
        for (uint32_t k = 0; k + 1 < SERVERS; k++) {
            walks += walk[k] == DRAINED;
        }
    }
    tap_int(wrong, 0, "owners by rest, drained servers left out");
    tap_int(walks, 0, "walks follow the list");
    tap_near(warmring_ring_share(some, DRAINED), 0, 0, "a drained server owns nothing");
    warmring_ring_free(all);
    warmring_ring_free(some);
}

static double moved_between(const warmring_ring_t *from, const warmring_ring_t *to) {
    double moved = -1;
    tap_status(warmring_plan_moved(from, to, &moved), WARMRING_OK, "moved");
    return moved;
}

/* Of the hashes below lcm(a, b) those below min(a, b) stay, and so on in each
 * of the periods that follow. */
static void check_moved(uint32_t a, uint32_t b, uint32_t period) {
    warmring_ring_t *from = modula(a, SAMPLE_MAX), *to = modula(b, SAMPLE_MAX);
    uint64_t whole = ((uint64_t)1 << 32) / period, rest = ((uint64_t)1 << 32) % period;
    uint64_t each = a < b ? a : b, stays = whole * each + (rest < each ? rest : each);
    tap_near(moved_between(from, to), 1 - (double)stays / hash_space, 1e-15,
             "%u to %u servers: exactly what the rests say", a, b);
    warmring_ring_free(from);
    warmring_ring_free(to);
}

/* Flows to and from a ring with points: margins are the shares, and keys at
 * random agree. */
static void test_mixed(void) {
    enum { SERVERS = 5 };
    sample_t sample;
    double flows[SERVERS * SERVERS], worst = 0;
    sample_fill(&sample, SERVERS, 1);
    warmring_ring_t *from = modula(SERVERS, 3);
    warmring_ring_t *to = sample_ring(sample.servers, SERVERS, "libmemcached", 0);
    tap_ok(wr_ring_hashes_alike(from, to), "modula and libmemcached hash alike");
    tap_status(warmring_plan_flows(from, to, flows, SERVERS * SERVERS), WARMRING_OK, "flows");
    for (uint32_t i = 0; i < SERVERS; i++) {
        double row = 0, column = 0;
        for (uint32_t j = 0; j < SERVERS; j++) {
            row += flows[i * SERVERS + j];
            column += flows[j * SERVERS + i];
        }
        worst = fmax(worst, fabs(row - warmring_ring_share(from, i)));
        worst = fmax(worst, fabs(column - warmring_ring_share(to, i)));
    }
    tap_near(worst, 0, 1e-12, "rows and columns are the shares");
    uint64_t state = 5;
    uint32_t seen[SERVERS * SERVERS] = {0};
    for (uint32_t i = 0; i < HASHES; i++) {
        uint32_t hash = sample_random(&state, UINT32_MAX);
        seen[wr_ring_owner(from, hash) * SERVERS + wr_ring_owner(to, hash)]++;
    }
    for (uint32_t i = 0; i < SERVERS * SERVERS; i++) {
        double noise = 5 * sqrt(flows[i] * (1 - flows[i]) / HASHES) + 1e-9;
        tap_near((double)seen[i] / HASHES, flows[i], noise, "flow %u to %u", i / SERVERS,
                 i % SERVERS);
    }
    tap_near(moved_between(from, to), moved_between(to, from), 0, "as much on the way back");
    warmring_ring_free(from);
    warmring_ring_free(to);
}

int main(void) {
    test_shares();
    test_owners();
    check_moved(10, 11, 110);
    check_moved(11, 10, 110);
    check_moved(4, 8, 8);
    check_moved(6, 4, 12);
    check_moved(9, 9, 9);
    check_moved(1, 60, 60);
    test_mixed();
    return tap_done();
}
