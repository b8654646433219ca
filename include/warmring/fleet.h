/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fleets: many processes on many hosts that go through a migration together,
 * by one topology file that is copied to all of them.
 *
 * The content of a topology file is an immutable value, warmring_file_t: a
 * topology, what its clients keep to (settings), since when its phase lasts,
 * and during a migration the watermarks of the new owners. Every change makes
 * a new value, so that it can be checked and shown before it is written.
 * warmring-topology(5) describes the file.
 *
 * Clients follow the file: warmring_open_file(). Operators change it: the
 * functions below named warmring_fleet_..., or the command warmring-migrate(1),
 * which is made of them. warmring_import() reads what a cluster runs on so far.
 *
 * Three things keep processes consistent that nobody coordinates:
 *
 * - The lag. A client looks for a new file before its first operation in any
 *   second. One that could not for longer than `lag_s` answers
 *   TOPOLOGY_STALE to everything.
 * - Holds. A phase lasts until every client has read the file and the calls
 *   begun before have ended: H = lag_s + max_deadline_ms + 1 s; CLOSING, and
 *   PREPARED on the way back, H + the life of a lease + 1 s.
 * - The fence. Each step is counted, and the count is left on every server
 *   under a key that belongs to this file. A client reads it once a second;
 *   when it is two steps behind it answers TOPOLOGY_STALE.
 *
 * NULL for an argument that has to be something is BAD_ARGUMENT, and the text
 * names it, where a function returns a status. Other functions must not be
 * given NULL unless they say so. Functions that return a status and store a
 * value store NULL unless it is OK. Times are milliseconds since 1970.
 */
#ifndef WARMRING_FLEET_H
#define WARMRING_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warmring/client.h>
#include <warmring/common.h>
#include <warmring/status.h>
#include <warmring/topology.h>

WARMRING_BEGIN_DECLS

typedef struct warmring_file warmring_file_t;

/* ---- clients ---------------------------------------------------------- */

/*
 * Opens a client that follows the topology file `path`, which is resolved from
 * the directory that is the present one now. The ring's options,
 * and max_ttl_s where the file declares it, come from the file; a
 * max_deadline_ms above the file's is lowered to it, and so is deadline_ms.
 *
 * A change of the file is in force within a second and before the next
 * operation, also after a sleep of the machine, a stop of the process and
 * fork(). Once in half a second one operation asks the system whether the file
 * changed, and once in a second it reads the fence, from all servers at the
 * same time, for which it waits 100 ms at most and a quarter of its deadline;
 * others go on meanwhile, unless nobody has looked for a second: then all
 * wait. The newest file is taken over whatever phase was slept through, at
 * once where both topologies may be in use together, else when all operations
 * begun before have ended.
 *
 * Rings of up to 100,000 points are built by the operation that finds the
 * change, and what the present rings have is not built again. Larger ones are
 * built by warmring_tick(): call that once a second, from any thread, or have
 * the option reload_thread start a thread that does (it takes no signals, ends
 * with warmring_close(), and a child of fork() does without it). Meanwhile the
 * old topology stays in force for as long as clients may be in both phases at
 * the same time, else for `lag_s`.
 *
 * A file that cannot be read, is wrong, of another fleet, goes back to an older
 * epoch or changes without a new one changes nothing: it is counted
 * (file_errors of warmring_counters_t), its text is what warmring_tick()
 * returns once, and after `lag_s` without a good one every operation answers
 * TOPOLOGY_STALE until there is one. So does every operation, at once, while a
 * server's count of steps is two above the file's. Nothing is sent then; the
 * text names the file, the reason and how long.
 *
 * Whose copies on new owners may be old is learnt from the file; deletions
 * there that failed are reported to the operator by way of the servers.
 * Clients may open in any phase.
 *
 * warmring_apply() on such a client is ILLEGAL_STEP: the file decides.
 *
 * Known limit: deadlines do not count the time that the machine sleeps. An
 * operation under way when it falls asleep goes on with its topology when it
 * wakes up.
 *
 * Returns WARMRING_OK; the errors of warmring_file_read() and
 * warmring_open_topology(). Ownership: warmring_close(). Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_open_file(warmring_t **client, const char *path, const warmring_options_t *options);

/* ---- the file as a value ---------------------------------------------- */

/* What the clients of a file keep to. */
typedef struct {
    size_t size;
    uint32_t lag_s;           /* how late a client may read a change; 1 to 86,400 */
    uint32_t max_deadline_ms; /* of every client; 1 to 3,600,000 */
    uint64_t max_ttl_s;       /* longest TTL in use; 0: not declared */
} warmring_file_settings_t;

#define WARMRING_FILE_SETTINGS_INIT {sizeof(warmring_file_settings_t), 5, 5000, 0}

/*
 * A new file for a STABLE topology, with an identity of its own. `settings`
 * NULL: the defaults above. Returns OK; ILLEGAL_STEP when a migration is under
 * way; BAD_ARGUMENT for a setting out of range; OUT_OF_MEMORY.
 * Ownership: warmring_file_free(). Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_file_create(warmring_file_t **file, const warmring_topology_t *topology,
                     const warmring_file_settings_t *settings, int64_t now_ms);

/*
 * Reads the text of a file. `name` is what error texts call it. Returns OK;
 * BAD_FILE: the text has name, line and path of the bad piece, and quotes it;
 * OUT_OF_MEMORY. Cost: builds the rings. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_file_parse(warmring_file_t **file, const char *text, size_t length, const char *name);

/* Who may write to a file besides its owner: by default nobody. */
#define WARMRING_FILE_ANY_WRITER 1u

/*
 * Reads the file at `path`. `mode` is 0 or WARMRING_FILE_ANY_WRITER: without it
 * a file that its group or others may write to is refused. Returns as
 * warmring_file_parse(); BAD_FILE also when it cannot be read, with the
 * system's reason. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_file_read(warmring_file_t **file, const char *path, uint32_t mode);

/*
 * Puts `file` in the place of `expected`, which was read from `path` (NULL:
 * there must be none yet): written beside it, synced, renamed, with the mode
 * and owner of the old one (a new one: 0644). Whoever reads `path` sees the one
 * or the other. Of a symbolic link, what it leads to is replaced.
 *
 * Returns OK; TRY_AGAIN when the file is no longer `expected` (somebody else
 * changed it) or somebody else is changing it; BAD_FILE with the system's
 * reason; OUT_OF_MEMORY. Unless OK nothing has changed, but for the one BAD_FILE
 * that says that the file is in place. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_file_replace(const warmring_file_t *file, const char *path,
                      const warmring_file_t *expected);

/* NULL is fine. Since 0.1. */
WARMRING_API void warmring_file_free(warmring_file_t *file);

/* The text, JSON, NUL-terminated; belongs to the file. Since 0.1. */
WARMRING_API const char *warmring_file_text(const warmring_file_t *file);

/* The topology; belongs to the file. Since 0.1. */
WARMRING_API const warmring_topology_t *warmring_file_topology(const warmring_file_t *file);

/* Fills *settings, whose `size` was set. OK or BAD_ARGUMENT. Since 0.1. */
WARMRING_API warmring_status_t warmring_file_settings(const warmring_file_t *file,
                                                      warmring_file_settings_t *settings);

/* When the phase began, and how many steps there have been. Since 0.1. */
WARMRING_API int64_t warmring_file_since(const warmring_file_t *file);
WARMRING_API uint64_t warmring_file_steps(const warmring_file_t *file);

/*
 * How many milliseconds the phase has to last yet before `step` may be taken:
 * its hold, and for FINISH out of SETTLING at least max_ttl_s; 0: none.
 * INT64_MAX where max_ttl_s is not declared but needed. In STABLE it is the
 * hold before the next migration may begin, whatever the step; none where the
 * file has never been in another phase. Since 0.1.
 */
WARMRING_API int64_t warmring_file_hold(const warmring_file_t *file, warmring_step_t step,
                                        int64_t now_ms);

/*
 * The rollout for clients of `scope` (NULL: those without one) at `now_ms`, in
 * basis points: on a ramp it grows with time. Since 0.1.
 */
WARMRING_API uint32_t warmring_file_get_rollout(const warmring_file_t *file, const char *scope,
                                                int64_t now_ms);

/*
 * Changes that need no server; each makes a new file with the next epoch.
 *
 *   edit     another STABLE topology in place of the present one, which is
 *            STABLE too: a cold change, see warmring_topology_set_weight()
 *   rollout  as warmring_topology_rollout(), reached over `ramp_s` seconds
 *            from what it is now; 0: at once
 *
 * Both return OK, the errors of the functions above, or OUT_OF_MEMORY.
 * Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_file_edit(const warmring_file_t *file, const warmring_topology_t *topology,
                   int64_t now_ms, warmring_file_t **result);
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_file_rollout(const warmring_file_t *file, const char *scope, uint32_t basis_points,
                      uint32_t ramp_s, int64_t now_ms, warmring_file_t **result);

/* ---- operators --------------------------------------------------------- */

/*
 * Starts a migration to the ring of `target`: asks every server of the new
 * ring for its watermark (CAS counter and start time) and makes the file of
 * phase PREPARED. `options` NULL: defaults; transport, timeouts and credentials
 * count. `deadline_ms` 0: the options' deadline.
 *
 * Returns OK; ILLEGAL_STEP; TRY_AGAIN while warmring_file_hold() is not 0, with
 * the seconds in the text: clients may not yet have left the phase before this
 * STABLE; a fault of the server that cannot be asked, named in the text;
 * NOT_SUPPORTED for one without CAS (`-C`). Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_fleet_begin(const warmring_file_t *file, const warmring_topology_t *target,
                     const warmring_options_t *options, uint32_t deadline_ms,
                     warmring_file_t **result);

/*
 * Takes one step, as warmring_topology_step(). COMMIT out of WARMING raises the
 * watermarks of new owners on which clients reported failed deletions
 * (PARTIAL); it asks every server for such reports.
 *
 * Returns OK; ILLEGAL_STEP, also for COMMIT_DIRECTLY, which is for single
 * processes; TRY_AGAIN while warmring_file_hold() is not 0, with the seconds in
 * the text; a fault of the server that cannot be asked. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_fleet_step(const warmring_file_t *file, warmring_step_t step,
                    const warmring_options_t *options, uint32_t deadline_ms,
                    warmring_file_t **result);

/*
 * Leaves the file's count of steps on every server of its rings: the fence.
 * Call it after warmring_file_replace(). Returns OK, or the fault of one server
 * that was not reached; the others have it, and it may be repeated.
 * Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_fleet_announce(const warmring_file_t *file, const warmring_options_t *options,
                        uint32_t deadline_ms);

/* ---- adoption ------------------------------------------------------------ */

typedef struct warmring_import warmring_import_t;

/* How to read somebody else's configuration. */
typedef struct {
    size_t size;
    const char *name;    /* what error texts call the text; NULL: the format */
    const char *section; /* the pool or upstream, where there are several */
    const warmring_ring_options_t *ring; /* for "list", which does not tell;
                                            NULL: defaults */
} warmring_import_options_t;

#define WARMRING_IMPORT_OPTIONS_INIT {sizeof(warmring_import_options_t), NULL, NULL, NULL}

/*
 * Makes a topology out of the configuration of a running cluster, on which
 * every key has the owner that it has there: where a migration begins.
 * Formats:
 *
 *   libmemcached  a configuration string, --SERVER=... --DISTRIBUTION=...
 *   twemproxy     its YAML file, of which `section` is one pool
 *   nginx         its configuration, or a part of it, of which `section` is
 *                 one upstream block, with `hash KEY consistent`
 *   list          server strings, as warmring_topology_parse() reads them
 *
 * What concerns clients or cannot be carried over is told by notes. What would
 * give keys other owners is refused.
 *
 * Returns OK; BAD_FILE for what is no such configuration: the text has name and
 * line and quotes the piece; NOT_SUPPORTED, in the same way, for one that
 * warmring has no ring for, and for twemproxy in a library built without
 * libyaml; BAD_ARGUMENT for an unknown format; the errors of
 * warmring_topology_create(). Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_import(warmring_import_t **import, const char *format, const char *text, size_t length,
                const warmring_import_options_t *options);

/* The name of format `index`, from 0 on; NULL past the last. Since 0.1. */
WARMRING_API const char *warmring_import_format(size_t index);

/* The topology; belongs to the import, retain it to keep it. Since 0.1. */
WARMRING_API const warmring_topology_t *
warmring_import_topology(const warmring_import_t *import);

/* Note `index`, a line; NULL past the last. Belongs to the import. Since 0.1. */
WARMRING_API const char *warmring_import_note(const warmring_import_t *import, size_t index);

/* NULL is fine. Since 0.1. */
WARMRING_API void warmring_import_free(warmring_import_t *import);

WARMRING_END_DECLS

#endif
