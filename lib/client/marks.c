/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watermarks and doubts.
 */
#include "client/marks.h"

#include "base/memory.h"

static const wr_time_t ns_per_second = 1000000000;

wr_marks_t *wr_marks_create(uint32_t count, bool late) {
    wr_marks_t *marks = wr_calloc(1, sizeof *marks + count * sizeof marks->mark[0]);
    if (marks != NULL) {
        marks->references = 1;
        marks->late = late;
        marks->count = count;
        for (uint32_t i = 0; i < count; i++) {
            atomic_init(&marks->mark[i].watermark, WR_WATERMARK_UNKNOWN);
            atomic_init(&marks->mark[i].started, -1);
            marks->mark[i].taken = (wr_probe_t){.cas = WR_WATERMARK_UNKNOWN, .started = -1};
        }
    }
    return marks;
}

wr_marks_t *wr_marks_retain(wr_marks_t *marks) {
    if (marks != NULL) {
        atomic_fetch_add_explicit(&marks->references, 1, memory_order_relaxed);
    }
    return marks;
}

void wr_marks_release(wr_marks_t *marks) {
    if (marks != NULL &&
        atomic_fetch_sub_explicit(&marks->references, 1, memory_order_acq_rel) == 1) {
        wr_free(marks);
    }
}

/* Whether `later` is another life of the server that had started at `before`.
 * A server tells the same as long as it runs, and after a warm restart, but
 * for its clock being set a little. */
static bool is_another_life(int64_t before, int64_t later) {
    enum { TOLERANCE = 2 };
    return before >= 0 && later > before + TOLERANCE;
}

/*
 * Takes a watermark, unless a higher one of the same life is known, or one of
 * a later life. The start time goes first: who reads the watermark and then
 * the start time must not find a new counter of an old life.
 */
static void raise_to(wr_mark_t *mark, const wr_probe_t *probe) {
    uint64_t known = atomic_load(&mark->watermark);
    do {
        int64_t started = atomic_load(&mark->started);
        bool is_later = is_another_life(started, probe->started);
        if (known != WR_WATERMARK_UNKNOWN && !is_later &&
            (probe->cas <= known || is_another_life(probe->started, started))) {
            return;
        }
        if (known == WR_WATERMARK_UNKNOWN || is_later) {
            atomic_store(&mark->started, probe->started);
        }
    } while (!atomic_compare_exchange_strong(&mark->watermark, &known, probe->cas));
}

warmring_status_t wr_mark_probe(wr_mark_t *mark, wr_server_t *server, wr_deadline_t deadline) {
    wr_probe_t probe = {0, -1};
    warmring_status_t status = wr_server_probe_cas(server, deadline, &probe);
    if (status == WARMRING_OK) {
        raise_to(mark, &probe);
    }
    return status;
}

/* Whether the server was restarted, which makes the watermark void. */
static bool was_restarted(wr_mark_t *mark, wr_server_t *server, uint64_t watermark,
                          wr_deadline_t deadline) {
    wr_time_t checked = atomic_load(&mark->checked_at);
    wr_time_t now = wr_now();
    wr_probe_t probe = {0, -1};
    if (now - checked < ns_per_second ||
        !atomic_compare_exchange_strong(&mark->checked_at, &checked, now) ||
        wr_server_probe_cas(server, deadline, &probe) != WARMRING_OK) {
        return false;
    }
    int64_t started = atomic_load(&mark->started);
    if (probe.cas >= watermark && !is_another_life(started, probe.started)) {
        return false;
    }
    if (!atomic_compare_exchange_strong(&mark->watermark, &watermark, 0)) {
        return false;
    }
    atomic_compare_exchange_strong(&mark->started, &started, probe.started);
    return true;
}

static void end_doubts(wr_mark_t *mark, wr_time_t reported_by) {
    uint64_t doubts = atomic_load(&mark->doubts);
    if (atomic_load(&mark->doubted_at) < reported_by) {
        atomic_store(&mark->raised, doubts);
        atomic_store(&mark->cleared, doubts);
    }
}

/* What a file says, after it said `before`. */
static bool is_raise(const wr_probe_t *before, const wr_probe_t *watermark) {
    return before->cas != WR_WATERMARK_UNKNOWN &&
           (watermark->cas > before->cas || is_another_life(before->started, watermark->started));
}

void wr_mark_take(wr_mark_t *mark, const wr_probe_t *watermark, wr_time_t reported_by) {
    wr_probe_t before = mark->taken;
    if (watermark->cas == before.cas && watermark->started == before.started) {
        return;
    }
    mark->taken = *watermark;
    atomic_store(&mark->exact, true);
    raise_to(mark, watermark);
    if (is_raise(&before, watermark)) {
        end_doubts(mark, reported_by);
    }
}

bool wr_mark_wants_raise(const wr_mark_t *mark) {
    return atomic_load(&mark->doubts) != atomic_load(&mark->raised);
}

wr_item_t wr_mark_judge(wr_marks_t *marks, uint32_t index, wr_server_t *server, uint64_t cas,
                        wr_deadline_t deadline) {
    wr_mark_t *mark = &marks->mark[index];
    wr_item_t old = marks->late && !atomic_load(&mark->exact) ? WR_ITEM_UNCLEAR : WR_ITEM_GHOST;
    uint64_t watermark = atomic_load(&mark->watermark);
    if (cas > watermark) {
        return WR_ITEM_GOOD;
    }
    if (cas == 0) {
        return WR_ITEM_UNCLEAR; /* nothing can be bound to it */
    }
    if (watermark == WR_WATERMARK_UNKNOWN) {
        (void)!wr_mark_probe(mark, server, deadline);
        return old;
    }
    return was_restarted(mark, server, watermark, deadline) ? WR_ITEM_GOOD : old;
}

void wr_mark_doubt(wr_mark_t *mark, const wr_server_t *server) {
    wr_time_t lifetime = wr_server_config(server)->stub_lifetime_s;
    wr_time_t now = wr_now();
    atomic_store(&mark->doubt_until, now + lifetime * ns_per_second);
    atomic_store(&mark->doubted_at, now);
    atomic_fetch_add(&mark->doubts, 1);
}

bool wr_mark_in_doubt(wr_mark_t *mark, wr_server_t *server, wr_deadline_t deadline) {
    static const wr_time_t pause = 500000000;
    uint64_t doubts = atomic_load(&mark->doubts);
    if (doubts == atomic_load(&mark->cleared)) {
        return false;
    }
    wr_time_t until = atomic_load(&mark->doubt_until);
    wr_time_t now = wr_now();
    if (now < until || !atomic_compare_exchange_strong(&mark->doubt_until, &until, now + pause) ||
        wr_mark_probe(mark, server, deadline) != WARMRING_OK) {
        return true;
    }
    atomic_store(&mark->cleared, doubts);
    return doubts != atomic_load(&mark->doubts);
}
