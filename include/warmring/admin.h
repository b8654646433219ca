/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operators ask of the servers behind a topology file: what each is in
 * the migration, its statistics, its fence, and the copies that earlier rings
 * left on it.
 *
 * Servers are numbered from 0: those of the file's old (or only) ring in its
 * order, then those that only its new ring has. To ask servers that no file
 * has, make a file of them: warmring_topology_parse(), warmring_file_create().
 *
 * `options` NULL: defaults; transport and timeouts count. `deadline_ms` 0: the
 * options' deadline. An index past the last server is BAD_ARGUMENT, as is NULL
 * for an argument that has to be something. Each call opens connections of its
 * own and closes them. Threads: any.
 */
#ifndef WARMRING_ADMIN_H
#define WARMRING_ADMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warmring/client.h>
#include <warmring/common.h>
#include <warmring/fleet.h>
#include <warmring/status.h>

WARMRING_BEGIN_DECLS

/* One server. Set `size` before the call. The strings belong to the file. */
typedef struct {
    size_t size;
    const char *label;   /* its name, else its address */
    const char *host;    /* as in warmring_server_t */
    uint16_t port;       /* 0 for a unix socket */
    bool on_old, on_new; /* which rings it is on; STABLE has the old one only */
    bool marked;         /* the file has a watermark of it */
    uint64_t watermark;  /* its CAS counter when the migration began; items of
                            moved keys up to it are ghosts */
    int64_t started;     /* when it had started, in Unix seconds; -1: unknown */
} warmring_file_server_t;

/* How many there are. Since 0.1. */
WARMRING_API size_t warmring_file_servers(const warmring_file_t *file);

/* Fills *server. OK or BAD_ARGUMENT. Since 0.1. */
WARMRING_API warmring_status_t warmring_file_server(const warmring_file_t *file, size_t index,
                                                    warmring_file_server_t *server);

/* Takes one line of a server's statistics; the strings are good until it
 * returns. */
typedef void warmring_stat_reader_t(void *context, const char *name, const char *value);

/*
 * Asks a server for its statistics, `stats`, or `stats GROUP` unless `group` is
 * NULL, in memcached's text protocol, whatever the transport.
 *
 * Returns OK after the last of them; SERVER_ERROR with the server's words; any
 * fault between here and there. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_fleet_stats(const warmring_file_t *file, size_t index, const char *group,
                     warmring_stat_reader_t *reader, void *context,
                     const warmring_options_t *options, uint32_t deadline_ms);

/*
 * The count of steps that was left on a server: see
 * warmring_fleet_announce(). OK and *steps; NOT_FOUND where there is none; any
 * fault. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_fleet_fence(const warmring_file_t *file, size_t index, const warmring_options_t *options,
                     uint32_t deadline_ms, uint64_t *steps);

/* ---- sweeps ------------------------------------------------------------ */

/* What a sweep has seen so far. */
typedef struct {
    uint64_t keys;    /* listed by the server, but for the fleet's own */
    uint64_t found;   /* of them copies that an earlier ring has left, under the
                         prefix that was asked for */
    uint64_t removed; /* deleted now */
    uint64_t changed; /* no longer that copy when their turn came: left alone */
    uint64_t strange; /* keys that no client of this library stores: left alone */
} warmring_sweep_counts_t;

typedef struct {
    size_t size;
    bool remove;          /* false: they are counted and stay */
    const char *prefix;   /* only keys that begin with it; NULL: all */
    const char *unhashed; /* what the clients' option `prefix` is, where the
                             dialect does not hash it; NULL: no prefix */
    uint32_t rate;        /* most deletions a second; 0: no limit */
    /* Called about every 10,000 keys and every 100 deletions; false stops the
     * sweep. NULL: never stopped. */
    bool (*progress)(void *context, const warmring_sweep_counts_t *counts);
    void *context;
} warmring_sweep_t;

#define WARMRING_SWEEP_INIT {sizeof(warmring_sweep_t), false, NULL, NULL, 0, NULL, NULL}

/*
 * Looks through the keys of one server for copies that nobody will read again
 * by this file, and deletes each bound to its CAS value, so that an item that
 * was changed meanwhile stays:
 *
 *   in a migration  items up to the server's watermark whose key has moved to
 *                   it (ghosts), or which neither ring has there; in SETTLING
 *                   also those whose key has moved away
 *   in STABLE       items that were there before the sweep began and whose key
 *                   belongs to another server
 *
 * The server lists its keys with `lru_crawler metadump hash`. It has to be told
 * by key alone where an item belongs: where clients choose servers by group
 * (warmring_call_t), or other applications use the servers, a sweep deletes
 * what is in use. The caller vouches that this is not so.
 *
 * `deadline_ms` is for each answer, not for the whole, which takes as long as
 * it takes. It may be stopped and repeated at any time.
 *
 * Returns OK when all of the server was seen and each copy found was removed or
 * had changed, or, without `remove`, was counted; TRY_AGAIN while the server is
 * busy with another dump, when `progress` stopped it, or in STABLE before
 * clients of the phase before can be gone; ILLEGAL_STEP for a server that is on
 * the old ring of a migration alone; NOT_SUPPORTED for one without CAS (`-C`)
 * or without crawler; any fault. *counts is right whatever it returns.
 * Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_fleet_sweep(const warmring_file_t *file, size_t index, const warmring_sweep_t *sweep,
                     const warmring_options_t *options, uint32_t deadline_ms,
                     warmring_sweep_counts_t *counts);

WARMRING_END_DECLS

#endif
