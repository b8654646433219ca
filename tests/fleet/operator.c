/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beginning a fleet's migration and its steps, on real servers: what stands in
 * the file afterwards, and what is refused.
 */
#include "operator_support.h"

static fixture_t *servers;

/* The CAS counter of a server, as it says itself. */
static uint64_t counter(size_t index) {
    raw_store(servers, index, "counter", 0, 0, "x");
    return raw_look(servers, index, "counter").cas;
}

/* "a,b" of servers by number. */
static const char *list(const char *digits) {
    static char text[2][512];
    static unsigned next;
    char *end = text[next ^= 1];
    *end = '\0';
    for (const char *digit = digits; *digit != '\0'; digit++) {
        end += sprintf(end, "%s%s", digit > digits ? "," : "",
                       fixture_address(servers, (size_t)(*digit - '0')));
    }
    return text[next];
}

static bool same_start(int64_t seconds) {
    return seconds > time(NULL) - 600 && seconds <= time(NULL);
}

static void test_begin(void) {
    warmring_file_t *file = create(list("01")), *next = NULL;
    uint64_t before[3], after[3];
    for (size_t i = 0; i < 3; i++) {
        before[i] = counter(i);
    }
    tap_status(begin(file, list("120"), &next), WARMRING_OK, "begin");
    for (size_t i = 0; i < 3; i++) {
        after[i] = counter(i);
    }
    tap_int(phase_of(next), WARMRING_PREPARED, "leads to PREPARED");
    tap_int((int64_t)warmring_file_steps(next), (int64_t)warmring_file_steps(file) + 1,
            "is a step");
    tap_ok(warmring_file_since(next) > wall_ms() - 60000 && warmring_file_since(next) <= wall_ms(),
           "has begun now");
    tap_ok(strstr(warmring_file_text(next), "PREPARED") != NULL, "its text says so");
    tap_int((int64_t)next->id, (int64_t)file->id, "and is of the same fleet");
    tap_int((int64_t)warmring_file_servers(next), 3, "it has all servers");
    for (size_t i = 0; i < 3; i++) {
        warmring_file_server_t server = {.size = sizeof server};
        tap_status(warmring_file_server(next, i, &server), WARMRING_OK, "server %zu", i);
        tap_string(server.label, fixture_address(servers, i), "server %zu: label", i);
        tap_ok(server.on_new && server.on_old == (i < 2), "server %zu: its rings", i);
        tap_ok(server.marked && server.watermark > before[i] && server.watermark < after[i],
               "server %zu: its counter in between is the watermark", i);
        tap_ok(same_start(server.started), "server %zu: when it started", i);
    }
    warmring_file_server_t server = {.size = sizeof server};
    tap_status(warmring_file_server(next, 3, &server), WARMRING_BAD_ARGUMENT, "no fourth server");
    warmring_file_free(next);
    warmring_file_free(file);
}

/* A server that leaves needs no watermark, and need not be there. */
static void test_leaving_server(void) {
    warmring_file_t *file = create(list("013")), *next = NULL;
    fixture_kill(servers, 3);
    tap_status(begin(file, list("01"), &next), WARMRING_OK, "a server that leaves may be gone");
    warmring_file_server_t server = {.size = sizeof server};
    tap_status(warmring_file_server(next, 2, &server), WARMRING_OK, "it is in the file");
    tap_ok(!server.marked && server.on_old && !server.on_new, "without a watermark");
    warmring_file_free(next);
    next = (warmring_file_t *)1;
    tap_status(begin(file, list("310"), &next), WARMRING_CONNECT_FAILED, "one that stays may not");
    tap_contains(warmring_error_detail(), fixture_address(servers, 3), "its name is told");
    tap_ok(next == NULL, "there is no file");
    fixture_restart(servers, 3);
    fixture_stop(servers, 3);
    int64_t begun = wall_ms();
    tap_status(begin(file, list("30"), &next), WARMRING_TIMEOUT, "one that hangs may not");
    tap_contains(warmring_error_detail(), fixture_address(servers, 3), "its name is told");
    tap_ok(wall_ms() - begun <= 2000 + tap_slack_ms(), "in time");
    fixture_continue(servers, 3);
    warmring_file_free(file);
}

static void test_without_cas(void) {
    static const char *const arguments[] = {"-C", NULL};
    size_t index = fixture_add(servers, arguments);
    warmring_file_t *file = create(list("0")), *next;
    char to[512];
    snprintf(to, sizeof to, "%s,%s", list("0"), fixture_address(servers, index));
    tap_status(begin(file, to, &next), WARMRING_NOT_SUPPORTED, "a server without CAS");
    tap_contains(warmring_error_detail(), fixture_address(servers, index), "its name is told");
    warmring_file_free(file);
}

/* ---- steps ------------------------------------------------------------------- */

/* Where each step leads from each phase; -1: refused. Written down by hand. */
static const int leads[WARMRING_SETTLING + 1][WARMRING_SETTLE + 1] = {
    /* WARM, COMMIT, FINISH, ROLLBACK, COMMIT_DIRECTLY, SETTLE */
    [WARMRING_STABLE] = {-1, -1, -1, -1, -1, -1},
    [WARMRING_PREPARED] = {WARMRING_WARMING, -1, -1, WARMRING_STABLE, -1, -1},
    [WARMRING_WARMING] = {-1, WARMRING_HANDOVER, -1, WARMRING_PREPARED, -1, -1},
    [WARMRING_HANDOVER] = {-1, WARMRING_DRAINING, -1, WARMRING_PREPARED, -1, -1},
    [WARMRING_DRAINING] = {-1, -1, WARMRING_CLOSING, WARMRING_HANDOVER, -1, -1},
    [WARMRING_CLOSING] = {-1, -1, WARMRING_SETTLING, WARMRING_HANDOVER, -1, -1},
    [WARMRING_SETTLING] = {-1, -1, WARMRING_STABLE, -1, -1, WARMRING_STABLE},
};

static const warmring_step_t forward[] = {WARMRING_WARM,   WARMRING_COMMIT, WARMRING_COMMIT,
                                          WARMRING_FINISH, WARMRING_FINISH, WARMRING_FINISH};

/* All steps from where the file is, an hour after it came there. */
static void try_steps(const warmring_file_t *file) {
    const char *from = warmring_phase_name(phase_of(file));
    for (int s = 0; s <= (int)WARMRING_SETTLE; s++) {
        warmring_step_t step_ = (warmring_step_t)s;
        warmring_file_t *next;
        int to = leads[phase_of(file)][s];
        warmring_status_t status = step(file, step_, &next);
        tap_status(status, to < 0 ? WARMRING_ILLEGAL_STEP : WARMRING_OK, "%s from %s",
                   warmring_step_name(step_), from);
        if (status == WARMRING_OK) {
            tap_int((int)phase_of(next), to, "leads where it should");
            tap_int((int64_t)next->steps, (int64_t)file->steps + 1, "is counted");
            tap_int((int64_t)next->watermark_count,
                    to == WARMRING_STABLE ? 0 : (int64_t)file->watermark_count,
                    "watermarks are kept until the end");
        } else {
            tap_ok(next == NULL, "no file");
        }
        warmring_file_free(next);
    }
}

static void test_steps(void) {
    warmring_file_t *file = create(list("01"));
    try_steps(file);
    warmring_file_free(file);
    file = prepare(list("01"), list("12"));
    for (size_t i = 0; i < sizeof forward / sizeof forward[0]; i++) {
        age(file, 3600);
        try_steps(file);
        age(file, -3600);
        advance(&file, forward[i]);
    }
    tap_int(phase_of(file), WARMRING_STABLE, "at the end");
    tap_int((int64_t)warmring_file_servers(file), 2, "on the new ring");
    warmring_file_server_t server = {.size = sizeof server};
    tap_status(warmring_file_server(file, 0, &server), WARMRING_OK, "its first server");
    tap_string(server.label, fixture_address(servers, 1), "is the new ring's");
    warmring_file_free(file);
}

/* Refused `ms` before the hold ends, and allowed at its end. H by hand. */
static void check_hold(warmring_file_t *file, warmring_step_t step_, int64_t hold_ms,
                       const char *what) {
    warmring_file_t *next;
    int64_t since = file->since_ms;
    file->since_ms = wall_ms() - hold_ms + 1800;
    tap_status(step(file, step_, &next), WARMRING_TRY_AGAIN, "%s: not before its time", what);
    tap_contains(warmring_error_detail(), "another 2 s", "%s: the seconds are told", what);
    file->since_ms = wall_ms() - hold_ms;
    tap_status(step(file, step_, &next), WARMRING_OK, "%s: in its time", what);
    warmring_file_free(next);
    file->since_ms = since;
}

static void test_holds(void) {
    const int64_t h = 1000 + 500 + 1000; /* lag, deadline, 1 s */
    const int64_t stubs = 3000 + 1000;   /* 500 ms rounded up, 2 s; 1 s */
    warmring_file_t *file = prepare(list("01"), list("12")), *next;
    check_hold(file, WARMRING_WARM, h, "PREPARED");
    advance(&file, WARMRING_WARM);
    check_hold(file, WARMRING_COMMIT, h, "WARMING");
    check_hold(file, WARMRING_ROLLBACK, h, "WARMING, back");
    advance(&file, WARMRING_COMMIT);
    check_hold(file, WARMRING_COMMIT, h, "HANDOVER");
    advance(&file, WARMRING_COMMIT);
    check_hold(file, WARMRING_FINISH, h, "DRAINING");
    advance(&file, WARMRING_FINISH);
    check_hold(file, WARMRING_FINISH, h + stubs, "CLOSING");
    check_hold(file, WARMRING_ROLLBACK, h + stubs, "CLOSING, back");
    advance(&file, WARMRING_ROLLBACK);
    advance(&file, WARMRING_ROLLBACK);
    tap_int(phase_of(file), WARMRING_PREPARED, "back in PREPARED");
    check_hold(file, WARMRING_ROLLBACK, h + stubs, "PREPARED on the way back");
    advance(&file, WARMRING_ROLLBACK);
    tap_status(begin(file, list("02"), &next), WARMRING_TRY_AGAIN, "STABLE has a hold, too");
    age(file, 3);
    tap_status(begin(file, list("02"), &next), WARMRING_OK, "which ends");
    warmring_file_t *none;
    tap_status(begin(next, list("01"), &none), WARMRING_ILLEGAL_STEP, "one migration at a time");
    warmring_file_free(next);
    warmring_file_free(file);
}

static void test_settling(void) {
    warmring_file_t *file = prepare(list("01"), list("12")), *next;
    for (size_t i = 0; i < 5; i++) {
        advance(&file, forward[i]);
    }
    check_hold(file, WARMRING_FINISH, 60000, "SETTLING");
    check_hold(file, WARMRING_SETTLE, 2500, "SETTLING, swept");
    file->max_ttl_s = 0;
    age(file, 1000000);
    tap_status(step(file, WARMRING_FINISH, &next), WARMRING_ILLEGAL_STEP, "no TTL is declared");
    tap_contains(warmring_error_detail(), "max_ttl_s", "which is told");
    warmring_file_free(file);
}

/* ---- reports --------------------------------------------------------------------- */

/* A client's report on server `index`, left on `where`, `ago` seconds old. */
static void leave_report(const warmring_file_t *file, uint64_t seed, size_t index, size_t where,
                         int64_t ago) {
    char key[300], value[32];
    snprintf(key, sizeof key, "warmring:%016llx:partial:%s", (unsigned long long)file->id,
             fixture_address(servers, index));
    snprintf(value, sizeof value, "%016llx", (unsigned long long)seed);
    raw_store(servers, where, key, 0, 2592000 - ago, value);
}

static uint64_t watermark(const warmring_file_t *file, size_t index) {
    warmring_file_server_t server = {.size = sizeof server};
    return warmring_file_server(file, index, &server) == WARMRING_OK ? server.watermark : 0;
}

static void test_reports(void) {
    warmring_file_t *file = prepare(list("01"), list("012")), *next = NULL;
    uint64_t seed = file->topology->seed;
    advance(&file, WARMRING_WARM);
    age(file, 3600);
    uint64_t present = counter(2);
    leave_report(file, seed + 1, 2, 0, 100);
    tap_status(step(file, WARMRING_COMMIT, &next), WARMRING_OK, "commit");
    tap_int((int64_t)watermark(next, 2), (int64_t)watermark(file, 2),
            "a report of another migration is void");
    warmring_file_free(next);
    leave_report(file, seed, 2, 0, 100);
    tap_status(step(file, WARMRING_COMMIT, &next), WARMRING_OK, "commit");
    tap_ok(watermark(next, 2) > present, "a report raises the watermark of the server it is about");
    tap_ok(watermark(next, 0) == watermark(file, 0) && watermark(next, 1) == watermark(file, 1),
           "and no other");
    age(next, 3600);
    present = counter(2);
    warmring_file_t *drained = NULL;
    tap_status(step(next, WARMRING_COMMIT, &drained), WARMRING_OK, "commit out of HANDOVER");
    tap_ok(watermark(drained, 2) > present, "raises it again");
    warmring_file_free(drained);
    warmring_file_free(next);
    if (test_is_meta()) {                  /* libmemcached cannot tell a life */
        leave_report(file, seed, 1, 2, 1); /* of the three a stub lives */
        tap_status(step(file, WARMRING_COMMIT, &next), WARMRING_TRY_AGAIN,
                   "while fills begun before may be under way");
        tap_contains(warmring_error_detail(), fixture_address(servers, 1), "with the server");
    }
    fixture_stop(servers, 0);
    tap_status(step(file, WARMRING_COMMIT, &next), WARMRING_TIMEOUT, "all servers are asked");
    tap_contains(warmring_error_detail(), fixture_address(servers, 0),
                 "the one that hangs is told");
    fixture_continue(servers, 0);
    tap_status(step(file, WARMRING_ROLLBACK, &next), WARMRING_OK, "back without asking");
    warmring_file_free(next);
    warmring_file_free(file);
    fixture_flush(servers);
}

static void run(void) {
    tap_note("transport %s", test_transport());
    test_begin();
    test_leaving_server();
    test_steps();
    test_holds();
    test_settling();
    test_reports();
}

int main(void) {
    servers = fixture_start(4, NULL);
    test_transports(run);
    test_without_cas();
    warmring_file_t *file = create(list("0")), *next;
    warmring_topology_t *target = parse(list("1"));
    tap_status(warmring_fleet_begin(NULL, target, NULL, 0, &next), WARMRING_BAD_ARGUMENT, "NULL");
    tap_status(warmring_fleet_begin(file, NULL, NULL, 0, &next), WARMRING_BAD_ARGUMENT, "NULL");
    tap_status(warmring_fleet_begin(file, target, NULL, 0, NULL), WARMRING_BAD_ARGUMENT, "NULL");
    tap_status(warmring_fleet_begin(file, target, NULL, 0, &next), WARMRING_OK, "defaults do");
    warmring_file_free(next);
    tap_status(warmring_fleet_step(NULL, WARMRING_WARM, NULL, 0, &next), WARMRING_BAD_ARGUMENT,
               "NULL");
    tap_status(warmring_fleet_step(file, WARMRING_WARM, NULL, 0, NULL), WARMRING_BAD_ARGUMENT,
               "NULL");
    warmring_topology_release(target);
    warmring_file_free(file);
    fixture_free(servers);
    return tap_done();
}
