/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain words for phases, and the table of what moves.
 *
 * A server's reads are told in the share of all reads that it gets now, as if
 * all keys were read alike. While nothing is copied yet, a read that starts at
 * the new owner misses there and goes on to the old one: so a new owner's
 * reads grow at once, and the old owner's fall only as copies are made.
 */
#include "outlook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

enum { MOST_LINES = 20 };

static const char *const ahead[WARMRING_SETTLING + 1] = {
    [WARMRING_STABLE] = "STABLE on the new ring: the old ring is forgotten. The way back is "
                        "another migration.\n",
    [WARMRING_PREPARED] =
        "PREPARED: reads stay as they are. Whoever writes a moved key deletes it at its\n"
        "new owner as well. Rolling back from here loses nothing.\n",
    [WARMRING_WARMING] =
        "WARMING: reads of moved keys that are rolled in start at the new owner, and copy\n"
        "what it misses from the old one. Writes stay with the old owner. Rolling back\n"
        "from here loses nothing.\n",
    [WARMRING_HANDOVER] =
        "HANDOVER: while it lasts, sets of moved keys are not kept (the keys are misses),\n"
        "and add, cas, increment and the like answer TRY_AGAIN. Rolling back from here\n"
        "loses what was set meanwhile.\n",
    [WARMRING_DRAINING] =
        "DRAINING: the new owners have the truth. Reads that miss there still copy from\n"
        "the old owners. Rolling back from here makes misses of moved keys that were\n"
        "written since.\n",
    [WARMRING_CLOSING] =
        "CLOSING: moved keys that were not copied by now are misses from here on.\n"
        "Rolling back from here makes misses of moved keys that were written since\n"
        "DRAINING.\n",
    [WARMRING_SETTLING] =
        "SETTLING: writes go to the new owners alone. There is no way back from here, but\n"
        "another migration.\n",
};

static const char *const behind[WARMRING_SETTLING + 1] = {
    [WARMRING_STABLE] = "STABLE on the old ring: the new ring is forgotten, and what was copied "
                        "to it.\n",
    [WARMRING_PREPARED] = "Back to PREPARED: reads stay with the old owners alone. Copies on the "
                          "new ones count\nno longer.\n",
    [WARMRING_HANDOVER] =
        "Back to HANDOVER: while it lasts, sets of moved keys are not kept, and add, cas,\n"
        "increment and the like answer TRY_AGAIN. Moved keys that were written since\n"
        "DRAINING become misses.\n",
};

const char *outlook_phase(warmring_phase_t phase, bool back) {
    const char *text = back ? behind[phase] : ahead[phase];
    return text != NULL ? text : "";
}

/* ---- what moves ------------------------------------------------------------------ */

static int by_gain(const void *a, const void *b) {
    const warmring_preview_server_t *first = a, *second = b;
    if (first->gained > second->gained || first->gained < second->gained) {
        return first->gained > second->gained ? -1 : 1;
    }
    return (first->lost < second->lost) - (first->lost > second->lost);
}

/* How a server's reads compare with now, at the worst: nothing is copied yet. */
static const char *reads(text_t *text, const warmring_preview_server_t *server, uint32_t rollout) {
    double more = server->gained * rollout / WARMRING_ROLLOUT_ALL;
    if (server->share_before > 0) {
        snprintf(text->text, sizeof text->text, "+%.1f %%", 100 * more / server->share_before);
    } else {
        snprintf(text->text, sizeof text->text, more > 0 ? "from none" : "none");
    }
    return text->text;
}

static void print_servers(const warmring_preview_server_t *servers, size_t count,
                          uint32_t rollout) {
    int width = (int)strlen("server");
    size_t shown = count < MOST_LINES ? count : MOST_LINES;
    for (size_t i = 0; i < shown; i++) {
        int length = (int)strlen(servers[i].label);
        width = length > width ? length : width;
    }
    printf("\n  %-*s  %10s  %10s  %10s  %10s  %10s\n", width, "server", "keys now", "then", "gains",
           "gives", "reads");
    for (size_t i = 0; i < shown; i++) {
        text_t now, then, gains, gives, load;
        printf("  %-*s  %10s  %10s  %10s  %10s  %10s\n", width, servers[i].label,
               percent(&now, servers[i].share_before), percent(&then, servers[i].share_after),
               percent(&gains, servers[i].gained), percent(&gives, servers[i].lost),
               reads(&load, &servers[i], rollout));
    }
    if (shown < count) {
        printf("  and %zu more servers, which gain less\n", count - shown);
    }
}

static void print_meaning(uint32_t rollout) {
    text_t share;
    if (rollout == OUTLOOK_COLD) {
        puts(
            "\nKeys are shares of all keys; reads are what a server gets more than now. The moved\n"
            "keys start as misses.\n");
        return;
    }
    printf("\nKeys are shares of all keys; reads are what a server gets more than now, at most:\n"
           "with %s of the moved keys rolled in and none of them copied yet. Each first\n"
           "read of such a key also asks the old owner, and stores a copy.\n\n",
           plain_percent(&share, (double)rollout / WARMRING_ROLLOUT_ALL));
}

static int print_preview(const warmring_preview_t *preview, uint32_t rollout) {
    size_t count = warmring_preview_servers(preview);
    warmring_preview_server_t *servers = calloc(count + 1, sizeof *servers);
    text_t share;
    if (servers == NULL) {
        return fail("out of memory: %zu servers", count);
    }
    for (size_t i = 0; i < count; i++) {
        servers[i].size = sizeof servers[i];
        if (warmring_preview_server(preview, i, &servers[i]) != WARMRING_OK) {
            free(servers);
            return fail("%s", warmring_error_detail());
        }
    }
    qsort(servers, count, sizeof *servers, by_gain);
    printf("%s of all keys move.\n", percent(&share, warmring_preview_moved(preview)));
    print_servers(servers, count, rollout == OUTLOOK_COLD ? WARMRING_ROLLOUT_ALL : rollout);
    print_meaning(rollout);
    free(servers);
    return ENDED_WELL;
}

int outlook_moves(const warmring_topology_t *now, const warmring_topology_t *next,
                  uint32_t rollout) {
    warmring_preview_t *preview;
    if (warmring_topology_preview(now, next, &preview) != WARMRING_OK) {
        return fail("%s", warmring_error_detail());
    }
    int result = print_preview(preview, rollout);
    warmring_preview_free(preview);
    return result;
}
