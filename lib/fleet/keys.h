/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys that a fleet has on its servers, and what is under them. They begin
 * with "warmring:" and are not where their hash belongs: a sweep leaves them.
 *
 *   warmring:<id>:steps            the fence: the file's `steps`, decimal. It
 *                                  lives for ever, on every server of both
 *                                  rings
 *   warmring:<id>:partial:ADDRESS  a report: deletions on the new owner at
 *                                  ADDRESS failed. Left on every server that
 *                                  can be reached, for WR_REPORT_LIFE_S, and
 *                                  set anew with each failure (at most once a
 *                                  second), so that what is left of its life
 *                                  tells how long ago the last one was
 *
 * <id> is the file's, 16 hex digits. A report's value is the migration's seed,
 * 16 hex digits: those of other migrations are void.
 */
#ifndef WR_FLEET_KEYS_H
#define WR_FLEET_KEYS_H

#include "topology/file.h"

#define WR_FLEET_KEYS "warmring:"

enum { WR_REPORT_LIFE_S = 2592000, WR_REPORT_SIZE = 17 };

/* Write a key, NUL-terminated, and return its length. ADDRESS is as
 * wr_cluster_server_t has it; a long one is replaced by its hash. */
size_t wr_fence_key(uint64_t id, char key[WR_FLEET_KEY_SIZE + 1]);
size_t wr_report_key(uint64_t id, const char *address, char key[WR_FLEET_KEY_SIZE + 1]);

/* What a report of this migration says. */
void wr_report_value(const warmring_topology_t *topology, char value[WR_REPORT_SIZE]);

#endif
