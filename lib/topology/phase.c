/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phase table.
 *
 * Why each cell is what it is:
 *
 * - Every change touches the old owner first and the new one second. A fill
 *   takes its lease on the new owner before it reads the old one; so either
 *   it reads what the change has left, or the change that follows on the new
 *   owner cancels its lease. The other order has neither.
 * - Until HANDOVER values live on the old owner, and the new one holds copies
 *   at most: a store is a store on the old, and a delete of the copy.
 * - From DRAINING on it is the other way round. Between the two stands
 *   HANDOVER, in which nothing is stored, so that clients in the phase before
 *   and in the phase after cannot both store, each on its own side.
 * - What depends on the present value (MODIFY) needs one side that has it,
 *   the authority. In HANDOVER there is none: refused. From DRAINING on it is
 *   the new owner, which may lack a value that the old one still has (it is
 *   promoted first), and may hold a ghost or a stub (the command is bound to
 *   the item that was looked at).
 * - A read of the new owner filters ghosts as long as there can be any: in
 *   every phase but the two STABLE ones and PREPARED, which does not read it.
 */
#include "topology/phase.h"

/* clang-format off */
#define RUN_OLD    {WR_STEP_RUN, WARMRING_OLD_RING}
#define RUN_NEW    {WR_STEP_RUN, WARMRING_NEW_RING}
#define ERASE_OLD  {WR_STEP_ERASE, WARMRING_OLD_RING}
#define ERASE_NEW  {WR_STEP_ERASE, WARMRING_NEW_RING}
#define FILTER_NEW {WR_STEP_FILTER, WARMRING_NEW_RING}
#define FILL_OLD   {WR_STEP_FILL, WARMRING_OLD_RING}
#define PROMOTE    {WR_STEP_PROMOTE, WARMRING_OLD_RING}
#define BIND_NEW   {WR_STEP_BIND, WARMRING_NEW_RING}
#define REFUSE     {WR_STEP_REFUSE, WARMRING_OLD_RING}
#define NOTHING    {WR_STEP_NONE, WARMRING_OLD_RING}
#define STEPS(first, second) {{first, second}}

#define ROW(phase, rollout_at_start, side, store, erase, modify, read, rolled_in) \
    [WARMRING_##phase] = {{[WR_KIND_READ] = read, [WR_KIND_STORE] = store,        \
                           [WR_KIND_ERASE] = erase, [WR_KIND_MODIFY] = modify},   \
                          rolled_in, rollout_at_start, WARMRING_##side##_RING}

const wr_phase_row_t wr_phase_table[WR_PHASES] = {
    ROW(STABLE, 0, OLD,
        STEPS(RUN_OLD, NOTHING),      /* store */
        STEPS(RUN_OLD, NOTHING),      /* erase */
        STEPS(RUN_OLD, NOTHING),      /* modify */
        STEPS(RUN_OLD, NOTHING),      /* read */
        STEPS(RUN_OLD, NOTHING)),     /* read of a key that is rolled in */
    ROW(PREPARED, 0, OLD,
        STEPS(RUN_OLD, ERASE_NEW),
        STEPS(RUN_OLD, RUN_NEW),
        STEPS(RUN_OLD, ERASE_NEW),
        STEPS(RUN_OLD, NOTHING),
        STEPS(RUN_OLD, NOTHING)),
    ROW(WARMING, 0, OLD,
        STEPS(RUN_OLD, ERASE_NEW),
        STEPS(RUN_OLD, RUN_NEW),
        STEPS(RUN_OLD, ERASE_NEW),
        STEPS(RUN_OLD, NOTHING),
        STEPS(FILTER_NEW, FILL_OLD)),
    ROW(HANDOVER, WARMRING_ROLLOUT_ALL, OLD,
        STEPS(ERASE_OLD, ERASE_NEW),
        STEPS(RUN_OLD, RUN_NEW),
        STEPS(REFUSE, NOTHING),
        STEPS(FILTER_NEW, FILL_OLD),
        STEPS(FILTER_NEW, FILL_OLD)),
    ROW(DRAINING, WARMRING_ROLLOUT_ALL, NEW,
        STEPS(ERASE_OLD, RUN_NEW),
        STEPS(RUN_OLD, RUN_NEW),
        STEPS(PROMOTE, BIND_NEW),
        STEPS(FILTER_NEW, FILL_OLD),
        STEPS(FILTER_NEW, FILL_OLD)),
    ROW(CLOSING, WARMRING_ROLLOUT_ALL, NEW,
        STEPS(ERASE_OLD, RUN_NEW),
        STEPS(RUN_OLD, RUN_NEW),
        STEPS(ERASE_OLD, BIND_NEW),
        STEPS(FILTER_NEW, NOTHING),
        STEPS(FILTER_NEW, NOTHING)),
    ROW(SETTLING, WARMRING_ROLLOUT_ALL, NEW,
        STEPS(RUN_NEW, NOTHING),
        STEPS(RUN_NEW, NOTHING),
        STEPS(BIND_NEW, NOTHING),
        STEPS(FILTER_NEW, NOTHING),
        STEPS(FILTER_NEW, NOTHING)),
};
/* clang-format on */

static const char *const phase_names[] = {
#define PHASE_NAME(name) [WARMRING_##name] = #name,
    WARMRING_PHASE_LIST(PHASE_NAME)};

const char *warmring_phase_name(warmring_phase_t phase) {
    size_t index = (size_t)phase;
    return index < WR_PHASES ? phase_names[index] : "?";
}
