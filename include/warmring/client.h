/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client: one handle for all threads, reads and writes through every
 * phase of a migration.
 *
 * What holds for every operation here:
 *
 * - Keys are 1 to 250 bytes, the prefix counted, without bytes up to 0x20
 *   and 0x7f; checked before any traffic (BAD_KEY).
 * - One deadline covers the whole call: resolving, connecting, sending,
 *   receiving, and the second server during a migration.
 * - `call` NULL means the client's defaults and no group.
 * - NULL for an argument that has to be something is BAD_ARGUMENT, and the text
 *   names it, where a function returns a status (for a key it is BAD_KEY).
 *   Other functions must not be given NULL unless they say so.
 * - Answers are statuses. Besides those listed with a function, each may
 *   return the faults and refusals of status.h: PARTIAL (writes), TIMEOUT,
 *   SERVER_DOWN, CONNECT_FAILED, CONNECTION_LOST, SERVER_ERROR,
 *   PROTOCOL_ERROR, AUTH_FAILED, RESOLVE_FAILED, BAD_KEY, BAD_ARGUMENT,
 *   NOT_SUPPORTED, OUT_OF_MEMORY, and TOPOLOGY_STALE on a client that follows a
 *   file. warmring_error_detail() has the rest.
 *   After any of them the client is as good as before.
 * - After PARTIAL, TIMEOUT and CONNECTION_LOST a write may or may not have
 *   happened: repeat a set or a delete, never an increment or an append.
 *   After SERVER_DOWN, CONNECT_FAILED, RESOLVE_FAILED and TOPOLOGY_STALE nothing
 *   was sent.
 * - A handle may be used by any number of threads at once, and after fork()
 *   by both processes: the child opens connections of its own.
 */
#ifndef WARMRING_CLIENT_H
#define WARMRING_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warmring/common.h>
#include <warmring/ring.h>
#include <warmring/status.h>
#include <warmring/topology.h>

WARMRING_BEGIN_DECLS

/* The longest key, prefix included, and the flags that no value may carry:
 * they mark a fill or a lease that is under way. */
#define WARMRING_MAX_KEY 250u
#define WARMRING_RESERVED_FLAGS 0x57524c53u

typedef struct warmring warmring_t;
typedef struct warmring_options warmring_options_t;
typedef struct warmring_results warmring_results_t;

/* ---- options ---------------------------------------------------------- */

/*
 * A set of options, all at their defaults; NULL when memory is out. Free it
 * with warmring_options_free() (NULL is fine). Threads: one at a time.
 * Since 0.1.
 */
WARMRING_API warmring_options_t *warmring_options_create(void);
WARMRING_API void warmring_options_free(warmring_options_t *options);

/*
 * Sets one option from text:
 *
 *   name              default  meaning
 *   deadline_ms          1000  of a call that names none, 1 to max_deadline_ms
 *   max_deadline_ms      5000  longest deadline a call may ask for, to 3600000
 *   connect_timeout_ms      0  cap on one connect inside the deadline; 0: none
 *   pool_max               16  connections per server, 1 to 1024
 *   idle_close_ms       60000  idle time after which a connection is closed
 *   failure_limit           2  failures in a row that mark a server down
 *   retry_ms              500  back-off of a down server, 1 to 60000
 *   prefix                     put before every key
 *   scope                      the site, for rollouts by scope
 *   dialect                v2  of the ring, see warmring_dialect_name()
 *   hash                       of the keys, where the dialect has a choice
 *   hash_tag                   two characters: what stands between them in a
 *                              key is hashed instead of it (twemproxy, v2)
 *   points_per_weight    1000  of the ring
 *   max_points       16000000  of the ring
 *   fill_ttl_s             60  longest life of a copy whose TTL is unknown
 *   max_ttl_s               0  longest TTL in use, kept to by every store of
 *                              this client; 0: not declared. SETTLING ends
 *                              by itself only where it is declared
 *   tcp_keepalive           0  1: on
 *   transport            auto  meta (memcached 1.6.13 and later), libmemcached
 *                              (older servers, proxies), or auto: meta where
 *                              the server knows it
 *   max_value_bytes 134217728  longest value taken from a server (meta); a longer
 *                              one is TOO_LARGE and costs the connection
 *   any_writer              0  1: a topology file may be writable by others
 *                              than its owner, see warmring_file_read()
 *   reload_thread           0  1: a thread follows the topology file, so that
 *                              no call ever has to; see warmring_open_file()
 *   tls                     0  1: TLS 1.2 or later, with every server (meta)
 *   tls_ca_file                certificates that may have signed a server's, in
 *                              PEM; empty: the system's
 *   tls_certificate            the client's own, with its chain, in PEM
 *   tls_key                    and its key, without a passphrase; empty: in the
 *                              same file
 *   tls_server_name            whom servers' certificates must be for; empty:
 *                              the host of each as configured, or localhost
 *                              behind a unix socket
 *   user                       of the login that `memcached -Y` wants (meta),
 *   password                   up to 255 bytes each; sent as they are unless
 *                              there is tls
 *
 * Returns WARMRING_OK; BAD_OPTION for an unknown name, or a value that is
 * malformed or out of range: the detail text names the option, quotes the
 * value and says what is allowed, and the option keeps its value;
 * OUT_OF_MEMORY. Threads: one at a time. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_options_set(warmring_options_t *options, const char *name, const char *value);

/*
 * The name of option `index`, from 0 on; NULL past the last. Static.
 * Since 0.1.
 */
WARMRING_API const char *warmring_option_name(size_t index);

/* ---- life ------------------------------------------------------------- */

/*
 * Opens a client for the servers in `servers` (see warmring_topology_parse()).
 * NULL options mean all defaults; they are copied. No connection is made yet,
 * but files that options name are read.
 *
 * Returns WARMRING_OK and stores the handle in *client; otherwise *client is
 * NULL: BAD_SERVER, BAD_OPTION, LIMIT_EXCEEDED, NOT_SUPPORTED (tls or a login
 * through libmemcached), OUT_OF_MEMORY.
 * Ownership: warmring_close(). Cost: builds the ring. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_open(warmring_t **client, const char *servers, const warmring_options_t *options);

/*
 * The same with a topology, in any phase; the client holds a reference of
 * its own. The ring options come from the topology.
 *
 * A client that joins a migration was not there when the new servers' CAS
 * counters were noted. What they held before its own first read there it takes
 * for copies of an earlier ring, up to WARMING; from HANDOVER on it leaves that
 * alone and treats it as a miss, and answers TRY_AGAIN where a command depends
 * on it. Open clients in STABLE where you can. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_open_topology(warmring_t **client, const warmring_topology_t *topology,
                       const warmring_options_t *options);

/*
 * Closes all connections and frees the client; NULL is fine. No call on it
 * may be under way. Items and results obtained from it stay valid.
 * Since 0.1.
 */
WARMRING_API void warmring_close(warmring_t *client);

/* ---- single keys ------------------------------------------------------ */

/* Bits of warmring_call_t.mode. */
#define WARMRING_NOREPLY 1u /* stores and deletes do not wait for the answer;
                               ignored for keys a migration moves, where the
                               order of two servers depends on it */
#define WARMRING_NO_FILL 2u /* reads copy nothing to the new owner */
#define WARMRING_FOR_CAS 4u /* warmring_get reads where warmring_cas will write,
                               so that the token is good: TRY_AGAIN as cas */
#define WARMRING_WAIT 8u    /* warmring_get_or_lease waits, within the
                               deadline, for another's lease to end */

/* What one call wants otherwise. Start from WARMRING_CALL_INIT. */
typedef struct {
    size_t size;
    uint32_t deadline_ms; /* 0: the client's; at most max_deadline_ms */
    uint32_t mode;
    warmring_bytes_t group; /* chooses the server instead of the key; same
                               rules as a key; data NULL: none */
} warmring_call_t;
#define WARMRING_CALL_INIT { sizeof(warmring_call_t), 0, 0, { NULL, 0 } }

/* A CAS value, with the server, the epoch and the connection it comes from. */
typedef struct {
    uint64_t word[3];
} warmring_token_t;

/*
 * One value. Start from WARMRING_ITEM_INIT; a call that fills an item first
 * clears what it held. `value` is valid until warmring_item_clear() or the
 * item's next use.
 */
typedef struct {
    size_t size;
    warmring_status_t status;
    uint32_t flags;
    warmring_bytes_t key;   /* the caller's key; not copied */
    warmring_bytes_t value; /* ends in NUL (not counted) and is not NULL on a
                               hit, an empty value included */
    warmring_token_t token; /* for warmring_cas(); see WARMRING_FOR_CAS */
    void *owned;            /* freed by warmring_item_clear() */
} warmring_item_t;
#define WARMRING_ITEM_INIT                                                          \
    { sizeof(warmring_item_t), WARMRING_NOT_FOUND, 0, { NULL, 0 }, { NULL, 0 },     \
      { { 0, 0, 0 } }, NULL }

/* Frees what an item owns and empties it; safe to repeat, and NULL is fine.
 * Since 0.1. */
WARMRING_API void warmring_item_clear(warmring_item_t *item);

/*
 * Reads a key: WARMRING_OK and the item, or NOT_FOUND. During a migration a
 * moved key is read where its phase says, and a value found only on the old
 * owner is copied to the new one, unless it was written or deleted meanwhile.
 *
 * Ownership: the item owns the value. Cost: one round trip; up to five on
 * the first read of a moved key. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_get(warmring_t *client, const char *key, size_t key_length, warmring_item_t *item,
             const warmring_call_t *call);

/*
 * Reads a key into the caller's buffer. The value is not NUL-terminated
 * unless a byte is left for it. BUFFER_TOO_SMALL when it does not fit:
 * item->value.length is then what it takes, data is NULL, and the buffer's
 * content is unspecified. The item owns nothing. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_get_into(warmring_t *client, const char *key, size_t key_length, void *buffer,
                  size_t capacity, warmring_item_t *item, const warmring_call_t *call);

/*
 * Reads a key, and gives one of those who miss it the task of loading it:
 *
 *   OK          the item
 *   LEASED      the key is missing, and this caller should load it and store
 *               it with warmring_cas() and item->token within `lease_ms`
 *   LEASE_BUSY  the key is missing, and somebody else has the lease: wait a
 *               moment and ask again, or serve without
 *
 * The late store of a loader is refused (EXISTS or NOT_FOUND) when the key was
 * written or deleted since the lease was taken: what it loaded may be old. A
 * lease that is not used ends by itself, a second or two after `lease_ms` (1
 * to 3,600,000), or with warmring_delete(). While it stands the key is a miss
 * for every read, warmring_set() and warmring_delete() end it, warmring_add()
 * answers NOT_STORED. TRY_AGAIN for moved keys in HANDOVER.
 *
 * With the mode WARMRING_WAIT, LEASE_BUSY is answered only at the deadline.
 * Cost: one round trip on a hit, two on a miss. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_get_or_lease(warmring_t *client, const char *key, size_t key_length, uint32_t lease_ms,
                      warmring_item_t *item, const warmring_call_t *call);

/*
 * Reads a key and gives it a new expiration. NOT_FOUND; TRY_AGAIN and
 * NOT_SUPPORTED as warmring_add(). The item has no token: read it with
 * WARMRING_FOR_CAS for one. On the libmemcached transport these are two
 * commands, the touch first. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_get_and_touch(warmring_t *client, const char *key, size_t key_length,
                       int64_t expiration, warmring_item_t *item, const warmring_call_t *call);

/*
 * Stores a value whatever was there.
 *
 * `expiration` is in seconds: 0 never; below 1,000,000,000 a time from now
 * (memcached takes more than 30 days only as an absolute time; that is done
 * here); from 1,000,000,000 on an absolute Unix time, as with libmemcached.
 * Negative: BAD_ARGUMENT. `value` may be NULL when `value_length` is 0.
 * TOO_LARGE when the server's item limit is passed; the key is then gone.
 * BAD_ARGUMENT for flags that are WARMRING_RESERVED_FLAGS.
 *
 * In HANDOVER a moved key is deleted instead of stored: nobody may rely on
 * a cache to keep it. Cost: one round trip, two for a moved key. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_set(warmring_t *client, const char *key, size_t key_length, const void *value,
             size_t value_length, int64_t expiration, uint32_t flags,
             const warmring_call_t *call);

/*
 * Stores a value only where none is (add) or where one is (replace);
 * otherwise NOT_STORED. Not repeated after a lost connection (add), since the
 * first may have been done.
 *
 * These and the calls below depend on the present value, and so on the one
 * server that has it. TRY_AGAIN for moved keys in HANDOVER, where none has,
 * and when others change the key all the time. On the libmemcached transport
 * what cannot be exact is NOT_SUPPORTED: in DRAINING all of them while the old
 * owner alone has the value, since how long it lives cannot be read; from
 * DRAINING until STABLE append, prepend, increment and decrement of a value
 * that is there. Cost for a moved key from DRAINING on: two round trips to
 * seven. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_add(warmring_t *client, const char *key, size_t key_length, const void *value,
             size_t value_length, int64_t expiration, uint32_t flags,
             const warmring_call_t *call);
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_replace(warmring_t *client, const char *key, size_t key_length, const void *value,
                 size_t value_length, int64_t expiration, uint32_t flags,
                 const warmring_call_t *call);

/*
 * Puts bytes behind or before a value that exists, which keeps its flags and
 * its expiration; NOT_STORED where there is none. TOO_LARGE when the whole
 * passes the server's item limit: the key is then gone, or, on the
 * libmemcached transport, as it was. TRY_AGAIN and NOT_SUPPORTED as add.
 * Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_append(warmring_t *client, const char *key, size_t key_length, const void *value,
                size_t value_length, const warmring_call_t *call);
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_prepend(warmring_t *client, const char *key, size_t key_length, const void *value,
                 size_t value_length, const warmring_call_t *call);

/*
 * Stores a value if the key was not changed since `token` was taken from an
 * item: EXISTS if it was, or if the token comes from another server or
 * another ring; NOT_FOUND if the key is gone; BAD_ARGUMENT for a zero token;
 * TRY_AGAIN and NOT_SUPPORTED as add. Never repeated. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_cas(warmring_t *client, const char *key, size_t key_length, const void *value,
             size_t value_length, int64_t expiration, uint32_t flags,
             const warmring_token_t *token, const warmring_call_t *call);

/* Deletes a key: OK if a server had it, else NOT_FOUND. Since 0.1. */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_delete(warmring_t *client, const char *key, size_t key_length,
                const warmring_call_t *call);

/* Gives a key a new expiration. NOT_FOUND; TRY_AGAIN and NOT_SUPPORTED as add.
 * Since 0.1. */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_touch(warmring_t *client, const char *key, size_t key_length, int64_t expiration,
               const warmring_call_t *call);

/*
 * Adds to or takes from a decimal number (which stops at 0 and wraps at
 * 2^64) and stores what it became in *result (NULL: not wanted).
 *
 * Where the key is missing: NOT_FOUND if `initial` is NULL, else the key is
 * created with *initial and `expiration`, and that is the result.
 * `expiration` counts only then. NOT_NUMERIC for another kind of value;
 * TRY_AGAIN and NOT_SUPPORTED as add. Never repeated. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_increment(warmring_t *client, const char *key, size_t key_length, uint64_t delta,
                   const uint64_t *initial, int64_t expiration, uint64_t *result,
                   const warmring_call_t *call);
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_decrement(warmring_t *client, const char *key, size_t key_length, uint64_t delta,
                   const uint64_t *initial, int64_t expiration, uint64_t *result,
                   const warmring_call_t *call);

/*
 * Empties every server of every ring in use, twice during a migration (so
 * that no fill survives). The first fault is returned after all servers
 * were tried. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t warmring_flush(warmring_t *client,
                                                                 const warmring_call_t *call);

/* ---- many keys -------------------------------------------------------- */

/*
 * A reusable arena for the results of multi calls, one per thread; NULL when
 * memory is out. warmring_results_free() accepts NULL. Since 0.1.
 */
WARMRING_API warmring_results_t *warmring_results_create(void);
WARMRING_API void warmring_results_free(warmring_results_t *results);

/* One value to store; as the arguments of warmring_set(). */
typedef struct {
    warmring_bytes_t key, value;
    int64_t expiration;
    uint32_t flags;
} warmring_entry_t;

/*
 * Reads, stores or deletes `count` keys under one deadline. New connections
 * are opened side by side, and each server is sent to as soon as its own is
 * there, so that one that hangs delays no other. Names that have to be
 * resolved are so one after another, each for at most half of the time that
 * is left; so are connections opened through libmemcached, which sends to
 * all servers before it waits for any in reads, and goes from one to the next
 * in stores and deletions.
 *
 * The call returns WARMRING_OK when every key got a plain answer (hit, miss,
 * stored, deleted, not found), else the first fault in input order; each key
 * has its own status in `results` either way, and keys of healthy servers are
 * served whatever the others do. BAD_ARGUMENT, BAD_KEY (the group),
 * OUT_OF_MEMORY and TIMEOUT (a topology being changed) before the start leave
 * `results` empty. A key given twice is served twice.
 *
 * `results` belongs to the call until it returns; what it held before is
 * gone. Keys are not copied: they must outlive the reading of the results.
 * Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_get_multi(warmring_t *client, const warmring_bytes_t *keys, size_t count,
                   warmring_results_t *results, const warmring_call_t *call);
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_set_multi(warmring_t *client, const warmring_entry_t *entries, size_t count,
                   warmring_results_t *results, const warmring_call_t *call);
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_delete_multi(warmring_t *client, const warmring_bytes_t *keys, size_t count,
                      warmring_results_t *results, const warmring_call_t *call);

/*
 * Key `index` of the last call, in input order; NULL past the last. The item
 * belongs to `results` until its next use; do not clear it. Since 0.1.
 */
WARMRING_API const warmring_item_t *warmring_results_at(const warmring_results_t *results,
                                                        size_t index);

/* How many keys the last call had. Since 0.1. */
WARMRING_API size_t warmring_results_count(const warmring_results_t *results);

/*
 * Finds the next hit: start with *index = SIZE_MAX, then pass it back in.
 * False when there is none. Since 0.1.
 */
WARMRING_API bool warmring_results_next_hit(const warmring_results_t *results, size_t *index);

/*
 * The status of the `index`th server that the call talked to, and its
 * address in *name (NULL: not wanted): WARMRING_OK, or the first fault it
 * had. Past the last: NOT_FOUND, and *name is NULL. The string belongs to
 * `results`. Since 0.1.
 */
WARMRING_API warmring_status_t warmring_results_server(const warmring_results_t *results,
                                                       size_t index, const char **name);

/* ---- topology in force ------------------------------------------------ */

/*
 * The topology in force, with a reference for the caller
 * (warmring_topology_release()). Never fails once a client is open.
 * Since 0.1.
 */
WARMRING_API warmring_status_t warmring_acquire(warmring_t *client,
                                                warmring_topology_t **topology);

/*
 * Puts a topology in force, in this process, while traffic runs. It must
 * follow from the one in force: an edit of it, a migration that starts from
 * it, the next step of the same migration; WARMING may also go straight to
 * DRAINING when the cluster holds no counters and nobody uses cas.
 *
 * Operations under way keep their topology to the end. New ones use the new
 * one at once where both phases may be in use together; otherwise, from STABLE
 * to STABLE and from WARMING to DRAINING, they wait, within their deadlines,
 * until those have ended: one call to a server that hangs then holds up all
 * others, for as long as its deadline or this one's. The call returns when no
 * operation older than the previous topology runs. Going to PREPARED it asks
 * every server of the new ring for its CAS counter, so that copies left by
 * earlier rings are recognised.
 *
 * Returns WARMRING_OK; ILLEGAL_STEP with a reason; TIMEOUT when `deadline_ms`
 * (0: the client's) passed first; on the way to PREPARED the fault of an
 * unreachable server, NOT_SUPPORTED for one without CAS; TRY_AGAIN to HANDOVER
 * and beyond while a server that missed deletions may hold old copies, and out
 * of SETTLING by FINISH before max_ttl_s has passed; OUT_OF_MEMORY. After an
 * error the old topology is in force.
 * Connections of servers that both have are kept.
 * Threads: any; one apply runs at a time, others wait. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_apply(warmring_t *client, const warmring_topology_t *topology, uint32_t deadline_ms);

/*
 * The address of the server whose answer counts for a key now, as
 * "10.0.0.7:11211", into `address`, cut to `capacity` bytes with the NUL. No
 * traffic. Returns WARMRING_OK, BAD_KEY or BAD_ARGUMENT. Since 0.1.
 */
WARMRING_API warmring_status_t warmring_locate(warmring_t *client, const char *key,
                                               size_t key_length, char *address,
                                               size_t capacity, const warmring_call_t *call);

/*
 * Optional housekeeping off the hot path: closes idle connections and probes
 * down servers whose back-off has ended, for at most `budget_ms`. Without it
 * the same happens within operations. Returns WARMRING_OK.
 *
 * On a client that follows a topology file it looks at the file, too, and
 * builds large rings, whatever the budget; then it returns once what is wrong
 * with the file: BAD_FILE, TOPOLOGY_STALE, TIMEOUT, OUT_OF_MEMORY, TRY_AGAIN,
 * with its text. The other work is done all the same. Since 0.1.
 */
WARMRING_API warmring_status_t warmring_tick(warmring_t *client, uint32_t budget_ms);

/* ---- counters --------------------------------------------------------- */

/* What a client counts. */
#define WARMRING_CLIENT_COUNTER_LIST(X)                                             \
    X(reads)           /* keys read */                                              \
    X(hits_old)        /* hits answered by the old ring, or the only one */         \
    X(hits_new)        /* hits answered by the new ring */                          \
    X(misses)                                                                       \
    X(read_errors)                                                                  \
    X(writes)          /* keys stored, deleted or modified */                       \
    X(write_errors)                                                                 \
    X(fallbacks)       /* reads that missed the new owner and asked the old */      \
    X(fills)           /* copies made from old to new owner */                      \
    X(fills_refused)   /* not made: written meanwhile, lease held by another */     \
    X(ghosts)          /* copies of earlier rings seen and removed */               \
    X(partial_writes)                                                               \
    X(try_again)                                                                    \
    X(applies)         /* topologies put in force */                                \
    X(reloads)         /* of them, taken from the topology file */                  \
    X(file_errors)     /* changes of that file that could not be put in force */    \
    X(fence_errors)    /* counts of steps on servers that are no numbers */         \
    X(stale)           /* calls answered TOPOLOGY_STALE */

typedef struct {
    size_t size;
#define WARMRING_COUNTER_FIELD(name) uint64_t name;
    WARMRING_CLIENT_COUNTER_LIST(WARMRING_COUNTER_FIELD)
} warmring_counters_t;

#define WARMRING_SERVER_COUNTER_LIST(X)                                             \
    X(requests)        /* commands sent */                                          \
    X(hits)                                                                         \
    X(misses)                                                                       \
    X(connects)        /* connections opened */                                     \
    X(retries)         /* commands repeated after a stale connection */             \
    X(timeouts)                                                                     \
    X(connect_errors)                                                               \
    X(lost_connections)                                                             \
    X(server_errors)                                                                \
    X(protocol_errors)                                                              \
    X(fast_failures)   /* refused because the server is down */

typedef struct {
    size_t size;
    const char *address;   /* belongs to the snapshot */
    const char *name;      /* as warmring_topology_label(); belongs to it too */
    bool down;             /* in back-off */
    uint32_t connections;  /* open now, in use or idle */
    WARMRING_SERVER_COUNTER_LIST(WARMRING_COUNTER_FIELD)
} warmring_server_counters_t;

typedef struct warmring_snapshot warmring_snapshot_t;

/*
 * A picture of all counters, read one by one while traffic runs. Free it
 * with warmring_snapshot_free() (NULL is fine). OUT_OF_MEMORY. Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_snapshot_create(warmring_t *client, warmring_snapshot_t **snapshot);
WARMRING_API void warmring_snapshot_free(warmring_snapshot_t *snapshot);

/*
 * Totals since the client was opened. `phase` -1 sums all phases; else only
 * what happened in that phase. Set counters->size before the call.
 * BAD_ARGUMENT for a phase that is none. Since 0.1.
 */
WARMRING_API warmring_status_t warmring_snapshot_client(const warmring_snapshot_t *snapshot,
                                                        int phase,
                                                        warmring_counters_t *counters);

/*
 * Server `index` of the topology in force, old ring first; set server->size
 * before the call. NOT_FOUND past the last. Since 0.1.
 */
WARMRING_API warmring_status_t
warmring_snapshot_server(const warmring_snapshot_t *snapshot, size_t index,
                         warmring_server_counters_t *server);

/* What was in force when the picture was taken. Since 0.1. */
WARMRING_API warmring_phase_t warmring_snapshot_phase(const warmring_snapshot_t *snapshot);
WARMRING_API uint64_t warmring_snapshot_epoch(const warmring_snapshot_t *snapshot);
/* Bytes of all rings in force. Since 0.1. */
WARMRING_API size_t warmring_snapshot_ring_bytes(const warmring_snapshot_t *snapshot);

WARMRING_END_DECLS

#endif
