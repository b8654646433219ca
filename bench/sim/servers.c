/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What clients do and what it leaves on servers. The library says what to do:
 * wr_route() finds a key's owners on the rings of the client's topology and
 * picks the cell of its phase table; the steps are carried out here, each at
 * once, on copies that have an end and a version.
 *
 * Commands are counted as the library sends them: one for a step, and for a
 * read that falls back three more: the lease on the new owner, the read of the
 * old one, and the copy or the end of the lease.
 */
#include <string.h>

#include "sim.h"
#include "topology/route.h"

enum { FIRST = 0, SECOND = 1 };

/* ---- copies ------------------------------------------------------------------------ */

/* A key is on its owner of the old ring, or on another one: there is only one. */
static sim_copy_t *copy_at(sim_servers_t *servers, size_t key, uint32_t server) {
    sim_item_t *item = &servers->items[key];
    return &item->copy[server == item->old_owner ? FIRST : SECOND];
}

static bool is_there(const sim_servers_t *servers, const sim_copy_t *copy) {
    return copy->ends > servers->now;
}

bool sim_is_on_old(const sim_servers_t *servers, size_t key) {
    return is_there(servers, &servers->items[key].copy[FIRST]);
}

static void serve(sim_servers_t *servers, uint32_t server, uint64_t commands) {
    servers->served[server] += commands;
}

/* ---- reads -------------------------------------------------------------------------- */

/* Looks for a copy on a server; a hit is judged. */
static bool look(sim_servers_t *servers, size_t key, uint32_t server, sim_answer_t *answer) {
    const sim_copy_t *copy = copy_at(servers, key, server);
    serve(servers, server, 1);
    if (!is_there(servers, copy)) {
        return false;
    }
    servers->counts.stale += copy->version != servers->items[key].version;
    *answer = copy == &servers->items[key].copy[FIRST] ? SIM_HIT_OLD : SIM_HIT_NEW;
    return true;
}

/* The old owner is asked, under a lease on the new one. A copy ends a second
 * before the value does, as times to live are whole seconds. */
static bool fall_back(sim_servers_t *servers, size_t key, const wr_route_t *route,
                      sim_answer_t *answer) {
    uint32_t new_owner = route->owner[WARMRING_NEW_RING], old = route->owner[WARMRING_OLD_RING];
    servers->counts.fallbacks++;
    serve(servers, new_owner, 2);
    if (!look(servers, key, old, answer)) {
        return false;
    }
    const sim_copy_t *from = copy_at(servers, key, old);
    sim_copy_t *to = copy_at(servers, key, new_owner);
    if (from->ends > servers->now + servers->second) {
        *to = (sim_copy_t){from->ends - servers->second, from->version};
        servers->counts.fills++;
    }
    return true;
}

static sim_answer_t take_read(sim_servers_t *servers, size_t key, const wr_route_t *route) {
    sim_answer_t answer = SIM_MISS;
    for (size_t i = 0; i < WR_STEPS; i++) {
        const wr_step_t *step = &route->steps->step[i];
        bool hit = false;
        switch (step->action) {
        case WR_STEP_NONE:
            return SIM_MISS;
        case WR_STEP_RUN:
        case WR_STEP_FILTER: /* there are no ghosts: the added servers were empty */
            hit = look(servers, key, route->owner[step->side], &answer);
            break;
        case WR_STEP_FILL:
            hit = fall_back(servers, key, route, &answer);
            break;
        default:
            sim_give_up("a read has a step that is not modelled");
        }
        if (hit) {
            return answer;
        }
    }
    return SIM_MISS;
}

/* ---- stores -------------------------------------------------------------------------- */

static wr_route_t route_of(const sim_servers_t *servers, const sim_client_t *client, size_t key,
                           wr_kind_t kind) {
    wr_place_t place = {servers->keys->text[key], servers->keys->text_length, 0};
    return wr_route(client->topology, &place, kind, client->rollout);
}

/* The newest value, as the phase of the client has it. */
static void store(sim_servers_t *servers, const sim_client_t *client, size_t key) {
    wr_route_t route = route_of(servers, client, key, WR_KIND_STORE);
    servers->counts.stores++;
    for (size_t i = 0; i < WR_STEPS && route.steps->step[i].action != WR_STEP_NONE; i++) {
        const wr_step_t *step = &route.steps->step[i];
        sim_copy_t *copy = copy_at(servers, key, route.owner[step->side]);
        if (step->action != WR_STEP_RUN && step->action != WR_STEP_ERASE) {
            sim_give_up("a store has a step that is not modelled");
        }
        *copy = step->action == WR_STEP_ERASE
                    ? (sim_copy_t){0, 0}
                    : (sim_copy_t){servers->now + servers->ttl, servers->items[key].version};
        serve(servers, route.owner[step->side], 1);
        servers->counts.store_commands++;
    }
}

/* ---- what an application does ------------------------------------------------------- */

sim_answer_t sim_read(sim_servers_t *servers, const sim_client_t *client, size_t key) {
    wr_route_t route = route_of(servers, client, key, WR_KIND_READ);
    sim_answer_t answer = take_read(servers, key, &route);
    servers->counts.reads++;
    servers->counts.hits_old += answer == SIM_HIT_OLD;
    servers->counts.hits_new += answer == SIM_HIT_NEW;
    if (answer == SIM_MISS) {
        servers->counts.loads++;
        store(servers, client, key);
    }
    return answer;
}

void sim_set(sim_servers_t *servers, const sim_client_t *client, size_t key) {
    servers->counts.sets++;
    servers->items[key].version++;
    store(servers, client, key);
}
