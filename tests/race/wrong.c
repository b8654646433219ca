/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two clients that are known to be wrong, in commands of their own: the judge
 * must find what they do.
 *
 *   PLAIN_ADD       warms as mcrouter does: reads N, on a miss O, and adds the
 *                   value to N. What was stored or deleted in between comes
 *                   back.
 *   NEW_BEFORE_OLD  deletes N's copy first and O's second. A fill that comes
 *                   between, which is right in itself, keeps the old value.
 *
 * Both rest a little at the wrong moment, so that a short run shows it. The
 * first works on keys that are often written, the second on keys that keep
 * what came back until somebody looks.
 */
#include <stdio.h>
#include <string.h>

#include "tests/lib/steps.h"
#include "tests/race/race.h"

enum { REPLY_SIZE = 1024, REST_US = 3000 };

typedef struct {
    size_t old, new; /* servers */
    char name[KEY_SIZE];
} moved_t;

/* The fixture's server with that port. */
static size_t server_at(const fixture_t *fixture, const warmring_server_t *server) {
    size_t index = 0;
    while (fixture_port(fixture, index) != server->port) {
        index++;
    }
    return index;
}

/* Where the key goes from and to; false when it stays, or no ring is new. */
static bool find(worker_t *worker, const fixture_t *fixture, unsigned key, moved_t *moved) {
    race_key(worker->race->round, key, moved->name);
    warmring_topology_t *topology = steps_present(worker->client);
    bool moves = warmring_topology_phase(topology) == WARMRING_WARMING &&
                 warmring_topology_moved(topology, moved->name, strlen(moved->name));
    if (moves) {
        size_t *seat[] = {&moved->old, &moved->new};
        for (warmring_side_t side = WARMRING_OLD_RING; side <= WARMRING_NEW_RING; side++) {
            size_t owner = steps_owner(topology, side, moved->name);
            *seat[side] = server_at(fixture, warmring_topology_server(topology, side, owner));
        }
    }
    warmring_topology_release(topology);
    return moves;
}

static void ask(const fixture_t *fixture, size_t server, const char *verb, const char *name,
                const char *until, char reply[REPLY_SIZE]) {
    char command[64];
    snprintf(command, sizeof command, "%s %s\r\n", verb, name);
    fixture_raw(fixture, server, command, until, reply, REPLY_SIZE);
}

static void add_plainly(const fixture_t *fixture, const moved_t *moved) {
    char reply[REPLY_SIZE], command[REPLY_SIZE];
    ask(fixture, moved->new, "get", moved->name, "END\r\n", reply);
    if (strncmp(reply, "VALUE", 5) == 0) {
        return;
    }
    ask(fixture, moved->old, "get", moved->name, "END\r\n", reply);
    const char *value = strstr(reply, "\r\n");
    if (strncmp(reply, "VALUE", 5) != 0 || value == NULL ||
        strlen(value) != VALUE_SIZE + strlen("\r\n\r\nEND\r\n")) {
        return;
    }
    race_sleep_us(REST_US);
    snprintf(command, sizeof command, "add %s 0 0 %d\r\n%.*s\r\n", moved->name, VALUE_SIZE,
             VALUE_SIZE, value + 2);
    fixture_raw(fixture, moved->new, command, "\r\n", reply, sizeof reply);
}

static void delete_backwards(worker_t *worker, const fixture_t *fixture, unsigned key,
                             const moved_t *moved) {
    char reply[REPLY_SIZE];
    race_store(worker, key, SET);
    record_t *record = race_record(worker, key, DELETE);
    if (record == NULL) {
        return;
    }
    ask(fixture, moved->new, "delete", moved->name, "\r\n", reply);
    race_sleep_us(REST_US);
    ask(fixture, moved->old, "delete", moved->name, "\r\n", reply);
    race_return(record, WARMRING_OK);
}

void race_work_wrongly(worker_t *worker) {
    const fixture_t *fixture = worker->fixture;
    moved_t moved;
    bool adds = worker->race->shape.wrong == PLAIN_ADD;
    unsigned key =
        (unsigned)(adds ? REGISTER : QUIET) * KEYS_OF_CLASS + roll(&worker->dice, KEYS_OF_CLASS);
    if (!find(worker, fixture, key, &moved)) {
        race_sleep_us(REST_US);
    } else if (adds) {
        add_plainly(fixture, &moved);
    } else {
        delete_backwards(worker, fixture, key, &moved);
        race_sleep_us(roll(&worker->dice, 4 * REST_US));
    }
}
