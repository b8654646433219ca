/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topologies: which servers there are, on which ring or rings, and where a
 * migration between two rings stands.
 *
 * A topology is an immutable, counted value. Every edit and every step
 * returns a new one and leaves its argument alone, so a change can be checked
 * and previewed before warmring_apply() puts it in force. Pure: no sockets,
 * files or clocks.
 *
 * NULL for an argument that has to be something is BAD_ARGUMENT, and the text
 * names it, where a function returns a status. Other functions must not be
 * given NULL unless they say so.
 *
 * The life of a migration, with the steps that lead on:
 *
 *   STABLE -migrate-> PREPARED -WARM-> WARMING -COMMIT-> HANDOVER -COMMIT->
 *   DRAINING -FINISH-> CLOSING -FINISH-> SETTLING -FINISH-> STABLE
 *
 * ROLLBACK leads from WARMING, HANDOVER, DRAINING and CLOSING back towards
 * PREPARED (from the last two by way of HANDOVER) and from PREPARED to the
 * old STABLE. SETTLING has written to the new ring alone: no way back.
 * COMMIT_DIRECTLY leads from WARMING to DRAINING without HANDOVER; SETTLE from
 * SETTLING to STABLE without waiting.
 */
#ifndef WARMRING_TOPOLOGY_H
#define WARMRING_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warmring/common.h>
#include <warmring/ring.h>
#include <warmring/status.h>

WARMRING_BEGIN_DECLS

/* Where a migration stands; see docs/migration.md for what each phase does. */
#define WARMRING_PHASE_LIST(X)                                                      \
    X(STABLE) X(PREPARED) X(WARMING) X(HANDOVER) X(DRAINING) X(CLOSING) X(SETTLING)

typedef enum {
#define WARMRING_PHASE_ENUM(name) WARMRING_##name,
    WARMRING_PHASE_LIST(WARMRING_PHASE_ENUM)
#undef WARMRING_PHASE_ENUM
} warmring_phase_t;

/*
 * The steps between phases. COMMIT_DIRECTLY is for those who use no counters
 * and no cas: moved keys never have to be refused, but of two clients that
 * write a key at the same moment, one before and one after the step, each may
 * read its own value until the key is written again. SETTLE is FINISH for who
 * knows that no server can hold a copy from an earlier ring any more: all have
 * expired, or were swept, or the servers were empty when they joined. FINISH
 * out of SETTLING waits for the longest TTL instead (option max_ttl_s).
 */
#define WARMRING_STEP_LIST(X)                                                       \
    X(WARM) X(COMMIT) X(FINISH) X(ROLLBACK) X(COMMIT_DIRECTLY) X(SETTLE)

typedef enum {
#define WARMRING_STEP_ENUM(name) WARMRING_##name,
    WARMRING_STEP_LIST(WARMRING_STEP_ENUM)
#undef WARMRING_STEP_ENUM
} warmring_step_t;

/* The two rings of a migration; in STABLE the only ring is the old one. */
typedef enum { WARMRING_OLD_RING, WARMRING_NEW_RING } warmring_side_t;

/* Rollouts are counted in basis points: 10,000 is all moved keys. */
#define WARMRING_ROLLOUT_ALL 10000u

typedef struct warmring_topology warmring_topology_t;
typedef struct warmring_preview warmring_preview_t;

/* "STABLE", "WARMING", ...; "?" for a number that is none. Static. Since 0.1. */
WARMRING_API const char *warmring_phase_name(warmring_phase_t phase);

/* "WARM", "COMMIT", ...; "?" for a number that is none. Static. Since 0.1. */
WARMRING_API const char *warmring_step_name(warmring_step_t step);

/*
 * Reads server strings and builds a STABLE topology with epoch 1.
 *
 * `servers` holds server strings separated by commas, blanks or newlines; `#`
 * starts a comment that runs to the end of the line. A server string is
 *
 *   [NAME=]HOST[:PORT[:WEIGHT]]      cache1=10.0.0.7:11211:4
 *   [NAME=][V6][:PORT[:WEIGHT]]      [fd00::7]:11211
 *   [NAME=]unix:/PATH[:WEIGHT]       local=unix:/run/memcached.sock
 *   --SERVER=HOST[:PORT][/?WEIGHT]   libmemcached's words
 *   --SOCKET="/PATH"[/?WEIGHT]
 *
 * PORT is 1 to 65535, 11211 when not written; WEIGHT is a decimal number, 1
 * when not written, 0 for a drained server ("4" or "0.5", no exponent, the
 * same in every locale). NAME and HOST are 1 to 250 bytes of letters, digits,
 * '.', '_' and '-'. PATH is at most 107 bytes without ':', blanks, ',' or '#';
 * in quotes ':', ',' and '#' are fine. libmemcached's words may be in small
 * letters too; its other words are errors.
 *
 * Endpoints are compared as written, and names are never resolved: [::1] and
 * [0:0:0:0:0:0:0:1] are two servers, and so are a name and its address. Write
 * each the same way everywhere, or keys move between what is one server.
 *
 * `dialect` NULL is "v2"; `points_per_weight` 0 is 1,000.
 *
 * Returns WARMRING_OK and stores the value in *topology, else *topology is
 * NULL: BAD_SERVER (the detail text quotes the bad piece), or any error of
 * warmring_ring_create().
 * Ownership: release it with warmring_topology_release(). Threads: any.
 * Cost: builds the ring. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_topology_parse(warmring_topology_t **topology, const char *servers,
                        const char *dialect, double points_per_weight);

/* Room for the strings of any server. */
#define WARMRING_SERVER_STRINGS 512u

/*
 * Reads exactly one server string, for callers that keep lists of their own.
 * Set server->size before the call; `strings` has `capacity` bytes,
 * WARMRING_SERVER_STRINGS at least, and holds the name and the host, so
 * *server is good for as long as they stay.
 *
 * Returns WARMRING_OK; BAD_SERVER (the detail text quotes the bad piece) for
 * none, more than one and whatever warmring_topology_parse() refuses of a
 * single one; BAD_ARGUMENT; OUT_OF_MEMORY. Unless OK, *server has no host.
 * Threads: any. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_server_parse(const char *text, warmring_server_t *server, char *strings,
                      size_t capacity);

/*
 * A topology as warmring_topology_parse() makes it, from a list of structs
 * and full ring options (NULL: defaults).
 * Everything is copied. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_topology_create(warmring_topology_t **topology, const warmring_server_t *servers,
                         size_t count, const warmring_ring_options_t *options);

/*
 * Holds one reference more, and returns its argument; gives one back, and
 * frees the value with the last (NULL is fine). Threads: any. Since 0.1.
 */
WARMRING_API warmring_topology_t *warmring_topology_retain(const warmring_topology_t *topology);
WARMRING_API void warmring_topology_release(const warmring_topology_t *topology);

/*
 * Edits of a STABLE topology. `name` is a server's name, or its HOST:PORT
 * (as warmring_topology_label() gives it) where it has none.
 *
 *   set_weight   changes one weight; with v2 only that server's keys move
 *   add_server   `server` is one server string; it goes to the end
 *   remove_server
 *   set_address  `address` is HOST[:PORT], [V6][:PORT] or unix:/PATH; the
 *                server keeps its name and weight. Where the name is its
 *                identity (v2) it keeps all of its keys; unnamed, and in
 *                dialects that know no names, it is another server of the
 *                ring from then on
 *   replace      the whole list, ring options included, taken from `target`
 *
 * Each returns WARMRING_OK and stores a new STABLE topology with the next
 * epoch in *result, which may then be applied at once (a cold flip) or be the
 * target of warmring_topology_migrate().
 *
 * After a cold flip moved keys start as misses on servers that never had them.
 * A server that had them on an earlier ring still holds what it had then, and
 * that is read again, whatever was written or deleted elsewhere meanwhile.
 * Only a migration filters such copies; before a cold flip, empty the servers
 * that gain keys. Applying one also makes every new call wait until all calls under
 * way have ended, see warmring_apply().
 *
 * Otherwise *result is NULL:
 *   ILLEGAL_STEP  a migration is under way
 *   BAD_ARGUMENT  no server has that name; the text quotes it and, where
 *                 there are few, lists what there is
 *   BAD_SERVER, LIMIT_EXCEEDED, OUT_OF_MEMORY as warmring_topology_parse()
 * `result` may not point at the variable that holds the only reference to
 * the argument. Threads: any. Cost: builds a ring. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_topology_set_weight(const warmring_topology_t *topology, const char *name,
                             double weight, warmring_topology_t **result);
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_topology_add_server(const warmring_topology_t *topology, const char *server,
                             warmring_topology_t **result);
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_topology_remove_server(const warmring_topology_t *topology, const char *name,
                                warmring_topology_t **result);
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_topology_set_address(const warmring_topology_t *topology, const char *name,
                              const char *address, warmring_topology_t **result);
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_topology_replace(const warmring_topology_t *topology,
                          const warmring_topology_t *target, warmring_topology_t **result);

/*
 * Starts a migration from the ring of `topology` to the ring of `target`,
 * both STABLE: *result is PREPARED, with rollout 0 and a seed of its own. The
 * seed follows from the epoch and both server lists, so that processes which
 * start the same migration agree, and a later attempt draws other keys first.
 *
 * Returns WARMRING_OK; ILLEGAL_STEP when either is not STABLE; OUT_OF_MEMORY.
 * Threads: any. Cost: compares the server lists; where both rings hash keys
 * alike and have at most two million points together, merges them, so that a
 * key is looked up once: up to 5 bytes a point for as long as a topology of
 * this migration exists, and 8 more during the call. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_topology_migrate(const warmring_topology_t *topology,
                          const warmring_topology_t *target, warmring_topology_t **result);

/*
 * Takes one step (the picture at the top of this file).
 *
 * Returns WARMRING_OK and the next topology in *result, or ILLEGAL_STEP with
 * a text that names the phase and what is possible instead; OUT_OF_MEMORY.
 * WARM keeps the rollout at 0; set it with warmring_topology_rollout().
 * ROLLBACK sets it back to 0 for all scopes.
 * Threads: any. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_topology_step(const warmring_topology_t *topology, warmring_step_t step,
                       warmring_topology_t **result);

/*
 * Sets the share of moved keys, in basis points (0 to 10,000), whose reads
 * start at the new owner. Only reads depend on it, so clients at different
 * rollouts stay consistent. A key that is in at 1,000 is in at 5,000.
 *
 * `scope` NULL sets it for every client and forgets what single scopes had;
 * otherwise it sets it for clients opened with the option `scope` of that
 * name (1 to 63 letters, digits, '.', '_' or '-'; at most 64 scopes).
 *
 * Returns WARMRING_OK; ILLEGAL_STEP outside WARMING; BAD_ARGUMENT for a
 * rollout above 10,000 or a bad scope; LIMIT_EXCEEDED; OUT_OF_MEMORY.
 * Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_topology_rollout(const warmring_topology_t *topology, const char *scope,
                          uint32_t basis_points, warmring_topology_t **result);

/* What a topology says of itself. Threads: any. Since 0.1. */
WARMRING_API warmring_phase_t warmring_topology_phase(const warmring_topology_t *topology);
WARMRING_API uint64_t warmring_topology_epoch(const warmring_topology_t *topology);
/* The rollout for clients of `scope`; NULL: for those without one. Outside
 * WARMING it says where reads start by rule: 0 up to PREPARED, all from
 * HANDOVER on. Since 0.1. */
WARMRING_API uint32_t warmring_topology_get_rollout(const warmring_topology_t *topology,
                                                    const char *scope);

/*
 * One of the rings; NULL for the new ring in STABLE. It belongs to the
 * topology and lives as long. Since 0.1.
 */
WARMRING_API const warmring_ring_t *warmring_topology_ring(const warmring_topology_t *topology,
                                                           warmring_side_t side);

/*
 * Server `index` of one ring, in list order; NULL past the last. The struct
 * and its strings belong to the topology and live as long. Since 0.1.
 */
WARMRING_API const warmring_server_t *
warmring_topology_server(const warmring_topology_t *topology, warmring_side_t side,
                         size_t index);

/*
 * What to call that server in front of people, and the name the edits take:
 * its name, else "HOST:PORT" (the port always written), "[V6]:PORT" or
 * "unix:/PATH"; NULL past the last. The string belongs to the topology and lives as long. Since 0.1.
 */
WARMRING_API const char *warmring_topology_label(const warmring_topology_t *topology,
                                                 warmring_side_t side, size_t index);

/*
 * Whether the key has different owners on the two rings; always false in
 * STABLE. Owners are compared by endpoint. Cost: two locates. Since 0.1.
 */
WARMRING_API bool warmring_topology_moved(const warmring_topology_t *topology, const char *key,
                                          size_t key_length);

/*
 * What lies between the ring that `now` serves from and the ring that `next`
 * leads to: a value to show before `next` is applied. Both may be in any
 * phase; of a migration the preview is about its old and its new ring when
 * `now` and `next` belong to the same one. Otherwise `now` serves from its old
 * ring up to HANDOVER and from its new one after it, and `next` leads to its
 * new ring, or its only one.
 *
 * Returns WARMRING_OK or OUT_OF_MEMORY (*preview is then NULL).
 * Ownership: warmring_preview_free(). Cost: a pass over both rings'
 * points. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_topology_preview(const warmring_topology_t *now, const warmring_topology_t *next,
                          warmring_preview_t **preview);
/* NULL is fine. Since 0.1. */
WARMRING_API void warmring_preview_free(warmring_preview_t *preview);

/* The exact fraction of all keys that change their owner, 0 to 1. Since 0.1. */
WARMRING_API double warmring_preview_moved(const warmring_preview_t *preview);

/* One endpoint of either ring. Set `size` before the call. */
typedef struct {
    size_t size;
    const char *label;   /* belongs to the preview; as the server's, or, for
                            an added address of a name that both rings have,
                            HOST:PORT */
    double share_before; /* of all keys, 0 to 1 */
    double share_after;
    double gained; /* fraction of all keys that come to it */
    double lost;   /* fraction of all keys that leave it */
} warmring_preview_server_t;

/* How many endpoints the two rings have together. Since 0.1. */
WARMRING_API size_t warmring_preview_servers(const warmring_preview_t *preview);

/*
 * Fills *server for endpoint `index`: those of the ring before come first, in
 * its order, then the added ones. Returns WARMRING_OK, or BAD_ARGUMENT for an
 * index that is none. Since 0.1.
 */
WARMRING_API warmring_status_t
warmring_preview_server(const warmring_preview_t *preview, size_t index,
                        warmring_preview_server_t *server);

WARMRING_END_DECLS

#endif
