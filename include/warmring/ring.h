/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The continuum: which server owns a key.
 *
 * This part stands alone: no sockets, files, clocks, locks or globals. A ring
 * is built once and never changes, so any number of threads may use it
 * without a lock.
 *
 * NULL for an argument that has to be something is BAD_ARGUMENT, and the text
 * names it, where a function returns a status. Other functions must not be
 * given NULL unless they say so.
 */
#ifndef WARMRING_RING_H
#define WARMRING_RING_H

#include <stddef.h>
#include <stdint.h>

#include <warmring/common.h>
#include <warmring/status.h>

WARMRING_BEGIN_DECLS

/* The limits of a ring. */
#define WARMRING_MAX_SERVERS 65536u
#define WARMRING_DEFAULT_POINTS_PER_WEIGHT 1000.0
#define WARMRING_DEFAULT_MAX_POINTS 16000000u
#define WARMRING_DEFAULT_PORT 11211u

/* Bytes with a length; they need not end in NUL. */
typedef struct {
    const char *data;
    size_t length;
} warmring_bytes_t;

/*
 * One memcached. Set `size` to sizeof(warmring_server_t).
 *
 * Identity on a v2 ring is the name where there is one, else host and port as
 * written here; nothing is ever resolved. So a named server may change its
 * address without moving a key. So it is on rings of twemproxy; nginx, pingora
 * and libmemcached know no names, so on rings of their dialects it is always
 * host and port, as it is for them.
 */
typedef struct {
    size_t size;
    const char *name; /* NULL or "": unnamed; at most 250 bytes */
    const char *host; /* host name, IPv4, IPv6 without brackets, or the
                         absolute path of a unix socket (starts with '/');
                         at most 250 bytes; like a name without blanks and
                         control bytes */
    uint16_t port;    /* 0: not written, which means 11211; 0 with a path */
    double weight;    /* 0: drained, owns nothing; any unit, as gigabytes;
                         whole numbers in dialects other than v2; modula
                         only asks whether it is 0 */
} warmring_server_t;

/*
 * Set `size` to sizeof(warmring_ring_options_t), which tells how many of the
 * fields there are; zero means the default.
 *
 * Dialects, and whose rings they are: v2 (ours), pingora-v2, pingora-v1 and
 * nginx (CRC-32 chains); modula (no ring: hash mod servers, as libmemcached
 * does by default), libmemcached (ketama; any weight above 1 makes the points
 * weighted, as it does there), libmemcached-weighted, libmemcached-spy;
 * twemproxy (ketama).
 *
 * Hashes of the libmemcached dialects and of modula: one_at_a_time, md5, crc32,
 * fnv1_64, fnv1a_64, fnv1_32, fnv1a_32, hsieh, murmur, murmur3, jenkins. Of
 * twemproxy: the same without murmur3, and crc16, crc32a. (crc32 is what both
 * programs call so, 15 bits of a CRC-32; crc32a is all of it. hsieh is missing
 * where libhashkit was built without it.)
 */
typedef struct {
    size_t size;
    const char *dialect;      /* NULL: "v2"; warmring_dialect_name() lists them */
    double points_per_weight; /* 0: 1,000; at most 2^32-1; dialects with fixed
                                 points ignore it */
    uint64_t max_points;      /* 0: 16,000,000; at most 2^32-1 */
    const char *hash;         /* how keys are hashed; NULL: the dialect's way */
    const char *hash_tag;     /* "{}": of a key with a part in braces only that
                                 part is hashed, unless it is empty; any two
                                 characters; NULL: none. For v2 and twemproxy */
} warmring_ring_options_t;

typedef struct warmring_ring warmring_ring_t;

/*
 * Builds a ring of `count` servers (elements `servers[0].size` bytes apart).
 * NULL options mean all defaults. Names, hosts and the options are copied.
 *
 * Returns WARMRING_OK and stores the ring in *ring; otherwise *ring is NULL:
 *   BAD_SERVER      no server, none with a weight above 0, a weight that is
 *                   negative, infinite, no number or not whole where it must
 *                   be, an empty or over-long host or name or one with blanks,
 *                   a name or an endpoint used twice (port 0 and 11211 are one)
 *   BAD_OPTION      unknown dialect, points_per_weight or max_points out of
 *                   range, a hash that the dialect does not have or a choice
 *                   of hash or hash_tag where it offers none; the detail text
 *                   quotes it
 *   LIMIT_EXCEEDED  over 65,536 servers or max_points points; the text
 *                   suggests a points_per_weight that fits
 *   OUT_OF_MEMORY
 *   BAD_ARGUMENT    `ring` is NULL, or `servers` with a count above 0
 * All but OUT_OF_MEMORY are found before memory for points is taken.
 *
 * The order of the list changes no owner, except on modula, where it is all
 * that counts, and that the dialects of libmemcached and twemproxy give a point
 * that two servers have to the first of them.
 *
 * Ownership: free it with warmring_ring_free(). Threads: any. Cost: makes and
 * sorts all points, and takes 8 bytes a point beside the ring meanwhile.
 * Since 0.1.
 */
WARMRING_API WARMRING_MUST_CHECK warmring_status_t
warmring_ring_create(const warmring_server_t *servers, size_t count,
                     const warmring_ring_options_t *options, warmring_ring_t **ring);

/* Frees a ring; NULL is fine. No call on it may be under way. Since 0.1. */
WARMRING_API void warmring_ring_free(warmring_ring_t *ring);

/*
 * The owner of a key: its index in the list the ring was made from. Any
 * bytes are a key, the empty one included. Never fails.
 * Threads: any. Cost: one hash and one search. Since 0.1.
 */
WARMRING_API uint32_t warmring_ring_locate(const warmring_ring_t *ring, const char *key,
                                           size_t key_length);

/*
 * The owners of `count` keys: owners[i] is that of keys[i]. The same answers
 * as warmring_ring_locate(), faster on large rings. Since 0.1.
 */
WARMRING_API void warmring_ring_locate_many(const warmring_ring_t *ring,
                                            const warmring_bytes_t *keys, size_t count,
                                            uint32_t *owners);

/*
 * The distinct servers met when walking the ring from the key's owner on, in
 * order, at most `capacity` of them: owners[0] is the owner, owners[1] the
 * server that would own the key without it (on v2, and but for a point that
 * both have), and so on. Drained servers are never met. On modula, which has
 * no ring, the next are the servers behind the owner in the list.
 *
 * Returns how many were stored.
 *
 * Cost: up to all points when `capacity` nears the number of servers, and a
 * pass over the stored owners per point. No memory is taken. Since 0.1.
 */
WARMRING_API size_t warmring_ring_walk(const warmring_ring_t *ring, const char *key,
                                       size_t key_length, uint32_t *owners, size_t capacity);

/*
 * The exact share of the hash space that a server owns, 0 to 1; 0 for an
 * index that is none. Over all servers it adds up to 1.
 * Cost: none, it is computed when the ring is made. Since 0.1.
 */
WARMRING_API double warmring_ring_share(const warmring_ring_t *ring, uint32_t server);

/* The number of servers, drained ones included. Since 0.1. */
WARMRING_API size_t warmring_ring_servers(const warmring_ring_t *ring);

/* The number of points on the ring, after ties were settled; 0 on modula.
 * Since 0.1. */
WARMRING_API uint64_t warmring_ring_points(const warmring_ring_t *ring);

/* The number of points a server asked for, before ties. Since 0.1. */
WARMRING_API uint64_t warmring_ring_server_points(const warmring_ring_t *ring, uint32_t server);

/* The memory a ring takes, in bytes: all that it allocated, which is its points
 * (warmring_ring_points_bytes()), the copied servers and their texts, and
 * itself. Since 0.1. */
WARMRING_API size_t warmring_ring_bytes(const warmring_ring_t *ring);

/*
 * The memory its points take, in bytes: the packed hashes and server numbers,
 * the offsets of all buckets and their bases, and what is added so that reads
 * may run past the end; the servers are not counted. At most 4.6 bytes a point
 * from 480 points up when a server has two or more, 4.5 from 16,000 up when it
 * has four or more, 2.9 with 20 million points of 2,048 servers.
 * Twice as many servers take one bit a point more, twice as many points take
 * one less. Since 0.1.
 */
WARMRING_API size_t warmring_ring_points_bytes(const warmring_ring_t *ring);

/* The name of the ring's dialect. The string is static. Since 0.1. */
WARMRING_API const char *warmring_ring_dialect(const warmring_ring_t *ring);

/*
 * The name of dialect `index`, from 0 on; NULL past the last. The string is
 * static. Threads: any. Since 0.1.
 */
WARMRING_API const char *warmring_dialect_name(size_t index);

WARMRING_END_DECLS

#endif
