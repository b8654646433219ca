/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hashes that keys may be given, by the names their sources use.
 */
#ifndef WR_RING_HASHES_H
#define WR_RING_HASHES_H

#include "ring/dialect.h"

/* Who has a hash of that name. */
enum { WR_HASHES_LIBMEMCACHED = 1, WR_HASHES_TWEMPROXY = 2 };

/* The hash of that name in one of `sets`, and the name as a static string;
 * NULL: none. */
wr_hash_t wr_hash_find(const char *name, unsigned sets, const char **static_name);

/* What dialects hash with unless told otherwise. */
uint32_t wr_hash_crc32a(const char *bytes, size_t length);
uint32_t wr_hash_md5(const char *bytes, size_t length);
uint32_t wr_hash_one_at_a_time(const char *bytes, size_t length);
uint32_t wr_hash_fnv1a_64(const char *bytes, size_t length);

#endif
