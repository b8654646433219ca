/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A topology file in an operator's hands.
 *
 * Whatever a command does in several steps it derives from the file alone, so
 * it may be ended at any time and given again. Signals that end it wait while a
 * file is put and announced, until it waits or asks the next time: after the
 * last file of a command nothing is left to be ended, and it ends well.
 */
#include "fleet.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DEADLINE_MS = 5000, MOST_DEADLINE_MS = 3600000, LINE_EVERY_S = 10 };

/* ---- signals ------------------------------------------------------------------ */

static sigset_t ending_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

static void hold_signals(bool hold) {
    sigset_t set = ending_signals();
    sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* Whether one waits. */
static bool is_to_end(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
            sigismember(&pending, SIGHUP) == 1);
}

/* ---- time ----------------------------------------------------------------------- */

static int64_t boot_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void note_time(fleet_t *fleet) {
    fleet->seen_ms = now_ms();
    fleet->seen_at = boot_ms();
}

/* Now, but no sooner than that much time has passed: holds are not cut short
 * by a clock that is set forward meanwhile. */
static int64_t sure_now_ms(const fleet_t *fleet) {
    int64_t now = now_ms();
    int64_t passed = fleet->seen_ms + boot_ms() - fleet->seen_at;
    return now < passed ? now : passed;
}

int fleet_fail(void) {
    return fail("%s", warmring_error_detail());
}

int fleet_open(fleet_t *fleet, const char *path, const char *const *values) {
    double deadline = DEADLINE_MS;
    *fleet = (fleet_t){.path = path,
                       .yes = values[FLEET_YES] != NULL,
                       .force = values[FLEET_FORCE] != NULL,
                       .mode = values[FLEET_ANY_WRITER] != NULL ? WARMRING_FILE_ANY_WRITER : 0};
    int result = read_count("--deadline", values[FLEET_DEADLINE], 1, MOST_DEADLINE_MS, &deadline);
    if (result != ENDED_WELL) {
        return result;
    }
    fleet->deadline_ms = (uint32_t)deadline;
    note_time(fleet);
    return warmring_file_read(&fleet->file, path, fleet->mode) == WARMRING_OK ? ENDED_WELL
                                                                              : fleet_fail();
}

void fleet_close(fleet_t *fleet) {
    warmring_file_free(fleet->file);
    fleet->file = NULL;
}

const warmring_topology_t *fleet_topology(const fleet_t *fleet) {
    return warmring_file_topology(fleet->file);
}

warmring_phase_t fleet_phase(const fleet_t *fleet) {
    return warmring_topology_phase(fleet_topology(fleet));
}

const char *duration(text_t *text, int64_t ms) {
    int64_t seconds = (ms + 999) / 1000;
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};
    size_t unit = 0;
    while (unit < 3 && seconds < units[unit].seconds) {
        unit++;
    }
    int64_t whole = seconds / units[unit].seconds;
    int64_t rest = unit < 3 ? seconds % units[unit].seconds / units[unit + 1].seconds : 0;
    if (rest > 0) {
        snprintf(text->text, sizeof text->text, "%lld %s %lld %s", (long long)whole,
                 units[unit].name, (long long)rest, units[unit + 1].name);
    } else {
        snprintf(text->text, sizeof text->text, "%lld %s", (long long)whole, units[unit].name);
    }
    return text->text;
}

/* ---- asking ------------------------------------------------------------------ */

int fleet_confirm(const fleet_t *fleet, const char *question) {
    char answer[16] = "";
    hold_signals(false);
    if (fleet->yes) {
        return ENDED_WELL;
    }
    if (!flush_output()) {
        return FAILED;
    }
    if (!isatty(STDIN_FILENO)) {
        return misuse("standard input is no terminal to ask on: %s Say --yes to go on", question);
    }
    fprintf(stderr, "%s [yes/no] ", question);
    fflush(stderr);
    if (fgets(answer, sizeof answer, stdin) == NULL) {
        fputc('\n', stderr);
    }
    answer[strcspn(answer, "\r\n")] = '\0';
    bool agreed = strcmp(answer, "yes") == 0 || strcmp(answer, "y") == 0;
    return agreed ? ENDED_WELL : fail("nothing was changed");
}

int fleet_reach(const fleet_t *fleet) {
    size_t count = warmring_file_servers(fleet->file), missing = 0;
    for (size_t i = 0; i < count; i++) {
        warmring_file_server_t server = {.size = sizeof server};
        uint64_t steps;
        warmring_status_t status =
            warmring_fleet_fence(fleet->file, i, NULL, fleet->deadline_ms, &steps);
        if (status == WARMRING_OK || status == WARMRING_NOT_FOUND ||
            warmring_file_server(fleet->file, i, &server) != WARMRING_OK) {
            continue;
        }
        bool counts = server.on_new || fleet_phase(fleet) == WARMRING_STABLE;
        missing += counts;
        warn("%s cannot be reached%s: %s", server.label, counts ? "" : " (it leaves the ring)",
             warmring_error_detail());
    }
    if (missing == 0 || fleet->force) {
        return ENDED_WELL;
    }
    return fail("nothing was changed: start the server, or say --force");
}

/* ---- waiting ------------------------------------------------------------------- */

static void tell_left(int64_t left, const char *phase, bool first) {
    static int64_t told_s;
    text_t text;
    int64_t seconds = (left + 999) / 1000;
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%s has to last for another %s \033[K", phase, duration(&text, left));
        fflush(stderr);
    } else if (first || told_s - seconds >= LINE_EVERY_S) {
        told_s = seconds;
        fprintf(stderr, "%s has to last for another %s\n", phase, duration(&text, left));
    }
}

int fleet_unchanged(const fleet_t *fleet) {
    warmring_file_t *present;
    if (warmring_file_read(&present, fleet->path, fleet->mode) != WARMRING_OK) {
        return fleet_fail();
    }
    bool same = strcmp(warmring_file_text(present), warmring_file_text(fleet->file)) == 0;
    warmring_file_free(present);
    return same ? ENDED_WELL : fail("%s: somebody else has changed it meanwhile", fleet->path);
}

/* A hold that no clock would give. */
static void tell_future(const fleet_t *fleet, const char *phase) {
    enum { DOUBT_MS = 1000 };
    text_t text;
    int64_t ahead = warmring_file_since(fleet->file) - now_ms();
    if (ahead > DOUBT_MS) {
        warn("%s: %s begins in %s: the clock of this host, or of the one that took the last step, "
             "is wrong",
             fleet->path, phase, duration(&text, ahead));
    }
}

int fleet_wait(const fleet_t *fleet, warmring_step_t step) {
    const char *phase = warmring_phase_name(fleet_phase(fleet));
    bool first = true;
    hold_signals(false);
    for (;;) {
        int64_t left = warmring_file_hold(fleet->file, step, sure_now_ms(fleet));
        if (left == 0 || left == INT64_MAX) { /* which the step itself refuses */
            if (!first && isatty(STDERR_FILENO)) {
                fputs("\r\033[K", stderr);
            }
            return ENDED_WELL;
        }
        if (first) {
            if (!flush_output()) {
                return FAILED;
            }
            tell_future(fleet, phase);
            fputs("Waiting. It may be interrupted: the same command goes on.\n", stderr);
        }
        tell_left(left, phase, first);
        first = false;
        long pause = left < 1000 ? (long)left : 1000;
        nanosleep(&(struct timespec){pause / 1000, pause % 1000 * 1000000}, NULL);
        int result = fleet_unchanged(fleet);
        if (result != ENDED_WELL) {
            return result;
        }
    }
}

/* ---- changing ------------------------------------------------------------------- */

int fleet_announce(const fleet_t *fleet) {
    if (warmring_fleet_announce(fleet->file, NULL, fleet->deadline_ms) == WARMRING_OK) {
        return ENDED_WELL;
    }
    uint64_t wanted = warmring_file_steps(fleet->file);
    for (size_t i = 0; i < warmring_file_servers(fleet->file) && !is_to_end(); i++) {
        warmring_file_server_t server = {.size = sizeof server};
        uint64_t steps = 0;
        warmring_status_t status =
            warmring_fleet_fence(fleet->file, i, NULL, fleet->deadline_ms, &steps);
        if ((status != WARMRING_OK || steps < wanted) &&
            warmring_file_server(fleet->file, i, &server) == WARMRING_OK) {
            warn("%s was not told of this step: %s", server.label,
                 status != WARMRING_OK && status != WARMRING_NOT_FOUND ? warmring_error_detail()
                                                                       : "try again");
        }
    }
    warn("the step is taken; \"warmring migrate announce %s\" tells them when they are back",
         fleet->path);
    return ENDED_WELL;
}

int fleet_put(fleet_t *fleet, warmring_file_t *next) {
    hold_signals(true);
    warmring_status_t status = warmring_file_replace(next, fleet->path, fleet->file);
    if (status != WARMRING_OK) {
        warmring_file_free(next);
        return fleet_fail();
    }
    warmring_file_free(fleet->file);
    fleet->file = next;
    note_time(fleet);
    return fleet_announce(fleet);
}

int fleet_step(fleet_t *fleet, warmring_step_t step) {
    warmring_file_t *next;
    int result = fleet_wait(fleet, step);
    if (result != ENDED_WELL) {
        return result;
    }
    if (warmring_fleet_step(fleet->file, step, NULL, fleet->deadline_ms, &next) != WARMRING_OK) {
        return fleet_fail();
    }
    result = fleet_put(fleet, next);
    if (result == ENDED_WELL) {
        printf("%s: phase %s\n", fleet->path, warmring_phase_name(fleet_phase(fleet)));
        flush_output();
    }
    return result;
}
