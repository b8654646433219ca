/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps from every phase, what may follow what in one process, which phases
 * may be in use together, and rollouts by scope.
 */
#include "support.h"
#include "topology/route.h"

enum { PHASES = WARMRING_SETTLING + 1, STEPS = WARMRING_SETTLE + 1 };

static warmring_topology_t *from, *to;

/* ---- steps ----------------------------------------------------------- */

static const struct {
    const char *phase;
    const char *step;
    const char *result;
    char end; /* O: STABLE on the old ring, N: on the new one */
} legal[] = {
    {"PREPARED", "WARM", "WARMING", 0},      {"PREPARED", "ROLLBACK", "STABLE", 'O'},
    {"WARMING", "COMMIT", "HANDOVER", 0},    {"WARMING", "COMMIT_DIRECTLY", "DRAINING", 0},
    {"WARMING", "ROLLBACK", "PREPARED", 0},  {"HANDOVER", "COMMIT", "DRAINING", 0},
    {"HANDOVER", "ROLLBACK", "PREPARED", 0}, {"DRAINING", "FINISH", "CLOSING", 0},
    {"DRAINING", "ROLLBACK", "HANDOVER", 0}, {"CLOSING", "FINISH", "SETTLING", 0},
    {"CLOSING", "ROLLBACK", "HANDOVER", 0},  {"SETTLING", "FINISH", "STABLE", 'N'},
    {"SETTLING", "SETTLE", "STABLE", 'N'},
};

enum { LEGAL = sizeof legal / sizeof legal[0] };

static int find_legal(const char *phase, const char *step) {
    for (int i = 0; i < LEGAL; i++) {
        if (strcmp(legal[i].phase, phase) == 0 && strcmp(legal[i].step, step) == 0) {
            return i;
        }
    }
    return -1;
}

static warmring_topology_t *make(warmring_phase_t phase) {
    return phase == WARMRING_STABLE ? warmring_topology_retain(from) : in_phase(from, to, phase);
}

static const char *first_label(const warmring_topology_t *topology, warmring_side_t side) {
    return warmring_topology_label(topology, side, 0);
}

static void check_legal(const warmring_topology_t *topology, const warmring_topology_t *next,
                        int index, const char *what) {
    tap_string(warmring_phase_name(warmring_topology_phase(next)), legal[index].result,
               "%s: where it leads", what);
    tap_int((int64_t)warmring_topology_epoch(next), (int64_t)warmring_topology_epoch(topology) + 1,
            "%s: epoch", what);
    if (legal[index].end != 0) {
        tap_string(first_label(next, WARMRING_OLD_RING), legal[index].end == 'O' ? "old" : "new",
                   "%s: the ring that stays", what);
        tap_ok(first_label(next, WARMRING_NEW_RING) == NULL, "%s: the only ring", what);
        return;
    }
    tap_ok(wr_topology_same_migration(topology, next), "%s: same migration", what);
    for (int side = 0; side < 2; side++) {
        tap_ok(warmring_topology_ring(topology, (warmring_side_t)side) ==
                   warmring_topology_ring(next, (warmring_side_t)side),
               "%s: the rings are shared", what);
    }
}

/* The text names phase, step, and each step that is possible. */
static void check_refused(const char *phase, const char *step, const char *what) {
    const char *text = warmring_error_detail();
    tap_contains(text, step, "%s: step named", what);
    tap_contains(text, phase, "%s: phase named", what);
    const char *possible = strstr(text, "possible here: ");
    if (strcmp(phase, "STABLE") == 0) {
        tap_contains(text, "warmring_topology_migrate", "%s: what to do", what);
        return;
    }
    int listed = 0;
    for (int i = 0; i < LEGAL; i++) {
        if (strcmp(legal[i].phase, phase) == 0) {
            tap_contains(possible != NULL ? possible : "", legal[i].step, "%s: possible", what);
            listed++;
        }
    }
    int commas = 0;
    for (const char *c = possible; c != NULL && *c != '\0'; c++) {
        commas += *c == ',';
    }
    tap_int(commas, listed - 1, "%s: and no others", what);
}

static void test_steps(void) {
    for (int p = 0; p < PHASES; p++) {
        warmring_topology_t *topology = make((warmring_phase_t)p);
        for (int s = 0; s <= STEPS; s++) { /* the last is no step */
            warmring_topology_t *next = (void *)&next;
            const char *phase = warmring_phase_name((warmring_phase_t)p);
            const char *step = warmring_step_name((warmring_step_t)s);
            char what[64];
            int index = find_legal(phase, step);
            snprintf(what, sizeof what, "%s in %s", step, phase);
            warmring_status_t status = warmring_topology_step(topology, (warmring_step_t)s, &next);
            tap_status(status, index >= 0 ? WARMRING_OK : WARMRING_ILLEGAL_STEP, "%s", what);
            if (status == WARMRING_OK && index >= 0) {
                check_legal(topology, next, index, what);
                warmring_topology_release(next);
            } else {
                tap_ok(next == NULL, "%s: no topology", what);
                check_refused(phase, step, what);
            }
        }
        warmring_topology_release(topology);
    }
}

static void test_names(void) {
    static const char *const phases[] = {"STABLE",   "PREPARED", "WARMING", "HANDOVER",
                                         "DRAINING", "CLOSING",  "SETTLING"};
    static const char *const steps[] = {"WARM", "COMMIT", "FINISH", "ROLLBACK", "COMMIT_DIRECTLY",
                                       "SETTLE"};
    for (int i = 0; i < PHASES; i++) {
        tap_string(warmring_phase_name((warmring_phase_t)i), phases[i], "phase %d", i);
    }
    for (int i = 0; i < STEPS; i++) {
        tap_string(warmring_step_name((warmring_step_t)i), steps[i], "step %d", i);
    }
    tap_string(warmring_phase_name((warmring_phase_t)PHASES), "?", "no phase");
    tap_string(warmring_phase_name((warmring_phase_t)-1), "?", "no phase either");
    tap_string(warmring_step_name((warmring_step_t)STEPS), "?", "no step");
}

/* Back from CLOSING and forward again, as an operator may go. */
static void test_there_and_back(void) {
    static const struct {
        warmring_step_t step;
        warmring_phase_t phase;
    } way[] = {
        {WARMRING_ROLLBACK, WARMRING_HANDOVER}, {WARMRING_COMMIT, WARMRING_DRAINING},
        {WARMRING_ROLLBACK, WARMRING_HANDOVER}, {WARMRING_ROLLBACK, WARMRING_PREPARED},
        {WARMRING_WARM, WARMRING_WARMING},      {WARMRING_COMMIT_DIRECTLY, WARMRING_DRAINING},
        {WARMRING_FINISH, WARMRING_CLOSING},    {WARMRING_FINISH, WARMRING_SETTLING},
        {WARMRING_FINISH, WARMRING_STABLE},
    };
    warmring_topology_t *topology = make(WARMRING_CLOSING);
    uint64_t epoch = warmring_topology_epoch(topology);
    for (size_t i = 0; i < sizeof way / sizeof way[0]; i++) {
        topology = stepped(topology, way[i].step);
        tap_int(warmring_topology_phase(topology), way[i].phase, "there and back: stop %zu", i);
        tap_int((int64_t)warmring_topology_epoch(topology), (int64_t)(epoch + i + 1),
                "there and back: epoch %zu", i);
    }
    tap_string(first_label(topology, WARMRING_OLD_RING), "new", "and it ends on the new ring");
    warmring_topology_release(topology);
}

/* ---- what may follow ------------------------------------------------- */

/* Row: in force; column: next. = at once, a after all, a letter: refused with
 * that phase to be applied first, . refused for good. STABLE is there on the
 * old ring (O) and on the new one (N). */
static const char *const follows[PHASES] = {
    /*                  OPWHDCSN */
    [WARMRING_STABLE] = "a=PPPPPa",   [WARMRING_PREPARED] = "====HHHH",
    [WARMRING_WARMING] = "P===aHHH",  [WARMRING_HANDOVER] = "P=====CC",
    [WARMRING_DRAINING] = "HHH===CC", [WARMRING_CLOSING] = "HHH====S",
    [WARMRING_SETTLING] = "......==",
};

/* A topology of the same migration in that column, with an epoch above any
 * that in_phase() makes: forward, back to PREPARED, and forward again. */
static warmring_topology_t *make_later(int column) {
    warmring_topology_t *topology = make(WARMRING_CLOSING);
    topology = stepped(stepped(topology, WARMRING_ROLLBACK), WARMRING_ROLLBACK);
    static const warmring_step_t way[] = {WARMRING_WARM,   WARMRING_COMMIT, WARMRING_COMMIT,
                                          WARMRING_FINISH, WARMRING_FINISH, WARMRING_FINISH};
    if (column == 0) {
        return stepped(topology, WARMRING_ROLLBACK);
    }
    for (int i = 0; i < column - 1; i++) {
        topology = stepped(topology, way[i]);
    }
    return topology;
}

static const char *phase_of_letter(char letter) {
    static const char *const names[] = {"PREPARED", "WARMING", "HANDOVER",
                                        "DRAINING", "CLOSING", "SETTLING"};
    for (size_t i = 0; i < 6; i++) {
        if (names[i][0] == letter) {
            return names[i];
        }
    }
    return "?";
}

static void check_pair(const warmring_topology_t *now, const warmring_topology_t *next,
                       char expected, const char *what) {
    wr_follows_t result = wr_topology_follows(now, next);
    tap_int(result,
            expected == '='   ? WR_FOLLOWS_AT_ONCE
            : expected == 'a' ? WR_FOLLOWS_AFTER_ALL
                              : WR_FOLLOWS_NOT,
            "%s: follows", what);
    if (result == WR_FOLLOWS_NOT && expected != '.') {
        char text[64];
        snprintf(text, sizeof text, "%s has to be applied first", phase_of_letter(expected));
        tap_contains(warmring_error_detail(), text, "%s: text", what);
    } else if (result == WR_FOLLOWS_NOT) {
        tap_contains(warmring_error_detail(), "only STABLE on the new ring", "%s: text", what);
    }
}

static void test_follows(void) {
    for (int p = 0; p < PHASES; p++) {
        warmring_topology_t *now = make((warmring_phase_t)p);
        for (int column = 0; column < 8; column++) {
            char what[64];
            warmring_topology_t *next = make_later(column);
            snprintf(what, sizeof what, "%s then %s%s", warmring_phase_name((warmring_phase_t)p),
                     warmring_phase_name(warmring_topology_phase(next)),
                     column == 0   ? " on the old ring"
                     : column == 7 ? " on the new ring"
                                   : "");
            check_pair(now, next, follows[p][column], what);
            warmring_topology_release(next);
        }
        warmring_topology_release(now);
    }
}

/* Every step that can be taken can be applied, one after the other. */
static void test_steps_follow(void) {
    for (int p = WARMRING_PREPARED; p < PHASES; p++) {
        for (int s = 0; s < STEPS; s++) {
            warmring_topology_t *now = make((warmring_phase_t)p), *next;
            if (warmring_topology_step(now, (warmring_step_t)s, &next) == WARMRING_OK) {
                tap_int(wr_topology_follows(now, next),
                        s == WARMRING_COMMIT_DIRECTLY ? WR_FOLLOWS_AFTER_ALL : WR_FOLLOWS_AT_ONCE,
                        "%s in %s can be applied", warmring_step_name((warmring_step_t)s),
                        warmring_phase_name((warmring_phase_t)p));
                warmring_topology_release(next);
            }
            warmring_topology_release(now);
        }
    }
}

static void check_not(const warmring_topology_t *now, const warmring_topology_t *next,
                      const char *text, const char *what) {
    tap_int(wr_topology_follows(now, next), WR_FOLLOWS_NOT, "%s", what);
    tap_contains(warmring_error_detail(), text, "%s: text", what);
}

static void test_strangers(void) {
    warmring_topology_t *other = parse("other=h7,h8"), *equal = parse("old=h1,h2");
    warmring_topology_t *warming = make(WARMRING_WARMING), *edited, *replaced;
    check_not(from, from, "epoch 1", "the same topology again");
    check_not(warming, from, "not newer", "an older epoch");
    if (warmring_topology_set_weight(other, "h8:11211", 2, &edited) != WARMRING_OK ||
        warmring_topology_replace(warming, to, &replaced) != WARMRING_ILLEGAL_STEP) {
        tap_bail("cannot edit: %s", warmring_error_detail());
    }
    tap_int(wr_topology_follows(from, edited), WR_FOLLOWS_AFTER_ALL, "STABLE after STABLE");

    warmring_topology_t *foreign = begin(other, to); /* epoch 2 */
    check_not(from, foreign, "another ring", "a migration from another ring");
    warmring_topology_t *attempt = begin(edited, to); /* epoch 3 */
    for (int i = 0; i < 4; i++) {
        attempt = stepped(attempt, i % 2 == 0 ? WARMRING_WARM : WARMRING_ROLLBACK);
    }
    check_not(warming, attempt, "another migration", "another migration");
    attempt = stepped(attempt, WARMRING_ROLLBACK);
    check_not(warming, attempt, "neither ring", "STABLE on a third ring");

    warmring_topology_t *same_text = begin(equal, to);
    tap_int(wr_topology_follows(from, same_text), WR_FOLLOWS_AT_ONCE,
            "rings are compared by what they are made of");
    warmring_topology_t *next_attempt = begin(attempt, to);
    tap_ok(!wr_topology_same_migration(same_text, next_attempt), "another attempt");
    tap_ok(wr_topology_same_migration(same_text, warming), "the same attempt");
    tap_ok(!wr_topology_same_migration(from, from), "STABLE is no migration");
    warmring_topology_t *elsewhere = begin(from, other);
    tap_ok(!wr_topology_same_migration(same_text, elsewhere),
           "another target is another migration");
    warmring_topology_release(elsewhere);
    warmring_topology_t *const all[] = {other,   equal,   warming,   edited,
                                        foreign, attempt, same_text, next_attempt};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        warmring_topology_release(all[i]);
    }
}

/* What makes a ring another one: each change alone. */
static void test_fingerprint(void) {
    static const struct {
        const char *servers;
        double points_per_weight;
        wr_follows_t result;
    } rings[] = {
        {"a=h1:1:2,b=h2", 10, WR_FOLLOWS_AT_ONCE},
        {"a=h1:1:2.0 b=h2 # as before", 10, WR_FOLLOWS_AT_ONCE},
        {"x=h1:1:2,b=h2", 10, WR_FOLLOWS_NOT},
        {"a=h9:1:2,b=h2", 10, WR_FOLLOWS_NOT},
        {"a=h1:9:2,b=h2", 10, WR_FOLLOWS_NOT},
        {"a=h1:1:3,b=h2", 10, WR_FOLLOWS_NOT},
        {"b=h2,a=h1:1:2", 10, WR_FOLLOWS_NOT},
        {"a=h1:1:2,h2", 10, WR_FOLLOWS_NOT},
        {"a=h1:1:2", 10, WR_FOLLOWS_NOT},
        {"a=h1:1:2,b=h2", 11, WR_FOLLOWS_NOT},
    };
    warmring_topology_t *now = parse_as("a=h1:1:2,b=h2", NULL, 10);
    for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++) {
        warmring_topology_t *ring = parse_as(rings[i].servers, NULL, rings[i].points_per_weight);
        warmring_topology_t *next = begin(ring, to);
        tap_int(wr_topology_follows(now, next), rings[i].result, "a ring of %s, %g a weight",
                rings[i].servers, rings[i].points_per_weight);
        warmring_topology_release(ring);
        warmring_topology_release(next);
    }
    warmring_topology_t *ring = parse_as("a=h1:1:2,b=h2", "nginx", 10), *next = begin(ring, to);
    tap_int(wr_topology_follows(now, next), WR_FOLLOWS_NOT, "a ring of another dialect");
    warmring_topology_release(ring);
    warmring_topology_release(next);
    warmring_topology_release(now);
}

/* A migration between equal rings ends on either. */
static void test_equal_rings(void) {
    warmring_topology_t *prepared = begin(from, from);
    warmring_topology_t *back = stepped(warmring_topology_retain(prepared), WARMRING_ROLLBACK);
    tap_int(wr_topology_follows(prepared, back), WR_FOLLOWS_AT_ONCE, "equal rings: back");
    warmring_topology_t *settling = in_phase(from, from, WARMRING_SETTLING);
    warmring_topology_t *end = stepped(warmring_topology_retain(settling), WARMRING_FINISH);
    tap_int(wr_topology_follows(settling, end), WR_FOLLOWS_AT_ONCE, "equal rings: on");
    warmring_topology_release(prepared);
    warmring_topology_release(back);
    warmring_topology_release(settling);
    warmring_topology_release(end);
}

static void test_coexist(void) {
    /* STABLE PREPARED WARMING HANDOVER DRAINING CLOSING SETTLING */
    static const char *const together[PHASES] = {
        "yy----y", "yyyy---", "-yyy---", "-yyyyy-", "---yyy-", "---yyyy", "y----yy",
    };
    for (int a = 0; a < PHASES; a++) {
        for (int b = 0; b < PHASES; b++) {
            tap_int(wr_phases_coexist((warmring_phase_t)a, (warmring_phase_t)b),
                    together[a][b] == 'y', "%s with %s", warmring_phase_name((warmring_phase_t)a),
                    warmring_phase_name((warmring_phase_t)b));
        }
    }
}

/* ---- rollouts -------------------------------------------------------- */

static warmring_topology_t *rolled(warmring_topology_t *topology, const char *scope,
                                   uint32_t basis_points) {
    warmring_topology_t *next;
    uint64_t epoch = warmring_topology_epoch(topology);
    if (warmring_topology_rollout(topology, scope, basis_points, &next) != WARMRING_OK) {
        tap_bail("cannot roll out: %s", warmring_error_detail());
    }
    tap_int((int64_t)warmring_topology_epoch(next), (int64_t)epoch + 1, "a rollout has an epoch");
    tap_int(wr_topology_follows(topology, next), WR_FOLLOWS_AT_ONCE, "and is applied at once");
    warmring_topology_release(topology);
    return next;
}

static void check_rollouts(const warmring_topology_t *topology, uint32_t common, uint32_t rome,
                           uint32_t oslo, const char *what) {
    tap_int(warmring_topology_get_rollout(topology, NULL), common, "%s: no scope", what);
    tap_int(warmring_topology_get_rollout(topology, "elsewhere"), common, "%s: other", what);
    tap_int(warmring_topology_get_rollout(topology, "rome"), rome, "%s: rome", what);
    tap_int(warmring_topology_get_rollout(topology, "oslo"), oslo, "%s: oslo", what);
}

static void test_scopes(void) {
    warmring_topology_t *topology = make(WARMRING_WARMING);
    check_rollouts(topology, 0, 0, 0, "at first");
    topology = rolled(topology, "rome", 1000);
    check_rollouts(topology, 0, 1000, 0, "one scope");
    topology = rolled(topology, "oslo", 1);
    topology = rolled(topology, "rome", 2000);
    check_rollouts(topology, 0, 2000, 1, "two scopes");
    topology = rolled(topology, "oslo", 0);
    check_rollouts(topology, 0, 2000, 0, "back to 0");
    topology = rolled(topology, NULL, 500);
    check_rollouts(topology, 500, 500, 500, "all");
    topology = rolled(topology, "rome", WARMRING_ROLLOUT_ALL);
    check_rollouts(topology, 500, 10000, 500, "one ahead of all");

    warmring_topology_t *handover = stepped(warmring_topology_retain(topology), WARMRING_COMMIT);
    check_rollouts(handover, 10000, 10000, 10000, "in HANDOVER");
    warmring_topology_release(handover);
    topology = stepped(topology, WARMRING_ROLLBACK);
    check_rollouts(topology, 0, 0, 0, "rolled back");
    topology = stepped(topology, WARMRING_WARM);
    check_rollouts(topology, 0, 0, 0, "warming again");
    warmring_topology_release(topology);
}

static void test_bad_rollouts(void) {
    char name[80];
    warmring_topology_t *topology = make(WARMRING_WARMING), *next;
    static const char *const bad[] = {"", "a b", "a,b", "\xc3\xa9", "a/b"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char quoted[16];
        snprintf(quoted, sizeof quoted, "\"%s\"", bad[i]);
        tap_status(warmring_topology_rollout(topology, bad[i], 1, &next), WARMRING_BAD_ARGUMENT,
                   "bad scope %zu", i);
        tap_contains(warmring_error_detail(), quoted, "bad scope %zu: quoted", i);
    }
    memset(name, 's', 64);
    name[64] = '\0';
    tap_status(warmring_topology_rollout(topology, name, 1, &next), WARMRING_BAD_ARGUMENT,
               "a scope of 64 bytes");
    tap_status(warmring_topology_rollout(topology, NULL, 10001, &next), WARMRING_BAD_ARGUMENT,
               "a rollout of 10,001");
    tap_contains(warmring_error_detail(), "10001", "a rollout of 10,001: quoted");
    tap_ok(next == NULL, "no topology");
    for (uint32_t i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "%063u", (unsigned)i);
        topology = rolled(topology, name, i);
    }
    tap_status(warmring_topology_rollout(topology, "more", 1, &next), WARMRING_LIMIT_EXCEEDED,
               "a 65th scope");
    tap_contains(warmring_error_detail(), "\"more\"", "a 65th scope: quoted");
    topology = rolled(topology, name, 77);
    tap_int(warmring_topology_get_rollout(topology, name), 77, "one of 64 scopes set again");
    tap_int(warmring_topology_get_rollout(topology, "more"), 0, "no 65th scope");
    snprintf(name, sizeof name, "%063u", 5u);
    tap_int(warmring_topology_get_rollout(topology, name), 5, "others are as they were");
    warmring_topology_release(topology);
    for (int p = 0; p < PHASES; p++) {
        if (p != WARMRING_WARMING) {
            const char *phase = warmring_phase_name((warmring_phase_t)p);
            topology = make((warmring_phase_t)p);
            tap_status(warmring_topology_rollout(topology, NULL, 1, &next), WARMRING_ILLEGAL_STEP,
                       "a rollout in %s", phase);
            tap_contains(warmring_error_detail(), phase, "a rollout in %s: named", phase);
            uint32_t by_rule = p < WARMRING_HANDOVER ? 0 : WARMRING_ROLLOUT_ALL;
            tap_int(warmring_topology_get_rollout(topology, NULL), by_rule, "%s: rollout", phase);
            warmring_topology_release(topology);
        }
    }
}

int main(void) {
    from = parse("old=h1,h2");
    to = parse("new=h3,h2:11211,h4");
    test_names();
    test_steps();
    test_there_and_back();
    test_follows();
    test_steps_follow();
    test_strangers();
    test_fingerprint();
    test_equal_rings();
    test_coexist();
    test_scopes();
    test_bad_rollouts();
    warmring_topology_release(from);
    warmring_topology_release(to);
    return tap_done();
}
