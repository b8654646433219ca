/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmring sweep: copies that earlier rings left, counted or deleted.
 *
 * A sweep keeps nothing: what is to be deleted is worked out anew from the file
 * and the servers each time, so it may be interrupted and given again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fleet.h"

enum {
    SWEEP_DELETE = FLEET_OPTION_COUNT,
    SWEEP_BY_KEY,
    SWEEP_PREFIX,
    SWEEP_UNHASHED,
    SWEEP_RATE,
    SWEEP_SERVER
};

static const option_t options[] = {
    FLEET_OPTIONS,
    [SWEEP_DELETE] = {"--delete", NULL, "delete them; without it they are counted"},
    [SWEEP_BY_KEY] = {"--hashed-by-key", NULL, "vouch that keys alone choose servers"},
    [SWEEP_PREFIX] = {"--prefix", "P", "only keys that begin with P"},
    [SWEEP_UNHASHED] = {"--unhashed-prefix", "P", "the clients' prefix, if it is not hashed"},
    [SWEEP_RATE] = {"--rate", "N", "at most N deletions a second (no limit)"},
    [SWEEP_SERVER] = {"--server", "NAME", "only this server"},
    {0},
};

enum { BUSY_TRIES = 30, LINE_EVERY_S = 10 };

static const char vouch[] =
    "Where a key belongs is worked out from the key alone. If clients choose servers by\n"
    "group (group of warmring_call_t, libmemcached's _by_key), set a prefix that the dialect\n"
    "does not hash, or others use these servers too, this deletes what is in use.\n";

typedef struct {
    fleet_t fleet;
    warmring_sweep_t how;
    const char *only; /* this server; NULL: all */
    int width;        /* of the longest label */
    const char *label;
    time_t told;
} work_t;

/* ---- progress ------------------------------------------------------------------- */

static bool tell(void *context, const warmring_sweep_counts_t *counts) {
    work_t *work = context;
    bool on_terminal = isatty(STDERR_FILENO) != 0;
    time_t now = time(NULL);
    if (on_terminal || now - work->told >= LINE_EVERY_S) {
        work->told = now;
        fprintf(stderr, "%s%s: %llu keys, %llu found, %llu deleted%s", on_terminal ? "\r" : "",
                work->label, (unsigned long long)counts->keys, (unsigned long long)counts->found,
                (unsigned long long)counts->removed, on_terminal ? "\033[K" : "\n");
        fflush(stderr);
    }
    return true;
}

static void clear_progress(void) {
    if (isatty(STDERR_FILENO)) {
        fputs("\r\033[K", stderr);
    }
}

/* ---- one server -------------------------------------------------------------------- */

static void print_counts(const work_t *work, const warmring_sweep_counts_t *counts) {
    printf("%-*s  %12llu  %12llu  %12llu  %12llu  %12llu\n", work->width, work->label,
           (unsigned long long)counts->keys, (unsigned long long)counts->found,
           (unsigned long long)counts->removed, (unsigned long long)counts->changed,
           (unsigned long long)counts->strange);
    flush_output();
}

/* Sweeps a server; one that is busy with another list is asked again. */
static int sweep_server(work_t *work, size_t index) {
    warmring_sweep_counts_t counts = {0};
    warmring_status_t status = WARMRING_TRY_AGAIN;
    work->told = time(NULL);
    for (int i = 0; i < BUSY_TRIES && status == WARMRING_TRY_AGAIN; i++) {
        if (i > 0) {
            sleep(1);
        }
        int result = fleet_unchanged(&work->fleet);
        if (result != ENDED_WELL) {
            return result;
        }
        status = warmring_fleet_sweep(work->fleet.file, index, &work->how, NULL,
                                      work->fleet.deadline_ms, &counts);
    }
    clear_progress();
    print_counts(work, &counts);
    return status == WARMRING_OK ? ENDED_WELL : fleet_fail();
}

/* ---- all of them ------------------------------------------------------------------- */

static bool is_chosen(const work_t *work, const warmring_file_server_t *server) {
    if (work->only != NULL) {
        return strcmp(work->only, server->label) == 0;
    }
    return server->on_new || fleet_phase(&work->fleet) == WARMRING_STABLE;
}

/* Fills *server; whether it is there and chosen. */
static bool choose(const work_t *work, size_t index, warmring_file_server_t *server) {
    *server = (warmring_file_server_t){.size = sizeof *server};
    return warmring_file_server(work->fleet.file, index, server) == WARMRING_OK &&
           is_chosen(work, server);
}

static int measure(work_t *work) {
    size_t chosen = 0;
    warmring_file_server_t server;
    work->width = (int)strlen("server");
    for (size_t i = 0; i < warmring_file_servers(work->fleet.file); i++) {
        if (choose(work, i, &server)) {
            int length = (int)strlen(server.label);
            work->width = length > work->width ? length : work->width;
            chosen++;
        }
    }
    return chosen > 0 ? ENDED_WELL : misuse("--server \"%s\": no server of the file", work->only);
}

static void tell_end(const work_t *work, bool failed) {
    bool all = work->only == NULL && work->how.prefix == NULL && !failed;
    if (!work->how.remove) {
        printf("\nNothing was deleted. Next: warmring sweep %s --delete --hashed-by-key\n",
               work->fleet.path);
    } else if (all && fleet_phase(&work->fleet) == WARMRING_SETTLING) {
        printf("\nNo new owner holds a value of an earlier ring. Next:\n"
               "  warmring migrate finish %s --settled\n",
               work->fleet.path);
    }
}

static int sweep_all(work_t *work) {
    bool failed = false;
    warmring_file_server_t server;
    printf("%-*s  %12s  %12s  %12s  %12s  %12s\n", work->width, "server", "keys", "found",
           "deleted", "changed", "strange");
    for (size_t i = 0; i < warmring_file_servers(work->fleet.file); i++) {
        if (choose(work, i, &server)) {
            work->label = server.label;
            failed |= sweep_server(work, i) != ENDED_WELL;
        }
    }
    tell_end(work, failed);
    return failed ? FAILED : ENDED_WELL;
}

/* Whether it is certain that keys alone choose servers: with --yes by the
 * option, else by an answer. */
static int check_vouched(const work_t *work, const char *const *values) {
    if (!work->how.remove || values[SWEEP_BY_KEY] != NULL) {
        return ENDED_WELL;
    }
    if (work->fleet.yes || !isatty(STDIN_FILENO)) {
        return misuse("--delete needs --hashed-by-key:\n%s", vouch);
    }
    fputs(vouch, stderr);
    return fleet_confirm(&work->fleet, "Do keys alone choose servers, and shall they be swept?");
}

/* "200" or "200/s". */
static int read_rate(const char *text, uint32_t *rate) {
    char digits[16];
    double value = 0;
    if (text == NULL) {
        return ENDED_WELL;
    }
    size_t length = strlen(text);
    length -= length > 2 && strcmp(text + length - 2, "/s") == 0 ? 2 : 0;
    snprintf(digits, sizeof digits, "%.*s", (int)length, text);
    int result = read_count("--rate", digits, 1, 1e9, &value);
    *rate = (uint32_t)value;
    return result;
}

static int sweep(work_t *work, const char *const *values) {
    int result = measure(work);
    if (result == ENDED_WELL) {
        result = check_vouched(work, values);
    }
    if (result == ENDED_WELL && fleet_phase(&work->fleet) == WARMRING_STABLE) {
        result = fleet_wait(&work->fleet, WARMRING_WARM);
    }
    return result == ENDED_WELL ? sweep_all(work) : result;
}

static int run(const char *const *values, const char *const *operands) {
    work_t work = {.only = values[SWEEP_SERVER],
                   .how = {.size = sizeof work.how,
                           .remove = values[SWEEP_DELETE] != NULL,
                           .prefix = values[SWEEP_PREFIX],
                           .unhashed = values[SWEEP_UNHASHED],
                           .progress = tell}};
    work.how.context = &work;
    int result = read_rate(values[SWEEP_RATE], &work.how.rate);
    if (result != ENDED_WELL) {
        return result;
    }
    result = fleet_open(&work.fleet, operands[0], values);
    if (result == ENDED_WELL) {
        result = sweep(&work, values);
    }
    fleet_close(&work.fleet);
    return result;
}

const command_t sweep_command = {
    .name = "sweep",
    .summary = "find and delete what earlier rings left on servers",
    .operands = "FILE",
    .options = options,
    .text = "Lists the keys of each server (of the new ring, in a migration) and counts the\n"
            "copies that no client will read again, or deletes them, each only if it is still\n"
            "the item that was listed.\n",
    .run = run,
};
