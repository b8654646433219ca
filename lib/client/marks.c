/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watermarks and doubts.
 */
#include "client/marks.h"

#include "base/memory.h"

static const wr_time_t ns_per_second = 1000000000;

wr_marks_t *wr_marks_create(uint32_t count) {
    wr_marks_t *marks = wr_calloc(1, sizeof *marks + count * sizeof marks->mark[0]);
    if (marks != NULL) {
        marks->references = 1;
        marks->count = count;
        for (uint32_t i = 0; i < count; i++) {
            atomic_init(&marks->mark[i].watermark, WR_WATERMARK_UNKNOWN);
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

warmring_status_t wr_mark_probe(wr_mark_t *mark, wr_server_t *server, wr_deadline_t deadline) {
    uint64_t cas = 0;
    warmring_status_t status = wr_server_probe_cas(server, deadline, &cas);
    if (status == WARMRING_OK) {
        atomic_store(&mark->watermark, cas);
    }
    return status;
}

bool wr_mark_is_ghost(wr_mark_t *mark, wr_server_t *server, uint64_t cas, wr_deadline_t deadline) {
    uint64_t watermark = atomic_load(&mark->watermark);
    if (cas > watermark) {
        return false;
    }
    if (watermark == WR_WATERMARK_UNKNOWN) {
        (void)!wr_mark_probe(mark, server, deadline);
        return true;
    }
    wr_time_t checked = atomic_load(&mark->checked_at);
    wr_time_t now = wr_now();
    if (now - checked < ns_per_second ||
        !atomic_compare_exchange_strong(&mark->checked_at, &checked, now)) {
        return true;
    }
    uint64_t counter = 0;
    if (wr_server_probe_cas(server, deadline, &counter) == WARMRING_OK && counter < watermark) {
        return !atomic_compare_exchange_strong(&mark->watermark, &watermark, 0);
    }
    return true;
}

void wr_mark_doubt(wr_mark_t *mark, const wr_server_t *server) {
    wr_time_t lifetime = wr_server_config(server)->stub_lifetime_s;
    atomic_store(&mark->doubt_until, wr_now() + lifetime * ns_per_second);
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
