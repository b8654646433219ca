/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs of the race's processes have in common: settings, their begin and
 * end, and what is told of them.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/race/judge.h"

double race_setting(const char *name, double otherwise) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtod(text, NULL) : otherwise;
}

uint64_t race_seed(void) {
    const char *text = getenv("TEST_SEED");
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 10)
                                         : (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
}

void race_start_processes(race_t *race, const fixture_t *fixture, pid_t *children) {
    for (unsigned i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            race_process(race, i, fixture);
        }
        if (children[i] < 0) {
            tap_bail("no process");
        }
    }
}

bool race_end_processes(const race_t *race, const pid_t *children, bool well) {
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status = 0;
        if (!well) {
            kill(children[i], SIGKILL);
        }
        if (waitpid(children[i], &status, 0) == children[i] && status != 0 && well) {
            tap_note("process %u ended with status %#x: %s", i, (unsigned)status, race->failure[i]);
            well = false;
        }
    }
    return well;
}

/* They are numbers, all alike. */
void judge_add_up(verdict_t *sum, const verdict_t *verdict) {
    enum { NUMBERS = sizeof *sum / sizeof(uint64_t) };
    uint64_t sums[NUMBERS], numbers[NUMBERS];
    memcpy(sums, sum, sizeof *sum);
    memcpy(numbers, verdict, sizeof *verdict);
    for (size_t i = 0; i < NUMBERS; i++) {
        sums[i] += numbers[i];
    }
    memcpy(sum, sums, sizeof *sum);
}

void judge_note_faults(const verdict_t *verdict) {
    for (int kind = 0; kind < KINDS; kind++) {
        for (int status = WARMRING_PARTIAL; status < WARMRING_LEASED; status++) {
            if (verdict->status[kind][status] != 0 && status != WARMRING_TRY_AGAIN &&
                status != WARMRING_NOT_SUPPORTED) {
                tap_note("    %s %s: %" PRIu64, judge_kind_name((kind_t)kind),
                         warmring_status_name((warmring_status_t)status),
                         verdict->status[kind][status]);
            }
        }
    }
}
