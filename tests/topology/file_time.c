/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topology files in time: holds by their formula, rollouts on ramps, and the
 * changes that need no server.
 */
#include "file_support.h"

enum { LAG = 5, DEADLINE = 5000 };
static const int64_t since = 1700000000000;

static warmring_file_t *in(warmring_phase_t phase, bool backwards, uint64_t steps, uint64_t ttl) {
    warmring_topology_t *from = parse("h1"), *to = parse("h2");
    wr_watermark_t mark = {.cas = 1};
    warmring_topology_t *topology = in_phase(from, to, phase);
    warmring_file_t *file, parts = {.topology = topology,
                                    .since_ms = since,
                                    .steps = steps,
                                    .lag_s = LAG,
                                    .max_deadline_ms = DEADLINE,
                                    .max_ttl_s = ttl,
                                    .backwards = backwards,
                                    .watermark_count = phase != WARMRING_STABLE,
                                    .watermarks = &mark};
    if (wr_file_make(&file, &parts) != WARMRING_OK) {
        tap_bail("no file: %s", warmring_error_detail());
    }
    warmring_topology_release(topology);
    warmring_topology_release(from);
    warmring_topology_release(to);
    return file;
}

static void check_hold(warmring_phase_t phase, bool backwards, warmring_step_t step, uint64_t ttl,
                       int64_t hold) {
    warmring_file_t *file = in(phase, backwards, 3, ttl);
    const char *name = warmring_phase_name(phase), *by = warmring_step_name(step);
    tap_int(warmring_file_hold(file, step, since), hold, "%s, %s: the hold", name, by);
    if (hold < INT64_MAX) {
        tap_int(warmring_file_hold(file, step, since + hold - 1), 1, "%s: a millisecond left",
                name);
        tap_int(warmring_file_hold(file, step, since + hold), 0, "%s: it is over", name);
        tap_int(warmring_file_hold(file, step, since + 2 * hold), 0, "%s: and stays so", name);
        tap_int(warmring_file_hold(file, step, since - 10), hold + 10, "%s: a clock behind", name);
    } else {
        tap_ok(warmring_file_hold(file, step, since * 2) == INT64_MAX, "%s: for ever", name);
    }
    warmring_file_free(file);
}

static void test_holds(void) {
    const int64_t h = LAG * 1000 + DEADLINE + 1000;
    const int64_t stub = (DEADLINE / 1000 + 2) * 1000; /* as clients make it: tests/client */
    check_hold(WARMRING_STABLE, false, WARMRING_WARM, 0, h);
    check_hold(WARMRING_PREPARED, false, WARMRING_WARM, 0, h);
    check_hold(WARMRING_PREPARED, false, WARMRING_ROLLBACK, 0, h);
    check_hold(WARMRING_PREPARED, true, WARMRING_ROLLBACK, 0, h + stub + 1000);
    check_hold(WARMRING_WARMING, false, WARMRING_COMMIT, 0, h);
    check_hold(WARMRING_HANDOVER, false, WARMRING_COMMIT, 0, h);
    check_hold(WARMRING_HANDOVER, true, WARMRING_ROLLBACK, 0, h);
    check_hold(WARMRING_DRAINING, false, WARMRING_FINISH, 0, h);
    check_hold(WARMRING_CLOSING, false, WARMRING_FINISH, 0, h + stub + 1000);
    check_hold(WARMRING_SETTLING, false, WARMRING_SETTLE, 0, h);
    check_hold(WARMRING_SETTLING, false, WARMRING_SETTLE, 86400, h);
    check_hold(WARMRING_SETTLING, false, WARMRING_FINISH, 86400, 86400000);
    check_hold(WARMRING_SETTLING, false, WARMRING_FINISH, 1, h);
    check_hold(WARMRING_SETTLING, false, WARMRING_FINISH, 0, INT64_MAX);
    warmring_file_t *fresh = in(WARMRING_STABLE, false, 0, 0);
    tap_int(warmring_file_hold(fresh, WARMRING_WARM, since), 0, "a file that is new: none");
    warmring_file_free(fresh);
}

static void test_get_rollout(void) {
    warmring_file_t *file = file_of(warming_text);
    static const struct {
        const char *scope;
        int64_t at;
        uint32_t rollout;
    } rows[] = {
        {NULL, -1, 100},       {NULL, 0, 100},       {NULL, 30000, 300},   {NULL, 59999, 499},
        {NULL, 60000, 500},    {NULL, 1 << 30, 500}, {"rome", 0, 0},       {"rome", 2500, 500},
        {"rome", 10000, 2000}, {"oslo", 30000, 0},   {"bonn", 30000, 300}, {"bonn", 60000, 500},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tap_int(warmring_file_get_rollout(file, rows[i].scope, since + rows[i].at), rows[i].rollout,
                "scope %s after %lld ms", rows[i].scope ? rows[i].scope : "(none)",
                (long long)rows[i].at);
    }
    warmring_file_free(file);
    file = in(WARMRING_DRAINING, false, 3, 0);
    tap_int(warmring_file_get_rollout(file, NULL, since), 10000, "DRAINING: all");
    warmring_file_free(file);
}

static warmring_file_t *rolled(const warmring_file_t *file, const char *scope, uint32_t points,
                               uint32_t ramp_s, int64_t after) {
    warmring_file_t *next;
    if (warmring_file_rollout(file, scope, points, ramp_s, since + after, &next) != WARMRING_OK) {
        tap_bail("no rollout: %s", warmring_error_detail());
    }
    warmring_file_t *again = file_of(next->text);
    tap_string(again->text, next->text, "the text comes back");
    warmring_file_free(again);
    return next;
}

static void test_rollout(void) {
    warmring_file_t *a = in(WARMRING_WARMING, false, 3, 0);
    uint64_t epoch = warmring_topology_epoch(a->topology);
    warmring_file_t *b = rolled(a, NULL, 1000, 0, 0);
    tap_int(warmring_file_get_rollout(b, NULL, since), 1000, "at once");
    tap_ok(b->ramp_count == 0, "no ramp");
    tap_ok(warmring_topology_epoch(b->topology) == epoch + 1, "the next epoch");
    tap_ok(b->steps == a->steps && b->since_ms == a->since_ms, "no step");
    warmring_file_t *c = rolled(b, NULL, 3000, 100, 0);
    tap_int(warmring_file_get_rollout(c, NULL, since), 1000, "a ramp begins where it was");
    tap_int(warmring_file_get_rollout(c, NULL, since + 50000), 2000, "half way");
    warmring_file_t *d = rolled(c, "rome", 0, 10, 50000);
    tap_int(warmring_file_get_rollout(d, "rome", since + 50000), 2000, "a scope leaves the ramp");
    tap_int(warmring_file_get_rollout(d, "rome", since + 55000), 1000, "downward");
    tap_int(warmring_file_get_rollout(d, NULL, since + 75000), 2500, "the others stay on theirs");
    warmring_file_t *e = rolled(d, NULL, 10000, 0, 60000);
    tap_ok(e->ramp_count == 0, "a rollout for all ends every ramp");
    tap_int(warmring_file_get_rollout(e, "rome", since + 60000), 10000, "of scopes, too");
    warmring_file_t *f = rolled(e, NULL, 10000, 100, 60000);
    tap_ok(f->ramp_count == 0, "no way to go, no ramp");
    warmring_file_t *g = rolled(d, "oslo", 1, 0, 60001);
    tap_ok(g->ramp_count == 1 && g->ramps[0].scope[0] == '\0', "ended ramps are dropped");
    warmring_file_t *files[] = {b, c, d, e, f, g};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        warmring_file_free(files[i]);
    }
    warmring_file_t *none = (void *)&none;
    tap_status(warmring_file_rollout(a, NULL, 10001, 0, since, &none), WARMRING_BAD_ARGUMENT,
               "10,001");
    tap_ok(none == NULL, "no file");
    tap_status(warmring_file_rollout(a, "x y", 1, 0, since, &none), WARMRING_BAD_ARGUMENT, "scope");
    tap_status(warmring_file_rollout(a, NULL, 1, 9, -1, &none), WARMRING_BAD_ARGUMENT, "time");
    warmring_file_free(a);
    a = in(WARMRING_PREPARED, false, 3, 0);
    tap_status(warmring_file_rollout(a, NULL, 1, 0, since, &none), WARMRING_ILLEGAL_STEP,
               "not in PREPARED");
    warmring_file_free(a);
}

static void test_edit(void) {
    warmring_file_t *file = file_of(stable_text), *edited;
    warmring_topology_t *target;
    if (warmring_topology_set_weight(file->topology, "a", 5, &target) != WARMRING_OK) {
        tap_bail("no weight: %s", warmring_error_detail());
    }
    tap_status(warmring_file_edit(file, target, 5000, &edited), WARMRING_OK, "a cold edit");
    tap_ok(warmring_topology_epoch(edited->topology) == warmring_topology_epoch(file->topology) + 1,
           "the next epoch");
    tap_ok(edited->steps == 13 && edited->since_ms == 5000, "counted, with a time of its own");
    tap_ok(edited->id == file->id && edited->lag_s == file->lag_s, "the same fleet");
    char *expected = replaced(stable_text, "\"weight\": 4", "\"weight\": 5");
    expected = replaced(expected, "740993", "740994");
    expected = replaced(expected, "\"steps\": 12", "\"steps\": 13");
    expected = replaced(expected, "1700000000123", "5000");
    tap_string(edited->text, expected, "and nothing else is different");
    warmring_file_t *warming = file_of(warming_text), *none;
    tap_status(warmring_file_edit(warming, target, 0, &none), WARMRING_ILLEGAL_STEP, "in WARMING");
    tap_status(warmring_file_edit(file, warming->topology, 0, &none), WARMRING_ILLEGAL_STEP,
               "to WARMING");
    warmring_file_free(warming);
    warmring_topology_release(target);
    warmring_file_free(edited);
    warmring_file_free(file);
}

int main(void) {
    test_holds();
    test_get_rollout();
    test_rollout();
    test_edit();
    return tap_done();
}
