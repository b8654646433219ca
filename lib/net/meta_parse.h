/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines a memcached answers with, strictly: what is not one of them in
 * every byte is a fault. Pure, no I/O, no memory.
 */
#ifndef WR_NET_META_PARSE_H
#define WR_NET_META_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <warmring/ring.h>

/* What a server may send. */
typedef struct {
    size_t line;  /* bytes of a line, CR LF included */
    size_t key;   /* bytes of a key or an opaque token in it */
    size_t value; /* bytes of a value that is taken; not looked at here */
} wr_meta_limits_t;

typedef enum {
    WR_META_HD, /* done */
    WR_META_VA, /* a value follows */
    WR_META_EN, /* miss */
    WR_META_NF, /* not found */
    WR_META_NS, /* not stored */
    WR_META_EX, /* exists: another CAS */
    WR_META_MN, /* barrier reached */
    WR_META_OK,
    WR_META_VALUE, /* classic: a value follows */
    WR_META_END,   /* classic: the list's end */
    WR_META_VERSION,
    WR_META_ERROR,
    WR_META_CLIENT_ERROR,
    WR_META_SERVER_ERROR,
    WR_META_KINDS
} wr_meta_kind_t;

/* Which flags a line brought. */
enum {
    WR_META_HAS_FLAGS = 1,   /* f */
    WR_META_HAS_CAS = 2,     /* c */
    WR_META_HAS_TTL = 4,     /* t */
    WR_META_HAS_SIZE = 8,    /* s */
    WR_META_HAS_OPAQUE = 16, /* O */
    WR_META_HAS_KEY = 32,    /* k */
    WR_META_HAS_WON = 64,    /* W */
    WR_META_HAS_GIVEN = 128, /* Z: another client won */
    WR_META_HAS_STALE = 256  /* X */
};

/* One line. What it did not bring is undefined, but for `text`, which is
 * empty then. Bytes point into the buffer it was read from. */
typedef struct {
    wr_meta_kind_t kind;
    unsigned has;
    uint64_t flags; /* of 32 bits */
    uint64_t cas;
    int64_t ttl; /* -1: never */
    uint64_t size;
    size_t value_length;     /* VA, VALUE */
    warmring_bytes_t key;    /* VALUE, k */
    warmring_bytes_t opaque; /* O */
    warmring_bytes_t text;   /* the errors and VERSION: what follows the word */
} wr_meta_reply_t;

/*
 * Reads one line, `length` bytes that end in LF (see wr_meta_line_end()).
 * Returns NULL, or what is wrong with it as a static text; *reply is then
 * undefined.
 */
const char *wr_meta_parse(const wr_meta_limits_t *limits, const char *line, size_t length,
                          wr_meta_reply_t *reply);

#endif
