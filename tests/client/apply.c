/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be put in force after what, the texts of refusals, and servers that
 * cannot take part in a migration.
 */
#include <string.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/transports.h"

typedef enum { OLD, PREPARED, WARMING, HANDOVER, DRAINING, CLOSING, SETTLING, NEW, STAGES } stage_t;

/* One migration gone through twice: to CLOSING, back to PREPARED, and through
 * to the end, so that whatever is in the second has a higher epoch. */
typedef struct {
    warmring_topology_t *first[STAGES], *second[STAGES];
} topologies_t;

static void demand(warmring_status_t status) {
    if (status != WARMRING_OK) {
        tap_bail("%s: %s", warmring_status_name(status), warmring_error_detail());
    }
}

static warmring_topology_t *step(const warmring_topology_t *from, warmring_step_t how) {
    warmring_topology_t *to = NULL;
    demand(warmring_topology_step(from, how, &to));
    return to;
}

static warmring_topology_t *parse(const char *servers) {
    warmring_topology_t *topology = NULL;
    demand(warmring_topology_parse(&topology, servers, NULL, 0));
    return topology;
}

static warmring_topology_t *migrate(const warmring_topology_t *from, const char *servers) {
    warmring_topology_t *to = NULL, *target = parse(servers);
    demand(warmring_topology_migrate(from, target, &to));
    warmring_topology_release(target);
    return to;
}

static void go_through(warmring_topology_t **of) {
    of[WARMING] = step(of[PREPARED], WARMRING_WARM);
    of[HANDOVER] = step(of[WARMING], WARMRING_COMMIT);
    of[DRAINING] = step(of[HANDOVER], WARMRING_COMMIT);
    of[CLOSING] = step(of[DRAINING], WARMRING_FINISH);
    of[SETTLING] = step(of[CLOSING], WARMRING_FINISH);
    of[NEW] = step(of[SETTLING], WARMRING_SETTLE);
}

static void make_topologies(topologies_t *topologies, fixture_t *fixture) {
    topologies->first[OLD] = parse(fixture_first_servers(fixture, 1));
    topologies->first[PREPARED] = migrate(topologies->first[OLD], fixture_servers(fixture));
    go_through(topologies->first);
    warmring_topology_t *back = step(topologies->first[CLOSING], WARMRING_ROLLBACK);
    topologies->second[PREPARED] = step(back, WARMRING_ROLLBACK);
    warmring_topology_release(back);
    topologies->second[OLD] = step(topologies->second[PREPARED], WARMRING_ROLLBACK);
    go_through(topologies->second);
}

static void release_all(topologies_t *topologies) {
    for (stage_t i = OLD; i < STAGES; i++) {
        warmring_topology_release(topologies->first[i]);
        warmring_topology_release(topologies->second[i]);
    }
}

/* ---- the matrix ------------------------------------------------------------------- */

/* Neighbours, PREPARED with HANDOVER, HANDOVER with CLOSING, WARMING to
 * DRAINING, one STABLE to another; but SETTLING leads to its end alone. */
static bool is_allowed(stage_t now, stage_t next) {
    if (now == SETTLING) {
        return next >= SETTLING;
    }
    bool neighbours = next + 1 >= now && next <= now + 1;
    bool pair = (now == PREPARED && next == HANDOVER) || (now == HANDOVER && next == PREPARED) ||
                (now == HANDOVER && next == CLOSING) || (now == CLOSING && next == HANDOVER);
    return neighbours || pair || (now == WARMING && next == DRAINING) ||
           (now == OLD && next == NEW);
}

static const char *name_of(stage_t stage) {
    return stage == OLD || stage == NEW ? "STABLE" : warmring_phase_name((warmring_phase_t)stage);
}

static void check_refused(warmring_t *client, const warmring_topology_t *now, stage_t from,
                          stage_t to) {
    warmring_topology_t *present = steps_present(client);
    tap_contains(warmring_error_detail(), name_of(from), "the text names what is in force");
    tap_contains(warmring_error_detail(), name_of(to), "and what cannot follow");
    tap_int((int64_t)warmring_topology_epoch(present), (int64_t)warmring_topology_epoch(now),
            "and the first stays in force");
    warmring_topology_release(present);
}

static void test_matrix(const topologies_t *topologies) {
    for (stage_t now = OLD; now <= SETTLING; now++) {
        for (stage_t next = OLD; next < STAGES; next++) {
            warmring_t *client = NULL;
            demand(warmring_open_topology(&client, topologies->first[now], NULL));
            bool allowed = is_allowed(now, next);
            tap_status(warmring_apply(client, topologies->second[next], 0),
                       allowed ? WARMRING_OK : WARMRING_ILLEGAL_STEP, "%s%s after %s%s",
                       name_of(next), next == NEW ? " (new)" : "", name_of(now),
                       now == OLD ? " (old)" : "");
            if (allowed) {
                tap_int(steps_phase(client), next == NEW ? WARMRING_STABLE : (int)next,
                        "it is in force");
            } else {
                check_refused(client, topologies->first[now], now, next);
            }
            warmring_close(client);
        }
    }
}

/* ---- other refusals ----------------------------------------------------------------- */

static void refuse(warmring_t *client, const warmring_topology_t *next, const char *piece,
                   const char *what) {
    tap_status(warmring_apply(client, next, 0), WARMRING_ILLEGAL_STEP, "%s", what);
    tap_contains(warmring_error_detail(), piece, "the text says why");
}

static void test_refusals(const topologies_t *topologies, fixture_t *fixture) {
    warmring_t *client = NULL;
    demand(warmring_open_topology(&client, topologies->first[OLD], NULL));
    tap_status(warmring_apply(NULL, topologies->first[OLD], 0), WARMRING_BAD_ARGUMENT, "no client");
    tap_status(warmring_apply(client, NULL, 0), WARMRING_BAD_ARGUMENT, "no topology");
    refuse(client, topologies->first[OLD], "epoch 1", "the topology that is in force, again");

    warmring_topology_t *other = parse(fixture_address(fixture, 1));
    warmring_topology_t *foreign = migrate(other, fixture_servers(fixture));
    refuse(client, foreign, "another ring", "a migration from another ring");

    demand(warmring_apply(client, topologies->first[PREPARED], 0));
    demand(warmring_apply(client, topologies->first[WARMING], 0));
    refuse(client, topologies->first[PREPARED], "epoch", "an older topology");
    warmring_topology_t *own = migrate(topologies->second[OLD], fixture_address(fixture, 1));
    refuse(client, own, "another migration", "another migration while one is under way");

    warmring_topology_t *edited = NULL;
    demand(warmring_topology_replace(topologies->second[OLD], other, &edited));
    refuse(client, edited, "neither ring", "a topology on neither ring of the migration");
    tap_int(steps_phase(client), WARMRING_WARMING, "WARMING stays in force after all that");
    answer_t answer = read_key(client, "refused");
    tap_string(shown(&answer), NULL, "and the client works");

    warmring_topology_release(edited);
    warmring_topology_release(own);
    warmring_topology_release(foreign);
    warmring_topology_release(other);
    warmring_close(client);
}

/* ---- servers that cannot take part ---------------------------------------------------- */

/* A migration from server 0 to server 0 and `server` is refused. */
static void refuse_server(fixture_t *fixture, const char *server, warmring_status_t status,
                          const char *piece, const char *what) {
    char servers[256];
    snprintf(servers, sizeof servers, "%s,%s", fixture_address(fixture, 0), server);
    warmring_t *client = steps_open(fixture_address(fixture, 0), NULL);
    warmring_topology_t *present = steps_present(client);
    warmring_topology_t *next = migrate(present, servers);
    tap_status(warmring_apply(client, next, 300), status, "%s", what);
    tap_contains(warmring_error_detail(), piece, "the text says so");
    tap_contains(warmring_error_detail(), server, "and names the server");
    tap_int(steps_phase(client), WARMRING_STABLE, "STABLE stays in force");
    tap_status(store_key(client, "refused", "value"), WARMRING_OK, "and the client works");
    warmring_topology_release(next);
    warmring_topology_release(present);
    warmring_close(client);
}

static void test_servers(fixture_t *fixture) {
    const char *without_cas[] = {"-C", NULL};
    char server[64];
    size_t index = fixture_add(fixture, without_cas);
    refuse_server(fixture, fixture_address(fixture, index), WARMRING_NOT_SUPPORTED, "CAS",
                  "a server without CAS");
    fixture_stop(fixture, index);
    refuse_server(fixture, fixture_address(fixture, index), WARMRING_TIMEOUT,
                  fixture_address(fixture, index), "a server that hangs");
    fixture_continue(fixture, index);
    snprintf(server, sizeof server, "127.0.0.1:%u", (unsigned)fixture_free_port());
    refuse_server(fixture, server, WARMRING_CONNECT_FAILED, "refused",
                  "a server that is not there");
    refuse_server(fixture, "nowhere.invalid:11211", WARMRING_RESOLVE_FAILED, "nowhere.invalid",
                  "a server that has no address");
    refuse_server(fixture, "unix:/nowhere/socket", WARMRING_CONNECT_FAILED, "No such file",
                  "a socket that is not there");
}

/* ---- connections ------------------------------------------------------------------------ */

static void check_connects(warmring_t *client, size_t servers, const char *what) {
    warmring_snapshot_t *snapshot = NULL;
    warmring_server_counters_t counters = {.size = sizeof counters};
    demand(warmring_snapshot_create(client, &snapshot));
    for (size_t i = 0; i < servers; i++) {
        demand(warmring_snapshot_server(snapshot, i, &counters));
        tap_int((int64_t)counters.connects, 1, "%s: %s was connected to once", what,
                counters.address);
    }
    tap_status(warmring_snapshot_server(snapshot, servers, &counters), WARMRING_NOT_FOUND,
               "no more servers");
    warmring_snapshot_free(snapshot);
}

static void touch_all(warmring_t *client) {
    for (unsigned i = 0; i < 64; i++) {
        char key[CALLS_KEY_SIZE];
        snprintf(key, sizeof key, "kept:%u", i);
        if (read_key(client, key).status != WARMRING_NOT_FOUND) {
            tap_bail("%s: %s", key, warmring_error_detail());
        }
    }
}

static void test_connections(fixture_t *fixture) {
    char two[160], three[256];
    snprintf(two, sizeof two, "%s:1,%s:1", fixture_address(fixture, 0),
             fixture_address(fixture, 1));
    snprintf(three, sizeof three, "%s:3,%s:1,%s:2", fixture_address(fixture, 1),
             fixture_address(fixture, 0), fixture_address(fixture, 2));
    warmring_t *client = steps_open(two, NULL);
    touch_all(client);
    check_connects(client, 2, "at first");
    steps_begin(client, three);
    touch_all(client);
    check_connects(client, 3, "PREPARED");
    for (warmring_phase_t phase = WARMRING_WARMING; phase <= WARMRING_SETTLING; phase++) {
        steps_forward(client, phase);
        touch_all(client);
        check_connects(client, 3, warmring_phase_name(phase));
    }
    steps_forward(client, WARMRING_STABLE);
    steps_flip(client, two);
    touch_all(client);
    check_connects(client, 2, "after a cold flip");
    warmring_close(client);
}

static void run_all(void) {
    fixture_t *fixture = fixture_start(2, NULL);
    topologies_t topologies;
    make_topologies(&topologies, fixture);
    test_matrix(&topologies);
    test_refusals(&topologies, fixture);
    fixture_add(fixture, NULL);
    test_connections(fixture);
    test_servers(fixture);
    release_all(&topologies);
    fixture_free(fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
