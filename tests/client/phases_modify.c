/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What depends on the present value, phase by phase: add, replace, append,
 * prepend, increment, decrement, cas, touch, get-and-touch. Up to WARMING they
 * follow the old owner and remove the copy on the new one; in HANDOVER moved
 * keys are told to try again; later they follow the new owner, which exact.c
 * looks at. Keys that do not move never notice. Tokens and NOREPLY too.
 *
 * The old ring is server 0 (O) alone, the new one both: moved keys go to 1 (N).
 */
#include <string.h>

#include "tests/lib/calls.h"
#include "tests/lib/fixture.h"
#include "tests/lib/raw.h"
#include "tests/lib/steps.h"
#include "tests/lib/tap.h"
#include "tests/lib/traffic.h"
#include "tests/lib/transports.h"

enum { O = 0, N = 1 };

typedef struct {
    fixture_t *fixture;
    char before[64];
    const char *after;
    warmring_t *client;
    unsigned next;
} plan_t;

static const char *phase_of(const plan_t *plan) {
    return warmring_phase_name(steps_phase(plan->client));
}

/* ---- the calls ------------------------------------------------------------------ */

/* Each starts from `before` (NULL: nothing) and leaves `after`. */
typedef struct {
    const char *name, *before, *after;
    warmring_status_t (*call)(warmring_t *client, const char *key);
    warmring_status_t refused_by; /* what it answers where `before` is not so */
} modify_t;

static warmring_status_t call_add(warmring_t *client, const char *key) {
    return warmring_add(client, key, strlen(key), "added", 5, 0, 0, NULL);
}

static warmring_status_t call_replace(warmring_t *client, const char *key) {
    return warmring_replace(client, key, strlen(key), "other", 5, 0, 0, NULL);
}

static warmring_status_t call_append(warmring_t *client, const char *key) {
    return warmring_append(client, key, strlen(key), "7", 1, NULL);
}

static warmring_status_t call_prepend(warmring_t *client, const char *key) {
    return warmring_prepend(client, key, strlen(key), "7", 1, NULL);
}

static warmring_status_t call_increment(warmring_t *client, const char *key) {
    uint64_t number = 0;
    warmring_status_t status =
        warmring_increment(client, key, strlen(key), 3, NULL, 0, &number, NULL);
    return status == WARMRING_OK && number != 13 ? WARMRING_PROTOCOL_ERROR : status;
}

static warmring_status_t call_initial(warmring_t *client, const char *key) {
    const uint64_t initial = 40;
    uint64_t number = 0;
    warmring_status_t status =
        warmring_increment(client, key, strlen(key), 3, &initial, 0, &number, NULL);
    return status == WARMRING_OK && number != 40 ? WARMRING_PROTOCOL_ERROR : status;
}

static warmring_status_t call_decrement(warmring_t *client, const char *key) {
    uint64_t number = 0;
    warmring_status_t status =
        warmring_decrement(client, key, strlen(key), 1, NULL, 0, &number, NULL);
    return status == WARMRING_OK && number != 9 ? WARMRING_PROTOCOL_ERROR : status;
}

static warmring_status_t call_touch(warmring_t *client, const char *key) {
    return warmring_touch(client, key, strlen(key), 5000, NULL);
}

static warmring_status_t call_get_and_touch(warmring_t *client, const char *key) {
    warmring_item_t item = WARMRING_ITEM_INIT;
    warmring_status_t status = warmring_get_and_touch(client, key, strlen(key), 5000, &item, NULL);
    bool right =
        status != WARMRING_OK || (item.value.length == 2 && memcmp(item.value.data, "10", 2) == 0);
    warmring_item_clear(&item);
    return right ? status : WARMRING_PROTOCOL_ERROR;
}

/* Reads for it and stores. */
static warmring_status_t call_cas(warmring_t *client, const char *key) {
    answer_t answer = read_ways[0].call(client, key, WARMRING_FOR_CAS);
    if (answer.status != WARMRING_OK) {
        return answer.status;
    }
    return warmring_cas(client, key, strlen(key), "new", 3, 0, 0, &answer.token, NULL);
}

static const modify_t modifies[] = {
    {"add", NULL, "added", call_add, WARMRING_NOT_STORED},
    {"replace", "10", "other", call_replace, WARMRING_NOT_STORED},
    {"append", "10", "107", call_append, WARMRING_NOT_STORED},
    {"prepend", "10", "710", call_prepend, WARMRING_NOT_STORED},
    {"increment", "10", "13", call_increment, WARMRING_NOT_FOUND},
    {"increment with an initial value", NULL, "40", call_initial, WARMRING_OK},
    {"decrement", "10", "9 ", call_decrement, WARMRING_NOT_FOUND},
    {"touch", "10", "10", call_touch, WARMRING_NOT_FOUND},
    {"get_and_touch", "10", "10", call_get_and_touch, WARMRING_NOT_FOUND},
    {"cas", "10", "new", call_cas, WARMRING_NOT_FOUND},
};
enum { MODIFIES = sizeof modifies / sizeof modifies[0] };

/* ---- on one server ---------------------------------------------------------------- */

static void put(const plan_t *plan, size_t server, const char *key, const char *value) {
    if (value != NULL) {
        raw_store(plan->fixture, server, key, 0, 0, value);
    } else {
        raw_delete(plan->fixture, server, key);
    }
}

static void check_after(const plan_t *plan, const modify_t *modify, size_t server,
                        const char *key) {
    raw_item_t item = raw_look(plan->fixture, server, key);
    raw_holds(plan->fixture, server, key, modify->after, modify->name);
    if (strstr(modify->name, "touch") != NULL) {
        tap_ok(item.ttl > 4000 && item.ttl <= 5000, "it ends in %lld s", (long long)item.ttl);
    }
}

/* The call works on `server`, and refuses there what does not fit. */
static void works_on(const plan_t *plan, const modify_t *modify, size_t server, const char *key) {
    put(plan, server, key, modify->before);
    tap_status(modify->call(plan->client, key), WARMRING_OK, "%s in %s", modify->name,
               phase_of(plan));
    check_after(plan, modify, server, key);
    if (modify->refused_by != WARMRING_OK) {
        put(plan, server, key, modify->before == NULL ? "there" : NULL);
        tap_status(modify->call(plan->client, key), modify->refused_by, "%s %s a value",
                   modify->name, modify->before == NULL ? "with" : "without");
    }
}

/* ---- phases -------------------------------------------------------------------------- */

/* Follows O; N loses its copy. */
static void test_on_old(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    for (size_t i = 0; i < MODIFIES; i++) {
        choose_key(plan->client, "modify", true, &plan->next, key);
        raw_store(plan->fixture, N, key, 0, 0, "copy");
        works_on(plan, &modifies[i], O, key);
        raw_holds(plan->fixture, N, key, NULL, "the copy is gone");
        choose_key(plan->client, "modify", false, &plan->next, key);
        raw_store(plan->fixture, N, key, 0, 0, "no copy");
        works_on(plan, &modifies[i], O, key);
        raw_holds(plan->fixture, N, key, "no copy", "of a key that does not move");
    }
}

/* Moved keys are refused, both servers untouched. */
static void test_refused(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    for (size_t i = 0; i < MODIFIES; i++) {
        choose_key(plan->client, "modify", true, &plan->next, key);
        raw_store(plan->fixture, O, key, 0, 0, "10");
        raw_store(plan->fixture, N, key, 0, 0, "10");
        tap_status(modifies[i].call(plan->client, key), WARMRING_TRY_AGAIN, "%s in %s",
                   modifies[i].name, phase_of(plan));
        tap_contains(warmring_error_detail(), phase_of(plan), "the text names the phase");
        raw_holds(plan->fixture, O, key, "10", "untouched");
        raw_holds(plan->fixture, N, key, "10", "untouched");
        choose_key(plan->client, "modify", false, &plan->next, key);
        works_on(plan, &modifies[i], O, key);
    }
}

/* Without a migration: wherever the key's owner is. */
static void test_stable(plan_t *plan) {
    char key[CALLS_KEY_SIZE], address[128];
    for (size_t i = 0; i < 4 * MODIFIES; i++) {
        choose_key(plan->client, "modify", false, &plan->next, key);
        tap_status(warmring_locate(plan->client, key, strlen(key), address, sizeof address, NULL),
                   WARMRING_OK, "locate");
        size_t server = strcmp(address, fixture_address(plan->fixture, N)) == 0 ? N : O;
        works_on(plan, &modifies[i % MODIFIES], server, key);
    }
}

/* ---- tokens ----------------------------------------------------------------------------- */

static warmring_status_t cas(const plan_t *plan, const char *key, const warmring_token_t *token) {
    return warmring_cas(plan->client, key, strlen(key), "cas", 3, 0, 0, token, NULL);
}

static void test_tokens_of_one_phase(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    choose_key(plan->client, "token", false, &plan->next, key);
    raw_store(plan->fixture, O, key, 0, 0, "first");
    answer_t answer = read_key(plan->client, key);
    tap_status(cas(plan, key, &answer.token), WARMRING_OK, "cas with a token of %s",
               phase_of(plan));
    tap_status(cas(plan, key, &answer.token), WARMRING_EXISTS, "the same token again");
    answer = read_ways[2].call(plan->client, key, 0);
    tap_status(cas(plan, key, &answer.token), WARMRING_OK, "a token of get_multi");
    answer = read_key(plan->client, key);
    raw_store(plan->fixture, O, key, 0, 0, "changed");
    tap_status(cas(plan, key, &answer.token), WARMRING_EXISTS, "a token from before a change");
    answer = read_key(plan->client, key);
    raw_delete(plan->fixture, O, key);
    tap_status(cas(plan, key, &answer.token), WARMRING_NOT_FOUND, "a token of a deleted key");
}

/* In WARMING a read of a moved key is answered by N, and cas goes to O. */
static void test_token_of_copy(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    choose_key(plan->client, "token", true, &plan->next, key);
    raw_store(plan->fixture, O, key, 0, 0, "value");
    (void)read_key(plan->client, key);
    answer_t answer = read_key(plan->client, key);
    raw_holds(plan->fixture, N, key, "value", "copied");
    tap_status(cas(plan, key, &answer.token), WARMRING_EXISTS, "cas with the token of a copy");
    raw_holds(plan->fixture, O, key, "value", "not done");
    answer = read_ways[0].call(plan->client, key, WARMRING_FOR_CAS);
    tap_string(shown(&answer), "value", "get with FOR_CAS");
    tap_status(cas(plan, key, &answer.token), WARMRING_OK, "cas with its token");
    raw_holds(plan->fixture, O, key, "cas", "done");
    raw_holds(plan->fixture, N, key, NULL, "the copy is gone");
}

/* Rolled out keys are read where cas writes. */
static void test_token_across(plan_t *plan) {
    char key[2][CALLS_KEY_SIZE];
    answer_t answer[2];
    for (int moved = 0; moved < 2; moved++) {
        choose_key(plan->client, "token", moved != 0, &plan->next, key[moved]);
        raw_store(plan->fixture, O, key[moved], 0, 0, "value");
        answer[moved] = read_ways[0].call(plan->client, key[moved], WARMRING_FOR_CAS);
        tap_string(shown(&answer[moved]), "value", "get with FOR_CAS in %s", phase_of(plan));
    }
    steps_rollout(plan->client, WARMRING_ROLLOUT_ALL);
    for (int moved = 0; moved < 2; moved++) {
        tap_status(cas(plan, key[moved], &answer[moved].token), WARMRING_EXISTS,
                   "cas with a token of an earlier epoch, %s key", moved ? "moved" : "unmoved");
        raw_holds(plan->fixture, O, key[moved], "value", "not done");
    }
}

static void test_zero_token(const plan_t *plan) {
    const warmring_token_t zero = {{0, 0, 0}};
    tap_status(cas(plan, "zero", &zero), WARMRING_BAD_ARGUMENT, "a zero token in %s",
               phase_of(plan));
    tap_status(cas(plan, "zero", NULL), WARMRING_BAD_ARGUMENT, "no token");
}

/* ---- noreply ------------------------------------------------------------------------------ */

static const char *wait_for(const plan_t *plan, size_t server, const char *key, const char *value) {
    static raw_item_t item;
    for (int i = 0; i < 2500; i++) {
        item = raw_look(plan->fixture, server, key);
        if (value == NULL ? !item.present : item.present && strcmp(item.value, value) == 0) {
            break;
        }
        traffic_wait_ms(2);
    }
    return item.present ? item.value : NULL;
}

static void test_noreply(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    for (size_t i = 0; i < STORE_WAYS; i++) {
        choose_key(plan->client, "noreply", false, &plan->next, key);
        tap_status(store_ways[i].call(plan->client, key, "value", 0, WARMRING_NOREPLY), WARMRING_OK,
                   "%s with NOREPLY in %s", store_ways[i].name, phase_of(plan));
        tap_string(wait_for(plan, O, key, "value"), "value", "arrives");
        answer_t answer = read_key(plan->client, key);
        tap_string(shown(&answer), "value", "and leaves the connection in order");
    }
    for (size_t i = 0; i < ERASE_WAYS; i++) {
        tap_status(erase_ways[i].call(plan->client, key, WARMRING_NOREPLY), WARMRING_OK,
                   "%s with NOREPLY in %s", erase_ways[i].name, phase_of(plan));
        tap_string(wait_for(plan, O, key, NULL), NULL, "arrives");
        raw_store(plan->fixture, O, key, 0, 0, "again");
    }
}

/* Moved keys do not have it: both servers are done when the call returns. */
static void test_noreply_moved(plan_t *plan) {
    char key[CALLS_KEY_SIZE];
    for (size_t i = 0; i < STORE_WAYS; i++) {
        choose_key(plan->client, "noreply", true, &plan->next, key);
        raw_store(plan->fixture, N, key, 0, 0, "copy");
        tap_status(store_ways[i].call(plan->client, key, "value", 0, WARMRING_NOREPLY), WARMRING_OK,
                   "%s of a moved key with NOREPLY", store_ways[i].name);
        raw_holds(plan->fixture, O, key, "value", "done");
        raw_holds(plan->fixture, N, key, NULL, "done");
    }
}

static void run_all(void) {
    plan_t plan = {.fixture = fixture_start(2, NULL)};
    snprintf(plan.before, sizeof plan.before, "%s", fixture_address(plan.fixture, O));
    plan.after = fixture_servers(plan.fixture);
    plan.client = steps_open(plan.before, NULL);
    test_stable(&plan);
    test_tokens_of_one_phase(&plan);
    test_zero_token(&plan);
    test_noreply(&plan);
    for (warmring_phase_t phase = WARMRING_PREPARED; phase <= WARMRING_SETTLING; phase++) {
        if (phase == WARMRING_PREPARED) {
            steps_begin(plan.client, plan.after);
        } else if (phase == WARMRING_WARMING) {
            steps_take(plan.client, WARMRING_WARM);
            test_on_old(&plan);
            test_token_across(&plan);
        }
        steps_forward(plan.client, phase);
        if (phase <= WARMRING_WARMING) {
            test_on_old(&plan);
        } else if (phase == WARMRING_HANDOVER) {
            test_refused(&plan);
        }
        test_tokens_of_one_phase(&plan);
        test_zero_token(&plan);
        test_noreply(&plan);
        if (phase == WARMRING_WARMING) {
            test_token_of_copy(&plan);
            test_noreply_moved(&plan);
        }
    }
    steps_forward(plan.client, WARMRING_STABLE);
    test_stable(&plan);
    warmring_close(plan.client);
    fixture_free(plan.fixture);
}

int main(void) {
    test_transports(run_all);
    return tap_done();
}
