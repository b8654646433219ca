/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which topology may follow which in one process, and which phases two
 * processes may be in at the same time.
 *
 * Rules are pairs of phases. STABLE counts twice, on the old ring and on the
 * new one, since it ends a migration in two directions.
 *
 * Neighbours may be in use together: each pair was looked at for writes of
 * the one meeting reads, fills and writes of the other. PREPARED with
 * HANDOVER and HANDOVER with CLOSING are such pairs though a phase lies
 * between them, and so a rollback may go from one to the other. WARMING and
 * DRAINING are not: both store, on different sides. A direct commit waits
 * until no operation of WARMING runs.
 *
 * SETTLING is followed by its end alone. It stores on the new ring and leaves
 * the old one as it is, so in any phase that falls back to the old ring, or
 * leads to one, an overwritten value could come back.
 */
#include "base/fail.h"
#include "topology/topology.h"

typedef enum {
    OLD_STABLE,
    PREPARED,
    WARMING,
    HANDOVER,
    DRAINING,
    CLOSING,
    SETTLING,
    NEW_STABLE,
    ROWS
} row_t;

/* Row: in force; column: next, in the order of row_t.
 *   =   at once
 *   a   after all operations of the first have ended
 *   .   never
 *   P W H D C S   not yet: that phase comes first */
static const char rules[ROWS][ROWS + 1] = {
    [OLD_STABLE] = "a=PPPPPa", /* STABLE to STABLE is never inside a migration */
    [PREPARED] = "====HHHH",   [WARMING] = "P===aHHH", [HANDOVER] = "P=====CC",
    [DRAINING] = "HHH===CC",   [CLOSING] = "HHH====S", [SETTLING] = "......==",
    [NEW_STABLE] = "a......a",
};

static const char *first_phase(char rule) {
    for (warmring_phase_t phase = WARMRING_PREPARED; phase <= WARMRING_SETTLING; phase++) {
        if (warmring_phase_name(phase)[0] == rule) {
            return warmring_phase_name(phase);
        }
    }
    return "STABLE";
}

bool wr_topology_same_migration(const warmring_topology_t *a, const warmring_topology_t *b) {
    return a->phase != WARMRING_STABLE && b->phase != WARMRING_STABLE && a->seed == b->seed;
}

/* Whether a side of one topology is a side of another. */
static bool same_ring(const warmring_topology_t *a, warmring_side_t side_a,
                      const warmring_topology_t *b, warmring_side_t side_b) {
    return wr_cluster_fingerprint(a->cluster[side_a]) == wr_cluster_fingerprint(b->cluster[side_b]);
}

static wr_follows_t refuse_phase(const warmring_topology_t *now, const warmring_topology_t *next,
                                 char rule) {
    const char *from = warmring_phase_name(now->phase), *to = warmring_phase_name(next->phase);
    if (rule == '.') {
        wr_fail(WARMRING_ILLEGAL_STEP,
                "%s cannot follow %s: it has written to the new ring alone, and only STABLE on "
                "the new ring comes after it",
                to, from);
    } else {
        wr_fail(WARMRING_ILLEGAL_STEP, "%s cannot follow %s: %s has to be applied first", to, from,
                first_phase(rule));
    }
    return WR_FOLLOWS_NOT;
}

static wr_follows_t apply_rule(const warmring_topology_t *now, const warmring_topology_t *next,
                               row_t row, row_t column) {
    char rule = rules[row][column];
    if (rule == '=') {
        return WR_FOLLOWS_AT_ONCE;
    }
    return rule == 'a' ? WR_FOLLOWS_AFTER_ALL : refuse_phase(now, next, rule);
}

static wr_follows_t refuse_rings(const warmring_topology_t *now, const char *reason) {
    wr_fail(WARMRING_ILLEGAL_STEP, "phase %s is in force: %s", warmring_phase_name(now->phase),
            reason);
    return WR_FOLLOWS_NOT;
}

/* Which STABLE ends the migration that `now` is in. Where both rings are
 * equal either end fits, and the one that SETTLING leads to is the new. */
static wr_follows_t follow_with_stable(const warmring_topology_t *now,
                                       const warmring_topology_t *next) {
    bool is_old = same_ring(now, WARMRING_OLD_RING, next, WARMRING_OLD_RING);
    bool is_new = same_ring(now, WARMRING_NEW_RING, next, WARMRING_OLD_RING);
    if (!is_old && !is_new) {
        return refuse_rings(now, "the next topology is on neither ring of this migration, finish "
                                 "it or roll it back first");
    }
    bool at_the_end = is_new && (!is_old || now->phase == WARMRING_SETTLING);
    return apply_rule(now, next, (row_t)now->phase, at_the_end ? NEW_STABLE : OLD_STABLE);
}

static wr_follows_t follow_stable(const warmring_topology_t *now, const warmring_topology_t *next) {
    if (next->phase != WARMRING_STABLE &&
        !same_ring(now, WARMRING_OLD_RING, next, WARMRING_OLD_RING)) {
        return refuse_rings(now, "the next topology migrates from another ring");
    }
    return apply_rule(now, next, OLD_STABLE, (row_t)next->phase);
}

static wr_follows_t follow_migration(const warmring_topology_t *now,
                                     const warmring_topology_t *next) {
    if (!wr_topology_same_migration(now, next) ||
        !same_ring(now, WARMRING_OLD_RING, next, WARMRING_OLD_RING) ||
        !same_ring(now, WARMRING_NEW_RING, next, WARMRING_NEW_RING)) {
        return refuse_rings(now, "the next topology is of another migration, finish this one or "
                                 "roll it back first");
    }
    return apply_rule(now, next, (row_t)now->phase, (row_t)next->phase);
}

wr_follows_t wr_topology_follows(const warmring_topology_t *now, const warmring_topology_t *next) {
    if (next->epoch <= now->epoch) {
        wr_fail(WARMRING_ILLEGAL_STEP, "epoch %llu is in force: epoch %llu is not newer",
                (unsigned long long)now->epoch, (unsigned long long)next->epoch);
        return WR_FOLLOWS_NOT;
    }
    if (now->phase == WARMRING_STABLE) {
        return follow_stable(now, next);
    }
    return next->phase == WARMRING_STABLE ? follow_with_stable(now, next)
                                          : follow_migration(now, next);
}

static bool are_neighbours(row_t a, row_t b) {
    return rules[a][b] == '=' || rules[b][a] == '=';
}

bool wr_phases_coexist(warmring_phase_t a, warmring_phase_t b) {
    if (a == b) {
        return true;
    }
    bool stable = a == WARMRING_STABLE || b == WARMRING_STABLE;
    row_t other = (row_t)(a == WARMRING_STABLE ? b : a);
    return are_neighbours((row_t)a, (row_t)b) || (stable && are_neighbours(NEW_STABLE, other));
}
