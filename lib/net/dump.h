/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of a server's keys, as `lru_crawler metadump hash` gives it.
 *
 * (`metadump all` walks the LRU lists and misses items that are moved between
 * them meanwhile; `hash` walks the hash table and misses none.)
 */
#ifndef WR_NET_DUMP_H
#define WR_NET_DUMP_H

#include "net/lines.h"

typedef struct {
    warmring_bytes_t key; /* as it was stored, of any bytes */
    uint64_t cas;         /* 0: the server has none */
} wr_dump_item_t;

/* Takes one item, whose bytes are good until it returns; false ends it. */
typedef bool wr_dump_reader_t(void *context, const wr_dump_item_t *item);

/*
 * Lists a server's items on a connection of its own. `silence_ms` is how long
 * it may take to the first line, and between two.
 *
 * OK after the last; TRY_AGAIN when the server is busy with another dump, or
 * the reader ended it; NOT_SUPPORTED for a server without the crawler, or too
 * old for `hash`; PROTOCOL_ERROR; the faults of lines.h. What the reader needs
 * the server for must wait until the end: the crawler serves one list at a
 * time, and a list that is not read holds it up.
 */
warmring_status_t wr_server_dump(wr_server_t *server, wr_dump_reader_t *reader, void *context,
                                 uint32_t silence_ms);

#endif
